/* Should: nothing that the cell does is done with a right of the host's: its user namespace maps only the
 * agent's and the program's ids, to host ids that own nothing, and can hold no further namespaces. Must not:
 * map host uid 0; keep supplementary groups (rootless they cannot be given up, and lead to no file in the
 * cell). Verified by: claims ids-*.
 */
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <unistd.h>

#include "cell/enter.h"

int enter_user(struct sc_enter *enter)
{
    enter->object = "supplementary groups";
    if (!(enter->image->flags & SC_IMAGE_ROOTLESS) && setgroups(0, NULL) < 0)
        return -errno;
    enter->object = "user namespace";
    if (setns(SC_SLOT_USER, CLONE_NEWUSER) < 0)
        return -errno;
    close(SC_SLOT_USER);
    return 0;
}
