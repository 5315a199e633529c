/* Preloaded: the date is $SNAPCELL_CLOCK_FILE's number of seconds (a struct of one int64_t) later than it is. Other clocks, and
 * what asks the kernel itself, are left alone. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int64_t later(void)
{
    static const int64_t *shared;
    if (!shared) {
        const char *path = getenv("SNAPCELL_CLOCK_FILE");
        int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        const void *at = fd >= 0 ? mmap(NULL, sizeof *shared, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
        if (fd >= 0)
            close(fd);
        if (at == MAP_FAILED)
            return 0;
        shared = at;
    }
    return *(const volatile int64_t *)shared;
}

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    int r = (int)syscall(SYS_clock_gettime, clock, ret_time);
    if (r == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        ret_time->tv_sec += later();
    return r;
}

time_t time(time_t *ret_time)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (ret_time)
        *ret_time = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict ret_time, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    *ret_time = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}
