/* Time is the monotonic clock in nanoseconds, everywhere. */
#ifndef SC_BASE_CLOCK_H
#define SC_BASE_CLOCK_H

#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#define SC_NS_PER_MS 1000000ull
#define SC_NS_PER_S 1000000000ull

static inline uint64_t sc_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SC_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* As wait4 tells processor time. */
static inline uint64_t sc_timeval_ns(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * SC_NS_PER_S + (uint64_t)time->tv_usec * 1000;
}

#endif
