/* Should: the program starts in the folder that the plan, or its command, names, reached with its own rights.
 * Must not: start anywhere else when that fails.
 * Verified by: claims fs-cwd.
 */
#include <errno.h>
#include <unistd.h>

#include "cell/enter.h"

int enter_cwd(struct sc_enter *enter)
{
    enter->object = enter->cwd ? enter->cwd : sc_image_text(enter->image, enter->image->cwd);
    return chdir(enter->object) < 0 ? -errno : 0;
}
