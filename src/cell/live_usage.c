/* What is known of a living cell from outside. */
#include <errno.h>

#include "base/clock.h"
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

int sc_live_memory(const struct sc_live *live, uint64_t *ret_bytes)
{
    if (!live->cell.space.has_group)
        return -ENODATA;
    return sc_group_memory_bytes(&live->cell.space.group, ret_bytes);
}

void sc_live_look(const struct sc_live *live, struct sc_live_view *ret_view)
{
    const struct rusage *own = &live->death.usage; /* nothing yet while process 1 lives */
    struct sc_live_view view = {
        .usage.start_ns = live->has_ready ? live->ready_ns - live->begun_ns : 0,
        .usage.rss_peak_bytes = sc_max_u64(live->rss_peak_bytes, (uint64_t)own->ru_maxrss * 1024),
        .usage.cpu_user_ns = sc_max_u64(live->user_ns, sc_timeval_ns(&own->ru_utime)),
        .usage.cpu_system_ns = sc_max_u64(live->system_ns, sc_timeval_ns(&own->ru_stime)),
        .hits = live->told.limits_hit,
    };
    view.counts.tasks = sc_cell_look(&live->cell, live->ready, live->plan, &view.usage, &view.hits);
    view.counts.network = sc_cell_network_refused(&live->cell);
    view.counts.memory_kills = live->memory_kills;
    *ret_view = view;
}

void sc_live_usage(const struct sc_live *live, struct sc_usage *ret_usage)
{
    struct sc_live_view view;
    sc_live_look(live, &view);
    *ret_usage = view.usage;
}

uint32_t sc_live_limits_hit(const struct sc_live *live)
{
    struct sc_live_view view;
    sc_live_look(live, &view);
    return view.hits;
}

void sc_live_counts(const struct sc_live *live, struct sc_live_counts *ret_counts)
{
    struct sc_live_view view;
    sc_live_look(live, &view);
    *ret_counts = view.counts;
}
