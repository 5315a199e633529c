/* Limits → the values of the cgroup control files, by version. */
#ifndef SC_PLAN_CGROUP_VALUES_H
#define SC_PLAN_CGROUP_VALUES_H

#include "plan/plan.h"

/* Fills `ret_values` in the order they must be written and returns how many. `pin`: processor list or NULL.
 * `stay`: the cell outlives its programs. A controller that the host has not got is left out: whether that is
 * accepted was decided before. An io limit that is to be applied but cannot be for every disk is an error
 * (HOST), as is a pin that is too long (USAGE). */
int sc_plan_cgroup_values(const struct sc_host *host, const struct sc_limits *limits, const char *pin,
                          bool stay, struct sc_plan_cgroup *ret_values, size_t max, struct sc_err *err);

/* The io limits for one more disk, which came with the cell. Returns how many values, 0 where the plan has no
 * such limit or goes without it. */
#define SC_PLAN_DISK_VALUES_MAX 2
int sc_plan_cgroup_disk(const struct sc_plan *plan, const struct sc_host_disk *disk,
                        struct sc_plan_cgroup ret_values[SC_PLAN_DISK_VALUES_MAX]);

/* True for files that a kernel without swap accounting lacks; their absence is harmless while no swap is on.
 */
bool sc_plan_cgroup_is_swap(const char *file);

#endif
