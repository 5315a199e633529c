/* Arguments of tools held against their own schemas, in the subset of JSON Schema that those use. A model
 * that reads the message can mend its call. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "gate/mcp/parts.h"

#define PATH_MAX_SHOWN 100
#define NAMES_MAX 32

static int check_value(const json_t *value, const json_t *schema, const char *path, struct sc_err *err);

static const char *type_of(const json_t *value)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "object",   [JSON_ARRAY] = "array", [JSON_STRING] = "string",
        [JSON_INTEGER] = "integer", [JSON_REAL] = "number", [JSON_TRUE] = "boolean",
        [JSON_FALSE] = "boolean",   [JSON_NULL] = "null",
    };
    return names[json_typeof(value)];
}

static bool is_of(const json_t *value, const char *type)
{
    const char *own = type_of(value);
    if (!strcmp(type, "integer") && json_is_real(value))
        return json_real_value(value) == (double)(json_int_t)json_real_value(value);
    return !strcmp(own, type) || (!strcmp(type, "number") && json_is_number(value));
}

static void join(const char *path, const char *name, char ret_path[PATH_MAX_SHOWN])
{
    char shown[64];
    sc_text_show(shown, sizeof shown, name, strlen(name));
    snprintf(ret_path, PATH_MAX_SHOWN, "%s%s%s", path, *path ? "." : "", shown);
}

static int check_enum(const json_t *value, const json_t *schema, const char *path, struct sc_err *err)
{
    const json_t *allowed = json_object_get(schema, "enum"), *one;
    char list[300] = "", shown[100];
    size_t i, used = 0;
    if (!allowed)
        return 0;
    json_array_foreach(allowed, i, one)
    {
        if (json_equal(one, value))
            return 0;
        int n = snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", json_string_value(one));
        used = n > 0 && used + (size_t)n < sizeof list ? used + (size_t)n : used;
    }
    sc_text_show(shown, sizeof shown, json_string_value(value), json_string_length(value));
    return sc_err_usage(err, path, "%s: %s: allowed are %s", path, shown, list);
}

static int check_range(const json_t *value, const json_t *schema, const char *path, struct sc_err *err)
{
    const json_t *least = json_object_get(schema, "minimum"), *most = json_object_get(schema, "maximum");
    double number = json_number_value(value);
    if (!json_is_number(value) ||
        ((!least || number >= json_number_value(least)) && (!most || number <= json_number_value(most))))
        return 0;
    if (!most)
        return sc_err_usage(err, path, "%s: %.10g: allowed is %.10g or more", path, number,
                            json_number_value(least));
    return sc_err_usage(err, path, "%s: %.10g: allowed are %.10g to %.10g", path, number,
                        json_number_value(least), json_number_value(most));
}

static int check_members(const json_t *value, const json_t *schema, const char *path, struct sc_err *err)
{
    const json_t *properties = json_object_get(schema, "properties"), *name_wanted;
    const char *names[NAMES_MAX + 1] = {NULL}, *name;
    char at[PATH_MAX_SHOWN];
    json_t *member;
    size_t i, n = 0;
    json_object_foreach((json_t *)properties, name, member) if (n < NAMES_MAX) names[n++] = name;
    json_array_foreach(json_object_get(schema, "required"), i, name_wanted)
    {
        join(path, json_string_value(name_wanted), at);
        if (!json_object_get(value, json_string_value(name_wanted)))
            return sc_err_usage(err, at, "%s: is missing", at);
    }
    json_object_foreach((json_t *)value, name, member)
    {
        const json_t *own = json_object_get(properties, name);
        join(path, name, at);
        const char *nearest = own ? NULL : sc_text_nearest(name, names);
        if (!own)
            return sc_err_usage(err, at, "%s: there is no such argument%s%s", at,
                                nearest ? "; did you mean " : "", nearest ? nearest : "");
        int r = check_value(member, own, at, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int check_items(const json_t *value, const json_t *schema, const char *path, struct sc_err *err)
{
    const json_t *most = json_object_get(schema, "maxItems");
    char at[PATH_MAX_SHOWN];
    size_t i;
    json_t *item;
    if (most && json_array_size(value) > (size_t)json_integer_value(most))
        return sc_err_usage(err, path, "%s: has %zu entries: allowed are %lld", path, json_array_size(value),
                            (long long)json_integer_value(most));
    json_array_foreach(value, i, item)
    {
        snprintf(at, sizeof at, "%.70s[%zu]", path, i);
        int r = check_value(item, json_object_get(schema, "items"), at, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int check_value(const json_t *value, const json_t *schema, const char *path, struct sc_err *err)
{
    const char *type = mcp_text(schema, "type");
    if (!is_of(value, type))
        return sc_err_usage(err, path, "%s: is of type %s: must be %s", *path ? path : "arguments",
                            type_of(value), type);
    if (json_is_string(value) && json_object_get(schema, "minLength") && json_string_length(value) == 0)
        return sc_err_usage(err, path, "%s: is empty", path);
    int r = check_enum(value, schema, path, err);
    if (r == 0)
        r = check_range(value, schema, path, err);
    if (r == 0 && json_is_object(value))
        r = check_members(value, schema, path, err);
    if (r == 0 && json_is_array(value))
        r = check_items(value, schema, path, err);
    return r;
}

int mcp_check_arguments(const json_t *value, const json_t *schema, struct sc_err *err)
{
    return check_value(value, schema, "", err);
}
