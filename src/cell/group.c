/* Making, counting and removing the control groups of one cell.
 *
 * Everything goes through descriptors of the directories: after opening, no path is walked again. A group
 * costs one mkdir, one open and one rmdir for each hierarchy, and one write for each value. */
#include "cell/group.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cell/group_parts.h"
#include "plan/cgroup_values.h"

static void init(struct sc_group *group)
{
    *group = (struct sc_group){.oom_event_fd = -1, .oom_fd = -1, .cpu_fd = -1, .v2_fd = -1};
    for (int i = 0; i < SC_CTL_COUNT; i++) {
        group->dir_fds[i] = group->parent_fds[i] = -1;
        group->shares[i] = (signed char)i;
    }
}

bool sc_group_is_first(const struct sc_group *group, int controller)
{
    return group->dir_fds[controller] >= 0 && group->shares[controller] == controller;
}

/* Whom the group belongs to, as sc_group_sweep reads it. */
static int make_name(struct sc_group *group, const struct sc_host *host, uint64_t n)
{
    pid_t pid = getpid();
    uint64_t start = host->maker_start, pid_ns = host->maker_pid_ns;
    if (host->maker_pid != pid) { /* probed before a fork, or a made-up host */
        int r = sc_host_start_time(pid, &start);
        if (r < 0)
            return r;
        struct stat ns;
        pid_ns = stat("/proc/self/ns/pid", &ns) == 0 ? ns.st_ino : 0;
    }
    snprintf(group->name, sizeof group->name, "snapcell-%d-%" PRIu64 "-%" PRIx64 "-%" PRIx64, (int)pid, start,
             pid_ns, n);
    return 0;
}

/* Which controllers need a directory: those with values, and always one that counts processor time. All v2
 * controllers share one. */
static int wanted_controllers(const struct sc_plan *plan, unsigned *ret_wanted, struct sc_err *err)
{
    const struct sc_host_controller *c = plan->host->controllers;
    unsigned wanted = c[SC_CTL_CPUACCT].version ? 1u << SC_CTL_CPUACCT : 0;
    bool v2 = c[SC_CTL_CPUACCT].version == SC_CGROUP_V2;
    for (size_t i = 0; i < plan->n_cgroup; i++) {
        enum sc_controller controller = plan->cgroup[i].controller;
        if (!c[controller].version)
            return sc_err_set(err, SC_ERR_SANDBOX, -EINVAL, "cgroup: %s has no controller on this host",
                              plan->cgroup[i].file);
        wanted |= 1u << controller;
        v2 |= c[controller].version == SC_CGROUP_V2;
    }
    for (int i = 0; v2 && i < SC_CTL_COUNT; i++)
        if (c[i].version == SC_CGROUP_V2)
            wanted |= 1u << i;
    *ret_wanted = wanted;
    return 0;
}

/* The first wanted controller with the same parent directory: v1 hierarchies may carry several. */
static int sharer(const struct sc_host *host, unsigned wanted, int controller)
{
    for (int i = 0; i < controller; i++)
        if (wanted & 1u << i && !strcmp(host->controllers[i].dir, host->controllers[controller].dir))
            return i;
    return controller;
}

static int copy_fd(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return copy < 0 ? -errno : copy;
}

