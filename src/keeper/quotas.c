#include "keeper/quotas.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "keeper/fields.h"
#include "keeper/request.h"
#include "keeper/state.h"
#include "keeper/wire.h"
#include "snap/vault.h"
#include "spec/json_read.h"
#include "spec/spec.h"
#include "spec/spec_internal.h"

#define FILE_MAX (16u * 1024 * 1024)
#define VERSION 1
#define OFFSET(member) offsetof(struct sc_quota, member)

static const struct sc_quota STANDARD = {
    .cells = 16,
    .memory = SC_UNSET,
    .disk = SC_UNSET,
    .cpus = SC_UNSET,
    .weight = 1,
    .rate = SC_UNSET,
    .burst = 100,
    .queued = 64,
    .paused = 16,
    .session_ns = (uint64_t)SC_KEEPER_TOTAL_MS_MAX * SC_NS_PER_MS,
    .forkable = true,
};

/* A number in a row: how many of our unit one of the file's is, and what is allowed there. */
static const struct number {
    const char *name;
    size_t offset;
    double unit, least, most;
    bool whole;
} NUMBERS[] = {
    {"cells", OFFSET(cells), 1, 0, 1024, true},
    {"memory_bytes", OFFSET(memory), 1, 0, 1e15, true},
    {"disk_bytes", OFFSET(disk), 1, 0, 1e15, true},
    {"cpus", OFFSET(cpus), 1000, 0.01, 1024, false},
    {"weight", OFFSET(weight), 1, 1, 1000, true},
    {"requests_per_s", OFFSET(rate), 1000, 0.001, 1000000, false},
    {"burst", OFFSET(burst), 1, 1, 1000000, true},
    {"queued", OFFSET(queued), 1, 0, 10000, true},
    {"paused", OFFSET(paused), 1, 0, SC_VAULT_SESSIONS_MAX, true},
    {"session_ms", OFFSET(session_ns), SC_NS_PER_MS, SC_KEEPER_TIME_MS_MIN, SC_KEEPER_TOTAL_MS_MAX, true},
};
#define N_NUMBERS (sizeof NUMBERS / sizeof *NUMBERS)

static int read_number(struct sc_quota *quota, const struct number *row, const json_t *value,
                       const char *path, struct sc_err *err)
{
    if (row->whole ? !json_is_integer(value) : !json_is_number(value))
        return sc_json_wrong_type(path, value, row->whole ? "a whole number" : "a number", err);
    double number = json_number_value(value);
    if (!(number >= row->least) || number > row->most)
        return sc_err_usage(err, path, "%s: %.15g: allowed are %.15g to %.15g", path, number, row->least,
                            row->most);
    *(uint64_t *)((char *)quota + row->offset) = (uint64_t)(number * row->unit + 0.5);
    return 0;
}

/* ---- what is no number ---- */

static int read_template(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_quota *quota = into;
    const char *text = sc_json_text(value, path, err);
    int r = text ? sc_spec_template_ok(path, text, err) : -EINVAL;
    if (r == 0 && sc_strv_add(&quota->templates, text) < 0)
        r = sc_err_sys(err, -ENOMEM, SC_QUOTAS_FILE);
    return r;
}

static int read_templates(struct sc_quota *quota, const json_t *value, const char *path, struct sc_err *err)
{
    sc_strv_fini(&quota->templates);
    quota->some_templates = true;
    return sc_json_read_list(quota, value, path, read_template, err);
}

static int read_degraded(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_quota *quota = into;
    const char *text = sc_json_text(value, path, err);
    return text ? sc_spec_degrade(path, text, strlen(text), &quota->allow_degraded, err) : -EINVAL;
}

static int read_network(struct sc_quota *quota, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_net net = {0};
    int r = sc_net_from_json(&net, value, path, err);
    if (r == 0 && sc_net_has_credentials(&net))
        r = sc_err_usage(err, path, "%s: a tenant's rules have no credentials: allowed in requests", path);
    sc_net_fini(&net);
    if (r < 0)
        return r;
    json_decref(quota->network);
    quota->network = json_deep_copy(value);
    return quota->network ? 0 : sc_err_sys(err, -ENOMEM, SC_QUOTAS_FILE);
}

static int unknown_field(const char *path, const char *name, struct sc_err *err)
{
    const char *names[N_NUMBERS + 6];
    size_t n = 0;
    for (size_t i = 0; i < N_NUMBERS; i++)
        names[n++] = NUMBERS[i].name;
    names[n++] = "templates";
    names[n++] = "allow_degraded";
    names[n++] = "operator";
    names[n++] = "forkable";
    names[n++] = "network";
    names[n] = NULL;
    return sc_json_unknown_field(path, name, names, err);
}

static int read_field(struct sc_quota *quota, const char *name, const json_t *value, const char *path,
                      struct sc_err *err)
{
    for (size_t i = 0; i < N_NUMBERS; i++)
        if (!strcmp(NUMBERS[i].name, name))
            return read_number(quota, &NUMBERS[i], value, path, err);
    if (!strcmp(name, "templates"))
        return read_templates(quota, value, path, err);
    if (!strcmp(name, "network"))
        return read_network(quota, value, path, err);
    if (!strcmp(name, "forkable"))
        return sc_json_read_bool(&quota->forkable, value, path, err);
    if (!strcmp(name, "operator"))
        return sc_json_read_bool(&quota->is_operator, value, path, err);
    if (!strcmp(name, "allow_degraded")) {
        quota->allow_degraded = 0;
        return sc_json_read_list(quota, value, path, read_degraded, err);
    }
    return unknown_field(path, name, err);
}

