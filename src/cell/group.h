/* The cell's control groups, v2 and v1 behind one face. Made before the cell, removed after it. */
#ifndef SC_CELL_GROUP_H
#define SC_CELL_GROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "plan/plan.h"

struct sc_group_usage {
    uint64_t cpu_user_ns, cpu_system_ns;
    uint64_t memory_peak_bytes;
    uint64_t tasks_peak;    /* the agent included; 0: the kernel does not tell */
    uint64_t tasks_refused; /* how often a process or thread was, by this group's own limit: pids.events */
};

struct sc_group {
    int dir_fds[SC_CTL_COUNT]; /* by controller; -1: not had. v2: all the same directory, descriptors apart */
    int parent_fds[SC_CTL_COUNT];
    char name[80]; /* "snapcell-<pid>-<starttime>-<pid ns>-<n>": whose it is shows when it is stale */
    bool v2;       /* there is a v2 group: join by CLONE_INTO_CGROUP with v2_fd */
    int v2_fd;     /* borrowed from dir_fds; -1: none. A mixed host needs it and the task descriptors */
    /* Becomes readable when the kernel ran out of memory in the group (v1: eventfd; v2: epoll on
     * memory.events, which also moves when the limit is merely touched): then ask sc_group_oom, which quiets
     * it. -1: none. */
    int oom_event_fd;
    int oom_fd,
        cpu_fd; /* counters kept open: memory.events or memory.oom_control; cpu.stat or cpuacct.usage */
    enum sc_cgroup_version versions[SC_CTL_COUNT];
    signed char shares[SC_CTL_COUNT]; /* the first controller with the same directory: itself, if its own */
};

/* Makes the groups and writes every value of plan->cgroup. On failure nothing is left behind. */
int sc_group_open(struct sc_group *group, const struct sc_plan *plan, struct sc_err *err);
/* Sets the plan's io limits, if it has any, on a disk that came with the cell. */
int sc_group_limit_disk(struct sc_group *group, const struct sc_plan *plan, const struct sc_host_disk *disk,
                        struct sc_err *err);
/* v1: descriptors of the `tasks` files that the child writes "0" to, before anything else; opened for
 * writing. Returns how many (0 on v2); the caller closes them. */
int sc_group_task_fds(struct sc_group *group, int ret_fds[SC_CTL_COUNT]);
/* Kills every process in the groups: cgroup.kill and back at once; without it no more forks, then
 * cgroup.procs until it is empty, for at most 2 s. 0, or negative errno (-EBUSY: some are left). */
int sc_group_kill(struct sc_group *group);
/* 1 when no process is left in any of them, 0 when some are. */
int sc_group_empty(struct sc_group *group);
/* True when this process is in each of them, and no other is. */
bool sc_group_has_only(const struct sc_group *group, pid_t pid);
/* Total processor time so far, for the cpu clock: one read. -ENODATA when no group counts it. */
int sc_group_cpu_ns(const struct sc_group *group, uint64_t *ret_ns);
/* Memory that the group holds now: one read. -ENODATA when no group counts it. */
int sc_group_memory_bytes(const struct sc_group *group, uint64_t *ret_bytes);
/* How often the kernel killed for memory in the group: memory.events or memory.oom_control. Quiets the event
 * descriptor. */
uint64_t sc_group_oom_kills(struct sc_group *group);
/* True when it did. */
bool sc_group_oom(struct sc_group *group);
/* What else is counted, before closing. Leaves the event descriptor as it is. */
int sc_group_usage(const struct sc_group *group, struct sc_group_usage *ret_usage);
/* Removes the directories (they must be empty; waits at most 2 s for dying processes) and closes. NULL-safe,
 * half-made-safe. 0, or negative errno when one stayed: the next sc_group_sweep takes it. */
int sc_group_close(struct sc_group *group);

/* Removes groups that dead makers left below this host's parents: by pid and start time in the name. Returns
 * how many. */
int sc_group_sweep(const struct sc_host *host);

#endif
