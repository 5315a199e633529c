/* The gate's stages. Order: limits while it may still lower them freely, then ids, then what binds whoever it
 * is.
 *
 * 1. rlimits: no file grows, no core, no further process, a bounded number of descriptors
 * 2. groups, gid, uid; capabilities are gone with uid 0, and taken explicitly where there were some
 * 3. not dumpable, no_new_privs
 * 4. Landlock with no rule at all: no file, no abstract socket, no signal to others
 * 5. seccomp: policy/gate/gate.policy */
#include "cli/gate_seal.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sys.h"
#include "plan/filter.h"

extern const struct sc_filter sc_gate_filters[];

static int limit(int what, rlim_t most)
{
    struct rlimit now;
    if (getrlimit((__rlimit_resource_t)what, &now) < 0)
        return -errno;
    rlim_t top = now.rlim_max < most ? now.rlim_max : most;
    const struct rlimit wanted = {top, top};
    return setrlimit((__rlimit_resource_t)what, &wanted) < 0 ? -errno : 0;
}

static int set_limits(unsigned descriptors)
{
    int r = limit(RLIMIT_NOFILE, descriptors);
    if (r == 0)
        r = limit(RLIMIT_FSIZE, 0);
    if (r == 0)
        r = limit(RLIMIT_CORE, 0);
    return r < 0 ? r : limit(RLIMIT_NPROC, 0);
}

static int become(uid_t uid)
{
    if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
        return -errno;
    return getuid() == uid && geteuid() == uid ? 0 : -EPERM;
}

static int drop_capabilities(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0}};
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
        return -errno;
    return syscall(SYS_capset, &head, none) < 0 ? -errno : 0;
}

/* What this kernel's Landlock knows of: a newer one than the headers is asked for no more than these. */
static int lock(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1u);
    if (abi < 0)
        return errno == ENOSYS || errno == EOPNOTSUPP ? 0 : -errno;
    uint64_t files = SC_LANDLOCK_FS_ABI1 | (abi >= 2 ? SC_LANDLOCK_FS_REFER : 0) |
                     (abi >= 3 ? SC_LANDLOCK_FS_TRUNCATE : 0) | (abi >= 5 ? SC_LANDLOCK_FS_IOCTL_DEV : 0);
    uint64_t scopes = abi >= 6 ? SC_LANDLOCK_SCOPE_ABSTRACT_UNIX | SC_LANDLOCK_SCOPE_SIGNAL : 0;
    int ruleset = sc_sys_landlock_create(files, scopes);
    if (ruleset < 0)
        return ruleset;
    int r = sc_sys_landlock_restrict(ruleset);
    close(ruleset);
    return r;
}

static int filter(void)
{
    const struct sock_fprog program = {.len = sc_gate_filters[0].n_insns,
                                       .filter = (struct sock_filter *)sc_gate_filters[0].insns};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}

int sc_gate_seal(uid_t uid, unsigned descriptors, struct sc_err *err)
{
    int r = set_limits(descriptors);
    if (r < 0)
        return sc_err_sys(err, r, "gate: limits");
    if (uid != 0 && (r = become(uid)) < 0)
        return sc_err_sys(err, r, "gate: becoming uid %u", uid);
    if ((r = drop_capabilities()) < 0)
        return sc_err_sys(err, r, "gate: capabilities");
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return sc_err_sys(err, -errno, "gate: no_new_privs");
    if ((r = lock()) < 0)
        return sc_err_sys(err, r, "gate: Landlock");
    r = filter();
    return r < 0 ? sc_err_sys(err, r, "gate: system-call filter") : 0;
}
