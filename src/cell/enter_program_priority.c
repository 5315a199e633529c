/* Should: a program has the priority of who asked for its cell, not the agent's.
 * Must not: leave it a way back: the limit on priorities is the `limits` stage's.
 * Verified by: claims agent-priority.
 */
#include <errno.h>
#include <sys/resource.h>

#include "cell/enter.h"

int enter_program_priority(struct sc_enter *enter)
{
    enter->object = "priority";
    return setpriority(PRIO_PROCESS, 0, enter->nice) < 0 ? -errno : 0;
}
