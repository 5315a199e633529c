/* The doctor's judgement: one finding for each thing that was looked at, with a fix where something lacks. */
#include "host/host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

struct list {
    struct sc_finding *findings;
    int n;
};

static void add(struct list *list, enum sc_finding_level level, const char *name, const char *fix,
                const char *what, ...) __attribute__((format(printf, 5, 6)));

static void add(struct list *list, enum sc_finding_level level, const char *name, const char *fix,
                const char *what, ...)
{
    if (list->n >= SC_FINDINGS_MAX)
        return;
    struct sc_finding *f = &list->findings[list->n++];
    va_list ap;
    memset(f, 0, sizeof *f);
    f->level = level;
    snprintf(f->name, sizeof f->name, "%s", name);
    snprintf(f->fix, sizeof f->fix, "%s", fix);
    va_start(ap, what);
    vsnprintf(f->what, sizeof f->what, what, ap);
    va_end(ap);
}

#define OLDEST_MAJOR 5
#define OLDEST_MINOR 12

static bool is_old(const struct sc_host *host)
{
    return host->kernel_major < OLDEST_MAJOR ||
           (host->kernel_major == OLDEST_MAJOR && host->kernel_minor < OLDEST_MINOR);
}

static void judge_kernel(const struct sc_host *host, struct list *list)
{
    const char *call = host->missing_call;
    if (is_old(host))
        add(list, SC_FINDING_BLOCKER, "kernel",
            "Use a kernel of 5.12 or later; 6.1 and later have everything.", "%s is too old%s%s",
            host->kernel, *call ? ": it has no " : "", call);
    else if (*call)
        add(list, SC_FINDING_BLOCKER, "kernel",
            "A system-call filter forbids it: update the container engine and its libseccomp, or start the "
            "container "
            "with --security-opt seccomp=unconfined.",
            "%s: the system call %s is refused, and every cell needs it", host->kernel, call);
    else if (!host->pidfd)
        add(list, SC_FINDING_BLOCKER, "kernel",
            "Use a kernel of 5.12 or later without a filter on pidfd calls.",
            "%s: processes cannot be held by descriptors (clone3 with pidfds)", host->kernel);
    else
        add(list, SC_FINDING_OK, "kernel", "", "%s: every system call that cells need is there",
            host->kernel);
}

static void judge_identity(const struct sc_host *host, struct list *list)
{
    if (host->root)
        add(list, SC_FINDING_OK, "identity", "", "root: cells live in host uids %u to %u, each its own",
            (unsigned)host->cell_uid_base, (unsigned)(host->cell_uid_base + host->cell_uid_count - 1));
    else if (host->bare_uid0)
        add(list, SC_FINDING_BLOCKER, "identity",
            "Run as an ordinary user; or as root with its capabilities and without a user namespace around "
            "it (Docker: "
            "--cap-add SYS_ADMIN with a matching seccomp and AppArmor setting, or --privileged).",
            "uid %u is 0 outside, without the capabilities of root: a cell's user would be root behind a map",
            (unsigned)host->uid);
    else if (host->sub_uid != (uid_t)-1)
        add(list, SC_FINDING_OK, "identity", "",
            "uid %u with subordinate ids: the cell's agent has an id of its own", (unsigned)host->uid);
    else
        add(list, SC_FINDING_DEGRADED, "identity",
            host->no_new_privs
                ? "no_new_privs is set for this process: start it from a session that is not restricted so."
                : "Install newuidmap and newgidmap (Debian: apt install uidmap), and give the user a line in "
                  "/etc/subuid and in /etc/subgid: usermod --add-subuids 100000-165535 --add-subgids "
                  "100000-165535 USER.",
            "uid %u without %s: agent and program share one uid", (unsigned)host->uid,
            host->id_map_helpers ? "subordinate ids" : "newuidmap and newgidmap");
}

