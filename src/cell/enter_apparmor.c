/* Should: where the host has AppArmor and our profile is loaded, the program enters it at exec.
 * Must not: go on when the kernel refuses.
 * Verified by: tests/vm claims apparmor-*.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cell/enter.h"

static const char REQUEST[] = "exec snapcell-cell";

int enter_apparmor(struct sc_enter *enter)
{
    if (!(enter->image->flags & SC_IMAGE_APPARMOR))
        return 0;
    enter->object = "attr/apparmor/exec";
    int fd = openat(enter->proc_fd, "thread-self/attr/apparmor/exec", O_WRONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) /* before Linux 5.8 */
        fd = openat(enter->proc_fd, "thread-self/attr/exec", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = write(fd, REQUEST, sizeof REQUEST - 1) == (ssize_t)sizeof REQUEST - 1 ? 0 : -errno;
    close(fd);
    return r;
}
