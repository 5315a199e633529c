/* `snapcell run --url`: one program in one cell of a service. */
#include <string.h>

#include "base/fd.h"
#include "cli/http.h"
#include "cli/job.h"
#include "cli/say.h"
#include "cli/session.h"
#include "cli/signals.h"
#include "cli/url_body.h"

static bool is_given(const struct sc_cli_args *args, const char *option)
{
    for (size_t i = 0; i < args->n_given; i++)
        if (!strcmp(args->given[i].name, option))
            return true;
    return false;
}

/* The spec in the words of POST /v1/run; what else it says of this host the service refuses by name. */
static int make_body(const struct sc_cli_args *args, struct sc_cli_job *job, json_t **ret_body,
                     struct sc_err *err)
{
    json_t *body = NULL;
    int r = sc_cli_url_body(&job->spec, &body, err);
    if (r == 0 && job->spec.stdin_fd >= 0)
        r = sc_cli_session_stdin(job->spec.stdin_fd, body, err);
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