/* Each way to forbid user namespaces falls at another step and wants another cure. */
static const char *userns_fix(const struct sc_host *host)
{
    bool refused = host->userns_errno == -EPERM || host->userns_errno == -EACCES;
    if (host->apparmor_restricts_userns)
        return "AppArmor restricts unprivileged user namespaces (Ubuntu 23.10 and later): load a profile "
               "with "
               "'userns,' for the snapcell binary (docs/hosts.md), or switch the restriction off: sysctl "
               "-w "
               "kernel.apparmor_restrict_unprivileged_userns=0.";
    if (host->userns_errno == -ENOSPC)
        return "Allow more of them: sysctl -w user.max_user_namespaces=15000 (and the other "
               "user.max_*_namespaces).";
    if (host->userns_errno == -ENOSYS || host->userns_errno == -EINVAL)
        return "This kernel was built without one of the namespaces: use a distribution's kernel.";
    if (refused && !strcmp(host->userns_step, "mount proc"))
        return "The container covers parts of /proc, and the kernel then lets nobody mount a whole one: "
               "start it with "
               "--security-opt systempaths=unconfined (Docker), --security-opt unmask=ALL (Podman) or "
               "procMount: "
               "Unmasked (Kubernetes).";
    if (refused && host->in_container)
        return "The container forbids it: start it with --security-opt seccomp=unconfined (better: a profile "
               "that "
               "allows unshare, clone, mount, setns, pivot_root) and --security-opt apparmor=unconfined.";
    if (refused)
        return "Allow ordinary users to make them: sysctl -w kernel.unprivileged_userns_clone=1 (Debian "
               "before 11), "
               "or run as root.";
    return "Look at the step that failed; docs/hosts.md lists what each one needs.";
}

static void judge_userns(const struct sc_host *host, struct list *list)
{
    if (host->userns_errno < 0)
        add(list, SC_FINDING_BLOCKER, "user-namespaces", userns_fix(host),
            "no cell can be made: %s failed: %s", host->userns_step, strerror(-host->userns_errno));
    else
        add(list, SC_FINDING_OK, "user-namespaces", "", "%s",
            host->userns_tried
                ? "made one with mount, pid, net, ipc, uts and cgroup namespaces and a /proc in it"
                : "not forbidden; a thorough probe would try");
}

static void judge_apparmor(const struct sc_host *host, struct list *list)
{
    if (!host->apparmor_enabled)
        add(list, SC_FINDING_OK, "apparmor", "", "not enabled on this host; cells have the other layers");
    else if (host->apparmor_profile_loaded)
        add(list, SC_FINDING_OK, "apparmor", "", "the profile snapcell-cell is loaded");
    else
        add(list, SC_FINDING_BLOCKER, "apparmor",
            "Load it as root: apparmor_parser -r /etc/apparmor.d/snapcell-cell (make install puts it there), "
            "or "
            "accept its absence with --allow-degraded apparmor.",
            "AppArmor is enabled but the profile snapcell-cell is not loaded");
}

/* What no cell can be made without. */
static void need(struct list *list, bool there, const char *name, const char *what, const char *lack,
                 const char *fix)
{
    add(list, there ? SC_FINDING_OK : SC_FINDING_BLOCKER, name, there ? "" : fix, "%s", there ? what : lack);
}

static void judge_layers(const struct sc_host *host, struct list *list)
{
    if (host->landlock_abi > 0)
        add(list, SC_FINDING_OK, "landlock", "", "ABI %d%s", host->landlock_abi,
            host->landlock_abi < 6 ? " (no scopes before 6; the namespaces do their work)" : "");
    else
        add(list, SC_FINDING_BLOCKER, "landlock",
            "Start the kernel with lsm=landlock,… (5.13 or later, CONFIG_SECURITY_LANDLOCK), or accept its "
            "absence "
            "with --allow-degraded landlock.",
            "this kernel offers no Landlock: the file rules would have no second layer");
    need(list, host->seccomp_user_notif, "seccomp-notify", "refused system calls can be recorded",
         "no seccomp user notification",
         "Use a kernel with CONFIG_SECCOMP_FILTER; in a container allow seccomp().");
    need(list, host->time_namespace, "time-namespace", "there", "this kernel has no time namespaces",
         "Use a kernel with CONFIG_TIME_NS: distributions' kernels have it.");
    need(list, host->cgroup_namespace, "cgroup-namespace", "there", "this kernel has no cgroup namespaces",
         "Use a kernel with CONFIG_CGROUPS: distributions' kernels have it.");
    judge_apparmor(host, list);
}

