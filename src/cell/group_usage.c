/* Reading a group's counters. */
#include "cell/group.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

/* Small control files, whole. */
static int read_fd(int fd, char *ret_text, size_t size)
{
    ssize_t n = pread(fd, ret_text, size - 1, 0);
    if (n < 0)
        return -errno;
    ret_text[n] = '\0';
    return 0;
}

static int read_file(int dir_fd, const char *file, char *ret_text, size_t size)
{
    int fd = openat(dir_fd, file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = read_fd(fd, ret_text, size);
    close(fd);
    return r;
}

/* Value of "key value" in a file of such lines; 0 when it is not there. */
static uint64_t keyed(const char *text, const char *key)
{
    size_t len = strlen(key);
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
        if (!strncmp(at, key, len) && at[len] == ' ')
            return strtoull(at + len + 1, NULL, 10);
    return 0;
}

int sc_group_cpu_ns(const struct sc_group *group, uint64_t *ret_ns)
{
    char text[1024];
    if (group->cpu_fd < 0)
        return -ENODATA;
    int r = read_fd(group->cpu_fd, text, sizeof text);
    if (r < 0)
        return r;
    *ret_ns = group->versions[SC_CTL_CPUACCT] == SC_CGROUP_V2 ? keyed(text, "usage_usec") * 1000
                                                              : strtoull(text, NULL, 10);
    return 0;
}

int sc_group_memory_bytes(const struct sc_group *group, uint64_t *ret_bytes)
{
    bool v2 = group->versions[SC_CTL_MEMORY] == SC_CGROUP_V2;
    int dir = group->dir_fds[SC_CTL_MEMORY];
    return dir < 0 ? -ENODATA : sc_read_u64(dir, v2 ? "memory.current" : "memory.usage_in_bytes", ret_bytes);
}

uint64_t sc_group_oom_kills(struct sc_group *group)
{
    char text[1024];
    uint64_t count;
    if (group->oom_event_fd >= 0 && group->versions[SC_CTL_MEMORY] == SC_CGROUP_V1) {
        ssize_t n = read(group->oom_event_fd, &count, sizeof count); /* EAGAIN: it had not fired */
        (void)n;
    }
    /* On v2 reading is what quiets the watch. */
    if (group->oom_fd < 0 || read_fd(group->oom_fd, text, sizeof text) < 0)
        return 0;
    return keyed(text, "oom_kill") + keyed(text, "oom_group_kill");
}

bool sc_group_oom(struct sc_group *group)
{
    return sc_group_oom_kills(group) > 0;
}

/* v1 counts user and system by what was running when the clock ticked, so that they only give the proportion:
 * the total, which is exact, is split by them. */
static void split_total(uint64_t total, struct sc_group_usage *usage)
{
    double user = (double)usage->cpu_user_ns, system = (double)usage->cpu_system_ns;
    double part = user + system > 0 ? user / (user + system) : 1;
    usage->cpu_user_ns = (uint64_t)((double)total * part);
    if (usage->cpu_user_ns > total)
        usage->cpu_user_ns = total;
    usage->cpu_system_ns = total - usage->cpu_user_ns;
}

/* In nanoseconds where the kernel has those files (4.7), in ticks before. */
static int cpu_ticks(int dir, struct sc_group_usage *usage)
{
    char text[1024];
    if (sc_read_u64(dir, "cpuacct.usage_user", &usage->cpu_user_ns) == 0 &&
        sc_read_u64(dir, "cpuacct.usage_sys", &usage->cpu_system_ns) == 0)
        return 0;
    int r = read_file(dir, "cpuacct.stat", text, sizeof text);
    if (r < 0)
        return r;
    uint64_t tick_ns = SC_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
    usage->cpu_user_ns = keyed(text, "user") * tick_ns;
    usage->cpu_system_ns = keyed(text, "system") * tick_ns;
    return 0;
}

/* v2 splits its total into user and system by itself. */
static int cpu_times(const struct sc_group *group, struct sc_group_usage *usage)
{
    char text[1024];
    int dir = group->dir_fds[SC_CTL_CPUACCT];
    if (dir < 0)
        return 0;
    if (group->versions[SC_CTL_CPUACCT] == SC_CGROUP_V2) {
        int r = read_fd(group->cpu_fd, text, sizeof text);
        usage->cpu_user_ns = r < 0 ? 0 : keyed(text, "user_usec") * 1000;
        usage->cpu_system_ns = r < 0 ? 0 : keyed(text, "system_usec") * 1000;
        return r;
    }
    uint64_t total;
    int r = cpu_ticks(dir, usage);
    if (r == 0)
        r = sc_group_cpu_ns(group, &total);
    if (r == 0)
        split_total(total, usage);
    return r;
}

/* The kernel counts refusals where the one stood who was refused, whichever group above had no room: they are
 * this group's only if it was full itself. Without pids.peak that is not known, and all count. */
static int tasks(int dir, struct sc_group_usage *usage)
{
    char text[1024];
    uint64_t most;
    int known = sc_read_u64(dir, "pids.peak", &usage->tasks_peak); /* 6.1 */
    if (known < 0 && known != -ENOENT)
        return known;
    int r = read_file(dir, "pids.events", text, sizeof text);
    if (r < 0)
        return r;
    /* "max" is no number, and no limit. */
    if (known < 0 || (sc_read_u64(dir, "pids.max", &most) == 0 && usage->tasks_peak >= most))
        usage->tasks_refused = keyed(text, "max");
    return 0;
}

int sc_group_usage(const struct sc_group *group, struct sc_group_usage *ret_usage)
{
    struct sc_group_usage usage = {0};
    int memory = group->dir_fds[SC_CTL_MEMORY], pids = group->dir_fds[SC_CTL_PIDS];
    int r = cpu_times(group, &usage);
    if (r < 0)
        return r;
    if (memory >= 0) {
        bool v2 = group->versions[SC_CTL_MEMORY] == SC_CGROUP_V2;
        /* memory.peak came with 5.19: 0 before. */
        r = sc_read_u64(memory, v2 ? "memory.peak" : "memory.max_usage_in_bytes", &usage.memory_peak_bytes);
        if (r < 0 && r != -ENOENT)
            return r;
    }
    if (pids >= 0 && (r = tasks(pids, &usage)) < 0)
        return r;
    *ret_usage = usage;
    return 0;
}