static int read_quota(struct sc_quota *quota, const json_t *value, const char *path, struct sc_err *err)
{
    const char *name;
    json_t *field;
    if (!json_is_object(value))
        return sc_json_wrong_type(path, value, "an object", err);
    json_object_foreach((json_t *)value, name, field)
    {
        char at[SC_ERR_FIELD_MAX];
        sc_json_join_path(at, path, name);
        int r = json_is_null(field) ? 0 : read_field(quota, name, field, at, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- the file ---- */

static int copy_quota(const struct sc_quota *from, struct sc_quota *ret_copy)
{
    *ret_copy = *from;
    ret_copy->templates = (struct sc_strv){0};
    ret_copy->network = from->network ? json_incref(from->network) : NULL;
    for (size_t i = 0; i < from->templates.n; i++)
        if (sc_strv_add(&ret_copy->templates, from->templates.v[i]) < 0)
            return -ENOMEM;
    return 0;
}

static int read_rows(struct sc_quotas *quotas, const json_t *value, const char *path, struct sc_err *err)
{
    const char *name;
    json_t *row;
    if (!json_is_object(value))
        return sc_json_wrong_type(path, value, "an object", err);
    if (json_object_size(value) > SC_QUOTAS_MAX)
        return sc_err_usage(err, path, "%s: at most %d are allowed", path, SC_QUOTAS_MAX);
    quotas->v = calloc(json_object_size(value) + 1, sizeof *quotas->v);
    if (!quotas->v)
        return sc_err_sys(err, -ENOMEM, SC_QUOTAS_FILE);
    json_object_foreach((json_t *)value, name, row)
    {
        char at[SC_ERR_FIELD_MAX];
        sc_json_join_path(at, path, name);
        if (!sc_keeper_name_ok(name))
            return sc_err_usage(err, at, "%s: a tenant's name must be 1 to %d letters, digits, -, _ or .", at,
                                SC_TENANT_NAME - 1);
        struct sc_tenant_row *into = &quotas->v[quotas->n++];
        snprintf(into->name, sizeof into->name, "%.*s", SC_TENANT_NAME - 1, name);
        int r = copy_quota(&quotas->standard, &into->quota) < 0 ? sc_err_sys(err, -ENOMEM, SC_QUOTAS_FILE)
                                                                : read_quota(&into->quota, row, at, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The standard first, wherever it stands: the rows begin with it. */
static int read_file(struct sc_quotas *quotas, const json_t *file, struct sc_err *err)
{
    static const char *const names[] = {"version", "standard", "tenants", NULL};
    const json_t *version = json_object_get(file, "version"), *standard = json_object_get(file, "standard"),
                 *tenants = json_object_get(file, "tenants");
    const char *name;
    json_t *value;
    if (!json_is_object(file))
        return sc_json_wrong_type("file", file, "an object", err);
    json_object_foreach((json_t *)file, name, value)
    {
        bool known = !strcmp(name, names[0]) || !strcmp(name, names[1]) || !strcmp(name, names[2]);
        if (!known)
            return sc_json_unknown_field(name, name, names, err);
    }
    if (!json_is_integer(version) || json_integer_value(version) != VERSION)
        return sc_err_usage(err, "version", "version: must be %d", VERSION);
    int r = standard ? read_quota(&quotas->standard, standard, "standard", err) : 0;
    return r == 0 && tenants ? read_rows(quotas, tenants, "tenants", err) : r;
}

static int parse(struct sc_quotas *quotas, const struct sc_buf *text, struct sc_err *err)
{
    json_t *file = NULL;
    json_error_t where;
    int r = sc_json_load((const char *)text->data, text->len, JSON_REJECT_DUPLICATES, &file, &where);
    if (r == -ENOMEM)
        sc_err_sys(err, r, SC_QUOTAS_FILE);
    else if (r < 0)
        r = sc_json_parse_error(&where, err);
    else
        r = read_file(quotas, file, err);
    json_decref(file);
    return r < 0 ? sc_err_wrap(err, r, SC_QUOTAS_FILE) : 0;
}

int sc_quotas_load(int folder, struct sc_quotas *ret_quotas, struct sc_err *err)
{
    struct sc_buf text;
    *ret_quotas = (struct sc_quotas){.standard = STANDARD};
    int r = sc_state_read(folder, SC_QUOTAS_FILE, FILE_MAX, &text, err);
    if (r == 0)
        r = parse(ret_quotas, &text, err);
    else if (r == -ENOENT)
        r = 0;
    sc_buf_fini(&text);
    if (r < 0)
        sc_quotas_fini(ret_quotas);
    return r;
}

static void fini_quota(struct sc_quota *quota)
{
    sc_strv_fini(&quota->templates);
    json_decref(quota->network);
    quota->network = NULL;
}

void sc_quotas_fini(struct sc_quotas *quotas)
{
    for (size_t i = 0; i < quotas->n; i++)
        fini_quota(&quotas->v[i].quota);
    fini_quota(&quotas->standard);
    free(quotas->v);
    *quotas = (struct sc_quotas){0};
}

const struct sc_quota *sc_quotas_of(const struct sc_quotas *quotas, const char *tenant)
{
    for (size_t i = 0; i < quotas->n; i++)
        if (!strcmp(quotas->v[i].name, tenant))
            return &quotas->v[i].quota;
    return &quotas->standard;
}
