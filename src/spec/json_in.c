/* JSON text → spec. Every field has a row that reads it; a field without a row is refused. `null` means "not
 * given". Reading is strict about types and about what makes text unusable as a path, an argument or a
 * variable (NUL bytes); whether the values are allowed together is for the check. */
#include "spec/spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "spec/json_read.h"
#include "spec/spec_internal.h"

/* ---- scalars ---- */

int sc_spec_read_language(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    const char *text = sc_json_text(value, path, err);
    return text ? sc_spec_lang(path, text, &((struct sc_spec *)into)->lang, err) : -EINVAL;
}

static int read_word(const json_t *value, const char *path, const struct sc_spec_word *words, int *ret_word,
                     struct sc_err *err)
{
    const char *text = sc_json_text(value, path, err);
    return text ? sc_spec_word(words, path, text, ret_word, err) : -EINVAL;
}

static int read_profile(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    int word = 0, r = read_word(value, path, SC_SPEC_PROFILES, &word, err);
    if (r == 0)
        ((struct sc_spec *)into)->profile = (enum sc_profile)word;
    return r;
}

static int read_overflow(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    int word = 0, r = read_word(value, path, SC_SPEC_OVERFLOWS, &word, err);
    if (r == 0)
        ((struct sc_spec *)into)->overflow = (enum sc_overflow)word;
    return r;
}

static int read_backing(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    int word = 0, r = read_word(value, path, SC_SPEC_BACKINGS, &word, err);
    if (r == 0)
        ((struct sc_spec *)into)->disk_backing = (enum sc_disk_backing)word;
    return r;
}

static int read_text(char **at, const json_t *value, const char *path,
                     int (*check)(const char *, const char *, struct sc_err *), struct sc_err *err)
{
    const char *text = sc_json_text(value, path, err);
    if (!text)
        return -EINVAL;
    int r = check(path, text, err);
    return r < 0 ? r : sc_spec_put_text(at, text, err);
}

static int cwd_ok(const char *path, const char *text, struct sc_err *err)
{
    return *text == '/' ? sc_spec_absolute_path_ok(path, text, err) : sc_spec_inner_path_ok(path, text, err);
}

#define TEXT_FIELD(member, check)                                                                            \
    static int read_##member(void *into, const json_t *value, const char *path, struct sc_err *err)          \
    {                                                                                                        \
        return read_text(&((struct sc_spec *)into)->member, value, path, check, err);                        \
    }
TEXT_FIELD(program, sc_spec_host_path_ok)
TEXT_FIELD(cwd, cwd_ok)
TEXT_FIELD(root, sc_spec_host_path_ok)
TEXT_FIELD(venv, sc_spec_host_path_ok)
TEXT_FIELD(interpreter, sc_spec_host_path_ok)
TEXT_FIELD(pin, sc_spec_pin_ok)
TEXT_FIELD(cgroup_parent, sc_spec_absolute_path_ok)
TEXT_FIELD(template, sc_spec_template_ok)

static int read_pty(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_json_read_bool(&((struct sc_spec *)into)->pty, value, path, err);
}

static int read_code(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    const char *text = sc_json_text(value, path, err);
    return text ? sc_spec_set_code(into, text, json_string_length(value), err) : -EINVAL;
}

/* ---- lists of text ---- */

static int read_arg(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_spec *spec = into;
    const char *text = sc_json_text(value, path, err);
    if (!text)
        return -EINVAL;
    int r = sc_spec_text_ok(path, text, SC_SPEC_ARG_BYTES_MAX - 1, err);
    if (r < 0)
        return r;
    if (spec->args.n >= SC_SPEC_ARGS_MAX)
        return sc_err_usage(err, path, "%s: more than the %d entries allowed", path, SC_SPEC_ARGS_MAX);
    return sc_strv_add(&spec->args, text) < 0 ? sc_spec_no_memory(err) : 0;
}

static int read_args(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_spec *spec = into;
    if (spec->args.n)
        return sc_err_usage(err, path, "%s: arguments are given twice: args or command is allowed, once",
                            path);
    return sc_json_read_list(into, value, path, read_arg, err);
}

