/* Deterministic runs: what is put beside the program so that it gives the same each time. Their fixed
 * addresses are a stage of the cell (enter_layout.c), their number of processors an answer of /proc. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan_internal.h"
#include "plan/preload.h"

#define FOLDER "/snapcell/deterministic"
#define PRELOAD FOLDER "/preload.so"
#define NODE_OPTION "--require=" FOLDER "/random.js"

/* NODE_OPTIONS does not take --random-seed; a flag set before the first Math.random counts as much. V8 takes
 * 0 as "none": the last seed is as the first. */
static void node_text(uint32_t seed, char *ret_text, size_t size)
{
    uint32_t number = seed + 1 ? seed + 1 : 1;
    snprintf(ret_text, size, "require('v8').setFlagsFromString('--random-seed=%" PRId32 "');\n",
             (int32_t)number);
}

int sc_plan_deterministic(struct sc_plan *plan, struct sc_err *err)
{
    const struct sc_deterministic *deterministic = &plan->spec->deterministic;
    char values[96], node[96], bash[64];
    if (!deterministic->on)
        return 0;
    uint64_t clock_ms = deterministic->clock_given ? deterministic->clock_ms : SC_CLOCK_STANDARD_MS;
    snprintf(values, sizeof values, "%" PRIu32 " %" PRIu64 " %u %d\n", deterministic->seed,
             clock_ms * 1000000, sc_plan_cpus(plan),
             plan->apparmor && plan->spec->profile != SC_PROFILE_COMPUTE);
    node_text(deterministic->seed, node, sizeof node);
    snprintf(bash, sizeof bash, "RANDOM=%" PRIu32 "\n", deterministic->seed);
    int r = sc_plan_add_mount(plan, SC_MOUNT_FILE, FOLDER "/values", NULL, values, 0444);
    if (r == 0)
        r = sc_plan_add_mount(plan, SC_MOUNT_FILE, FOLDER "/random.js", NULL, node, 0444);
    if (r == 0)
        r = sc_plan_add_mount(plan, SC_MOUNT_FILE, FOLDER "/random.bash", NULL, bash, 0444);
    if (r == 0)
        r = sc_plan_add_program(plan, PRELOAD, sc_preload_image, sc_preload_image_len);
    return r < 0 ? sc_err_sys(err, r, "plan of a deterministic run") : 0;
}

int sc_plan_deterministic_env(struct sc_plan *plan)
{
    char seed[16];
    const char *const variables[][2] = {
        {"LD_PRELOAD", PRELOAD}, {"PYTHONHASHSEED", seed}, {"NODE_OPTIONS", NODE_OPTION},
        {"TZ", "UTC"},           {"LC_ALL", "C.UTF-8"},    {"BASH_ENV", FOLDER "/random.bash"},
    };
    if (!plan->spec->deterministic.on)
        return 0;
    snprintf(seed, sizeof seed, "%" PRIu32, plan->spec->deterministic.seed);
    int r = 0;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0] && r == 0; i++)
        r = sc_strv_set_env(&plan->env, variables[i][0], variables[i][1]);
    return r;
}

char *sc_plan_deterministic_join(const struct sc_plan *plan, const char *name, const char *value)
{
    const char *ours = !strcmp(name, "LD_PRELOAD") ? PRELOAD ":" : NODE_OPTION " ";
    bool is_ours = !strcmp(name, "LD_PRELOAD") || !strcmp(name, "NODE_OPTIONS");
    if (!plan->spec->deterministic.on || !is_ours)
        return strdup(value);
    size_t size = strlen(ours) + strlen(value) + 1;
    char *joined = malloc(size);
    if (joined)
        snprintf(joined, size, "%s%s", ours, value);
    return joined;
}
