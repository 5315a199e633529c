/* Memory that ran out in a living cell: the kernel's own count says so, and when it was. */
#include "base/clock.h"
#include "cell/live_parts.h"
#include "cell/run.h"

/* Version 1 tells of memory before it has killed and counted. */
#define LOOK_EVERY_NS (5 * SC_NS_PER_MS)
#define LOOK_FOR_NS (2 * SC_NS_PER_S)
/* A kill for memory this short a time before is what the agent died of, or failed for. */
#define MEMORY_DEATH_NS (2 * SC_NS_PER_S)

bool sc_live_lacked_memory(const struct sc_live *live, uint64_t at_ns)
{
    return live->memory_kills > 0 && at_ns < live->memory_ns + MEMORY_DEATH_NS;
}

void sc_live_look_at_memory(struct sc_live *live)
{
    uint64_t kills = live->cell.space.has_group ? sc_group_oom_kills(&live->cell.space.group) : 0;
    if (kills <= live->memory_kills)
        return;
    live->memory_kills = kills;
    live->memory_ns = sc_now_ns();
    live->look_ns = live->look_until_ns = 0;
    live->told.limits_hit |= SC_HIT_MEMORY;
    if (live->events.out_of_memory)
        live->events.out_of_memory(live->events.userdata);
}

/* The group's own count says whether a kill for memory was this cell's; the event only wakes us. */
void sc_live_memory_event(struct sc_live *live)
{
    uint64_t before = live->memory_kills;
    bool early = live->cell.space.group.versions[SC_CTL_MEMORY] == SC_CGROUP_V1;
    sc_live_look_at_memory(live);
    if (early && live->memory_kills == before) {
        live->look_ns = sc_now_ns() + LOOK_EVERY_NS;
        live->look_until_ns = sc_now_ns() + LOOK_FOR_NS;
    }
}

void sc_live_memory_clock(struct sc_live *live, uint64_t now)
{
    if (!live->look_ns || now < live->look_ns)
        return;
    live->look_ns = now < live->look_until_ns ? now + LOOK_EVERY_NS : 0;
    sc_live_look_at_memory(live);
}
