/* `snapcell run --warm`: one program in one cell, made by the keeper. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "cli/job.h"
#include "cli/say.h"
#include "cli/session.h"
#include "cli/signals.h"
#include "spec/lang.h"

static int check_mode(const struct sc_spec *spec, struct sc_err *err)
{
    if (spec->mode == SC_MODE_PLAIN)
        return sc_err_usage(err, "mode", "mode: plain: allowed with --warm are rich, restricted");
    if (spec->command)
        return sc_err_usage(err, "warm", "warm: a command: allowed with --warm is a FILE, - or -c CODE");
    if (spec->args.n) /* reading the program would lose them */
        return sc_err_usage(err, "args", "args: %s: code in mode %s has no arguments", spec->args.v[0],
                            sc_mode_name(spec->mode));
    if (spec->n_outs)
        return sc_err_usage(err, "out", "out: not allowed with --warm");
    return 0;
}

int sc_cli_run_read_program(struct sc_spec *spec, struct sc_err *err)
{
    struct sc_buf code;
    if (!spec->program)
        return 0;
    sc_buf_init(&code, SC_SPEC_CODE_MAX);
    int r = sc_buf_read_file(&code, AT_FDCWD, spec->program);
    const char *text = code.data ? (const char *)code.data : "";
    if (r < 0) {
        r = sc_err_usage(err, "program", "program: %s: cannot be read: %s", spec->program,
                         r == -EMSGSIZE ? "it is larger than 16M" : strerror(-r));
    } else {
        if (spec->lang == SC_LANG_AUTO)
            spec->lang = sc_lang_by_suffix(spec->program);
        if (spec->lang == SC_LANG_AUTO)
            spec->lang = sc_lang_by_head(text, code.len);
        sc_spec_clear_program(spec);
        r = sc_spec_set_code(spec, text, code.len, err);
    }
    sc_buf_fini(&code);
    return r;
}

static int make_request(struct sc_cli_job *job, bool json, json_t **ret_request, struct sc_err *err)
{
    json_t *spec = NULL;
    int r = check_mode(&job->spec, err);
    if (r == 0)
        r = sc_cli_run_read_program(&job->spec, err);
    if (r == 0)
        r = sc_cli_session_spec(&job->spec, &spec, err);
    if (r == 0 && job->spec.stdin_fd >= 0)
        r = sc_cli_session_stdin(job->spec.stdin_fd, spec, err);
    if (r < 0) {
        json_decref(spec);
        return r;
    }
    *ret_request =
        json_pack("{s:s, s:o, s:s}", "request", "once", "spec", spec, "output", json ? "reply" : "stream");
    return *ret_request ? 0 : sc_err_sys(err, -ENOMEM, "run");
}

static int ask(struct sc_cli_session *session, json_t *request)
{
    struct sc_cli_stop stop = {.signal_fd = session->signal_fd};
    struct sc_keeper_exchange exchange = {
        .userdata = &stop, .stop_fd = session->signal_fd, .stop = sc_cli_session_stop};
    struct sc_err err = {0};
    if (sc_cli_session_connect(session, true, &err) < 0) {
        json_decref(request);
        return sc_cli_fail(&err);
    }
    int status = sc_cli_session_relay(session, request, &exchange, NULL);
    sc_keeper_client_close(session->client);
    return status;
}

int sc_cli_run_warm(const struct sc_cli_args *args)
{
    struct sc_cli_session session = {.args = *args, .signal_fd = -1};
    struct sc_cli_job job;
    struct sc_err err = {0};
    json_t *request = NULL;
    if (sc_cli_job_init(&job, args, &err) < 0)
        return sc_cli_fail(&err);
    int r = make_request(&job, args->flags & SC_FLAG_JSON, &request, &err);
    sc_cli_job_fini(&job);
    if (r == 0)
        r = sc_cli_signals_open(&session.signal_fd, &err);
    if (r < 0) {
        json_decref(request);
        return sc_cli_fail(&err);
    }
    int status = ask(&session, request);
    sc_close(&session.signal_fd);
    return status;
}
