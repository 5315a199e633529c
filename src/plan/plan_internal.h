/* Parts of sc_plan_make, one file each. All may be called once on a zeroed plan, in the order plan.c gives.
 */
#ifndef SC_PLAN_PLAN_INTERNAL_H
#define SC_PLAN_PLAN_INTERNAL_H

#include "plan/plan.h"

/* Adds one step to the template; copies its strings. 0 or -ENOMEM. */
int sc_plan_add_mount(struct sc_plan *plan, enum sc_mount_kind kind, const char *path, const char *source,
                      const char *content, uint32_t mode);
static inline int sc_plan_add_bind(struct sc_plan *plan, const char *source, const char *path)
{
    return sc_plan_add_mount(plan, SC_MOUNT_BIND, path, source, NULL, 0);
}

/* plan_root.c: the read-only tree: host's /usr or --root, /etc, /dev, venv, interpreter, read-only folders.
 */
int sc_plan_root(struct sc_plan *plan, struct sc_err *err);
/* plan_proc.c: what is answered or covered in /proc and /sys. */
int sc_plan_proc(struct sc_plan *plan, struct sc_err *err);
/* plan_run.c: argv, environment, working directory. */
int sc_plan_run(struct sc_plan *plan, struct sc_err *err);
/* plan_deterministic.c: what makes a run give the same each time; nothing where that was not asked for. The
 * first adds files, the second variables. */
int sc_plan_deterministic(struct sc_plan *plan, struct sc_err *err);
int sc_plan_deterministic_env(struct sc_plan *plan);
/* A value the caller gives a variable that is also ours: joined to ours. Heap text, NULL when memory ran out.
 */
char *sc_plan_deterministic_join(const struct sc_plan *plan, const char *name, const char *value);
/* The processors a cell is told it has. */
unsigned sc_plan_cpus(const struct sc_plan *plan);
/* plan_limits.c: fresh file systems, rlimits, cgroup values, Landlock; what this host must go without. */
int sc_plan_limits(struct sc_plan *plan, struct sc_err *err);

/* Path of made-up files inside the template. */
#define SC_PLAN_ANSWERS "/.cell"

#endif
