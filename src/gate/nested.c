/* What stands in a body deeper down than the tables look: places that name the host, and the parts of a task.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gate/body.h"
#include "spec/json_read.h"

/* The places deeper down where a spec may name the host. */
int body_check_paths(const json_t *body, struct sc_err *err)
{
    const json_t *files = json_object_get(body, "files"), *rules;
    char path[SC_ERR_FIELD_MAX];
    size_t i;
    json_t *entry;
    json_array_foreach((json_t *)files, i, entry)
    {
        const json_t *host = json_object_get(entry, "host");
        if (host && !json_is_null(host)) {
            snprintf(path, sizeof path, "files[%zu].host", i);
            return sc_err_usage(
                err, path, "%s: not taken here: names a file of the host; use content or content_b64", path);
        }
    }
    rules = json_object_get(json_object_get(body, "validate"), "rules");
    json_array_foreach((json_t *)rules, i, entry)
    {
        const char *text = json_string_value(entry);
        if (text && strpbrk(text, "/.")) {
            snprintf(path, sizeof path, "validate.rules[%zu]", i);
            return sc_err_usage(
                err, path, "%s: not taken here: names a file of the host; allowed are names of sets", path);
        }
    }
    return 0;
}

static int not_taken(const char *path, struct sc_err *err)
{
    return sc_err_usage(err, path, "%s: not taken here: names a file of the host; send what is in it", path);
}

/* build, run, checker: a request each, and of a build what it leaves. */
static int check_part(const char *name, const json_t *part, struct sc_err *err)
{
    if (!json_is_object(part))
        return sc_json_wrong_type(name, part, "an object", err);
    json_t *spec = json_copy((json_t *)part);
    if (!spec)
        return sc_err_sys(err, -ENOMEM, "body");
    if (!strcmp(name, "build"))
        (void)json_object_del(spec, "outputs");
    int r = body_check_paths(spec, err);
    if (r == 0)
        r = fields_check(PART_FIELDS, spec, err);
    json_decref(spec);
    if (r < 0)
        sc_err_below(err, name);
    return r;
}

/* What else is wrong with a test the keeper tells. */
static int check_tests(const json_t *tests, struct sc_err *err)
{
    static const char *const files[] = {"stdin_file", "expected_file"};
    size_t i;
    json_t *test;
    if (!json_is_array(tests))
        return sc_json_wrong_type("tests", tests, "an array", err);
    json_array_foreach((json_t *)tests, i, test)
    {
        for (size_t n = 0; n < sizeof files / sizeof *files; n++) {
            const json_t *value = json_object_get(test, files[n]);
            char path[SC_ERR_FIELD_MAX];
            snprintf(path, sizeof path, "tests[%zu].%s", i, files[n]);
            if (value && !json_is_null(value))
                return not_taken(path, err);
        }
    }
    return 0;
}

int task_check_field(const char *name, const json_t *value, struct sc_err *err)
{
    return !strcmp(name, "tests") ? check_tests(value, err) : check_part(name, value, err);
}