static int read_command(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_spec *spec = into;
    int r = read_args(into, value, path, err);
    if (r < 0)
        return r;
    if (spec->args.n == 0 || !*spec->args.v[0])
        return sc_err_usage(err, path, "%s: empty: the program to run must stand first", path);
    spec->command = true;
    return 0;
}

int sc_spec_read_env(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    if (!json_is_object(value))
        return sc_json_wrong_type(path, value, "an object of strings", err);
    const char *name;
    json_t *entry;
    json_object_foreach((json_t *)value, name, entry)
    {
        char here[SC_ERR_FIELD_MAX];
        sc_json_join_path(here, path, name);
        const char *text = sc_json_text(entry, here, err);
        int r = text ? sc_spec_add_env(into, here, name, text, err) : -EINVAL;
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_degrade(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    const char *text = sc_json_text(value, path, err);
    if (!text)
        return -EINVAL;
    return sc_spec_degrade(path, text, strlen(text), &((struct sc_spec *)into)->allow_degraded, err);
}

static int read_allow_degraded(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_json_read_list(into, value, path, read_degrade, err);
}

/* ---- bytes ---- */

static int read_stdin(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_spec *spec = into;
    return sc_json_read_bytes(&spec->stdin_data, &spec->stdin_len, value, false, path, err);
}

static int read_stdin_b64(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_spec *spec = into;
    return sc_json_read_bytes(&spec->stdin_data, &spec->stdin_len, value, true, path, err);
}

/* ---- files, dirs, out ---- */

static int file_path(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_text(&((struct sc_spec_file *)into)->path, value, path, sc_spec_inner_path_ok, err);
}

static int file_host(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_text(&((struct sc_spec_file *)into)->host, value, path, sc_spec_host_path_ok, err);
}

static int file_content(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_spec_file *file = into;
    return sc_json_read_bytes(&file->data, &file->len, value, false, path, err);
}

static int file_content_b64(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_spec_file *file = into;
    return sc_json_read_bytes(&file->data, &file->len, value, true, path, err);
}

/* Octal text: a JSON number 755 or 493 would be read as either by somebody. */
static int file_mode(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    const char *text = sc_json_text(value, path, err);
    if (!text)
        return -EINVAL;
    size_t len = strlen(text);
    uint32_t mode = 0;
    bool ok = len >= 3 && len <= 4;
    for (size_t i = 0; i < len && ok; i++) {
        ok = text[i] >= '0' && text[i] <= '7';
        mode = mode * 8 + (uint32_t)(text[i] - '0');
    }
    if (!ok || mode > 0777 || mode == 0)
        return sc_spec_bad(err, path, text, "allowed are octal permission bits \"0001\" to \"0777\"");
    ((struct sc_spec_file *)into)->mode = mode;
    return 0;
}

static int read_file(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    static const struct sc_json_field fields[] = {
        {"path", file_path}, {"content", file_content}, {"content_b64", file_content_b64},
        {"host", file_host}, {"mode", file_mode},       {NULL}};
    struct sc_spec_file *file = NULL;
    int r = sc_spec_new_file(into, path, &file, err);
    if (r == 0)
        r = sc_json_read_object(file, value, path, fields, err);
    if (r < 0)
        return r;
    if (!file->path)
        return sc_err_usage(err, path, "%s: field path is missing", path);
    if (!file->host == !file->data)
        return sc_err_usage(err, path, "%s: exactly one of content, content_b64 and host is allowed", path);
    return 0;
}

int sc_spec_read_files(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_json_read_list(into, value, path, read_file, err);
}

static int dir_host(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_text(&((struct sc_spec_dir *)into)->host, value, path, sc_spec_host_path_ok, err);
}

static int any_path_ok(const char *path, const char *text, struct sc_err *err)
{
    return sc_spec_text_ok(path, text, SC_SPEC_PATH_MAX, err);
}

static int dir_path(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_text(&((struct sc_spec_dir *)into)->path, value, path, any_path_ok, err);
}

static int dir_mount(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_json_read_bool(&((struct sc_spec_dir *)into)->read_only_mount, value, path, err);
}

static int read_dir(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    static const struct sc_json_field fields[] = {
        {"host", dir_host}, {"path", dir_path}, {"read_only_mount", dir_mount}, {NULL}};
    struct sc_spec_dir *dir = NULL;
    int r = sc_spec_new_dir(into, path, &dir, err);
    if (r == 0)
        r = sc_json_read_object(dir, value, path, fields, err);
    if (r < 0)
        return r;
    if (!dir->host || !dir->path)
        return sc_err_usage(err, path, "%s: field %s is missing", path, dir->host ? "path" : "host");
    /* Which rule holds is known only when both fields have been read. */
    char here[SC_ERR_FIELD_MAX];
    sc_json_join_path(here, path, "path");
    return dir->read_only_mount ? sc_spec_mount_path_ok(here, dir->path, err)
                                : sc_spec_inner_path_ok(here, dir->path, err);
}

static int read_dirs(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_json_read_list(into, value, path, read_dir, err);
}

static int out_glob(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_text(&((struct sc_spec_out *)into)->glob, value, path, sc_spec_inner_path_ok, err);
}

static int out_dir(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_text(&((struct sc_spec_out *)into)->dir, value, path, sc_spec_host_path_ok, err);
}

static int read_out(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    static const struct sc_json_field fields[] = {{"glob", out_glob}, {"dir", out_dir}, {NULL}};
    struct sc_spec_out *out = NULL;
    int r = sc_spec_new_out(into, path, &out, err);
    if (r == 0)
        r = sc_json_read_object(out, value, path, fields, err);
    if (r < 0)
        return r;
    if (!out->glob)
        return sc_err_usage(err, path, "%s: field glob is missing", path);
    return out->dir ? 0 : sc_spec_put_text(&out->dir, ".", err);
}

int sc_spec_read_output(struct sc_spec *spec, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_spec_out *out = NULL;
    int r = sc_spec_new_out(spec, path, &out, err);
    if (r == 0)
        r = out_glob(out, value, path, err);
    return r < 0 ? r : sc_spec_put_text(&out->dir, ".", err);
}

static int read_outs(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_json_read_list(into, value, path, read_out, err);
}

/* ---- limits ---- */

/* A JSON number as thousandths, nanoseconds or itself; NaN-free, because JSON has none. */
static int limit_number(const struct sc_limit_row *row, const json_t *value, const char *path,
                        uint64_t *ret_value, struct sc_err *err)
{
    if (!json_is_number(value))
        return sc_json_wrong_type(path, value, "a number", err);
    double scale = row->kind == SC_LIMIT_DURATION ? (double)SC_NS_PER_MS
                   : row->kind == SC_LIMIT_MILLI  ? 1000.0
                                                  : 1.0;
    double number = json_number_value(value) * scale;
    char shown[64];
    snprintf(shown, sizeof shown, "%.15g", json_number_value(value));
    if (json_is_integer(value))
        snprintf(shown, sizeof shown, "%lld", (long long)json_integer_value(value));
    /* Beyond 2^53 a double skips whole numbers; every row's maximum lies below. */
    if (number < 0 || number > 9007199254740992.0)
        return sc_spec_limit_range(row, UINT64_MAX, path, shown, true, err);
    if (scale == 1.0 && number != (double)(uint64_t)number)
        return sc_spec_bad(err, path, shown, "must be a whole number");
    /* Digits behind the last that counts are dropped, as in text, once the double's own rounding is undone;
     * of nanoseconds, a double has no more digits than count. */
    uint64_t whole = (uint64_t)(number + (row->kind == SC_LIMIT_DURATION ? 0.5 : 1e-6));
    int r = sc_spec_limit_range(row, whole, path, shown, true, err);
    if (r == 0)
        *ret_value = whole;
    return r;
}

int sc_spec_read_limits(struct sc_limits *limits, const json_t *value, const char *path, struct sc_err *err)
{
    if (!json_is_object(value))
        return sc_json_wrong_type(path, value, "an object", err);
    const char *name;
    json_t *entry;
    json_object_foreach((json_t *)value, name, entry)
    {
        char here[SC_ERR_FIELD_MAX];
        const char *names[SC_JSON_FIELDS_MAX + 1] = {NULL};
        sc_json_join_path(here, path, name);
        const struct sc_limit_row *row = SC_LIMIT_ROWS;
        for (size_t i = 0; row->option && strcmp(row->json, name) != 0; row++)
            if (i < SC_JSON_FIELDS_MAX)
                names[i++] = row->json;
        if (!row->option)
            return sc_json_unknown_field(here, name, names, err);
        int r = json_is_null(entry) ? 0 : limit_number(row, entry, here, sc_limit_value(limits, row), err);
        if (r < 0)
            return r;
    }
    return 0;
}

int sc_spec_read_given_limits(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_spec *spec = into;
    int r = sc_spec_read_limits(&spec->limits, value, path, err);
    for (const struct sc_limit_row *row = SC_LIMIT_ROWS; row->option && r == 0; row++) {
        const json_t *given = json_object_get(value, row->json);
        if (given && !json_is_null(given))
            spec->limits_given |= 1u << sc_limit_index(row);
    }
    return r;
}

/* ---- the request ---- */

static int read_mode(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    int word = 0, r = read_word(value, path, SC_SPEC_MODES, &word, err);
    if (r == 0)
        ((struct sc_spec *)into)->mode = (enum sc_mode)word;
    return r;
}

static int read_validate(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_spec_read_validate(&((struct sc_spec *)into)->validate, value, path, err);
}

static int read_deterministic(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_spec_read_deterministic(&((struct sc_spec *)into)->deterministic, value, path, err);
}

static int read_forkable(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_json_read_bool(&((struct sc_spec *)into)->forkable, value, path, err);
}

static int read_import(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    const char *text = sc_json_text(value, path, err);
    return text ? sc_spec_add_import(into, path, text, err) : -EINVAL;
}

int sc_spec_read_imports(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_json_read_list(into, value, path, read_import, err);
}

static int read_imports(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_spec_read_imports(&((struct sc_spec *)into)->imports, value, path, err);
}

int sc_spec_read_network(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_net_from_json(&((struct sc_spec *)into)->net, value, path, err);
}

static const struct sc_json_field REQUEST[] = {
    {"language", sc_spec_read_language},
    {"code", read_code},
    {"program", read_program},
    {"command", read_command},
    {"args", read_args},
    {"env", sc_spec_read_env},
    {"secrets", sc_spec_read_secrets},
    {"cwd", read_cwd},
    {"stdin", read_stdin},
    {"stdin_b64", read_stdin_b64},
    {"files", sc_spec_read_files},
    {"dirs", read_dirs},
    {"out", read_outs},
    {"limits", sc_spec_read_given_limits},
    {"profile", read_profile},
    {"overflow", read_overflow},
    {"disk_backing", read_backing},
    {"allow_degraded", read_allow_degraded},
    {"root", read_root},
    {"venv", read_venv},
    {"interpreter", read_interpreter},
    {"pin", read_pin},
    {"cgroup_parent", read_cgroup_parent},
    {"template", read_template},
    {"pty", read_pty},
    {"network", sc_spec_read_network},
    {"mode", read_mode},
    {"validate", read_validate},
    {"deterministic", read_deterministic},
    {"forkable", read_forkable},
    {"imports", read_imports},
    {NULL},
};
_Static_assert(sizeof REQUEST / sizeof *REQUEST <= SC_JSON_FIELDS_MAX, "SC_JSON_FIELDS_MAX is too small");

int sc_spec_read(struct sc_spec *spec, const json_t *request, const char *path, struct sc_err *err)
{
    return sc_json_read_object(spec, request, path, REQUEST, err);
}

int sc_spec_from_json(struct sc_spec *spec, const char *text, size_t len, struct sc_err *err)
{
    if (len > SC_SPEC_JSON_MAX)
        return sc_err_usage(err, "request", "request: %zu bytes: at most %llu are allowed", len,
                            SC_SPEC_JSON_MAX);
    json_error_t error;
    json_t *request = NULL;
    int r = sc_json_load(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &request, &error);
    if (r < 0)
        return r == -ENOMEM ? sc_spec_no_memory(err) : sc_json_parse_error(&error, err);
    r = sc_spec_read(spec, request, "", err);
    json_decref(request);
    return r;
}
