/* Should: in a deterministic run each program finds stack, heap and libraries at the same addresses every
 * time, so that what is ordered by address is ordered the same. (A change of AppArmor's profile takes it
 * back; what is preloaded does it again behind that.)
 * Must not: touch other runs, where addresses stay random; be more than ADDR_NO_RANDOMIZE.
 * Verified by: claims deterministic-layout.
 */
#include <errno.h>
#include <sys/personality.h>

#include "cell/enter.h"

int enter_layout(struct sc_enter *enter)
{
    enter->object = "personality";
    if ((enter->image->flags & SC_IMAGE_FIXED_LAYOUT) && personality(ADDR_NO_RANDOMIZE) < 0)
        return -errno;
    return 0;
}
