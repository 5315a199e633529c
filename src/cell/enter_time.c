/* Should: monotonic and boot clocks start near zero in the cell, so that the host's uptime does not show.
 * Must not: touch the wall clock, which has no namespace.
 * Verified by: claims namespaces-time.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/sys.h"
#include "cell/enter.h"

/* "name -seconds nanoseconds\n": the offset that takes `clock` back to the last whole second of its own age. */
static size_t add_offset(char *text, size_t at, const char *name, clockid_t clock)
{
    struct timespec now;
    char number[24];
    clock_gettime(clock, &now);
    const char *parts[] = {name, " -", sc_enter_number((uint64_t)now.tv_sec, number), " 0\n"};
    for (size_t i = 0; i < 4; i++) {
        size_t n = strlen(parts[i]);
        memcpy(text + at, parts[i], n);
        at += n;
    }
    return at;
}

int enter_time(struct sc_enter *enter)
{
    char text[128];
    if (!(enter->image->flags & SC_IMAGE_TIME_NS))
        return 0;
    enter->object = "time namespace";
    if (unshare(CLONE_NEWTIME) < 0)
        return -errno;
    enter->object = "/proc/self/timens_offsets";
    size_t len = add_offset(text, 0, "monotonic", CLOCK_MONOTONIC);
    len = add_offset(text, len, "boottime", CLOCK_BOOTTIME);
    int fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = write(fd, text, len) == (ssize_t)len ? 0 : -errno;
    close(fd);
    return r;
}
