/* Should: host and domain name are the cell's own.
 * Must not: show the host's.
 * Verified by: claims namespaces-hostname.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cell/enter.h"

int enter_names(struct sc_enter *enter)
{
    const char *name = sc_image_text(enter->image, enter->image->hostname);
    enter->object = "host name";
    if (sethostname(name, strlen(name)) < 0 || setdomainname("(none)", 6) < 0)
        return -errno;
    return 0;
}
