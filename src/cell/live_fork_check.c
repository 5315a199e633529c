/* Looks at a process that says it has been sealed, through the kernel's eyes: it must be where the cell's
 * agent is, and what a program of the cell is. It waits meanwhile, and once it is so it cannot undo it. What
 * its filter holds the kernel tells nobody; that it has the cell's own, its listener shows. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sys.h"
#include "cell/live_parts.h"
#include "cell/run.h"

#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x1000U /* Linux 5.8 */
#endif
#define STATUS_MAX 4096
#define GROUPS_MAX 4096

struct look {
    int of_process, of_agent; /* their folders of /proc */
    const char *what;
};

static int is_not(struct look *look, const char *what)
{
    look->what = what;
    return -EPERM;
}

static int open_folder(pid_t pid)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

bool sc_live_fork_place(int folder, const char *path, struct sc_live_place *ret_place)
{
    struct statx st;
    if (statx(folder, path, AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &st) < 0)
        return false;
    ret_place->device = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
    ret_place->inode = st.stx_ino;
    ret_place->mount = st.stx_mask & STATX_MNT_ID ? st.stx_mnt_id : 0;
    return true;
}

static bool is_same(const struct sc_live_place *a, const struct sc_live_place *b)
{
    return a->device == b->device && a->inode == b->inode && a->mount == b->mount;
}

/* The agent's own folder may be closed to us (its memory is nobody's), so what it lent is compared. The mount
 * namespace is that of every program of these works: vacant. */
static int check_place(struct look *look, const struct sc_live *live)
{
    static const char *const places[SC_ADOPT_COUNT] = {
        [SC_ADOPT_USER] = "ns/user", [SC_ADOPT_PID] = "ns/pid", [SC_ADOPT_TIME] = "ns/time",
        [SC_ADOPT_NET] = "ns/net",   [SC_ADOPT_IPC] = "ns/ipc", [SC_ADOPT_CGROUP] = "ns/cgroup",
        [SC_ADOPT_UTS] = "ns/uts",   [SC_ADOPT_ROOT] = "root"};
    struct sc_live_place own, vacant;
    for (int i = SC_ADOPT_USER; i <= SC_ADOPT_ROOT; i++) {
        if (!sc_live_fork_place(look->of_process, places[i], &own))
            return -errno;
        if (!is_same(&own, &live->fork.places[i]))
            return is_not(look, places[i]);
    }
    if (!sc_live_fork_place(look->of_process, "ns/mnt", &own) ||
        !sc_live_fork_place(live->works->tmpl.vacant_ns, "", &vacant))
        return -errno;
    return is_same(&own, &vacant) ? 0 : is_not(look, "ns/mnt");
}

/* Each line of the agent's that names the cell's group must be one of the process's. */
static int check_groups(struct look *look, const struct sc_live *live)
{
    char own[GROUPS_MAX], agents[GROUPS_MAX];
    if (!live->cell.space.has_group)
        return 0;
    ssize_t n = sc_read_text(look->of_process, "cgroup", own, sizeof own);
    ssize_t m = sc_read_text(look->of_agent, "cgroup", agents, sizeof agents);
    if (n < 0 || m < 0)
        return n < 0 ? (int)n : (int)m;
    char *rest = agents;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (strstr(line, live->cell.space.group.name) && !strstr(own, line))
            return is_not(look, "control group");
    return 0;
}

