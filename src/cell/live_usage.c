/* What is known of a living cell from outside. */
#include "base/num.h"
#include "cell/live_parts.h"
#include "cell/usage.h"

uint64_t sc_live_cpu_ns(const struct sc_live *live)
{
    uint64_t used = 0;
    if (live->cell.space.has_group && !(live->plan->degraded & SC_DEGRADE_CPU) &&
        sc_group_cpu_ns(&live->cell.space.group, &used) == 0)
        return used;
    return live->user_ns + live->system_ns < live->user_ns ? UINT64_MAX : live->user_ns + live->system_ns;
}

static uint64_t ns_of(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * SC_NS_PER_S + (uint64_t)time->tv_usec * 1000;
}

void sc_live_usage(const struct sc_live *live, struct sc_usage *ret_usage)
{
    const struct rusage *own = &live->death.usage; /* nothing yet while process 1 lives */
    uint32_t hits = 0;
    struct sc_usage usage = {
        .start_ns = live->has_ready ? live->ready_ns - live->begun_ns : 0,
        .rss_peak_bytes = sc_max_u64(live->rss_peak_bytes, (uint64_t)own->ru_maxrss * 1024),
        .cpu_user_ns = sc_max_u64(live->user_ns, ns_of(&own->ru_utime)),
        .cpu_system_ns = sc_max_u64(live->system_ns, ns_of(&own->ru_stime)),
    };
    sc_cell_look(&live->cell, live->ready, live->plan, &usage, &hits);
    *ret_usage = usage;
}

uint32_t sc_live_limits_hit(const struct sc_live *live)
{
    struct sc_usage usage = {0};
    uint32_t hits = live->told.limits_hit;
    sc_cell_look(&live->cell, live->ready, live->plan, &usage, &hits);
    return hits;
}

void sc_live_counts(const struct sc_live *live, struct sc_live_counts *ret_counts)
{
    struct sc_usage usage = {0};
    uint32_t hits = 0;
    *ret_counts = (struct sc_live_counts){
        .tasks = sc_cell_look(&live->cell, live->ready, live->plan, &usage, &hits),
        .network = sc_cell_network_refused(&live->cell),
        .memory_kills = live->memory_kills,
    };
}