/* One directory, made or shared. -EEXIST: the name is taken. */
static int open_one(struct sc_group *group, const struct sc_host *host, unsigned wanted, int controller)
{
    int first = sharer(host, wanted, controller), r;
    group->shares[controller] = (signed char)first;
    group->versions[controller] = host->controllers[controller].version;
    if (first != controller) {
        if ((r = copy_fd(group->dir_fds[first])) < 0)
            return r;
        group->dir_fds[controller] = r;
        return 0;
    }
    int parent = open(host->controllers[controller].dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0)
        return -errno;
    if (mkdirat(parent, group->name, 0755) < 0) {
        r = -errno;
        close(parent);
        return r;
    }
    group->parent_fds[controller] = parent; /* from here on closing removes the directory */
    group->dir_fds[controller] = openat(parent, group->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return group->dir_fds[controller] < 0 ? -errno : 0;
}

static int open_dirs(struct sc_group *group, const struct sc_plan *plan, unsigned wanted, struct sc_err *err)
{
    for (int i = 0; i < SC_CTL_COUNT; i++) {
        if (!(wanted & 1u << i))
            continue;
        int r = open_one(group, plan->host, wanted, i);
        if (r < 0)
            return sc_err_sys(err, r, "cgroup: making %s/%s", plan->host->controllers[i].dir, group->name);
        if (group->versions[i] == SC_CGROUP_V2) {
            group->v2 = true;
            group->v2_fd = group->dir_fds[group->shares[i]];
        }
    }
    return 0;
}

/* A new v1 cpuset has no memory nodes, and nothing may join it before it has some. */
static int copy_mems(const struct sc_group *group)
{
    char text[256];
    ssize_t n =
        sc_read_text(group->parent_fds[group->shares[SC_CTL_CPUSET]], "cpuset.mems", text, sizeof text);
    if (n < 0)
        return (int)n;
    return sc_write_file(group->dir_fds[SC_CTL_CPUSET], "cpuset.mems", text);
}

static int write_values(struct sc_group *group, const struct sc_plan *plan, struct sc_err *err)
{
    int r = 0;
    if (group->dir_fds[SC_CTL_CPUSET] >= 0 && group->versions[SC_CTL_CPUSET] == SC_CGROUP_V1)
        r = copy_mems(group);
    if (r < 0)
        return sc_err_sys(err, r, "cgroup: giving %s the memory nodes of its parent", group->name);
    for (size_t i = 0; i < plan->n_cgroup; i++) {
        const struct sc_plan_cgroup *value = &plan->cgroup[i];
        r = sc_write_file(group->dir_fds[value->controller], value->file, value->value);
        if (r == -ENOENT && sc_plan_cgroup_is_swap(value->file) && plan->host->swap_bytes == 0)
            continue;
        if (r < 0)
            return sc_err_sys(err, r, "cgroup: writing '%s' to %s/%s/%s", value->value,
                              plan->host->controllers[value->controller].dir, group->name, value->file);
    }
    return 0;
}

/* v1 tells by an eventfd. memory.oom_control need not stay open for it, but is where the count is read. */
static int watch_v1(struct sc_group *group)
{
    char text[32];
    int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event < 0)
        return -errno;
    snprintf(text, sizeof text, "%d %d", event, group->oom_fd);
    int r = sc_write_file(group->dir_fds[SC_CTL_MEMORY], "cgroup.event_control", text);
    if (r < 0) {
        close(event);
        return r;
    }
    group->oom_event_fd = event;
    return 0;
}

/* v2 tells by POLLPRI on memory.events, once it was read; an epoll descriptor makes an ordinary POLLIN of it.
 * Unlike inotify it takes none of the user's few instances. */
static int watch_v2(struct sc_group *group)
{
    struct epoll_event event = {.events = EPOLLPRI};
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0)
        return -errno;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, group->oom_fd, &event) < 0) {
        int r = -errno;
        close(epoll);
        return r;
    }
    group->oom_event_fd = epoll;
    sc_group_oom(group);
    return 0;
}

static int open_counters(struct sc_group *group, struct sc_err *err)
{
    int cpu = group->dir_fds[SC_CTL_CPUACCT], memory = group->dir_fds[SC_CTL_MEMORY], r = 0;
    if (cpu >= 0) {
        bool v2 = group->versions[SC_CTL_CPUACCT] == SC_CGROUP_V2;
        group->cpu_fd = openat(cpu, v2 ? "cpu.stat" : "cpuacct.usage", O_RDONLY | O_CLOEXEC);
        if (group->cpu_fd < 0)
            return sc_err_sys(err, -errno, "cgroup: opening the processor time of %s", group->name);
    }
    if (memory >= 0) {
        bool v2 = group->versions[SC_CTL_MEMORY] == SC_CGROUP_V2;
        group->oom_fd = openat(memory, v2 ? "memory.events" : "memory.oom_control", O_RDONLY | O_CLOEXEC);
        if (group->oom_fd < 0)
            return sc_err_sys(err, -errno, "cgroup: opening the memory events of %s", group->name);
        r = v2 ? watch_v2(group) : watch_v1(group);
        if (r < 0)
            return sc_err_sys(err, r, "cgroup: watching the memory events of %s", group->name);
    }
    return 0;
}

