/* Should: the program starts in the folder that the plan, or its command, names, reached with its own rights.
 * A command's may be relative to the plan's. Must not: start anywhere else when that fails. Verified by:
 * claims fs-cwd.
 */
#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "cell/enter.h"

int enter_cwd(struct sc_enter *enter)
{
    bool absolute = enter->cwd && enter->cwd[0] == '/';
    enter->object = sc_image_text(enter->image, enter->image->cwd);
    if (!absolute && chdir(enter->object) < 0)
        return -errno;
    if (!enter->cwd)
        return 0;
    enter->object = enter->cwd;
    return chdir(enter->object) < 0 ? -errno : 0;
}
