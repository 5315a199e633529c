/* Should: the program has the cell user's id in every place and no capability in any set.
 * Must not: be able to go back: that is tried, and ends the program if it works.
 * Verified by: claims ids-*, capabilities-*.
 */
#include <errno.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell/enter.h"

int enter_program_ids(struct sc_enter *enter)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {{0}};
    uid_t uid = enter->image->program_uid;
    enter->object = "program id";
    /* The raw calls: the C library's would look for other threads to change. */
    if (syscall(SYS_setresgid, uid, uid, uid) < 0 || syscall(SYS_setresuid, uid, uid, uid) < 0)
        return -errno;
    enter->object = "capabilities";
    if (syscall(SYS_capset, &header, none) < 0)
        return -errno;
    enter->object = "way back to the agent's id";
    if (uid != enter->image->agent_uid) {
        uid_t back = enter->image->agent_uid;
        if (syscall(SYS_setresuid, back, back, back) == 0 || errno != EPERM)
            return -EPERM;
    }
    return 0;
}
