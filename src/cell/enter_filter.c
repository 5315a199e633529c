/* Should: only the system calls of the plan's profile reach the kernel; the refused ones of interest are told to the
 *   supervisor, which answers them with the errno that the profile names.
 * Must not: let a call through that was decided on by looking at memory, which another thread could change.
 * Verified by: claims filter-*, the sweep in tests/unit/filter.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell/enter.h"

#define NEW_LISTENER (1u << 3)

int enter_filter(struct sc_enter *enter)
{
    const struct sc_image *image = enter->image;
    struct sock_fprog program = {.len = (unsigned short)image->n_insns,
                                 .filter = (struct sock_filter *)sc_image_text(image, image->filter)};
    enter->object = "seccomp";
    long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, NEW_LISTENER, &program);
    if (r < 0)
        return -errno;
    enter->listener = (int)r;
    return 0;
}
