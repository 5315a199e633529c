/* Should: where the host has AppArmor and our profiles are loaded, the program enters its own at exec. One
 * that can be forked has another, which leaves what a fork needs until it is in its own cell; forks stay in
 * it, for there is no exec at which they could enter the first, and the /proc of a cell is read-only. Must
 * not: go on when the kernel refuses. Verified by: tests/vm claims apparmor-*.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cell/enter.h"

static const char REQUEST[] = "exec snapcell-cell", FORKABLE[] = "exec snapcell-forkable";

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
    const char *request = enter->boot.flags & SC_BOOT_FORKABLE ? FORKABLE : REQUEST;
    int r = write(fd, request, strlen(request)) == (ssize_t)strlen(request) ? 0 : -errno;
    close(fd);
    return r;
}
