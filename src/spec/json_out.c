/* Spec → JSON text. What stands at its default is left out, so that reading it again gives the same spec. */
#include "spec/spec.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/text.h"
#include "spec/spec_internal.h"

/* Every json_* call answers a NULL argument with NULL or -1, so one look at the end of a part is enough. */
struct writer {
    json_t *object;
    bool failed;
};

static void put(struct writer *w, const char *key, json_t *value)
{
    if (json_object_set_new(w->object, key, value) < 0)
        w->failed = true;
}

static void put_text(struct writer *w, const char *key, const char *text)
{
    if (text)
        put(w, key, json_string(text));
}

/* Bytes as text where they are text, else as `key`_b64. */
static void put_bytes(struct writer *w, const char *key, const char *key_b64, const char *data, size_t len)
{
    if (sc_utf8_valid(data, len)) {
        put(w, key, json_stringn(data, len));
        return;
    }
    struct sc_buf buf;
    sc_buf_init(&buf, SIZE_MAX / 2);
    if (sc_b64_encode(&buf, data, len) < 0)
        w->failed = true;
    else
        put(w, key_b64, json_stringn((const char *)buf.data, buf.len));
    sc_buf_fini(&buf);
}

static void append(struct writer *w, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) < 0)
        w->failed = true;
}

/* An entry's own writer, joined to its array by append_entry. */
static struct writer entry_new(void)
{
    return (struct writer){.object = json_object()};
}

static void append_entry(struct writer *w, json_t *array, struct writer *entry)
{
    if (entry->failed)
        w->failed = true;
    append(w, array, entry->object);
}

static json_t *number_of(const struct sc_limit_row *row, uint64_t value)
{
    if (row->kind == SC_LIMIT_DURATION)
        return value % SC_NS_PER_MS ? json_real((double)value / (double)SC_NS_PER_MS)
                                    : json_integer((json_int_t)(value / SC_NS_PER_MS));
    if (row->kind == SC_LIMIT_MILLI)
        return value % 1000 ? json_real((double)value / 1000.0) : json_integer((json_int_t)(value / 1000));
    return json_integer((json_int_t)value);
}

static void put_limits(struct writer *w, const struct sc_spec *spec)
{
    struct sc_limits copy = spec->limits;
    struct writer entry = entry_new();
    for (const struct sc_limit_row *row = SC_LIMIT_ROWS; row->option; row++) {
        uint64_t value = *sc_limit_value(&copy, row);
        bool given = spec->limits_given & 1u << sc_limit_index(row);
        if (value != SC_UNSET && value != SC_DERIVED && (given || value != row->standard))
            put(&entry, row->json, number_of(row, value));
    }
    w->failed = w->failed || entry.failed;
    put(w, "limits", entry.object);
}

static void put_list(struct writer *w, const char *key, const struct sc_strv *list)
{
    if (!list->n)
        return;
    json_t *array = json_array();
    for (size_t i = 0; i < list->n; i++)
        append(w, array, json_string(list->v[i]));
    put(w, key, array);
}

/* The secrets among them, or the others. */
static void put_env(struct writer *w, const char *key, const struct sc_spec *spec, bool secret)
{
    const struct sc_strv *env = &spec->env;
    if (env->n <= (secret ? 0 : spec->secrets.n))
        return;
    struct writer entry = entry_new();
    for (size_t i = 0; i < env->n; i++) {
        if (sc_spec_is_secret(spec, env->v[i]) != secret)
            continue;
        const char *equals = strchr(env->v[i], '=');
        char *name = equals ? strndup(env->v[i], (size_t)(equals - env->v[i])) : NULL;
        if (name)
            put(&entry, name, json_string(equals + 1));
        else
            entry.failed = true;
        free(name);
    }
    w->failed = w->failed || entry.failed;
    put(w, key, entry.object);
}

static json_t *mode_of(uint32_t mode)
{
    char text[5] = {'0', (char)('0' + (mode >> 6 & 7)), (char)('0' + (mode >> 3 & 7)),
                    (char)('0' + (mode & 7)), 0};
    return json_string(text);
}

static void put_files(struct writer *w, const struct sc_spec *spec)
{
    if (!spec->n_files)
        return;
    json_t *array = json_array();
    for (size_t i = 0; i < spec->n_files; i++) {
        const struct sc_spec_file *file = &spec->files[i];
        struct writer entry = entry_new();
        put_text(&entry, "path", file->path);
        put_text(&entry, "host", file->host);
        if (file->data)
            put_bytes(&entry, "content", "content_b64", file->data, file->len);
        if (file->mode)
            put(&entry, "mode", mode_of(file->mode));
        append_entry(w, array, &entry);
    }
    put(w, "files", array);
}

