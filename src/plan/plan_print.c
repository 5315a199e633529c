/* The plan in words: one walk makes JSON, and the text for people is made from that, so that they cannot
 * differ. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/text.h"
#include "plan/plan.h"
#include "spec/lang.h"

/* Text with control characters and invalid bytes as \xNN, whole. Heap text, or NULL. */
static char *shown(const char *text)
{
    size_t len = strlen(text), room = len * 4 + 16;
    char *copy = malloc(room);
    if (copy)
        sc_text_show(copy, room, text, len);
    return copy;
}

/* JSON knows only UTF-8, and names of files are any bytes. */
static json_t *text_of(const char *text)
{
    if (sc_utf8_valid(text, strlen(text)))
        return json_string(text);
    char *copy = shown(text);
    json_t *value = copy ? json_string(copy) : NULL;
    free(copy);
    return value;
}

/* All take `value`. A NULL one, or no memory for the place, is kept in *failed: a plan that is told must be
 * whole. */
static void set(json_t *object, const char *key, json_t *value, bool *failed)
{
    if (json_object_set_new(object, key, value) < 0)
        *failed = true;
}

static void append(json_t *array, json_t *value, bool *failed)
{
    if (json_array_append_new(array, value) < 0)
        *failed = true;
}

static void put(json_t *object, const char *key, const char *text, bool *failed)
{
    set(object, key, text ? text_of(text) : json_null(), failed);
}

static void put_number(json_t *object, const char *key, uint64_t value, bool *failed)
{
    set(object, key, value == SC_UNSET ? json_null() : json_integer((json_int_t)value), failed);
}

static json_t *list_of(const struct sc_strv *list, bool *failed)
{
    json_t *array = json_array();
    for (size_t i = 0; i < list->n; i++)
        append(array, text_of(list->v[i]), failed);
    return array;
}

/* Of secrets the names. */
static json_t *environment_json(const struct sc_plan *plan, bool *failed)
{
    json_t *array = json_array();
    for (size_t i = 0; i < plan->env.n; i++) {
        const char *entry = plan->env.v[i];
        bool secret = sc_spec_is_secret(plan->spec, entry);
        append(array,
               secret ? json_sprintf("%.*s=(secret)", (int)strcspn(entry, "="), entry) : text_of(entry),
               failed);
    }
    return array;
}

static json_t *limits_json(const struct sc_plan *plan, bool *failed)
{
    json_t *object = json_object();
    for (const struct sc_limit_row *row = SC_LIMIT_ROWS; row->option; row++) {
        char text[32];
        uint64_t value = *sc_limit_value((struct sc_limits *)&plan->limits, row);
        sc_limit_format(row, value, text, sizeof text);
        put(object, row->option, value == SC_UNSET ? NULL : text, failed);
    }
    return object;
}

static json_t *mounts_json(const struct sc_plan *plan, bool *failed)
{
    static const char *const kinds[] = {"folder", "link", "file", "copy", "bind", "device", "program"};
    json_t *array = json_array();
    for (size_t i = 0; i < plan->n_mounts; i++) {
        const struct sc_plan_mount *mount = &plan->mounts[i];
        json_t *object = json_object();
        put(object, "kind", kinds[mount->kind], failed);
        put(object, "path", mount->path, failed);
        if (mount->source)
            put(object, "source", mount->source, failed);
        if (mount->content)
            put_number(object, "bytes", strlen(mount->content), failed);
        if (mount->bytes)
            put_number(object, "bytes", mount->n_bytes, failed);
        append(array, object, failed);
    }
    return array;
}

static json_t *fresh_json(const struct sc_plan *plan, bool *failed)
{
    static const char *const kinds[] = {"tmpfs", "proc", "devpts", "ext4 image"};
    json_t *array = json_array();
    for (size_t i = 0; i < plan->n_fresh; i++) {
        json_t *object = json_object();
        put(object, "kind", kinds[plan->fresh[i].kind], failed);
        put(object, "path", plan->fresh[i].path, failed);
        if (plan->fresh[i].bytes) {
            put_number(object, "bytes", plan->fresh[i].bytes, failed);
            put_number(object, "inodes", plan->fresh[i].inodes, failed);
        }
        append(array, object, failed);
    }
    return array;
}

static json_t *covers_json(const struct sc_plan *plan, bool *failed)
{
    json_t *object = json_object();
    for (size_t i = 0; i < plan->n_masks; i++)
        put(object, plan->masks[i].path, plan->masks[i].with, failed);
    return object;
}

