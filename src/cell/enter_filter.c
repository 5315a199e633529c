/* Should: only the system calls of the plan's profile reach the kernel; the refused ones of interest are told
 * to the supervisor, which answers them with the errno that the profile names. Must not: let a call through
 * that was decided on by looking at memory, which another thread could change. Verified by: claims filter-*,
 * the sweep in tests/unit/filter.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell/enter.h"

#define NEW_LISTENER (1u << 3)
#define WAIT_KILLABLE_RECV (1u << 5) /* Linux 5.19 */

/* A call that the supervisor is at work on is only interrupted by death: no handler runs, and jumps out of
 * the call, while the answer is being written. Older kernels do without: only a program that jumps so can
 * then meet the answer late. */
static long load(const struct sock_fprog *program)
{
    long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, NEW_LISTENER | WAIT_KILLABLE_RECV, program);
    if (r < 0 && errno == EINVAL)
        r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, NEW_LISTENER, program);
    return r;
}

/* The chain of programs that can be forked has no listener, so that each child's can have one: what they have
 * reported is ENOSYS. */
static int enter_forkable(struct sc_enter *enter)
{
    const struct sc_image *image = enter->image;
    struct sock_fprog program = {.len = (unsigned short)image->n_forkable_insns,
                                 .filter =
                                     (struct sock_filter *)sc_image_text(image, image->forkable_filter)};
    enter->object = "seccomp";
    if (image->n_forkable_insns == 0)
        return -EINVAL;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}

int enter_filter(struct sc_enter *enter)
{
    const struct sc_image *image = enter->image;
    if (enter->boot.flags & SC_BOOT_FORKABLE)
        return enter_forkable(enter);
    struct sock_fprog program = {.len = (unsigned short)image->n_insns,
                                 .filter = (struct sock_filter *)sc_image_text(image, image->filter)};
    enter->object = "seccomp";
    long r = load(&program);
    if (r < 0)
        return -errno;
    enter->listener = (int)r;
    return 0;
}
