#include "spec/job_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "spec/json_read.h"

static int read_text(const json_t *object, const char *name, const char **ret_text, struct sc_err *err)
{
    const json_t *value = json_object_get(object, name);
    if (!value || json_is_null(value))
        return 0;
    const char *text = sc_json_text(value, name, err);
    if (!text)
        return -EINVAL;
    if (!*text || strlen(text) > SC_JOB_ID_MAX)
        return sc_err_usage(err, name, "%s: must be a text of 1 to %d bytes", name, SC_JOB_ID_MAX);
    *ret_text = text;
    return 0;
}

static int check_names(const json_t *object, struct sc_err *err)
{
    static const char *const names[] = {"id", "key", "spec", "judge", NULL};
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        char path[SC_ERR_FIELD_MAX];
        size_t i = 0;
        while (names[i] && strcmp(names[i], name) != 0)
            i++;
        sc_json_join_path(path, "", name);
        if (!names[i])
            return sc_json_unknown_field(path, name, names, err);
    }
    return 0;
}

static int hash_rest(const json_t *object, char ret_hash[SC_SHA256_TEXT])
{
    struct sc_sha256 sum;
    json_t *rest = json_copy((json_t *)object);
    (void)json_object_del(rest, "id");
    (void)json_object_del(rest, "key");
    char *text = sc_json_dump(rest, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(rest);
    if (!text)
        return -ENOMEM;
    sc_sha256_init(&sum);
    sc_sha256_add(&sum, text, strlen(text));
    sc_sha256_text(&sum, ret_hash);
    free(text);
    return 0;
}

int sc_job_line_read(const json_t *object, struct sc_job_line *ret_line, struct sc_err *err)
{
    *ret_line = (struct sc_job_line){0};
    if (!json_is_object(object))
        return sc_json_wrong_type("job", object, "an object", err);
    int r = check_names(object, err);
    if (r == 0)
        r = read_text(object, "id", &ret_line->id, err);
    if (r == 0)
        r = read_text(object, "key", &ret_line->key, err);
    if (r < 0)
        return r;
    ret_line->spec = json_object_get(object, "spec");
    ret_line->judge = json_object_get(object, "judge");
    if (!ret_line->spec == !ret_line->judge)
        return sc_err_usage(err, "spec", "spec: either spec or judge must be given");
    return hash_rest(object, ret_line->hash) < 0 ? sc_err_sys(err, -ENOMEM, "job") : 0;
}