static const char *cgroup_fix(const struct sc_host *host)
{
    if (host->controllers[SC_CTL_MEMORY].version != SC_CGROUP_NONE)
        return host->systemd
                   ? "Have systemd delegate all controllers: Delegate=cpu cpuset io memory pids in "
                     "/etc/systemd/system/user@.service.d/delegate.conf (docs/hosts.md)."
                   : "Enable the controller for that group: echo +NAME > cgroup.subtree_control in every "
                     "group above it (docs/hosts.md).";
    if (host->in_container)
        return "Give the container a writable cgroup of its own (Docker: --cgroupns=private with a writable "
               "/sys/fs/cgroup, e.g. --privileged; Podman: --security-opt unmask=/sys/fs/cgroup with cgroups "
               "delegated), name it with --cgroup-parent, or accept: --allow-degraded memory,cpu,cpus.";
    if (host->systemd && !host->root)
        return "Run below a delegated group: systemd-run --user --scope -p Delegate=yes snapcell …, or let "
               "the "
               "administrator delegate one (docs/hosts.md), or accept: --allow-degraded memory,cpu,cpus.";
    if (host->cgroup_layout == SC_LAYOUT_V1 || host->cgroup_layout == SC_LAYOUT_HYBRID)
        return "On cgroup v1 root must make the groups: mkdir GROUP in every controller's hierarchy, chown "
               "-R USER, "
               "then --cgroup-parent /GROUP; or boot with systemd.unified_cgroup_hierarchy=1; or accept: "
               "--allow-degraded memory,cpu,cpus.";
    return "As root: mkdir /sys/fs/cgroup/GROUP, enable its controllers, chown the group, cgroup.procs and "
           "cgroup.subtree_control to the user, start the shell in a child of it, then --cgroup-parent "
           "/GROUP; or "
           "accept: --allow-degraded memory,cpu,cpus.";
}

/* `lacking`: how bad it is not to have it; `without` says what is done then. */
static void judge_controller(const struct sc_host *host, struct list *list, enum sc_controller controller,
                             enum sc_finding_level lacking, const char *limit, const char *without)
{
    const struct sc_host_controller *c = &host->controllers[controller];
    char name[40];
    snprintf(name, sizeof name, "cgroup-%s", SC_CONTROLLER_NAMES[controller]);
    if (c->version != SC_CGROUP_NONE)
        add(list, SC_FINDING_OK, name, "", "%s by cgroup v%d below %.150s", limit,
            c->version == SC_CGROUP_V2 ? 2 : 1, c->dir);
    else
        add(list, lacking, name, lacking == SC_FINDING_OK ? "" : cgroup_fix(host), "%s; %s", c->why, without);
}

