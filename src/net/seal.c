/* Should: after this the process can read /etc/hosts, make TCP connections and ask name servers, and nothing
 * else. Must not: make processes, open other files, listen, be looked into.
 * Verified by: tests/egress/test_process.py, and tests/unit/net/test_filter.c for the calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/sys.h"
#include "net/egress.h"
#include "plan/filter_built.h"

static int set_limits(void)
{
    static const struct {
        int resource;
        rlim_t value;
    } limits[] = {{RLIMIT_NOFILE, SC_NET_FDS_A_CONNECTION * SC_NET_CONNECTIONS_MAX + SC_NET_FDS_BESIDE},
                  {RLIMIT_CORE, 0},
                  {RLIMIT_FSIZE, 0},
                  {RLIMIT_MEMLOCK, 0},
                  {RLIMIT_DATA, 512ul << 20}};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct rlimit now;
        if (getrlimit(limits[i].resource, &now) < 0)
            return -errno;
        rlim_t value = limits[i].value < now.rlim_max ? limits[i].value : now.rlim_max;
        const struct rlimit wanted = {value, value};
        if (setrlimit(limits[i].resource, &wanted) < 0)
            return -errno;
    }
    return 0;
}

/* Of files only /etc/hosts, and only for reading. */
static int confine_files(void)
{
    uint64_t handled = SC_LANDLOCK_FS_ABI1;
    int ruleset = sc_sys_landlock_create(handled, 0);
    if (ruleset < 0)
        return ruleset;
    int hosts = open("/etc/hosts", O_PATH | O_CLOEXEC), r = 0;
    if (hosts >= 0) {
        r = sc_sys_landlock_add_path(ruleset, hosts, SC_LANDLOCK_FS_READ_FILE);
        close(hosts);
    }
    if (r == 0)
        r = sc_sys_landlock_restrict(ruleset);
    close(ruleset);
    return r;
}

/* Also what could only be inherited. */
static int drop_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {{0}};
    return syscall(SYS_capset, &head, none) < 0 ? -errno : 0;
}

static int filter_calls(void)
{
    const struct sc_filter *filter = &sc_filters_built[0];
    const struct sock_fprog program = {filter->n_insns, (struct sock_filter *)(uintptr_t)filter->insns};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}

int sc_egress_seal(bool landlock, const char **ret_step)
{
    *ret_step = "limits";
    int r = set_limits();
    if (r < 0)
        return r;
    *ret_step = "privileges";
    if (prctl(PR_SET_NAME, "snapcell-egress", 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return -errno;
    r = drop_capabilities();
    if (r < 0)
        return r;
    *ret_step = "landlock";
    r = landlock ? confine_files() : 0;
    if (r < 0)
        return r;
    *ret_step = "filter";
    return filter_calls();
}
