/* What stands in a request beside a spec: every field typed, ranged, named by its path when it is wrong. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "gate/parts.h"
#include "spec/json_read.h"
#include "spec/spec.h"

#define LABELS_MAX 32
#define LABEL_BYTES_MAX 256
#define NAMES_MAX 32

int text_unescape(char *text, bool plus)
{
    static const char digits[] = "0123456789abcdef";
    char *out = text;
    for (const char *at = text; *at; at++) {
        if (*at == '+' && plus) {
            *out++ = ' ';
            continue;
        }
        if (*at != '%') {
            *out++ = *at;
            continue;
        }
        int value = 0;
        for (int i = 1; i <= 2; i++) {
            char lower = at[i] >= 'A' && at[i] <= 'F' ? (char)(at[i] - 'A' + 'a') : at[i];
            const char *digit = lower ? strchr(digits, lower) : NULL;
            if (!digit)
                return -EINVAL;
            value = value * 16 + (int)(digit - digits);
        }
        if (value == 0)
            return -EINVAL;
        *out++ = (char)value;
        at += 2;
    }
    *out = '\0';
    return 0;
}

static const struct field *find(const struct field *fields, const char *name)
{
    while (fields->name && strcmp(fields->name, name) != 0)
        fields++;
    return fields->name ? fields : NULL;
}

static int unknown(const struct field *fields, const char *name, struct sc_err *err)
{
    const char *names[NAMES_MAX + 1] = {NULL};
    char path[SC_ERR_FIELD_MAX];
    for (size_t n = 0; fields->name && n < NAMES_MAX; fields++)
        names[n++] = fields->name;
    sc_json_join_path(path, "", name);
    return sc_json_unknown_field(path, name, names, err);
}

static bool is_name(const char *text)
{
    size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
    return len > 0 && len <= 64 && !text[len];
}

static int check_word(const struct field *field, const char *text, struct sc_err *err)
{
    char allowed[200] = "", shown[100];
    size_t used = 0;
    for (size_t i = 0; field->words[i]; i++) {
        if (!strcmp(field->words[i], text))
            return 0;
        int n = snprintf(allowed + used, sizeof allowed - used, "%s%s", i ? ", " : "", field->words[i]);
        used += n > 0 && (size_t)n < sizeof allowed - used ? (size_t)n : 0;
    }
    sc_text_show(shown, sizeof shown, text, strlen(text));
    return sc_err_usage(err, field->name, "%s: %s: allowed are %s", field->name, shown, allowed);
}

static int check_text(const struct field *field, const json_t *value, struct sc_err *err)
{
    const char *text = sc_json_text(value, field->name, err);
    if (!text)
        return -EINVAL;
    if (field->type == FIELD_WORD)
        return check_word(field, text, err);
    if (field->type == FIELD_NAME && !is_name(text))
        return sc_err_usage(err, field->name, "%s: must be 1 to 64 letters, digits, -, _ or .", field->name);
    if (field->type == FIELD_MODE && (!*text || strlen(text) > 5 || text[strspn(text, "01234567")]))
        return sc_err_usage(err, field->name, "%s: must be permission bits as octal text, as \"0644\"",
                            field->name);
    if (field->most > 0 && strlen(text) > (size_t)field->most)
        return sc_err_usage(err, field->name, "%s: at most %.0f bytes are allowed", field->name, field->most);
    if (field->least > 0 && strlen(text) < (size_t)field->least)
        return sc_err_usage(err, field->name, "%s: is empty", field->name);
    return 0;
}

static int check_number(const struct field *field, const json_t *value, struct sc_err *err)
{
    bool whole = field->type == FIELD_INTEGER;
    if (whole ? !json_is_integer(value) : !json_is_number(value))
        return sc_json_wrong_type(field->name, value, whole ? "a whole number" : "a number", err);
    double number = json_number_value(value);
    if (number >= field->least && number <= field->most)
        return 0;
    return sc_err_usage(err, field->name, "%s: %.15g: allowed are %.15g to %.15g", field->name, number,
                        field->least, field->most);
}

static int check_labels(const struct field *field, const json_t *value, struct sc_err *err)
{
    const char *name;
    json_t *text;
    if (!json_is_object(value))
        return sc_json_wrong_type(field->name, value, "an object", err);
    if (json_object_size(value) > LABELS_MAX)
        return sc_err_usage(err, field->name, "%s: at most %d entries are allowed", field->name, LABELS_MAX);
    json_object_foreach((json_t *)value, name, text)
    {
        char path[SC_ERR_FIELD_MAX];
        sc_json_join_path(path, field->name, name);
        if (!is_name(name))
            return sc_err_usage(err, path, "%s: names are 1 to 64 letters, digits, -, _ or .", path);
        if (!sc_json_text(text, path, err))
            return -EINVAL;
        if (json_string_length(text) > LABEL_BYTES_MAX)
            return sc_err_usage(err, path, "%s: at most %d bytes are allowed", path, LABEL_BYTES_MAX);
    }
    return 0;
}

static int check_one(const struct field *field, const json_t *value, struct sc_err *err)
{
    switch (field->type) {
    case FIELD_BOOL:
        return json_is_boolean(value) ? 0 : sc_json_wrong_type(field->name, value, "true or false", err);
    case FIELD_INTEGER:
    case FIELD_NUMBER:
        return check_number(field, value, err);
    case FIELD_LABELS:
        return check_labels(field, value, err);
    case FIELD_TASK:
        return task_check_field(field->name, value, err);
    default:
        return check_text(field, value, err);
    }
}

/* Of those that the spec has too: its own reader says what they may be. */
static int check_spec(const json_t *of_spec, struct sc_err *err)
{
    struct sc_spec spec;
    sc_spec_init(&spec);
    int r = sc_spec_read(&spec, of_spec, "", err);
    sc_spec_fini(&spec);
    return r;
}

