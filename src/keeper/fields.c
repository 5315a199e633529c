#include "keeper/fields.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int sc_field_text(void *into, const json_t *value, const char *path, size_t max, struct sc_err *err)
{
    const char *text = sc_json_text(value, path, err);
    if (!text)
        return -EINVAL;
    size_t len = strlen(text);
    if (len > max)
        return sc_err_usage(err, path, "%s: is %zu bytes long: at most %zu are allowed", path, len, max);
    char *copy = strdup(text);
    if (!copy)
        return sc_err_sys(err, -ENOMEM, "request");
    free(*(char **)into);
    *(char **)into = copy;
    return 0;
}

int sc_field_u64(uint64_t *ret_number, const json_t *value, const char *path, uint64_t max,
                 struct sc_err *err)
{
    if (!json_is_integer(value))
        return sc_json_wrong_type(path, value, "a whole number", err);
    json_int_t number = json_integer_value(value);
    if (number < 0 || (uint64_t)number > max)
        return sc_err_usage(err, path, "%s: %lld: allowed are 0 to %" PRIu64, path, (long long)number, max);
    *ret_number = (uint64_t)number;
    return 0;
}

int sc_field_bool(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_json_read_bool(into, value, path, err);
}

int sc_field_mode(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    char *text = NULL, *end = NULL;
    int r = sc_field_text(&text, value, path, 4, err);
    if (r < 0 || !text)
        return r;
    size_t len = strlen(text);
    unsigned long mode = strtoul(text, &end, 8);
    bool ok = len >= 3 && strspn(text, "01234567") == len && mode > 0 && mode <= 0777;
    if (ok)
        *(uint32_t *)into = (uint32_t)mode;
    else
        r = sc_err_usage(err, path, "%s: \"%s\": allowed are octal permission bits \"0001\" to \"0777\"",
                         path, text);
    free(text);
    return r;
}
