/* Should: per-process limits stand behind the group's, and alone where no group counts.
 * Must not: use an address-space limit: V8, Go, Java and BLAS reserve far more than they use.
 * Verified by: claims limits-*.
 */
#include <errno.h>
#include <sys/resource.h>

#include "cell/enter.h"

int enter_limits(struct sc_enter *enter)
{
    const struct sc_image *image = enter->image;
    for (uint32_t i = 0; i < image->n_rlimits; i++) {
        const struct rlimit both = {image->rlimits[i].value, image->rlimits[i].value};
        enter->object = "resource limit";
        if (setrlimit((int)image->rlimits[i].resource, &both) < 0)
            return -errno;
    }
    return 0;
}
