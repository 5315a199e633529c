/* Should: the agent and its shepherds run before the programs of their cell, so that a crowd of those that
 * wants all processors cannot keep them from ending it in time.
 * Must not: fail where the caller has no right to this; it makes the end prompt, and holds nothing in.
 * Verified by: claims agent-priority.
 */
#include <sys/resource.h>

#include "cell/enter.h"

#define AHEAD 10 /* about nine times a program's weight; what the agent does itself is little */

int enter_priority(struct sc_enter *enter)
{
    /* A child cell's was set by its midwife, who has the right. */
    if (enter->boot.flags & SC_BOOT_CHILD)
        return 0;
    enter->nice = getpriority(PRIO_PROCESS, 0);
    (void)setpriority(PRIO_PROCESS, 0, enter->nice - AHEAD);
    return 0;
}
