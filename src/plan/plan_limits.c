/* Limits in the kernel's words, and what this host must go without. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/sys.h"
#include "plan/cgroup_values.h"
#include "plan/plan_internal.h"

/* The host lacks something: fine when it was accepted, else an error that says how to accept it. */
static int go_without(struct sc_plan *plan, enum sc_degrade what, const char *sentence, const char *why,
                      struct sc_err *err)
{
    unsigned bit = 0;
    if (plan->spec->allow_degraded & what) {
        plan->degraded |= what;
        return 0;
    }
    while (!((unsigned)what & (1u << bit)))
        bit++;
    return sc_err_set(err, SC_ERR_HOST, -ENOTSUP,
                      "%s cannot be had here: %s; --allow-degraded %s accepts that", sentence, why,
                      SC_DEGRADE_NAMES[bit]);
}

static const char *why_not(const struct sc_plan *plan, enum sc_controller controller)
{
    const char *why = plan->host->controllers[controller].why;
    return *why ? why : "no control group";
}

static bool has(const struct sc_plan *plan, enum sc_controller controller)
{
    return plan->host->controllers[controller].version != SC_CGROUP_NONE;
}

/* An io limit is one for each disk: without the controller, or without knowing every disk, there is none. */
static int check_io(struct sc_plan *plan, struct sc_err *err)
{
    struct sc_limits *limits = &plan->limits;
    const struct sc_host *host = plan->host;
    const char *why = !has(plan, SC_CTL_IO) ? why_not(plan, SC_CTL_IO)
                      : !host->n_disks      ? "no disk was found that the limit could be set on"
                                            : "this host has more disks than can be limited";
    if (limits->io_read == SC_UNSET && limits->io_write == SC_UNSET)
        return 0;
    if (has(plan, SC_CTL_IO) && host->n_disks && !host->disks_left_out)
        return 0;
    limits->io_read = limits->io_write = SC_UNSET;
    return go_without(plan, SC_DEGRADE_IO, "an io bandwidth limit", why, err);
}

static int check_groups(struct sc_plan *plan, struct sc_err *err)
{
    int r = 0;
    if (!has(plan, SC_CTL_MEMORY))
        r = go_without(plan, SC_DEGRADE_MEMORY, "a memory limit over the whole cell",
                       why_not(plan, SC_CTL_MEMORY), err);
    if (r == 0 && !has(plan, SC_CTL_CPUACCT))
        r = go_without(plan, SC_DEGRADE_CPU, "a processor time limit over the whole cell",
                       why_not(plan, SC_CTL_CPUACCT), err);
    if (r == 0 && !has(plan, SC_CTL_CPU))
        r = go_without(plan, SC_DEGRADE_CPUS, "a processor rate", why_not(plan, SC_CTL_CPU), err);
    if (r == 0)
        r = check_io(plan, err);
    /* Without a pids group RLIMIT_NPROC holds the same: it counts inside the cell's own user namespace
     * (Linux 5.14). */
    return r;
}

static int check_rest(struct sc_plan *plan, struct sc_err *err)
{
    const struct sc_host *host = plan->host;
    int r = 0;
    if (plan->disk_image && (!host->root || !host->loop_devices)) {
        r = go_without(plan, SC_DEGRADE_DISK, "a disk-backed work folder",
                       host->root ? "no loop devices or no mkfs.ext4" : "it takes root", err);
        /* What is accepted then is a folder in memory that fits. */
        plan->disk_image = false;
        plan->limits.disk = sc_min_u64(plan->limits.disk, plan->limits.memory / 4);
    }
    if (r == 0 && host->landlock_abi < 1)
        r = go_without(plan, SC_DEGRADE_LANDLOCK, "Landlock", "the kernel does not offer it", err);
    if (r == 0 && plan->limits.open_files > host->open_files_hard) {
        char why[96];
        snprintf(why, sizeof why, "the hard limit of this process is %llu",
                 (unsigned long long)host->open_files_hard);
        r = go_without(plan, SC_DEGRADE_OPEN_FILES, "that many open files", why, err);
        plan->limits.open_files = host->open_files_hard;
    }
    if (r == 0 && host->apparmor_enabled) {
        plan->apparmor = host->apparmor_profile_loaded;
        if (!plan->apparmor)
            r = go_without(plan, SC_DEGRADE_APPARMOR, "the AppArmor layer",
                           "AppArmor is on but the profile snapcell-cell is not loaded", err);
    }
    return r;
}

static void add_fresh(struct sc_plan *plan, enum sc_fresh_kind kind, const char *path, uint64_t bytes,
                      uint64_t inodes, uint32_t mode, bool owned)
{
    plan->fresh[plan->n_fresh++] = (struct sc_plan_fresh){
        .kind = kind, .path = path, .bytes = bytes, .inodes = inodes, .mode = mode, .owned = owned};
}

#define TRUST_BYTES SC_MIB /* more than all authorities of a system */

