/* What cells take of their tenant's quota. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int room_need(const struct caller *caller, struct sc_keeper_request *request, struct need *ret_need,
              struct sc_err *err)
{
    struct sc_spec *spec = &request->spec;
    const char *parent = getenv("SNAPCELL_CGROUP_PARENT");
    if (request->verb == SC_KEEPER_SESSION_RESUME)
        return need_of_paused(caller, request, ret_need, err);
    spec->session = request->verb == SC_KEEPER_SESSION_START;
    /* Whoever speaks for a tenant can not choose it: it is the keeper's own. */
    if (!spec->cgroup_parent && parent && *parent && !(spec->cgroup_parent = strdup(parent)))
        return sc_err_sys(err, -ENOMEM, "request");
    int r = sc_recipe_apply(spec, err);
    if (r == 0)
        r = sc_spec_check(spec, 0, err);
    if (r == 0)
        room_need_of(&spec->limits, ret_need);
    return r;
}

char *room_refuse(const struct sc_quota *quota, const struct need *need)
{
    const struct {
        uint64_t need, most;
        const char *field;
    } rows[] = {
        {need->memory, quota->memory, "spec.limits.memory_bytes"},
        {need->disk, quota->disk, "spec.limits.disk_bytes"},
        {need->cpus, quota->cpus, "spec.limits.cpus"},
        {need->cells, quota->cells, "request"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char message[200];
        if (is_within(0, rows[i].need, rows[i].most))
            continue;
        bool milli = rows[i].need == need->cpus && !strcmp(rows[i].field, "spec.limits.cpus");
        double unit = milli ? 1000 : 1;
        snprintf(message, sizeof message, "%s: %.15g: this tenant may have at most %.15g", rows[i].field,
                 (double)rows[i].need / unit, (double)rows[i].most / unit);
        return sc_keeper_reply_error("forbidden", rows[i].field, message);
    }
    return NULL;
}
