#include "spec/json_read.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "spec/spec_internal.h"

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

int sc_json_wrong_type(const char *path, const json_t *value, const char *wanted, struct sc_err *err)
{
    return sc_err_usage(err, path, "%s: is %s, must be %s", path, type_name(value), wanted);
}

const char *sc_json_text(const json_t *value, const char *path, struct sc_err *err)
{
    if (!json_is_string(value)) {
        sc_json_wrong_type(path, value, "a string", err);
        return NULL;
    }
    const char *text = json_string_value(value);
    if (strlen(text) == json_string_length(value))
        return text;
    sc_err_usage(err, path, "%s: holds a NUL byte: none is allowed here", path);
    return NULL;
}

void sc_json_join_path(char ret_path[SC_ERR_FIELD_MAX], const char *path, const char *name)
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

int sc_json_unknown_field(const char *path, const char *name, const char *const *names, struct sc_err *err)
{
    const char *nearest = sc_text_nearest(name, names);
    if (nearest)
        return sc_err_usage(err, path, "%s: unknown field; did you mean %s?", path, nearest);
    return sc_err_usage(err, path, "%s: unknown field; its page in docs/ lists what is allowed", path);
}

int sc_json_read_object(void *into, const json_t *object, const char *path,
                        const struct sc_json_field *fields, struct sc_err *err)
{
    if (!json_is_object(object))
        return sc_json_wrong_type(*path ? path : "request", object, "an object", err);
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        char here[SC_ERR_FIELD_MAX];
        sc_json_join_path(here, path, name);
        const struct sc_json_field *field = fields;
        while (field->name && strcmp(field->name, name) != 0)
            field++;
        if (!field->name) {
            const char *names[SC_JSON_FIELDS_MAX + 1] = {NULL};
            for (size_t i = 0; fields[i].name && i < SC_JSON_FIELDS_MAX; i++)
                names[i] = fields[i].name;
            return sc_json_unknown_field(here, name, names, err);
        }
        int r = json_is_null(value) ? 0 : field->read(into, value, here, err);
        if (r < 0)
            return r;
    }
    return 0;
}

int sc_json_read_bool(bool *into, const json_t *value, const char *path, struct sc_err *err)
{
    if (!json_is_boolean(value))
        return sc_json_wrong_type(path, value, "true or false", err);
    *into = json_is_true(value);
    return 0;
}

int sc_json_read_list(void *into, const json_t *list, const char *path, sc_json_reader *read,
                      struct sc_err *err)
{
    if (!json_is_array(list))
        return sc_json_wrong_type(path, list, "an array", err);
    for (size_t i = 0; i < json_array_size(list); i++) {
        char here[SC_ERR_FIELD_MAX];
        index_path(here, path, i);
        int r = read(into, json_array_get(list, i), here, err);
        if (r < 0)
            return r;
    }
    return 0;
}

int sc_json_read_bytes(char **at, size_t *at_len, const json_t *value, bool b64, const char *path,
                       struct sc_err *err)
{
    if (!json_is_string(value))
        return sc_json_wrong_type(path, value, "a string", err);
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

int sc_json_parse_error(const json_error_t *error, struct sc_err *err)
{
    char shown[JSON_ERROR_TEXT_LENGTH * 2];
    sc_text_show(shown, sizeof shown, error->text, strlen(error->text));
    return sc_err_usage(err, "request", "request: line %d column %d: not JSON: %s", error->line,
                        error->column, shown);
}
