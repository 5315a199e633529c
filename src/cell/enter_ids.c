/* Should: the agent runs under an id of its own, so that no program of the cell can signal, trace or read it.
 * Must not: keep the maker's id in any of the three places.
 * Verified by: claims agent-*.
 */
#include <errno.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "cell/enter.h"

int enter_ids(struct sc_enter *enter)
{
    uid_t uid = enter->image->agent_uid;
    enter->object = "agent id";
    if (setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
        return -errno;
    if (getuid() != uid || geteuid() != uid || getgid() != uid)
        return -EPERM;
    return 0;
}