/* The value of "name:\t…" in the text of /proc/PID/status; "" when it has none. */
static const char *value_of(const char *status, const char *name)
{
    size_t len = strlen(name);
    for (const char *line = status; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
        if (!strncmp(line, name, len) && line[len] == ':')
            return line + len + 1 + strspn(line + len + 1, " \t");
    return "";
}

static bool has_ids(const char *value, unsigned long id)
{
    char *end;
    for (int i = 0; i < 4; i++, value = end)
        if (strtoul(value, &end, 10) != id || end == value)
            return false;
    return true;
}

static bool is_zero(const char *value)
{
    return *value == '0' && strspn(value, "0") == strcspn(value, "\n");
}

static int check_status(struct look *look, const struct sc_live *live, pid_t *ret_inside)
{
    static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};
    char status[STATUS_MAX];
    const struct sc_host *host = live->plan->host;
    bool rootless = live->plan->rootless;
    ssize_t n = sc_read_text(look->of_process, "status", status, sizeof status);
    if (n < 0)
        return (int)n;
    if (!has_ids(value_of(status, "Uid"), rootless ? host->uid : live->cell.space.host_uid))
        return is_not(look, "user id");
    if (!has_ids(value_of(status, "Gid"), rootless ? host->gid : live->cell.space.host_uid))
        return is_not(look, "group id");
    if (!rootless && *value_of(status, "Groups") != '\n')
        return is_not(look, "supplementary groups");
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        if (!is_zero(value_of(status, sets[i])))
            return is_not(look, sets[i]);
    if (*value_of(status, "NoNewPrivs") != '1')
        return is_not(look, "no_new_privs");
    if (*value_of(status, "Seccomp") != '2')
        return is_not(look, "system-call filter");
    if (strncmp(value_of(status, "Threads"), "1\n", 2) != 0)
        return is_not(look, "one thread");
    const char *numbers = value_of(status, "NSpid");
    for (size_t len = strcspn(numbers, "\n"); len > 0; len = strcspn(numbers, "\n")) {
        char *end;
        *ret_inside = (pid_t)strtol(numbers, &end, 10);
        if (end == numbers)
            break;
        numbers = end;
    }
    return *ret_inside > 1 ? 0 : is_not(look, "process number");
}

/* The one that its zygote has. */
static int check_profile(struct look *look, const struct sc_live *live)
{
    char label[256];
    if (!live->plan->apparmor)
        return 0;
    ssize_t n = sc_read_text(look->of_process, "attr/apparmor/current", label, sizeof label);
    if (n == -ENOENT) /* before Linux 5.8 */
        n = sc_read_text(look->of_process, "attr/current", label, sizeof label);
    if (n < 0)
        return (int)n;
    return strncmp(label, "snapcell-forkable (enforce)", 27) == 0 ? 0 : is_not(look, "AppArmor profile");
}

bool sc_live_fork_is_listener(int fd)
{
    static const char name[] =
        "anon_inode:seccomp notify"; /* no path begins like this, nor what else is open */
    char path[32], target[sizeof name];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(path, target, sizeof target);
    return n == (ssize_t)sizeof name - 1 && !memcmp(target, name, sizeof name - 1);
}

int sc_live_fork_check(const struct sc_live *live, pid_t pid, pid_t *ret_inside, const char **ret_what)
{
    struct look look = {-1, -1, NULL};
    pid_t inside = 0;
    /* The number stays this process's as long as the descriptor says that it lives. */
    int pidfd = pid > 0 ? sc_sys_pidfd_open(pid) : -ESRCH;
    if (pidfd < 0)
        return pidfd;
    look.of_process = open_folder(pid);
    look.of_agent = open_folder(live->cell.pid);
    int r = look.of_process < 0 ? look.of_process
            : look.of_agent < 0 ? look.of_agent
                                : check_place(&look, live);
    if (r == 0)
        r = check_groups(&look, live);
    if (r == 0)
        r = check_status(&look, live, &inside);
    if (r == 0)
        r = check_profile(&look, live);
    struct pollfd dead = {pidfd, POLLIN, 0};
    if (r == 0 && poll(&dead, 1, 0) != 0)
        r = -ESRCH;
    close(pidfd);
    sc_close(&look.of_process);
    sc_close(&look.of_agent);
    if (r == 0)
        *ret_inside = inside;
    else if (look.what)
        *ret_what = look.what;
    return r;
}
