/* Runs of code, and commands that are given whole: the session does them, within their own limits. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "keeper/parts.h"
#include "keeper/reply.h"
#include "spec/spec_internal.h"

static void on_output(void *userdata, int stream, const void *data, size_t len)
{
    struct call *call = userdata;
    if (call->peer && !call->request.whole)
        peer_output(call->peer, call->channel, stream == 2 ? SC_KEEPER_STDERR : SC_KEEPER_STDOUT, data, len);
}

static void on_display(void *userdata, const char *json, size_t len)
{
    struct call *call = userdata;
    if (!call->peer || call->request.whole)
        return;
    peer_output(call->peer, call->channel, SC_KEEPER_DISPLAYS, json, len);
    peer_output(call->peer, call->channel, SC_KEEPER_DISPLAYS, "\n", 1);
}

/* What was streamed does not stand in the reply again. */
static void drop_streamed(struct sc_result *result)
{
    result->out.kept.len = 0;
    result->err.kept.len = 0;
    json_decref(result->inside.displays);
    result->inside.displays = NULL;
}

static void on_done(void *userdata, struct sc_result *result)
{
    struct call *call = userdata;
    once_done(call, result);
    note_result(call, result);
    if (!call->peer) {
        call_finish(call, NULL);
        return;
    }
    if (!call->request.whole)
        drop_streamed(result);
    char *text = sc_result_to_json(result, 0);
    char *reply = sc_keeper_reply_ok(text);
    free(text);
    call_finish(call, reply);
}

static void on_refused(void *userdata, const struct sc_err *err)
{
    struct call *call = userdata;
    once_refused(call);
    call_finish(call, call->peer ? sc_keeper_reply_err(err) : NULL);
}

const struct sc_task_events TASK_EVENTS = {
    .output = on_output, .display = on_display, .done = on_done, .refused = on_refused};
const struct sc_task_events ONCE_WARM_EVENTS = {.output = on_output,
                                                .display = on_display,
                                                .done = on_done,
                                                .refused = on_refused,
                                                .unserved = once_unserved};

static void lower(uint64_t *limit, uint64_t given)
{
    if (given != SC_UNSET)
        *limit = given;
}

static struct sc_run_limits limits_of(const struct call *call)
{
    const struct sc_limits *given = &call->request.spec.limits;
    struct sc_run_limits limits = {0};
    sc_session_default_limits(call->session->session, &limits);
    lower(&limits.wall, given->wall);
    lower(&limits.cpu, given->cpu);
    lower(&limits.stdout, given->stdout);
    lower(&limits.stderr, given->stderr);
    return limits;
}

static int start_run(struct call *call, struct sc_err *err)
{
    const struct sc_keeper_request *request = &call->request;
    const struct sc_session_run run = {
        .lang = request->spec.lang,
        .mode = request->spec.mode,
        .context = request->context,
        .code = request->spec.code,
        .code_len = request->spec.code_len,
        .stdin_data = request->spec.stdin_data,
        .stdin_len = request->spec.stdin_len,
        .limits = limits_of(call),
        .validate = request->spec.validate.on ? &request->spec.validate : NULL,
    };
    int r = sc_spec_check_mode(&request->spec, err);
    if (r < 0)
        return r;
    return sc_session_run(call->session->session, &run, &TASK_EVENTS, call, &call->task, err);
}

static int start_exec(struct call *call, struct sc_err *err)
{
    const struct sc_spec *spec = &call->request.spec;
    const struct sc_session_exec exec = {
        .argv = (const char *const *)spec->args.v,
        .env = (const char *const *)spec->env.v,
        .cwd = spec->cwd,
        .stdin_data = spec->stdin_data,
        .stdin_len = spec->stdin_len,
        .limits = limits_of(call),
    };
    return sc_session_exec(call->session->session, &exec, &TASK_EVENTS, call, &call->task, err);
}

int task_start(struct call *call, struct sc_err *err)
{
    return call->request.verb == SC_KEEPER_RUN ? start_run(call, err) : start_exec(call, err);
}