int fields_check(const struct field *fields, const json_t *object, struct sc_err *err)
{
    const char *name;
    json_t *value;
    json_t *of_spec = json_object();
    int r = of_spec ? 0 : sc_err_sys(err, -ENOMEM, "body");
    json_object_foreach((json_t *)object, name, value)
    {
        const struct field *field = find(fields, name);
        if (!field)
            r = unknown(fields, name, err);
        else if (field->type == FIELD_SPEC)
            r = json_object_set(of_spec, name, value) < 0 ? sc_err_sys(err, -ENOMEM, "body") : 0;
        else if (!json_is_null(value))
            r = check_one(field, value, err);
        if (r < 0)
            break;
    }
    for (const struct field *field = fields; field->name && r == 0; field++) {
        const json_t *given = json_object_get(object, field->name);
        if (field->required && (!given || json_is_null(given)))
            r = sc_err_usage(err, field->name, "%s: is missing", field->name);
    }
    if (r == 0)
        r = check_spec(of_spec, err);
    json_decref(of_spec);
    return r;
}

/* ---- queries ---- */

static json_t *typed(const struct field *field, const char *text)
{
    uint64_t number = 0;
    char *end = NULL;
    switch (field->type) {
    case FIELD_BOOL:
        return !strcmp(text, "true")    ? json_true()
               : !strcmp(text, "false") ? json_false()
                                        : json_string(text);
    case FIELD_INTEGER:
        return sc_parse_u64(text, &number) == 0 && number <= INT64_MAX ? json_integer((json_int_t)number)
                                                                       : json_string(text);
    case FIELD_NUMBER:
        if (!*text || text[strspn(text, "0123456789.")])
            return json_string(text);
        return json_real(strtod(text, &end));
    default:
        return json_string(text);
    }
}

static int take_pair(const struct field *fields, char *pair, json_t *object, struct sc_err *err)
{
    char *value = strchr(pair, '=');
    if (value)
        *value++ = '\0';
    if (text_unescape(pair, true) < 0 || (value && text_unescape(value, true) < 0))
        return sc_err_usage(err, "query", "query: holds an escape that is none, or a NUL");
    const struct field *field = find(fields, pair);
    if (!field)
        return unknown(fields, pair, err);
    if (json_object_get(object, pair))
        return sc_err_usage(err, pair, "%s: is given twice", field->name);
    json_t *read = typed(field, value ? value : field->type == FIELD_BOOL ? "true" : "");
    if (!read)
        return sc_err_usage(err, field->name, "%s: must be UTF-8", field->name);
    return json_object_set_new(object, pair, read) < 0 ? sc_err_sys(err, -ENOMEM, "query") : 0;
}

int fields_from_query(const struct field *fields, const char *query, json_t **ret_object, struct sc_err *err)
{
    json_t *object = json_object();
    char *copy = strdup(query), *rest = copy, *pair;
    int r = object && copy ? 0 : sc_err_sys(err, -ENOMEM, "query");
    while (r == 0 && (pair = strsep(&rest, "&")))
        if (*pair)
            r = take_pair(fields, pair, object, err);
    if (r == 0)
        r = fields_check(fields, object, err);
    free(copy);
    if (r < 0)
        json_decref(object);
    else
        *ret_object = object;
    return r;
}
