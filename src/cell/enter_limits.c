/* Should: per-process limits stand behind the group's, and alone where no group counts.
 * Must not: use an address-space limit: V8, Go, Java and BLAS reserve far more than they use.
 * Verified by: claims limits-*.
 */
#include <errno.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "cell/enter.h"

static rlim_t value_of(const struct sc_enter *enter, const struct sc_image_rlimit *limit)
{
    bool is_zygote = enter->boot.flags & SC_BOOT_FORKABLE && enter->image->zygote_tasks;
    return is_zygote && limit->resource == RLIMIT_NPROC ? enter->image->zygote_tasks : limit->value;
}

int enter_limits(struct sc_enter *enter)
{
    const struct sc_image *image = enter->image;
    for (uint32_t i = 0; i < image->n_rlimits; i++) {
        rlim_t value = value_of(enter, &image->rlimits[i]);
        struct rlimit both;
        enter->object = "resource limit";
        if (getrlimit((int)image->rlimits[i].resource, &both) < 0)
            return -errno;
        /* What the caller may not have, its cells may not either: less is no weaker. */
        if (value > both.rlim_max)
            value = both.rlim_max;
        both.rlim_cur = value;
        /* A second more for the hard limit: so the end comes by SIGXCPU, which says why, and not by SIGKILL.
         */
        if (image->rlimits[i].resource == RLIMIT_CPU && value < both.rlim_max)
            both.rlim_max = value + 1;
        else
            both.rlim_max = value;
        if (setrlimit((int)image->rlimits[i].resource, &both) < 0)
            return -errno;
    }
    return 0;
}
