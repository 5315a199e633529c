/* What cells take of their tenant's quota. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "judge/judge.h"
#include "keeper/parts.h"
#include "keeper/reply.h"
#include "snap/recipe.h"

static uint64_t least_sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static bool is_within(uint64_t used, uint64_t need, uint64_t most)
{
    return most == SC_UNSET || least_sum(used, need) <= most;
}

static bool fits(const struct sc_quota *quota, const struct need *used, const struct need *need)
{
    return is_within(used->cells, need->cells, quota->cells) &&
           is_within(used->memory, need->memory, quota->memory) &&
           is_within(used->disk, need->disk, quota->disk) && is_within(used->cpus, need->cpus, quota->cpus);
}

bool room_has(const struct tenant *tenant, const struct need *need)
{
    return fits(tenant->quota, &tenant->used, need);
}

bool room_may_ever(const struct sc_quota *quota, const struct need *need)
{
    const struct need none = {0};
    return fits(quota, &none, need);
}

void room_need_of(const struct sc_limits *limits, struct need *ret_need)
{
    *ret_need = (struct need){.cells = 1,
                              .memory = limits->memory == SC_UNSET ? 0 : limits->memory,
                              .disk = limits->disk == SC_UNSET ? 0 : limits->disk,
                              .cpus = limits->cpus == SC_UNSET ? 0 : limits->cpus};
}

static int need_of_paused(const struct caller *caller, struct sc_keeper_request *request,
                          struct need *ret_need, struct sc_err *err)
{
    int r = rest_spec(caller, request, err);
    if (r == 0)
        room_need_of(&request->spec.limits, ret_need);
    return r;
}

static uint64_t known(uint64_t limit)
{
    return limit == SC_UNSET || limit == SC_DERIVED ? 0 : limit;
}

static void widen(struct need *need, const struct sc_limits *limits)
{
    need->memory = sc_max_u64(need->memory, known(limits->memory));
    need->disk = sc_max_u64(need->disk, known(limits->disk));
    need->cpus = sc_max_u64(need->cpus, known(limits->cpus));
}

static uint64_t times(uint64_t need, uint64_t n)
{
    return need > (SC_UNSET - 1) / n ? SC_UNSET - 1 : need * n;
}

/* Whoever speaks for a tenant can not choose it: it is the keeper's own. */
static int put_parent(struct sc_spec *spec, struct sc_err *err)
{
    const char *parent = getenv("SNAPCELL_CGROUP_PARENT");
    if (!spec->cgroup_parent && parent && *parent && !(spec->cgroup_parent = strdup(parent)))
        return sc_err_sys(err, -ENOMEM, "request");
    return 0;
}

/* The most that one cell of the part may have. */
static int widen_by_part(struct need *need, struct sc_spec *spec, const char *part, struct sc_err *err)
{
    struct sc_spec copy;
    int r = put_parent(spec, err);
    if (r < 0)
        return r;
    if (sc_spec_copy(spec, &copy) < 0)
        return sc_err_sys(err, -ENOMEM, "request");
    r = sc_spec_check(&copy, 0, err);
    if (r == 0)
        widen(need, &copy.limits);
    else
        sc_err_below(err, part);
    sc_spec_fini(&copy);
    return r;
}

/* So many cells at once, each with the most that any of them may have. */
static int need_of_task(struct sc_judge_task *task, struct need *ret_need, struct sc_err *err)
{
    struct need need = {.cells = task->jobs};
    int r = sc_judge_task_check(task, 0, err);
    if (r == 0 && task->has_build)
        r = widen_by_part(&need, &task->build, "build", err);
    if (r == 0)
        r = widen_by_part(&need, &task->run, "run", err);
    if (r == 0 && task->has_checker)
        r = widen_by_part(&need, &task->checker, "checker", err);
    if (r < 0) {
        sc_err_below(err, "judge");
        return r;
    }
    for (size_t i = 0; i < task->n_tests; i++)
        if (task->tests[i].has_limits)
            widen(&need, &task->tests[i].limits);
    *ret_need = (struct need){.cells = need.cells,
                              .memory = times(need.memory, need.cells),
                              .disk = times(need.disk, need.cells),
                              .cpus = times(need.cpus, need.cells)};
    return 0;
}

int room_need(const struct caller *caller, struct sc_keeper_request *request, struct need *ret_need,
              struct sc_err *err)
{
    struct sc_spec *spec = &request->spec;
    if (request->verb == SC_KEEPER_JUDGE)
        return need_of_task(request->judge, ret_need, err);
    if (request->verb == SC_KEEPER_SESSION_RESUME)
        return need_of_paused(caller, request, ret_need, err);
    spec->session = request->verb == SC_KEEPER_SESSION_START;
    int r = put_parent(spec, err);
    if (r == 0)
        r = sc_recipe_apply(spec, err);
    if (r == 0)
        r = sc_spec_check(spec, 0, err);
    if (r == 0)
        room_need_of(&spec->limits, ret_need);
    return r;
}

char *room_refuse(const struct sc_quota *quota, const struct need *need, const char *whole)
{
    char field[SC_ERR_FIELD_MAX];
    const bool spec = !strcmp(whole, "spec");
    const struct {
        uint64_t need, most;
        const char *field;
    } rows[] = {
        /* Of a task these are all its cells' together. */
        {need->memory, quota->memory, ".limits.memory_bytes"},
        {need->disk, quota->disk, ".limits.disk_bytes"},
        {need->cpus, quota->cpus, ".limits.cpus"},
        {need->cells, quota->cells, ".jobs"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char message[200];
        if (is_within(0, rows[i].need, rows[i].most))
            continue;
        bool milli = !strcmp(rows[i].field, ".limits.cpus");
        double unit = milli ? 1000 : 1;
        snprintf(field, sizeof field, "%s%s", whole, rows[i].field);
        if (spec && !strcmp(rows[i].field, ".jobs"))
            snprintf(field, sizeof field, "request");
        snprintf(message, sizeof message, "%s: %.15g: this tenant may have at most %.15g", field,
                 (double)rows[i].need / unit, (double)rows[i].most / unit);
        return sc_keeper_reply_error("forbidden", field, message);
    }
    return NULL;
}
