/* Plans on hosts that do not exist, for the tests of src/plan/plan*.c. */
#ifndef TEST_PLAN_FIXTURE_H
#define TEST_PLAN_FIXTURE_H

#include <jansson.h>

#include "made_up.h"
#include "plan/plan.h"
#include "spec/spec.h"

/* The server of made_up.h with v1 groups, one hierarchy each. */
struct sc_host made_up_v1_server(void);
/* The laptop of made_up.h without groups: `why` is their reason. */
struct sc_host made_up_bare_laptop(const char *why);
/* Takes a controller away. */
void without(struct sc_host *host, enum sc_controller controller, const char *why);

/* A spec that runs `code` as Python; further options by name, ended by NULL: "wall", "2s", … Those of
 * sc_spec_add
 * ("dir", "env", "out", "file", "allow-degraded") work, too. Fails the test when one is refused. */
void fill_spec(struct sc_spec *spec, const char *code, ...) __attribute__((sentinel));
/* The same from a whole command. */
void fill_command(struct sc_spec *spec, const char *const *argv, ...) __attribute__((sentinel));

/* Checks and plans; fails the test when that fails. */
struct sc_plan *plan_of(struct sc_spec *spec, const struct sc_host *host);
/* The plan's refusal; fails the test when there is none. */
void refused(struct sc_spec *spec, const struct sc_host *host, struct sc_err *ret_err);

const struct sc_plan_mount *mount_at(const struct sc_plan *plan, const char *path);
const struct sc_plan_fresh *fresh_at(const struct sc_plan *plan, const char *path);
/* What covers `path` of /proc, or NULL. */
const char *cover_of(const struct sc_plan *plan, const char *path);
/* Value of a cgroup file, or NULL. */
const char *group_value(const struct sc_plan *plan, const char *file);
/* UINT64_MAX: not set. */
uint64_t rlimit_of(const struct sc_plan *plan, int resource);
/* Value of a variable of the program's environment, or NULL. */
const char *env_of(const struct sc_plan *plan, const char *name);

/* A folder of the test's own, below /tmp; removed by remove_tree. */
char *make_tree(void);
void put_file(const char *folder, const char *name, const char *content, unsigned mode);
void put_folder(const char *folder, const char *name);
void put_link(const char *folder, const char *name, const char *target);
void remove_tree(char *folder);

#endif
