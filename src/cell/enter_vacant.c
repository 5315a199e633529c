/* Should: the cell's processes have their root in the cell's mount namespace, but belong to another that
 * holds nothing. So the mount table shows nothing of the host, and every call that changes mounts fails, even
 * with full privilege, for it may only touch mounts of the caller's own namespace. Must not: be followed by
 * any stage that mounts. Nobody lives in the cell's mount namespace, so it lasts as long as somebody has it
 * open, and with its end the covers over /proc go while what they cover can still be reached. A process
 * closes its descriptors before the kernel kills its pid namespace: so the supervisor has it open too, until
 * process 1 is dead, and process 1, before it ends, ends everybody else. Verified by: claims fs-mount-table,
 * fs-mount-calls, end-covers.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "cell/enter.h"

/* A child cell's agent was born in the vacant namespace. */
static int enter_built_root(struct sc_enter *enter)
{
    enter->object = "/";
    if (fchdir(enter->root_fd) < 0 || chroot(".") < 0)
        return -errno;
    close(enter->root_fd);
    enter->root_fd = -1;
    return 0;
}

int enter_vacant(struct sc_enter *enter)
{
    if (enter->boot.flags & SC_BOOT_CHILD)
        return enter_built_root(enter);
    enter->object = "/";
    int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return -errno;
    enter->object = "mount namespace";
    enter->mount_ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    if (enter->mount_ns < 0 || setns(SC_SLOT_VACANT, CLONE_NEWNS) < 0)
        return -errno;
    if (fchdir(root) < 0 || chroot(".") < 0)
        return -errno;
    close(root);
    close(SC_SLOT_VACANT);
    return 0;
}
