/* Requests in the words of a service. */
#include "cli/url_body.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/job.h"
#include "cli/session.h"

#define FILE_MOST ((size_t)32 * 1024 * 1024)

/* A service takes no path of anybody's host: what `from` names goes to it as what is in that file, base64
 * under `to`. */
static int put_content(json_t *entry, const char *from, const char *to, struct sc_err *err)
{
    const char *path = json_string_value(json_object_get(entry, from));
    struct sc_buf bytes, text;
    if (!path)
        return 0;
    sc_buf_init(&bytes, FILE_MOST);
    sc_buf_init(&text, 2 * FILE_MOST);
    int r = sc_buf_read_file(&bytes, AT_FDCWD, path);
    if (r < 0) {
        r = sc_err_usage(err, "file", "file: %s: cannot be read: %s", path,
                         r == -EMSGSIZE ? "it is larger than 32M" : strerror(-r));
    } else if (sc_b64_encode(&text, bytes.data ? (char *)bytes.data : "", bytes.len) < 0 ||
               json_object_set_new(entry, to, json_stringn(text.data ? (char *)text.data : "", text.len)) <
                   0) {
        r = sc_err_sys(err, -ENOMEM, "file");
    }
    sc_buf_fini(&bytes);
    sc_buf_fini(&text);
    if (r == 0)
        (void)json_object_del(entry, from);
    return r;
}

static int put_files(json_t *spec, struct sc_err *err)
{
    size_t i;
    json_t *entry;
    int r = 0;
    json_array_foreach(json_object_get(spec, "files"), i, entry)
    {
        if (r == 0)
            r = put_content(entry, "host", "content_b64", err);
    }
    return r;
}

/* A program that becomes its source keeps its arguments. NULL: no memory, or no UTF-8. */
static json_t *arguments_of(const struct sc_spec *spec)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < spec->args.n; i++)
        if (json_array_append_new(list, json_string(spec->args.v[i])) < 0) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

int sc_cli_url_body(struct sc_spec *spec, json_t **ret_body, struct sc_err *err)
{
    json_t *body = NULL, *arguments = arguments_of(spec);
    const bool from_file = spec->program != NULL;
    int r = arguments ? sc_cli_run_read_program(spec, err) : sc_err_usage(err, "args", "args: must be UTF-8");
    if (r == 0)
        r = sc_cli_session_spec(spec, &body, err);
    if (r == 0)
        r = put_files(body, err);
    if (r == 0 && from_file && json_array_size(arguments) > 0 && json_object_set(body, "args", arguments) < 0)
        r = sc_err_sys(err, -ENOMEM, "request");
    json_decref(arguments);
    if (r == 0 && json_object_set_new(body, "mode", json_string(sc_mode_name(spec->mode))) < 0)
        r = sc_err_sys(err, -ENOMEM, "request");
    if (r < 0)
        json_decref(body);
    else
        *ret_body = body;
    return r;
}

int sc_cli_url_task(const json_t *task, json_t **ret_body, struct sc_err *err)
{
    static const char *const parts[] = {"build", "run", "checker"};
    json_t *body = json_deep_copy(task), *test;
    size_t i;
    int r = body ? 0 : sc_err_sys(err, -ENOMEM, "request");
    for (i = 0; i < sizeof parts / sizeof *parts && r == 0; i++)
        r = put_files(json_object_get(body, parts[i]), err);
    json_array_foreach(json_object_get(body, "tests"), i, test)
    {
        if (r == 0)
            r = put_content(test, "stdin_file", "stdin_b64", err);
        if (r == 0)
            r = put_content(test, "expected_file", "expected_b64", err);
    }
    if (r < 0)
        json_decref(body);
    else
        *ret_body = body;
    return r;
}
