/* Should: the program and all that comes from it live under the Landlock ruleset made by enter_landlock.
 * Must not: bind the agent, which must stay outside the domain so that its signals do not reach it.
 * Verified by: claims landlock-*.
 */
#include "base/sys.h"
#include "cell/enter.h"

int enter_domain(struct sc_enter *enter)
{
    enter->object = "Landlock domain";
    return enter->ruleset >= 0 ? sc_sys_landlock_restrict(enter->ruleset) : 0;
}
