/* Should: nothing that the cell does is done with a right of the host's: its user namespace maps only the
 * agent's and the program's ids, to host ids that own nothing, and can hold no further namespaces. Must not:
 * map host uid 0; keep supplementary groups (rootless they cannot be given up, and lead to no file in the
 * cell). Verified by: claims ids-*.
 */
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/enter.h"

/* A child cell's agent was born in it. Only now has it all its namespaces, so that no more can be allowed;
 * the maker of a cold cell did this before. One whose programs can be forked has cells below it. */
static int close_namespace(struct sc_enter *enter)
{
    static const char *const limits[] = {"sys/user/max_mnt_namespaces",    "sys/user/max_user_namespaces",
                                         "sys/user/max_pid_namespaces",    "sys/user/max_net_namespaces",
                                         "sys/user/max_ipc_namespaces",    "sys/user/max_uts_namespaces",
                                         "sys/user/max_cgroup_namespaces", "sys/user/max_time_namespaces"};
    size_t count = enter->boot.flags & SC_BOOT_FORKABLE ? 1 : sizeof limits / sizeof limits[0];
    for (size_t i = 0; i < count; i++) {
        enter->object = limits[i];
        int r = sc_write_file(enter->proc_fd, limits[i], "0");
        if (r < 0)
            return r;
    }
    return 0;
}

int enter_user(struct sc_enter *enter)
{
    if (enter->boot.flags & SC_BOOT_CHILD)
        return close_namespace(enter);
    enter->object = "supplementary groups";
    if (!(enter->image->flags & SC_IMAGE_ROOTLESS) && setgroups(0, NULL) < 0)
        return -errno;
    enter->object = "user namespace";
    if (setns(SC_SLOT_USER, CLONE_NEWUSER) < 0)
        return -errno;
    close(SC_SLOT_USER);
    return 0;
}
