/* `snapcell run --url`: one program in one cell of a service. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/http.h"
#include "cli/job.h"
#include "cli/say.h"
#include "cli/session.h"
#include "cli/signals.h"

#define FILE_MOST ((size_t)32 * 1024 * 1024)

/* A service takes no path of anybody's host: files go to it as what is in them. */
static int put_content(json_t *entry, struct sc_err *err)
{
    const char *path = json_string_value(json_object_get(entry, "host"));
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
               json_object_set_new(entry, "content_b64",
                                   json_stringn(text.data ? (char *)text.data : "", text.len)) < 0) {
        r = sc_err_sys(err, -ENOMEM, "file");
    }
    sc_buf_fini(&bytes);
    sc_buf_fini(&text);
    if (r == 0)
        (void)json_object_del(entry, "host");
    return r;
}

static bool is_given(const struct sc_cli_args *args, const char *option)
{
    for (size_t i = 0; i < args->n_given; i++)
        if (!strcmp(args->given[i].name, option))
            return true;
    return false;
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

/* The spec in the words of POST /v1/run; what else it says of this host the service refuses by name. */
static int make_body(const struct sc_cli_args *args, struct sc_cli_job *job, json_t **ret_body,
                     struct sc_err *err)
{
    json_t *body = NULL, *entry, *arguments = arguments_of(&job->spec);
    size_t i;
    const bool from_file = job->spec.program != NULL;
    int r = arguments ? sc_cli_run_read_program(&job->spec, err)
                      : sc_err_usage(err, "args", "args: must be UTF-8");
    if (r == 0)
        r = sc_cli_session_spec(&job->spec, &body, err);
    if (r == 0 && job->spec.stdin_fd >= 0)
        r = sc_cli_session_stdin(job->spec.stdin_fd, body, err);
    json_array_foreach(json_object_get(body, "files"), i, entry)
    {
        if (r == 0)
            r = put_content(entry, err);
    }
    if (r == 0 && from_file && json_array_size(arguments) > 0 && json_object_set(body, "args", arguments) < 0)
        r = sc_err_sys(err, -ENOMEM, "request");
    json_decref(arguments);
    if (r == 0 && json_object_set_new(body, "mode", json_string(sc_mode_name(job->spec.mode))) < 0)
        r = sc_err_sys(err, -ENOMEM, "request");
    if (r < 0) {
        json_decref(body);
        return r;
    }
    if (!is_given(args, "cgroup-parent"))
        (void)json_object_del(body, "cgroup_parent"); /* the environment's, of this host */
    *ret_body = body;
    return 0;
}

int sc_cli_run_url(const struct sc_cli_args *args)
{
    struct sc_cli_session session = {.args = *args, .signal_fd = -1};
    struct sc_keeper_exchange exchange = {0};
    struct sc_cli_job job;
    struct sc_err err = {0};
    json_t *body = NULL;
    if (args->flags & SC_FLAG_WARM || args->texts[SC_TEXT_SOCKET]) {
        sc_err_usage(&err, "url", "url: not allowed with --warm and --socket");
        return sc_cli_fail(&err);
    }
    if (sc_cli_job_init(&job, args, &err) < 0)
        return sc_cli_fail(&err);
    int r = make_body(args, &job, &body, &err);
    sc_cli_job_fini(&job);
    if (r == 0)
        r = sc_cli_signals_open(&session.signal_fd, &err);
    if (r == 0)
        r = sc_cli_http_open(args->texts[SC_TEXT_URL], args->texts[SC_TEXT_KEY_FILE], &session.http, &err);
    if (r < 0) {
        json_decref(body);
        sc_close(&session.signal_fd);
        return sc_cli_fail(&err);
    }
    exchange.stop_fd = session.signal_fd;
    int status = sc_cli_session_relay(&session, body, &exchange, NULL);
    sc_cli_http_close(session.http);
    sc_close(&session.signal_fd);
    return status;
}