static json_t *landlock_json(const struct sc_plan *plan, bool *failed)
{
    if (!plan->landlock_handled_fs)
        return json_null();
    json_t *object = json_object(), *rules = json_object();
    char mask[24];
    for (size_t i = 0; i < plan->n_locks; i++) {
        snprintf(mask, sizeof mask, "0x%" PRIx64, plan->locks[i].access);
        put(rules, plan->locks[i].path, mask, failed);
    }
    snprintf(mask, sizeof mask, "0x%" PRIx64, plan->landlock_handled_fs);
    put(object, "handled", mask, failed);
    snprintf(mask, sizeof mask, "0x%" PRIx64, plan->landlock_scoped);
    put(object, "scoped", mask, failed);
    set(object, "rules", rules, failed);
    return object;
}

static json_t *groups_json(const struct sc_plan *plan, bool *failed)
{
    json_t *array = json_array();
    for (size_t i = 0; i < plan->n_cgroup; i++) {
        const struct sc_host_controller *controller = &plan->host->controllers[plan->cgroup[i].controller];
        json_t *object = json_object();
        put(object, "below", controller->dir, failed);
        put(object, "file", plan->cgroup[i].file, failed);
        put(object, "value", plan->cgroup[i].value, failed);
        append(array, object, failed);
    }
    return array;
}

static json_t *rlimits_json(const struct sc_plan *plan, bool *failed)
{
    static const char *const names[] = {
        [RLIMIT_CPU] = "cpu",
        [RLIMIT_FSIZE] = "file size",
        [RLIMIT_DATA] = "data",
        [RLIMIT_STACK] = "stack",
        [RLIMIT_CORE] = "core",
        [RLIMIT_NPROC] = "processes",
        [RLIMIT_NOFILE] = "open files",
        [RLIMIT_MEMLOCK] = "locked memory",
        [RLIMIT_SIGPENDING] = "pending signals",
        [RLIMIT_MSGQUEUE] = "message queues",
        [RLIMIT_NICE] = "nice",
        [RLIMIT_RTPRIO] = "realtime priority",
    };
    json_t *object = json_object();
    for (size_t i = 0; i < plan->n_rlimits; i++)
        put_number(object, names[plan->rlimits[i].resource], plan->rlimits[i].value, failed);
    return object;
}

static json_t *ids_json(const struct sc_plan *plan, bool *failed)
{
    json_t *object = json_object();
    put_number(object, "program", SC_CELL_UID, failed);
    put_number(object, "agent", plan->agent_shares_uid ? SC_CELL_UID : SC_CELL_AGENT_UID, failed);
    put(object, "host",
        plan->rootless ? (plan->agent_shares_uid ? "the caller's own id"
                                                 : "the caller's own id; the agent's is a subordinate one")
                       : "one id of its own for each live cell",
        failed);
    return object;
}

static json_t *degraded_json(const struct sc_plan *plan, bool *failed)
{
    json_t *array = json_array();
    for (unsigned bit = 0; SC_DEGRADE_NAMES[bit]; bit++)
        if (plan->degraded & (1u << bit))
            append(array, json_string(SC_DEGRADE_NAMES[bit]), failed);
    return array;
}

static json_t *input(const char *kind, const char *path, const char *source, uint64_t bytes, bool *failed)
{
    json_t *object = json_object();
    put(object, "kind", kind, failed);
    if (path)
        put(object, "path", path, failed);
    if (source)
        put(object, "source", source, failed);
    else
        put_number(object, "bytes", bytes, failed);
    return object;
}

/* What is put into the work folder before the program starts; paths are relative to it. */
static json_t *inputs_json(const struct sc_plan *plan, bool *failed)
{
    const struct sc_spec *spec = plan->spec;
    json_t *array = json_array();
    if (spec->code)
        append(array,
               input("code", plan->stay ? NULL : sc_lang_row(plan->lang)->source_name, NULL, spec->code_len,
                     failed),
               failed);
    if (spec->program) {
        const char *slash = strrchr(spec->program, '/');
        append(array, input("program", slash ? slash + 1 : spec->program, spec->program, 0, failed), failed);
    }
    for (size_t i = 0; i < spec->n_files; i++)
        append(array, input("file", spec->files[i].path, spec->files[i].host, spec->files[i].len, failed),
               failed);
    for (size_t i = 0; i < spec->n_dirs; i++)
        if (!spec->dirs[i].read_only_mount)
            append(array, input("folder", spec->dirs[i].path, spec->dirs[i].host, 0, failed), failed);
    return array;
}

