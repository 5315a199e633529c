/* JSON text → spec. Every field has a row that reads it; a field without a row is refused. `null` means "not
 * given". Reading is strict about types and about what makes text unusable as a path, an argument or a
 * variable (NUL bytes); whether the values are allowed together is for the check. */
#include "spec/spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/text.h"
#include "spec/spec_internal.h"

/* Reads `value` into `into` (the spec, or one entry of a list); `path` names it in errors. */
struct field {
    const char *name;
    int (*read)(void *into, const json_t *value, const char *path, struct sc_err *err);
};
#define FIELDS_MAX 32

static const char *type_name(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    case JSON_NULL:
        break;
    }
    return "null";
}

static int wrong_type(const char *path, const json_t *value, const char *wanted, struct sc_err *err)
{
    return sc_err_usage(err, path, "%s: is %s, must be %s", path, type_name(value), wanted);
}

/* A string without NUL bytes, borrowed from `value`; NULL with err set. */
static const char *text_of(const json_t *value, const char *path, struct sc_err *err)
{
    if (!json_is_string(value)) {
        wrong_type(path, value, "a string", err);
        return NULL;
    }
    const char *text = json_string_value(value);
    if (strlen(text) == json_string_length(value))
        return text;
    sc_err_usage(err, path, "%s: holds a NUL byte: none is allowed here", path);
    return NULL;
}

static void join_path(char ret_path[SC_ERR_FIELD_MAX], const char *path, const char *name)
{
    char joined[2 * SC_ERR_FIELD_MAX];
    size_t n =
        (size_t)snprintf(joined, sizeof joined, "%s%s%.*s", path, *path ? "." : "", SC_ERR_FIELD_MAX, name);
    sc_text_show(ret_path, SC_ERR_FIELD_MAX, joined, n < sizeof joined ? n : sizeof joined - 1);
}

static void index_path(char ret_path[SC_ERR_FIELD_MAX], const char *path, size_t i)
{
    char joined[2 * SC_ERR_FIELD_MAX];
    size_t n = (size_t)snprintf(joined, sizeof joined, "%.*s[%zu]", SC_ERR_FIELD_MAX, path, i);
    sc_text_show(ret_path, SC_ERR_FIELD_MAX, joined, n);
}

static int unknown_field(const char *path, const char *name, const char *const *names, struct sc_err *err)
{
    const char *nearest = sc_text_nearest(name, names);
    if (nearest)
        return sc_err_usage(err, path, "%s: unknown field; did you mean %s?", path, nearest);
    return sc_err_usage(err, path, "%s: unknown field; docs/spec.md lists what is allowed", path);
}