static void put_dirs(struct writer *w, const struct sc_spec *spec)
{
    if (!spec->n_dirs)
        return;
    json_t *array = json_array();
    for (size_t i = 0; i < spec->n_dirs; i++) {
        struct writer entry = entry_new();
        put_text(&entry, "host", spec->dirs[i].host);
        put_text(&entry, "path", spec->dirs[i].path);
        if (spec->dirs[i].read_only_mount)
            put(&entry, "read_only_mount", json_true());
        append_entry(w, array, &entry);
    }
    put(w, "dirs", array);
}

static void put_outs(struct writer *w, const struct sc_spec *spec)
{
    if (!spec->n_outs)
        return;
    json_t *array = json_array();
    for (size_t i = 0; i < spec->n_outs; i++) {
        struct writer entry = entry_new();
        put_text(&entry, "glob", spec->outs[i].glob);
        put_text(&entry, "dir", spec->outs[i].dir);
        append_entry(w, array, &entry);
    }
    put(w, "out", array);
}

static void put_degraded(struct writer *w, uint32_t bits)
{
    if (!bits)
        return;
    json_t *array = json_array();
    for (unsigned bit = 0; SC_DEGRADE_NAMES[bit]; bit++)
        if (bits & 1u << bit)
            append(w, array, json_string(SC_DEGRADE_NAMES[bit]));
    put(w, "allow_degraded", array);
}

static void put_what_runs(struct writer *w, const struct sc_spec *spec, bool whole)
{
    if (spec->lang != SC_LANG_AUTO)
        put_text(w, "language", sc_lang_name(spec->lang));
    if (spec->code)
        put(w, "code", json_stringn(spec->code, spec->code_len));
    put_text(w, "program", spec->program);
    put_list(w, spec->command ? "command" : "args", &spec->args);
    put_env(w, "env", spec, false);
    if (whole && spec->secrets.n)
        put_env(w, "secrets", spec, true);
    else
        put_list(w, "secrets", &spec->secrets);
    put_text(w, "cwd", spec->cwd);
    if (spec->stdin_data)
        put_bytes(w, "stdin", "stdin_b64", spec->stdin_data, spec->stdin_len);
    if (spec->pty)
        put(w, "pty", json_true());
}

static void put_validate(struct writer *w, const struct sc_validate *validate)
{
    if (!validate->on)
        return;
    struct writer entry = entry_new();
    if (validate->on_finding != SC_FINDING_BLOCK)
        put_text(&entry, "on_finding", sc_on_finding_name(validate->on_finding));
    put_list(&entry, "rules", &validate->rules);
    put_list(&entry, "deny_modules", &validate->deny_modules);
    put_list(&entry, "deny_calls", &validate->deny_calls);
    w->failed = w->failed || entry.failed;
    put(w, "validate", entry.object);
}

static void put_deterministic(struct writer *w, const struct sc_deterministic *deterministic)
{
    if (!deterministic->on)
        return;
    struct writer entry = entry_new();
    put(&entry, "seed", json_integer(deterministic->seed));
    if (deterministic->clock_given)
        put(&entry, "clock_start", json_real((double)deterministic->clock_ms / 1000.0));
    w->failed = w->failed || entry.failed;
    put(w, "deterministic", entry.object);
}

static void put_how(struct writer *w, const struct sc_spec *spec, bool whole)
{
    put_limits(w, spec);
    put_text(w, "profile", sc_profile_name(spec->profile));
    put_text(w, "overflow", sc_overflow_name(spec->overflow));
    put_text(w, "disk_backing", sc_disk_backing_name(spec->disk_backing));
    put_degraded(w, spec->allow_degraded);
    put_text(w, "root", spec->root);
    put_text(w, "venv", spec->venv);
    put_text(w, "interpreter", spec->interpreter);
    put_text(w, "pin", spec->pin);
    put_text(w, "cgroup_parent", spec->cgroup_parent);
    put_text(w, "template", spec->template);
    if (spec->mode != SC_MODE_PLAIN)
        put_text(w, "mode", sc_mode_name(spec->mode));
    put_validate(w, &spec->validate);
    put_deterministic(w, &spec->deterministic);
    if (spec->net.given)
        put(w, "network", sc_net_to_json(&spec->net, whole));
    if (spec->forkable)
        put(w, "forkable", json_true());
    put_list(w, "imports", &spec->imports);
}

static char *to_json(const struct sc_spec *spec, bool whole)
{
    struct writer w = entry_new();
    put_what_runs(&w, spec, whole);
    put_files(&w, spec);
    put_dirs(&w, spec);
    put_outs(&w, spec);
    put_how(&w, spec, whole);
    char *text = w.failed ? NULL : sc_json_dump(w.object, JSON_INDENT(2));
    json_decref(w.object);
    return text;
}

char *sc_spec_to_json(const struct sc_spec *spec)
{
    return to_json(spec, false);
}

char *sc_spec_to_json_whole(const struct sc_spec *spec)
{
    return to_json(spec, true);
}
