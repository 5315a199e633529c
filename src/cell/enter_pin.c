/* Should: the program runs only on the processors that were asked for.
 * Must not: be able to widen that again beyond the cpuset of its group, where there is one.
 * Verified by: claims limits-pin.
 */
#include <errno.h>
#include <sched.h>

#include "cell/enter.h"

int enter_pin(struct sc_enter *enter)
{
    const struct sc_image *image = enter->image;
    enter->object = "processors";
    if (image->n_pin &&
        sched_setaffinity(0, image->n_pin, (const cpu_set_t *)sc_image_text(image, image->pin)) < 0)
        return -errno;
    return 0;
}
