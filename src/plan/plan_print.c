/* The plan in words: one walk makes JSON, and the text for people is made from that, so that they cannot differ. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "plan/plan.h"

static void put(json_t *object, const char *key, const char *text)
{
    json_object_set_new(object, key, text ? json_string(text) : json_null());
}

static void put_number(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key, value == SC_UNSET ? json_null() : json_integer((json_int_t)value));
}

static json_t *list_of(const struct sc_strv *list)
{
    json_t *array = json_array();
    for (size_t i = 0; i < list->n; i++)
        json_array_append_new(array, json_string(list->v[i]));
    return array;
}

static json_t *limits_json(const struct sc_plan *plan)
{
    json_t *object = json_object();
    for (const struct sc_limit_row *row = SC_LIMIT_ROWS; row->option; row++) {
        char text[32];
        uint64_t value = *sc_limit_value((struct sc_limits *)&plan->limits, row);
        sc_limit_format(row, value, text, sizeof text);
        put(object, row->option, value == SC_UNSET ? NULL : text);
    }
    return object;
}

static json_t *mounts_json(const struct sc_plan *plan)
{
    static const char *const kinds[] = {"folder", "link", "file", "copy", "bind", "device"};
    json_t *array = json_array();
    for (size_t i = 0; i < plan->n_mounts; i++) {
        const struct sc_plan_mount *mount = &plan->mounts[i];
        json_t *object = json_object();
        put(object, "kind", kinds[mount->kind]);
        put(object, "path", mount->path);
        if (mount->source)
            put(object, "source", mount->source);
        if (mount->content)
            put_number(object, "bytes", strlen(mount->content));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *fresh_json(const struct sc_plan *plan)
{
    static const char *const kinds[] = {"tmpfs", "proc", "devpts", "ext4 image"};
    json_t *array = json_array();
    for (size_t i = 0; i < plan->n_fresh; i++) {
        json_t *object = json_object();
        put(object, "kind", kinds[plan->fresh[i].kind]);
        put(object, "path", plan->fresh[i].path);
        if (plan->fresh[i].bytes) {
            put_number(object, "bytes", plan->fresh[i].bytes);
            put_number(object, "inodes", plan->fresh[i].inodes);
        }
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *covers_json(const struct sc_plan *plan)
{
    json_t *object = json_object();
    for (size_t i = 0; i < plan->n_masks; i++)
        put(object, plan->masks[i].path, plan->masks[i].with);
    return object;
}

static json_t *landlock_json(const struct sc_plan *plan)
{
    if (!plan->landlock_handled_fs)
        return json_null();
    json_t *object = json_object(), *rules = json_object();
    char mask[24];
    for (size_t i = 0; i < plan->n_locks; i++) {
        snprintf(mask, sizeof mask, "0x%" PRIx64, plan->locks[i].access);
        put(rules, plan->locks[i].path, mask);
    }
    snprintf(mask, sizeof mask, "0x%" PRIx64, plan->landlock_handled_fs);
    put(object, "handled", mask);
    snprintf(mask, sizeof mask, "0x%" PRIx64, plan->landlock_scoped);
    put(object, "scoped", mask);
    json_object_set_new(object, "rules", rules);
    return object;
}

static json_t *groups_json(const struct sc_plan *plan)
{
    json_t *array = json_array();
    for (size_t i = 0; i < plan->n_cgroup; i++) {
        const struct sc_host_controller *controller = &plan->host->controllers[plan->cgroup[i].controller];
        json_t *object = json_object();
        put(object, "below", controller->dir);
        put(object, "file", plan->cgroup[i].file);
        put(object, "value", plan->cgroup[i].value);
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *rlimits_json(const struct sc_plan *plan)
{
    static const char *const names[] = {
        [RLIMIT_CPU] = "cpu",         [RLIMIT_FSIZE] = "file size",   [RLIMIT_DATA] = "data",
        [RLIMIT_STACK] = "stack",     [RLIMIT_CORE] = "core",         [RLIMIT_NPROC] = "processes",
        [RLIMIT_NOFILE] = "open files", [RLIMIT_MEMLOCK] = "locked memory", [RLIMIT_SIGPENDING] = "pending signals",
        [RLIMIT_MSGQUEUE] = "message queues", [RLIMIT_NICE] = "nice", [RLIMIT_RTPRIO] = "realtime priority",
    };
    json_t *object = json_object();
    for (size_t i = 0; i < plan->n_rlimits; i++)
        put_number(object, names[plan->rlimits[i].resource], plan->rlimits[i].value);
    return object;
}

static json_t *ids_json(const struct sc_plan *plan)
{
    json_t *object = json_object();
    put_number(object, "program", SC_CELL_UID);
    put_number(object, "agent", plan->agent_shares_uid ? SC_CELL_UID : SC_CELL_AGENT_UID);
    put(object, "host", plan->rootless ? (plan->agent_shares_uid ? "the caller's own id"
                                                                 : "the caller's own id; the agent's is a subordinate one")
                                       : "one id of its own for each live cell");
    return object;
}

static json_t *degraded_json(const struct sc_plan *plan)
{
    json_t *array = json_array();
    for (unsigned bit = 0; SC_DEGRADE_NAMES[bit]; bit++)
        if (plan->degraded & (1u << bit))
            json_array_append_new(array, json_string(SC_DEGRADE_NAMES[bit]));
    return array;
}

static json_t *plan_json(const struct sc_plan *plan)
{
    json_t *object = json_object();
    put(object, "language", sc_lang_name(plan->lang));
    json_object_set_new(object, "argv", list_of(&plan->argv));
    put(object, "cwd", plan->cwd);
    json_object_set_new(object, "env", list_of(&plan->env));
    json_object_set_new(object, "limits", limits_json(plan));
    put(object, "overflow", plan->overflow == SC_OVERFLOW_END ? "end" : "cut");
    json_object_set_new(object, "degraded", degraded_json(plan));
    json_object_set_new(object, "ids", ids_json(plan));
    put(object, "namespaces", "user, mount, pid, network, ipc, uts, cgroup, time");
    put(object, "network", "none: only lo");
    json_object_set_new(object, "template", mounts_json(plan));
    json_object_set_new(object, "fresh", fresh_json(plan));
    json_object_set_new(object, "covered", covers_json(plan));
    json_object_set_new(object, "landlock", landlock_json(plan));
    put(object, "apparmor", plan->apparmor ? "snapcell-cell" : NULL);
    put(object, "profile", plan->filter->name);
    put_number(object, "filter_instructions", plan->filter->n_insns);
    json_object_set_new(object, "rlimits", rlimits_json(plan));
    json_object_set_new(object, "cgroup", groups_json(plan));
    put(object, "pin", plan->pin);
    json_object_set_new(object, "terminal", json_boolean(plan->pty));
    return object;
}

char *sc_plan_to_json(const struct sc_plan *plan)
{
    json_t *object = plan_json(plan);
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    return text;
}

static int print_value(struct sc_buf *out, const json_t *value, unsigned depth);

/* One line for a flat object, so that a long list stays readable. */
static int print_flat(struct sc_buf *out, const json_t *object)
{
    const char *key;
    json_t *value;
    int r = 0;
    json_object_foreach ((json_t *)object, key, value) {
        if (r == 0)
            r = sc_buf_printf(out, "%s ", key);
        if (r == 0)
            r = print_value(out, value, 0);
        if (r == 0)
            r = sc_buf_add_str(out, "  ");
    }
    return r;
}

