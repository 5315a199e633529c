/* Commands with a client at their streams, on a terminal, or in the background. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/text.h"
#include "keeper/parts.h"
#include "keeper/reply.h"

static uint64_t limit_of(const struct call *call, bool is_err)
{
    const struct sc_limits *limits = &call->request.spec.limits;
    return is_err ? limits->stderr : limits->stdout;
}

/* In the background nobody waits for the end: this is the answer, and the client may go. */
static void let_client_go(struct call *call, const char *started)
{
    struct peer *peer = call->peer;
    TAILQ_REMOVE(&peer->calls, call, of_peer);
    peer->n_calls--;
    call->peer = NULL;
    peer_reply(peer, call->channel, sc_keeper_reply_ok(started));
}

static void on_started(void *userdata, pid_t pid)
{
    struct call *call = userdata;
    char numbers[64], event[96];
    call->pid = pid;
    if (!call->peer)
        return;
    snprintf(numbers, sizeof numbers, "{\"process\": %u, \"pid\": %d}", call->process, (int)pid);
    if (call->request.background) {
        let_client_go(call, numbers);
        return;
    }
    int n = snprintf(event, sizeof event, "{\"started\": %s}\n", numbers);
    peer_output(call->peer, call->channel, SC_KEEPER_EVENTS, event, (size_t)n);
}

static void on_output(void *userdata, enum sc_stream_number stream, const void *data, size_t len)
{
    struct call *call = userdata;
    bool is_err = stream == SC_STREAM_ERR;
    uint64_t limit = limit_of(call, is_err);
    uint64_t room = limit == SC_UNSET ? UINT64_MAX : limit - call->passed[is_err];
    size_t pass = len < room ? len : (size_t)room;
    call->written[is_err] += len;
    if (call->peer) {
        peer_output(call->peer, call->channel, is_err ? SC_KEEPER_STDERR : SC_KEEPER_STDOUT, data, pass);
        call->passed[is_err] += pass;
    }
    stream_output(call, stream, len);
}

static void on_room(void *userdata, enum sc_stream_number stream)
{
    (void)stream;
    stream_input(userdata);
}

static void on_exited(void *userdata, const struct sc_command_end *end)
{
    struct call *call = userdata;
    call->end = *end;
    call->exited = true;
}

static void set_status(struct sc_result *result, const struct call *call)
{
    int status = call->end.wait_status;
    result->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (call->end.timed_out) {
        result->status = SC_STATUS_TIMEOUT;
        result->limits_hit |= SC_HIT_WALL;
        snprintf(result->message, sizeof result->message, "the command was ended by its wall limit");
    } else if (call->cancelled || !call->exited) {
        result->status = SC_STATUS_CANCELLED;
        snprintf(result->message, sizeof result->message, "cancelled");
    } else if (result->signal) {
        result->status = SC_STATUS_SIGNALED;
        const char *name = sigabbrev_np(result->signal);
        snprintf(result->message, sizeof result->message, "ended by signal %d (SIG%s)", result->signal,
                 name ? name : "?");
    } else if (result->exit_code) {
        result->status = SC_STATUS_ERROR;
        snprintf(result->message, sizeof result->message, "exit code %d", result->exit_code);
    }
}

static void set_stream(struct sc_stream *stream, const struct call *call, bool is_err)
{
    stream->total = call->written[is_err];
    stream->truncated = call->passed[is_err] < call->written[is_err];
}

static char *reply_of(const struct sc_result *result)
{
    char *text = sc_result_to_json(result, 0);
    char *reply = sc_keeper_reply_ok(text);
    free(text);
    return reply;
}

/* The output was streamed: the result tells only how much there was. */
static void on_gone(void *userdata)
{
    struct call *call = userdata;
    struct sc_result result;
    sc_result_init(&result, 1, 1);
    set_status(&result, call);
    set_stream(&result.out, call, false);
    set_stream(&result.err, call, true);
    result.usage.wall_ns = call->end.wall_ns;
    result.usage.cpu_user_ns = call->end.cpu_user_ns;
    result.usage.cpu_system_ns = call->end.cpu_system_ns;
    result.usage.rss_peak_bytes = call->end.rss_peak_bytes;
    result.usage.stdout_bytes = call->written[0];
    result.usage.stderr_bytes = call->written[1];
    note_result(call, &result);
    char *reply = call->peer ? reply_of(&result) : NULL;
    sc_result_fini(&result);
    call_finish(call, reply);
}

/* A command that does not exist or is none is the asker's mistake, and ends as a shell would have it. */
static int exit_code_of(int code)
{
    if (code == -ENOENT)
        return 127;
    return code == -EACCES || code == -ENOEXEC || code == -EISDIR || code == -ENOTDIR || code == -ELOOP ? 126
                                                                                                        : -1;
}

static void on_failed(void *userdata, const struct sc_msg_failed *failed)
{
    struct call *call = userdata;
    struct sc_result result;
    char object[2 * sizeof failed->object];
    int exit_code = strncmp(failed->stage, "exec", sizeof failed->stage) ? -1 : exit_code_of(failed->code);
    sc_text_show(object, sizeof object, failed->object, strnlen(failed->object, sizeof failed->object));
    sc_result_init(&result, 1, 1);
    result.status = exit_code < 0 ? SC_STATUS_SANDBOX_ERROR : SC_STATUS_ERROR;
    result.exit_code = exit_code;
    snprintf(result.message, sizeof result.message, "%s: %s", object,
             strerror(failed->code < 0 && failed->code > -4096 ? -failed->code : EIO));
    note_result(call, &result);
    char *reply = reply_of(&result);
    sc_result_fini(&result);
    call_finish(call, reply);
}

static const struct sc_live_op_events EVENTS = {
    .started = on_started,
    .output = on_output,
    .room = on_room,
    .exited = on_exited,
    .gone = on_gone,
    .failed = on_failed,
};

int command_start(struct call *call, struct sc_err *err)
{
    const struct sc_keeper_request *request = &call->request;
    bool has_stdin = !request->no_stdin && !request->background;
    const struct sc_command command = {
        .argv = (const char *const *)request->spec.args.v,
        .env = (const char *const *)request->spec.env.v,
        .cwd = request->spec.cwd,
        .flags = (has_stdin ? SC_COMMAND_STDIN : 0u) | (request->pty ? SC_COMMAND_PTY : 0u),
        .rows = request->rows ? request->rows : 24,
        .cols = request->cols ? request->cols : 80,
        .wall_ns = request->spec.limits.wall == SC_UNSET ? 0 : request->spec.limits.wall,
    };
    call->process = ++call->session->last_process;
    int r = sc_live_command(sc_session_live(call->session->session), &command, &EVENTS, call, &call->id, err);
    call->live = r == 0;
    return r;
}
