/* What the kernel can do, asked of the kernel itself: each call is made with arguments that are refused, or
 * do nothing, where it exists. */
#include "host/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"

#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif
#define LANDLOCK_VERSION_FLAG 1u
#ifndef SECCOMP_RET_USER_NOTIF
#define SECCOMP_RET_USER_NOTIF 0x7fc00000U
#endif

static void read_version(struct sc_host *host)
{
    struct utsname name;
    if (uname(&name) < 0)
        return;
    snprintf(host->kernel, sizeof host->kernel, "%s %.60s", name.sysname, name.release);
    char *end;
    host->kernel_major = (int)strtol(name.release, &end, 10);
    host->kernel_minor = *end == '.' ? (int)strtol(end + 1, NULL, 10) : 0;
}

/* EPERM is a container's filter that does not know the call: for us the same as its absence. */
static bool exists(long result)
{
    return result >= 0 || (errno != ENOSYS && errno != EPERM);
}

static bool pidfd_works(void)
{
    int fd = sc_sys_pidfd_open(getpid());
    if (fd < 0)
        return false;
    int r = sc_sys_pidfd_kill(fd, 0);
    close(fd);
    return r == 0;
}

static const char *first_missing(bool pidfd)
{
    if (!exists(syscall(SYS_clone3, NULL, 0)))
        return "clone3";
    if (!pidfd)
        return "pidfd_open";
    if (!exists(syscall(SYS_close_range, UINT_MAX, UINT_MAX, 0)))
        return "close_range";
    if (!exists(syscall(SYS_openat2, AT_FDCWD, NULL, NULL, 0)))
        return "openat2";
    /* EPERM is the kernel's own answer to a user without privilege here; only the call's absence counts. */
    if (syscall(SYS_mount_setattr, -1, NULL, 0, NULL, 0) < 0 && errno == ENOSYS)
        return "mount_setattr";
    return "";
}

void sc_probe_kernel(struct sc_host *host)
{
    read_version(host);
    bool pidfd = pidfd_works();
    snprintf(host->missing_call, sizeof host->missing_call, "%s", first_missing(pidfd));
    host->pidfd = pidfd && strcmp(host->missing_call, "clone3");
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION_FLAG);
    host->landlock_abi = abi > 0 ? (int)abi : 0;
    uint32_t action = SECCOMP_RET_USER_NOTIF;
    host->seccomp_user_notif = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
    host->time_namespace = access("/proc/self/ns/time_for_children", F_OK) == 0;
    host->cgroup_namespace = access("/proc/self/ns/cgroup", F_OK) == 0;
    host->no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}