static int print_value(struct sc_buf *out, const json_t *value, unsigned depth)
{
    const char *key;
    json_t *item;
    size_t i;
    int r = 0;
    if (json_is_string(value))
        return sc_buf_add_str(out, json_string_value(value));
    if (json_is_integer(value))
        return sc_buf_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    if (json_is_array(value)) {
        json_array_foreach ((json_t *)value, i, item) {
            r = sc_buf_printf(out, "\n%*s", (int)(depth * 2 + 2), "");
            if (r == 0)
                r = json_is_object(item) ? print_flat(out, item) : print_value(out, item, depth + 1);
            if (r < 0)
                return r;
        }
        return json_array_size(value) ? 0 : sc_buf_add_str(out, "none");
    }
    if (json_is_object(value)) {
        json_object_foreach ((json_t *)value, key, item) {
            r = sc_buf_printf(out, "\n%*s%s: ", (int)(depth * 2 + 2), "", key);
            if (r == 0)
                r = print_value(out, item, depth + 1);
            if (r < 0)
                return r;
        }
        return 0;
    }
    return sc_buf_add_str(out, json_is_true(value) ? "yes" : json_is_false(value) ? "no" : "none");
}

char *sc_plan_to_text(const struct sc_plan *plan)
{
    struct sc_buf out;
    const char *key;
    json_t *value, *object = plan_json(plan);
    int r = object ? 0 : -1;
    sc_buf_init(&out, 16u << 20);
    json_object_foreach (object, key, value) {
        if (r == 0)
            r = sc_buf_printf(&out, "%s: ", key);
        if (r == 0)
            r = print_value(&out, value, 0);
        if (r == 0)
            r = sc_buf_add_str(&out, "\n");
    }
    json_decref(object);
    char *text = r == 0 ? sc_buf_steal(&out, NULL) : NULL;
    sc_buf_fini(&out);
    return text;
}
