/* Should: every process of the cell is counted and limited from its first instruction on; the cell sees its
 * own group as the root of the hierarchy. Must not: write cgroup.procs (it waits for an RCU grace period,
 * milliseconds); leave a group file open. Verified by: claims group-*, namespaces-cgroup.
 */
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "base/sys.h"
#include "cell/enter.h"

/* v1: a single-threaded process moves itself by writing "0" to `tasks`. On v2 the cell was cloned into its
 * group. */
int enter_group(struct sc_enter *enter)
{
    for (uint32_t i = 0; i < enter->boot.n_groups; i++) {
        enter->object = "tasks";
        if (write(SC_SLOT_GROUP + (int)i, "0", 1) != 1)
            return -errno;
        close(SC_SLOT_GROUP + (int)i);
    }
    enter->object = "cgroup namespace";
    if (unshare(CLONE_NEWCGROUP) < 0)
        return -errno;
    return 0;
}