static int open_group(struct sc_group *group, const struct sc_plan *plan, uint64_t n, struct sc_err *err)
{
    unsigned wanted;
    init(group);
    int r = make_name(group, plan->host, n);
    if (r < 0)
        return sc_err_sys(err, r, "cgroup: own start time");
    if ((r = wanted_controllers(plan, &wanted, err)) < 0 || (r = open_dirs(group, plan, wanted, err)) < 0 ||
        (r = write_values(group, plan, err)) < 0)
        return r;
    return open_counters(group, err);
}

int sc_group_open(struct sc_group *group, const struct sc_plan *plan, struct sc_err *err)
{
    /* Two threads may ask in the same nanosecond: then the name is taken, and the next one is not. */
    uint64_t n = sc_now_ns();
    int r;
    for (int attempt = 0; attempt < 16; attempt++, n++) {
        r = open_group(group, plan, n, err);
        if (r >= 0)
            return 0;
        sc_group_close(group);
        if (r != -EEXIST)
            break;
    }
    return r;
}

int sc_group_limit_disk(struct sc_group *group, const struct sc_plan *plan, const struct sc_host_disk *disk,
                        struct sc_err *err)
{
    struct sc_plan_cgroup values[SC_PLAN_DISK_VALUES_MAX];
    int n = sc_plan_cgroup_disk(plan, disk, values);
    for (int i = 0; i < n; i++) {
        int r = sc_write_file(group->dir_fds[SC_CTL_IO], values[i].file, values[i].value);
        if (r < 0)
            return sc_err_sys(err, r, "cgroup: writing '%s' to %s", values[i].value, values[i].file);
    }
    return 0;
}

int sc_group_task_fds(struct sc_group *group, int ret_fds[SC_CTL_COUNT])
{
    int fds[SC_CTL_COUNT], n = 0;
    for (int i = 0; i < SC_CTL_COUNT; i++) {
        if (!sc_group_is_first(group, i) || group->versions[i] != SC_CGROUP_V1)
            continue;
        fds[n] = openat(group->dir_fds[i], "tasks", O_WRONLY | O_CLOEXEC);
        if (fds[n] < 0) {
            int r = -errno;
            while (n > 0)
                sc_close(&fds[--n]);
            return r;
        }
        n++;
    }
    memcpy(ret_fds, fds, sizeof *fds * (size_t)n);
    return n;
}

void sc_group_pause(uint64_t *ns)
{
    struct timespec t = {.tv_nsec = (long)*ns};
    nanosleep(&t, NULL);
    if (*ns < 5 * SC_NS_PER_MS)
        *ns *= 2;
}

int sc_group_remove(int parent_fd, const char *name, uint64_t deadline_ns)
{
    uint64_t pause = 50000;
    for (;;) {
        if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
            return 0;
        int r = -errno;
        if (r != -EBUSY || sc_now_ns() >= deadline_ns)
            return r;
        sc_group_pause(&pause);
    }
}

int sc_group_close(struct sc_group *group)
{
    int worst = 0;
    if (!group)
        return 0;
    uint64_t deadline = sc_now_ns() + SC_GROUP_WAIT_NS;
    sc_close(&group->oom_event_fd); /* before the descriptor it watches */
    sc_close(&group->oom_fd);
    sc_close(&group->cpu_fd);
    group->v2_fd = -1;
    for (int i = 0; i < SC_CTL_COUNT; i++)
        sc_close(&group->dir_fds[i]);
    for (int i = 0; i < SC_CTL_COUNT; i++) {
        int r = group->parent_fds[i] < 0 ? 0 : sc_group_remove(group->parent_fds[i], group->name, deadline);
        if (r < 0 && worst == 0)
            worst = r;
        sc_close(&group->parent_fds[i]);
    }
    return worst;
}