static int read_object(void *into, const json_t *object, const char *path, const struct field *fields,
                       struct sc_err *err)
{
    if (!json_is_object(object))
        return wrong_type(*path ? path : "request", object, "an object", err);
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        char here[SC_ERR_FIELD_MAX];
        join_path(here, path, name);
        const struct field *field = fields;
        while (field->name && strcmp(field->name, name) != 0)
            field++;
        if (!field->name) {
            const char *names[FIELDS_MAX + 1] = {NULL};
            for (size_t i = 0; fields[i].name && i < FIELDS_MAX; i++)
                names[i] = fields[i].name;
            return unknown_field(here, name, names, err);
        }
        int r = json_is_null(value) ? 0 : field->read(into, value, here, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_list(void *into, const json_t *list, const char *path,
                     int (*read)(void *, const json_t *, const char *, struct sc_err *), struct sc_err *err)
{
    if (!json_is_array(list))
        return wrong_type(path, list, "an array", err);
    for (size_t i = 0; i < json_array_size(list); i++) {
        char here[SC_ERR_FIELD_MAX];
        index_path(here, path, i);
        int r = read(into, json_array_get(list, i), here, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- scalars ---- */

static int read_language(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    const char *text = text_of(value, path, err);
    return text ? sc_spec_lang(path, text, &((struct sc_spec *)into)->lang, err) : -EINVAL;
}

static int read_word(const json_t *value, const char *path, const struct sc_spec_word *words, int *ret_word,
                     struct sc_err *err)
{
    const char *text = text_of(value, path, err);
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
    const char *text = text_of(value, path, err);
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

static int read_pty(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    if (!json_is_boolean(value))
        return wrong_type(path, value, "true or false", err);
    ((struct sc_spec *)into)->pty = json_is_true(value);
    return 0;
}

static int read_code(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    const char *text = text_of(value, path, err);
    return text ? sc_spec_set_code(into, text, json_string_length(value), err) : -EINVAL;
}

/* ---- lists of text ---- */

static int read_arg(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_spec *spec = into;
    const char *text = text_of(value, path, err);
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
    return read_list(into, value, path, read_arg, err);
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

static int read_env(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    if (!json_is_object(value))
        return wrong_type(path, value, "an object of strings", err);
    const char *name;
    json_t *entry;
    json_object_foreach((json_t *)value, name, entry)
    {
        char here[SC_ERR_FIELD_MAX];
        join_path(here, path, name);
        const char *text = text_of(entry, here, err);
        int r = text ? sc_spec_add_env(into, here, name, text, err) : -EINVAL;
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_degrade(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    const char *text = text_of(value, path, err);
    if (!text)
        return -EINVAL;
    return sc_spec_degrade(path, text, strlen(text), &((struct sc_spec *)into)->allow_degraded, err);
}

static int read_allow_degraded(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_list(into, value, path, read_degrade, err);
}

/* ---- bytes ---- */

/* Text as it is (NUL bytes may be in it), or decoded base64, into *at. */
static int read_bytes(char **at, size_t *at_len, const json_t *value, bool b64, const char *path,
                      struct sc_err *err)
{
    if (!json_is_string(value))
        return wrong_type(path, value, "a string", err);
    if (*at)
        return sc_err_usage(err, path, "%s: the same bytes are given twice: as text or as base64 is allowed",
                            path);
    const char *text = json_string_value(value);
    size_t len = json_string_length(value);
    if (!b64)
        return sc_spec_put_data(at, at_len, text, len, err);
    struct sc_buf buf;
    sc_buf_init(&buf, len);
    int r = sc_b64_decode(&buf, text, len);
    char *data = r == 0 ? sc_buf_steal(&buf, at_len) : NULL;
    sc_buf_fini(&buf);
    if (r == -EINVAL)
        return sc_err_usage(err, path,
                            "%s: not base64: allowed are A-Z a-z 0-9 + / with padding, no line breaks", path);
    if (!data)
        return sc_spec_no_memory(err);
    *at = data;
    return 0;
}

static int read_stdin(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_spec *spec = into;
    return read_bytes(&spec->stdin_data, &spec->stdin_len, value, false, path, err);
}

static int read_stdin_b64(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_spec *spec = into;
    return read_bytes(&spec->stdin_data, &spec->stdin_len, value, true, path, err);
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
    return read_bytes(&file->data, &file->len, value, false, path, err);
}

static int file_content_b64(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_spec_file *file = into;
    return read_bytes(&file->data, &file->len, value, true, path, err);
}

/* Octal text: a JSON number 755 or 493 would be read as either by somebody. */
static int file_mode(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    const char *text = text_of(value, path, err);
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
    static const struct field fields[] = {
        {"path", file_path}, {"content", file_content}, {"content_b64", file_content_b64},
        {"host", file_host}, {"mode", file_mode},       {NULL}};
    struct sc_spec_file *file = NULL;
    int r = sc_spec_new_file(into, path, &file, err);
    if (r == 0)
        r = read_object(file, value, path, fields, err);
    if (r < 0)
        return r;
    if (!file->path)
        return sc_err_usage(err, path, "%s: field path is missing", path);
    if (!file->host == !file->data)
        return sc_err_usage(err, path, "%s: exactly one of content, content_b64 and host is allowed", path);
    return 0;
}

static int read_files(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_list(into, value, path, read_file, err);
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
    if (!json_is_boolean(value))
        return wrong_type(path, value, "true or false", err);
    ((struct sc_spec_dir *)into)->read_only_mount = json_is_true(value);
    return 0;
}

static int read_dir(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    static const struct field fields[] = {
        {"host", dir_host}, {"path", dir_path}, {"read_only_mount", dir_mount}, {NULL}};
    struct sc_spec_dir *dir = NULL;
    int r = sc_spec_new_dir(into, path, &dir, err);
    if (r == 0)
        r = read_object(dir, value, path, fields, err);
    if (r < 0)
        return r;
    if (!dir->host || !dir->path)
        return sc_err_usage(err, path, "%s: field %s is missing", path, dir->host ? "path" : "host");
    /* Which rule holds is known only when both fields have been read. */
    char here[SC_ERR_FIELD_MAX];
    join_path(here, path, "path");
    return dir->read_only_mount ? sc_spec_mount_path_ok(here, dir->path, err)
                                : sc_spec_inner_path_ok(here, dir->path, err);
}

static int read_dirs(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_list(into, value, path, read_dir, err);
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
    static const struct field fields[] = {{"glob", out_glob}, {"dir", out_dir}, {NULL}};
    struct sc_spec_out *out = NULL;
    int r = sc_spec_new_out(into, path, &out, err);
    if (r == 0)
        r = read_object(out, value, path, fields, err);
    if (r < 0)
        return r;
    if (!out->glob)
        return sc_err_usage(err, path, "%s: field glob is missing", path);
    return out->dir ? 0 : sc_spec_put_text(&out->dir, ".", err);
}

static int read_outs(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_list(into, value, path, read_out, err);
}

/* ---- limits ---- */

/* A JSON number as thousandths, nanoseconds or itself; NaN-free, because JSON has none. */
static int limit_number(const struct sc_limit_row *row, const json_t *value, const char *path,
                        uint64_t *ret_value, struct sc_err *err)
{
    if (!json_is_number(value))
        return wrong_type(path, value, "a number", err);
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

static int read_limits(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_spec *spec = into;
    if (!json_is_object(value))
        return wrong_type(path, value, "an object", err);
    const char *name;
    json_t *entry;
    json_object_foreach((json_t *)value, name, entry)
    {
        char here[SC_ERR_FIELD_MAX];
        const char *names[FIELDS_MAX + 1] = {NULL};
        join_path(here, path, name);
        const struct sc_limit_row *row = SC_LIMIT_ROWS;
        for (size_t i = 0; row->option && strcmp(row->json, name) != 0; row++)
            if (i < FIELDS_MAX)
                names[i++] = row->json;
        if (!row->option)
            return unknown_field(here, name, names, err);
        int r =
            json_is_null(entry) ? 0 : limit_number(row, entry, here, sc_limit_value(&spec->limits, row), err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- the request ---- */

static int network_mode(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    const char *text = text_of(value, path, err);
    (void)into;
    if (!text)
        return -EINVAL;
    if (!strcmp(text, "none"))
        return 0;
    return sc_spec_bad(err, path, text, "allowed is none: this version gives cells no network");
}

static int read_network(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    static const struct field fields[] = {{"mode", network_mode}, {NULL}};
    return read_object(into, value, path, fields, err);
}

static const struct field REQUEST[] = {
    {"language", read_language},
    {"code", read_code},
    {"program", read_program},
    {"command", read_command},
    {"args", read_args},
    {"env", read_env},
    {"cwd", read_cwd},
    {"stdin", read_stdin},
    {"stdin_b64", read_stdin_b64},
    {"files", read_files},
    {"dirs", read_dirs},
    {"out", read_outs},
    {"limits", read_limits},
    {"profile", read_profile},
    {"overflow", read_overflow},
    {"disk_backing", read_backing},
    {"allow_degraded", read_allow_degraded},
    {"root", read_root},
    {"venv", read_venv},
    {"interpreter", read_interpreter},
    {"pin", read_pin},
    {"cgroup_parent", read_cgroup_parent},
    {"pty", read_pty},
    {"network", read_network},
    {NULL},
};
_Static_assert(sizeof REQUEST / sizeof *REQUEST <= FIELDS_MAX, "FIELDS_MAX is too small");

static int parse_error(const json_error_t *error, struct sc_err *err)
{
    char shown[JSON_ERROR_TEXT_LENGTH * 2];
    sc_text_show(shown, sizeof shown, error->text, strlen(error->text));
    return sc_err_usage(err, "request", "request: line %d column %d: not JSON: %s", error->line,
                        error->column, shown);
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
        return r == -ENOMEM ? sc_spec_no_memory(err) : parse_error(&error, err);
    r = read_object(spec, request, "", REQUEST, err);
    json_decref(request);
    return r;
}
