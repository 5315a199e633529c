/* Should: the cell has a network namespace of its own with nothing in it but `lo`, which is up.
 * Must not: keep any way to the namespace it came from.
 * Verified by: claims namespaces-network.
 */
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "cell/enter.h"

int enter_network(struct sc_enter *enter)
{
    enter->object = "network namespace";
    if (setns(SC_SLOT_NET, CLONE_NEWNET) < 0)
        return -errno;
    close(SC_SLOT_NET);
    return 0;
}