static json_t *outputs_json(const struct sc_plan *plan, bool *failed)
{
    json_t *array = json_array();
    for (size_t i = 0; i < plan->spec->n_outs; i++) {
        json_t *object = json_object();
        put(object, "glob", plan->spec->outs[i].glob, failed);
        put(object, "folder", plan->spec->outs[i].dir, failed);
        append(array, object, failed);
    }
    return array;
}

static json_t *stdin_json(const struct sc_plan *plan, bool *failed)
{
    json_t *object = json_object();
    const struct sc_spec *spec = plan->spec;
    put(object, "from",
        plan->pty             ? "the terminal"
        : spec->stdin_data    ? "data"
        : spec->stdin_fd >= 0 ? "descriptor"
                              : NULL,
        failed);
    if (spec->stdin_data)
        put_number(object, "bytes", spec->stdin_len, failed);
    return object;
}

static json_t *deterministic_json(const struct sc_plan *plan, bool *failed)
{
    const struct sc_deterministic *deterministic = &plan->spec->deterministic;
    if (!deterministic->on)
        return json_null();
    json_t *object = json_object();
    put_number(object, "seed", deterministic->seed, failed);
    put_number(object, "clock_start_ms",
               deterministic->clock_given ? deterministic->clock_ms : SC_CLOCK_STANDARD_MS, failed);
    return object;
}

static json_t *plan_json(const struct sc_plan *plan, bool *failed)
{
    json_t *object = json_object();
    put(object, "language", sc_lang_name(plan->lang), failed);
    set(object, "argv", list_of(&plan->argv, failed), failed);
    put(object, "cwd", plan->cwd, failed);
    set(object, "env", environment_json(plan, failed), failed);
    set(object, "stdin", stdin_json(plan, failed), failed);
    set(object, "put_in", inputs_json(plan, failed), failed);
    set(object, "taken_out", outputs_json(plan, failed), failed);
    set(object, "limits", limits_json(plan, failed), failed);
    put(object, "overflow", plan->overflow == SC_OVERFLOW_END ? "end" : "cut", failed);
    set(object, "degraded", degraded_json(plan, failed), failed);
    set(object, "ids", ids_json(plan, failed), failed);
    put(object, "namespaces", "user, mount, pid, network, ipc, uts, cgroup, time", failed);
    if (plan->spec->net.mode == SC_NET_NONE)
        put(object, "network", "none: only lo", failed);
    else
        set(object, "network", sc_net_to_json(&plan->spec->net, false), failed);
    set(object, "template", mounts_json(plan, failed), failed);
    set(object, "fresh", fresh_json(plan, failed), failed);
    set(object, "covered", covers_json(plan, failed), failed);
    set(object, "landlock", landlock_json(plan, failed), failed);
    put(object, "apparmor", plan->apparmor ? plan->forkable ? "snapcell-forkable" : "snapcell-cell" : NULL,
        failed);
    put(object, "profile", plan->filter->name, failed);
    put_number(object, "filter_instructions", plan->filter->n_insns, failed);
    set(object, "rlimits", rlimits_json(plan, failed), failed);
    set(object, "cgroup", groups_json(plan, failed), failed);
    put(object, "pin", plan->pin, failed);
    set(object, "terminal", json_boolean(plan->pty), failed);
    set(object, "deterministic", deterministic_json(plan, failed), failed);
    if (plan->forkable)
        set(object, "forkable", json_true(), failed);
    return object;
}

char *sc_plan_to_json(const struct sc_plan *plan)
{
    bool failed = false;
    json_t *object = plan_json(plan, &failed);
    char *text = failed ? NULL : sc_json_dump(object, JSON_COMPACT);
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
    json_object_foreach((json_t *)object, key, value)
    {
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
    if (json_is_string(value)) {
        char *text = shown(json_string_value(value));
        r = text ? sc_buf_add_str(out, text) : -ENOMEM;
        free(text);
        return r;
    }
    if (json_is_integer(value))
        return sc_buf_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    if (json_is_array(value)) {
        json_array_foreach((json_t *)value, i, item)
        {
            r = sc_buf_printf(out, "\n%*s", (int)(depth * 2 + 2), "");
            if (r == 0)
                r = json_is_object(item) ? print_flat(out, item) : print_value(out, item, depth + 1);
            if (r < 0)
                return r;
        }
        return json_array_size(value) ? 0 : sc_buf_add_str(out, "none");
    }
    if (json_is_object(value)) {
        json_object_foreach((json_t *)value, key, item)
        {
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
    bool failed = false;
    json_t *value, *object = plan_json(plan, &failed);
    int r = failed ? -ENOMEM : 0;
    sc_buf_init(&out, 16u << 20);
    json_object_foreach(object, key, value)
    {
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
