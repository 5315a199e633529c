#include "cell/usage.h"

#include <linux/magic.h>
#include <sys/statfs.h>

#include "base/num.h"

/* tmpfs counts to the last page; ext4 says "no space" while a few blocks are left that it keeps for its own
 * tables. */
static bool is_full(const struct statfs *st)
{
    uint64_t kept =
        st->f_type == EXT4_SUPER_MAGIC ? sc_min_u64(64, st->f_blocks / 16) + st->f_blocks / 1024 : 0;
    return st->f_blocks > 0 && st->f_bavail <= kept;
}

static void look_at_disk(int fd, uint32_t bytes_hit, uint32_t inodes_hit, uint32_t *hits,
                         struct sc_usage *usage)
{
    struct statfs st;
    if (fd < 0 || fstatfs(fd, &st) < 0)
        return;
    if (is_full(&st))
        *hits |= bytes_hit;
    if (st.f_files > 0 && st.f_ffree == 0)
        *hits |= inodes_hit;
    if (usage) {
        usage->disk_bytes = (st.f_blocks - st.f_bfree) * (uint64_t)st.f_bsize;
        usage->disk_inodes = st.f_files - st.f_ffree;
    }
}

uint64_t sc_cell_look(const struct sc_cell *cell, const int ready[SC_READY_COUNT], const struct sc_plan *plan,
                      struct sc_usage *usage, uint32_t *hits)
{
    struct sc_group_usage group = {0};
    look_at_disk(ready[SC_READY_WORK], SC_HIT_DISK, SC_HIT_DISK_INODES, hits, usage);
    look_at_disk(ready[SC_READY_TMP], SC_HIT_TMP, SC_HIT_TMP_INODES, hits, NULL);
    look_at_disk(ready[SC_READY_SHM], SC_HIT_SHM, 0, hits, NULL);
    if (!cell->space.has_group || sc_group_usage(&cell->space.group, &group) < 0)
        return 0;
    if (!(plan->degraded & SC_DEGRADE_CPU)) {
        usage->cpu_user_ns = group.cpu_user_ns;
        usage->cpu_system_ns = group.cpu_system_ns;
    }
    usage->memory_peak_bytes = group.memory_peak_bytes;
    usage->tasks_peak = group.tasks_peak;
    if (group.tasks_refused)
        *hits |= SC_HIT_TASKS;
    return group.tasks_refused;
}
