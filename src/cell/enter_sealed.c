/* Should: nothing the cell runs can gain a right by exec; the agent's memory, descriptors and environment are closed to
 *   everybody else; the agent dies with its maker.
 * Must not: come before a change of credentials, each of which clears the last two.
 * Verified by: claims agent-memory, privileges-no-new.
 */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>

#include "cell/enter.h"

int enter_sealed(struct sc_enter *enter)
{
    enter->object = "no_new_privs";
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    enter->object = "dumpable";
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return -errno;
    enter->object = "parent's death";
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return -errno;
    return 0;
}
