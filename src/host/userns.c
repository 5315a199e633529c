/* Tries a user namespace with everything a cell needs in it.
 *
 * Reading settings would not do: the kernel's own switch, Debian's and Ubuntu's, AppArmor, a container's
 * filter and masked files each forbid another step, so a child walks the steps and says where it fell. On
 * Ubuntu 24.04 the namespace itself can be made and everything in it is then refused. */
#include "host/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"

enum step {
    STEP_NONE,
    STEP_USER,
    STEP_SETGROUPS,
    STEP_UID_MAP,
    STEP_GID_MAP,
    STEP_OTHERS,
    STEP_FORK,
    STEP_PRIVATE,
    STEP_TMPFS,
    STEP_PROC
};
static const char *const STEP_NAMES[] = {
    "",
    "unshare(CLONE_NEWUSER)",
    "write /proc/self/setgroups",
    "write /proc/self/uid_map",
    "write /proc/self/gid_map",
    "unshare of mount, pid, net, ipc, uts, cgroup",
    "fork",
    "mount propagation",
    "mount tmpfs",
    "mount proc",
};

struct
try {
    char uid_map[32], gid_map[32]; /* computed before the fork */
};

struct fall {
    int step;
    int error; /* negative errno */
};

/* Process 1 of the new pid namespace: only it can mount a /proc of its own. A fresh tmpfs on "/" is out of
 * the way of everything else that this namespace sees. */
static struct fall try_mounts(void)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return (struct fall){STEP_PRIVATE, -errno};
    if (mount("tmpfs", "/", "tmpfs", MS_NOSUID | MS_NODEV, NULL) < 0)
        return (struct fall){STEP_TMPFS, -errno};
    if (mount("proc", "/", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        return (struct fall){STEP_PROC, -errno};
    return (struct fall){0};
}

static struct fall try_namespaces(const struct try *t)
{
    int r;
    if (unshare(CLONE_NEWUSER) < 0)
        return (struct fall){STEP_USER, -errno};
    if ((r = sc_write_file(AT_FDCWD, "/proc/self/setgroups", "deny")) < 0)
        return (struct fall){STEP_SETGROUPS, r};
    if ((r = sc_write_file(AT_FDCWD, "/proc/self/uid_map", t->uid_map)) < 0)
        return (struct fall){STEP_UID_MAP, r};
    if ((r = sc_write_file(AT_FDCWD, "/proc/self/gid_map", t->gid_map)) < 0)
        return (struct fall){STEP_GID_MAP, r};
    if (unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP) <
        0)
        return (struct fall){STEP_OTHERS, -errno};
    return (struct fall){0};
}

/* In the child. The grandchild reports by itself when it gets there. */
static void walk(void *arg, int report_fd)
{
    struct fall fall = try_namespaces(arg);
    pid_t pid = -1;
    if (!fall.step && (pid = fork()) < 0)
        fall = (struct fall){STEP_FORK, -errno};
    if (pid == 0)
        fall = try_mounts();
    if (pid <= 0) {
        sc_write_all(report_fd, &fall, sizeof fall);
        _exit(0);
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static void forbidden_by_count(struct sc_host *host)
{
    uint64_t most;
    if (sc_read_u64(AT_FDCWD, "/proc/sys/user/max_user_namespaces", &most) == 0 && most == 0) {
        host->userns_errno = -ENOSPC;
        snprintf(host->userns_step, sizeof host->userns_step, "%s", STEP_NAMES[STEP_USER]);
    }
}

void sc_probe_userns(struct sc_host *host, bool thorough)
{
    struct try t;
    struct fall fall = {0};
    uint64_t restrict_sysctl = 0;
    host->userns_errno = 0;
    host->userns_step[0] = '\0';
    host->apparmor_restricts_userns = false;
    host->userns_tried = !host->root || thorough;
    if (!host->userns_tried) {
        forbidden_by_count(host);
        return;
    }
    snprintf(t.uid_map, sizeof t.uid_map, "0 %u 1", (unsigned)host->uid);
    snprintf(t.gid_map, sizeof t.gid_map, "0 %u 1", (unsigned)host->gid);
    int r = sc_host_try(walk, &t, &fall, sizeof fall);
    if (r < 0)
        fall = (struct fall){STEP_FORK, r};
    if (fall.step <= STEP_NONE || fall.step > STEP_PROC)
        return;
    host->userns_errno = fall.error;
    snprintf(host->userns_step, sizeof host->userns_step, "%s", STEP_NAMES[fall.step]);
    bool refused = fall.error == -EPERM || fall.error == -EACCES;
    sc_read_u64(AT_FDCWD, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", &restrict_sysctl);
    host->apparmor_restricts_userns =
        refused &&
        (restrict_sysctl == 1 || (host->apparmor_enabled && fall.step > STEP_USER && fall.step < STEP_PROC));
}
