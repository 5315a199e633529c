/* Should: the agent keeps only what starting and ending programs under another id takes (CAP_SETUID,
 * CAP_SETGID, CAP_KILL), valid in the cell's own user namespace; the bounding set is empty, so that no exec
 * gives any back. Must not: leave an inheritable or ambient capability. Verified by: claims capabilities-*.
 */
#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell/enter.h"

#define BIT(cap) (1u << (cap))

int enter_capabilities(struct sc_enter *enter)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2] = {{0}};
    enter->object = "bounding set";
    for (int cap = 0; cap < 64; cap++) {
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
            continue;
        if (errno == EINVAL) /* the first number this kernel does not know */
            break;
        return -errno;
    }
    enter->object = "capabilities";
    sets[0].effective = sets[0].permitted = BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_KILL);
    if (syscall(SYS_capset, &header, sets) < 0)
        return -errno;
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
        return -errno;
    return 0;
}