static void judge_cgroups(const struct sc_host *host, struct list *list)
{
    static const char *const layouts[] = {"no cgroup file system is mounted", "cgroup v1", "cgroup v2",
                                          "hybrid: cgroup v1 and v2 are both mounted"};
    add(list, host->cgroup_layout == SC_LAYOUT_NONE ? SC_FINDING_DEGRADED : SC_FINDING_OK, "cgroup-layout",
        host->cgroup_layout == SC_LAYOUT_NONE ? "Mount it: mount -t cgroup2 none /sys/fs/cgroup." : "",
        "%s%s", layouts[host->cgroup_layout],
        host->in_scope ? "; systemd gave this process a scope of its own" : "");
    judge_controller(host, list, SC_CTL_MEMORY, SC_FINDING_BLOCKER, "memory of the whole cell",
                     "memory could only be limited for each process");
    judge_controller(host, list, SC_CTL_PIDS, SC_FINDING_OK, "number of tasks",
                     "RLIMIT_NPROC in the cell's user namespace takes its place");
    judge_controller(host, list, SC_CTL_CPU, SC_FINDING_BLOCKER, "rate of processor time",
                     "the rate could not be limited");
    judge_controller(host, list, SC_CTL_CPUACCT, SC_FINDING_BLOCKER, "processor time of the whole cell",
                     "processor time could only be limited for each process");
    judge_controller(host, list, SC_CTL_IO, SC_FINDING_DEGRADED, "io bandwidth",
                     "--io-read and --io-write are refused");
    judge_controller(host, list, SC_CTL_CPUSET, SC_FINDING_OK, "pinning",
                     "the scheduler's affinity takes its place");
    if (host->disks_left_out)
        add(list, SC_FINDING_DEGRADED, "io-disks", "Leave --io-read and --io-write out on this host.",
            "more than %d disks are mounted: io limits cannot be set on all of them", SC_HOST_DISKS_MAX);
}

static void judge_surroundings(const struct sc_host *host, struct list *list)
{
    char memory[32];
    if (host->in_container)
        add(list, SC_FINDING_OK, "container", "",
            "running inside a container: its limits and filters bound the cells");
    if (host->systemd)
        add(list, SC_FINDING_OK, "systemd", "", "the service manager answers and can be asked for a scope");
    sc_format_bytes(host->memory_bytes >> 20 << 20, memory, sizeof memory);
    add(list, SC_FINDING_OK, "resources", "", "%s of memory, %u processor%s, swap %s", memory, host->cpus,
        host->cpus == 1 ? "" : "s", host->swap_bytes ? "on (off for cells)" : "off");
    bool few = host->open_files_hard < 1024;
    add(list, few ? SC_FINDING_BLOCKER : SC_FINDING_OK, "open-files",
        few ? "Raise it (ulimit -Hn, LimitNOFILE=, /etc/security/limits.conf), ask for fewer with "
              "--open-files, or "
              "accept: --allow-degraded open_files."
            : "",
        "hard limit %" PRIu64 " descriptors%s", host->open_files_hard, few ? "; cells want 1024" : "");
    if (host->root && host->loop_devices)
        add(list, SC_FINDING_OK, "disk-image", "", "--disk can use an ext4 image");
    else
        add(list, SC_FINDING_DEGRADED, "disk-image",
            host->root ? "Install mkfs.ext4 (Debian: apt install e2fsprogs) and load the loop module "
                         "(modprobe loop)."
                       : "Run as root, or accept memory in its place: --allow-degraded disk.",
            "a disk-backed work folder (--disk-backing image) cannot be had: %s",
            host->root ? "no loop devices or no mkfs.ext4" : "it needs root");
}

/* No host can do it: what is there is told, so that nobody looks for a package that would help. */
static void judge_session_memory(const struct sc_host *host, struct list *list)
{
    static const char *const criu[] = {
        [SC_CRIU_MISSING] = "criu is not installed, and would not help",
        [SC_CRIU_FAILS] = "criu is installed, but does not start on this kernel",
        [SC_CRIU_STARTS] =
            "criu starts here, but cannot take a cell's namespaces, Landlock domain and filter along",
    };
    if (host->criu != SC_CRIU_UNKNOWN)
        add(list, SC_FINDING_OK, "session-memory", "", "session pause keeps files, not memory: %s",
            criu[host->criu]);
}

int sc_host_findings(const struct sc_host *host, struct sc_finding ret_findings[SC_FINDINGS_MAX])
{
    struct list list = {.findings = ret_findings};
    judge_kernel(host, &list);
    judge_identity(host, &list);
    judge_userns(host, &list);
    judge_layers(host, &list);
    judge_cgroups(host, &list);
    judge_surroundings(host, &list);
    judge_session_memory(host, &list);
    return list.n;
}
