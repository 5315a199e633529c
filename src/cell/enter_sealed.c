/* Should: nothing the cell runs can gain a right by exec; the agent's memory, descriptors and environment are
 * closed to everybody else. (The agent learns of its supervisor's death by a pidfd and by the stream's end:
 * the kernel's parent's-death signal would come with the end of the thread that made the cell.) Must not:
 * come before a change of credentials, which makes a process dumpable again where fs.suid_dumpable says so.
 * Verified by: claims agent-memory, privileges-no-new.
 */
#include <errno.h>
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
    return 0;
}