static void plan_fresh(struct sc_plan *plan)
{
    const struct sc_limits *limits = &plan->limits;
    /* proc first: in a user namespace it can be made only before the template is joined. */
    add_fresh(plan, SC_FRESH_PROC, "/proc", 0, 0, 0555, false);
    add_fresh(plan, plan->disk_image ? SC_FRESH_IMAGE : SC_FRESH_TMPFS, SC_CELL_HOME, limits->disk,
              limits->disk_inodes, 0755, true);
    add_fresh(plan, SC_FRESH_TMPFS, "/tmp", limits->tmp, limits->tmp_inodes, 01777, true);
    add_fresh(plan, SC_FRESH_TMPFS, "/dev/shm", limits->shm, 4096, 01777, true);
    add_fresh(plan, SC_FRESH_DEVPTS, "/dev/pts", 0, 0, 0620, true);
    if (plan->own_authority)
        add_fresh(plan, SC_FRESH_TMPFS, SC_CELL_TRUST_FOLDER, TRUST_BYTES, 8, 0755, true);
}

static void add_rlimit(struct sc_plan *plan, int resource, uint64_t value)
{
    plan->rlimits[plan->n_rlimits++] = (struct sc_plan_rlimit){resource, value};
}

#define NPROC_BEHIND 16
#define KIN_MAX 256 /* cells that are below one at most */

static void plan_rlimits(struct sc_plan *plan)
{
    const struct sc_limits *limits = &plan->limits;
    add_rlimit(plan, RLIMIT_CORE, 0);
    add_rlimit(plan, RLIMIT_NOFILE, limits->open_files);
    add_rlimit(plan, RLIMIT_FSIZE, limits->file_size);
    add_rlimit(plan, RLIMIT_STACK, 8 * SC_MIB);
    /* A second wall a little behind pids.max, which counts its refusals; alone where there is no such group.
     * Where agent and program share an id the agent counts too. */
    uint64_t tasks =
        limits->tasks + (plan->agent_shares_uid ? 1 : 0) + (has(plan, SC_CTL_PIDS) ? NPROC_BEHIND : 0);
    add_rlimit(plan, RLIMIT_NPROC, tasks);
    /* The kernel counts with a zygote's processes those of the cells below it. Where a group counts its own,
     * it may start one more for as long as there is room for one more cell. */
    if (plan->zygote && has(plan, SC_CTL_PIDS))
        plan->zygote_tasks = tasks * KIN_MAX;
    add_rlimit(plan, RLIMIT_MEMLOCK, 8 * SC_MIB);
    add_rlimit(plan, RLIMIT_MSGQUEUE, 800 * 1024);
    add_rlimit(plan, RLIMIT_SIGPENDING, 4096);
    add_rlimit(plan, RLIMIT_NICE, 0);
    add_rlimit(plan, RLIMIT_RTPRIO, 0);
    /* A session's limit is of each run; its interpreters live through many. Where a group counts this is a
     * second wall behind it; an interpreter that was started for the run has used some before. */
    bool has_more = plan->stay || !(plan->degraded & SC_DEGRADE_CPU);
    if (!plan->spec->session)
        add_rlimit(plan, RLIMIT_CPU, (limits->cpu + SC_NS_PER_S - 1) / SC_NS_PER_S + has_more);
    if (plan->degraded & SC_DEGRADE_MEMORY)
        add_rlimit(plan, RLIMIT_DATA, limits->memory);
}

static void add_lock(struct sc_plan *plan, const char *path, uint64_t access)
{
    plan->locks[plan->n_locks++] = (struct sc_plan_lock){path, access & plan->landlock_handled_fs};
}

/* The ruleset is made in each cell after its mounts, so these paths name the fresh file systems themselves.
 */
static void plan_landlock(struct sc_plan *plan)
{
    int abi = plan->host->landlock_abi;
    uint64_t all = SC_LANDLOCK_FS_ABI1;
    const uint64_t read = SC_LANDLOCK_FS_EXECUTE | SC_LANDLOCK_FS_READ_FILE | SC_LANDLOCK_FS_READ_DIR;
    if (abi < 1)
        return;
    all |= (abi >= 2 ? SC_LANDLOCK_FS_REFER : 0) | (abi >= 3 ? SC_LANDLOCK_FS_TRUNCATE : 0) |
           (abi >= 5 ? SC_LANDLOCK_FS_IOCTL_DEV : 0);
    plan->landlock_handled_fs = all;
    plan->landlock_scoped = abi >= 6 ? SC_LANDLOCK_SCOPE_ABSTRACT_UNIX | SC_LANDLOCK_SCOPE_SIGNAL : 0;
    add_lock(plan, "/", read);
    add_lock(plan, SC_CELL_HOME, all);
    add_lock(plan, "/tmp", all);
    add_lock(plan, "/dev/shm", all);
    add_lock(plan, "/dev/pts", read | SC_LANDLOCK_FS_WRITE_FILE | SC_LANDLOCK_FS_IOCTL_DEV);
    add_lock(plan, "/dev",
             read | SC_LANDLOCK_FS_WRITE_FILE | SC_LANDLOCK_FS_TRUNCATE | SC_LANDLOCK_FS_IOCTL_DEV);
    add_lock(plan, "/proc", read | SC_LANDLOCK_FS_WRITE_FILE);
}

int sc_plan_limits(struct sc_plan *plan, struct sc_err *err)
{
    int r = check_groups(plan, err);
    if (r == 0)
        r = check_rest(plan, err);
    if (r < 0)
        return r;
    plan_fresh(plan);
    plan_rlimits(plan);
    plan_landlock(plan);
    r = sc_plan_cgroup_values(plan->host, &plan->limits, plan->spec->pin, plan->stay, plan->cgroup,
                              SC_PLAN_CGROUP_MAX, err);
    if (r < 0)
        return r;
    plan->n_cgroup = (size_t)r;
    return 0;
}
