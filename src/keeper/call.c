/* A request: who may ask it, who answers it. Those that are answered at once have an `answer`, the others a
 * `start` and end by call_finish from a callback of their session. */
#include <errno.h>
#include <event2/buffer.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "keeper/parts.h"
#include "keeper/reply.h"

#define UNWRITTEN_RETRY_MS 5000

/* ---- answered at once ---- */

/* `need` NULL: it is not a tenant's. */
static char *open_session(const struct caller *caller, struct sc_keeper_request *request,
                          const struct need *need)
{
    struct keeper_session *session = NULL;
    struct sc_err err = {0};
    request->total_ns = policy_total_ns(caller->tenant, request->total_ns, SC_SESSION_TOTAL_NS);
    if (session_open(caller, request, &session, &err) < 0)
        return sc_keeper_reply_err(&err);
    if (need)
        admission_take(session, need, false);
    return sc_keeper_reply_value(json_pack("{s:s}", "session", session->id));
}

static char *start_session(const struct caller *caller, struct keeper_session *none,
                           struct sc_keeper_request *request)
{
    (void)none;
    return open_session(caller, request, NULL);
}

static char *list_sessions(const struct caller *caller, struct keeper_session *none,
                           struct sc_keeper_request *request)
{
    (void)none;
    (void)request;
    char *text = session_list(caller);
    char *reply = sc_keeper_reply_ok(text);
    free(text);
    return reply;
}

static char *tell_session(const struct caller *caller, struct keeper_session *session,
                          struct sc_keeper_request *request)
{
    (void)caller;
    (void)request;
    char *text = session_describe(session);
    char *reply = sc_keeper_reply_ok(text);
    free(text);
    return reply;
}

static char *list_contexts(const struct caller *caller, struct keeper_session *session,
                           struct sc_keeper_request *request)
{
    json_t *state = NULL;
    json_error_t where;
    (void)caller;
    (void)request;
    char *text = sc_session_describe(session->session);
    int r = text ? sc_json_load(text, strlen(text), 0, &state, &where) : -ENOMEM;
    free(text);
    json_t *contexts = r == 0 ? json_incref(json_object_get(state, "contexts")) : NULL;
    json_decref(state);
    return r < 0 ? NULL : sc_keeper_reply_value(json_pack("{s:o*}", "contexts", contexts));
}

/* What stands behind the session's first layer of rules, its template's and its tenant's, stays. */
static char *set_network(const struct caller *caller, struct keeper_session *session,
                         struct sc_keeper_request *request)
{
    struct sc_err err = {0};
    struct sc_net *now = &session->spec.net, net;
    (void)caller;
    if (sc_net_copy(&request->spec.net, &net) < 0)
        return NULL;
    int r = now->within ? sc_net_add_within(&net, now->within) : 0;
    r = r < 0 ? sc_err_sys(&err, r, "network") : sc_session_set_network(session->session, &net, &err);
    if (r < 0) {
        sc_net_fini(&net);
        return sc_keeper_reply_err(&err);
    }
    sc_net_fini(now);
    *now = net;
    return sc_keeper_reply_ok("{}");
}

/* One answer for a key that never was, one that was revoked, and a peer that nobody showed. */
static char *unauthorized(void)
{
    return sc_keeper_reply_error("unauthorized", "", "the key is not valid");
}

static char *identify(const struct caller *caller, struct keeper_session *none,
                      struct sc_keeper_request *request)
{
    struct identity *identity = NULL;
    struct sc_err err = {0};
    (void)none;
    door_look(caller->keeper); /* a peer was shown there before it is named here */
    if (identities_take(caller->keeper->identities, request->key, request->peer, &identity, &err) < 0)
        return sc_keeper_reply_err(&err);
    if (!identity) {
        note_nobody(caller->keeper);
        return unauthorized();
    }
    const struct sc_quota *quota = identity->tenant->quota;
    return sc_keeper_reply_value(json_pack("{s:s, s:s, s:b, s:b}", "token", identity->token, "tenant",
                                           identity->tenant->name, "operator", (int)quota->is_operator,
                                           "network", (int)(quota->network != NULL)));
}

static char *tell_metrics(const struct caller *caller, struct keeper_session *none,
                          struct sc_keeper_request *request)
{
    (void)none;
    (void)request;
    return metrics_tell(caller);
}

static char *not_found(const char *field, const char *value, const char *what)
{
    char message[SC_ERR_MESSAGE_MAX];
    snprintf(message, sizeof message, "%s: %s: %s", field, value, what);
    return sc_keeper_reply_error("not_found", field, message);
}

static char *restart_context(const struct caller *caller, struct keeper_session *session,
                             struct sc_keeper_request *request)
{
    (void)caller;
    int r = sc_session_restart(session->session, request->context);
    if (r == -ENOENT)
        return not_found("context", request->context, "the session has none of this name");
    if (r < 0)
        return sc_keeper_reply_error("sandbox", "context", strerror(-r));
    return sc_keeper_reply_ok("{}");
}

/* A run without a name is in its language's own context, which has the language's. */
static bool is_in(const struct call *call, const char *context)
{
    const char *own = sc_lang_name(call->request.spec.lang);
    return !context || !strcmp(context, call->request.context ? call->request.context : own);
}

/* Runs of the context, or all of them. */
static char *interrupt_runs(const struct caller *caller, struct keeper_session *session,
                            struct sc_keeper_request *request)
{
    int interrupted = 0;
    struct call *call;
    (void)caller;
    TAILQ_FOREACH(call, &session->calls, of_session)
    {
        if (call->request.verb == SC_KEEPER_RUN && is_in(call, request->context) &&
            sc_session_cancel(session->session, call->task) == 0)
            interrupted++;
    }
    return sc_keeper_reply_value(json_pack("{s:i}", "interrupted", interrupted));
}

static json_t *process_of(const struct call *call)
{
    const char *name = call->request.spec.args.v[0];
    double age_ms = (double)(sc_now_ns() - call->since_ns) / (double)SC_NS_PER_MS;
    return json_pack("{s:I, s:I, s:s, s:b, s:b, s:f}", "process", (json_int_t)call->process, "pid",
                     (json_int_t)call->pid, "command", name, "background", (int)call->request.background,
                     "exited", (int)call->exited, "age_ms", age_ms);
}

static char *list_processes(const struct caller *caller, struct keeper_session *session,
                            struct sc_keeper_request *request)
{
    json_t *list = json_array();
    struct call *call;
    (void)caller;
    (void)request;
    TAILQ_FOREACH(call, &session->calls, of_session)
    {
        if (call->request.verb == SC_KEEPER_COMMAND && json_array_append_new(list, process_of(call)) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return sc_keeper_reply_value(json_pack("{s:o}", "processes", list));
}

static char *signal_process(const struct caller *caller, struct keeper_session *session,
                            struct sc_keeper_request *request)
{
    struct call *call;
    (void)caller;
    TAILQ_FOREACH(call, &session->calls, of_session)
    {
        if (call->request.verb == SC_KEEPER_COMMAND && call->process == request->process) {
            int r =
                sc_live_signal(sc_session_live(session->session), call->id, request->signal, request->whom);
            return r < 0 ? sc_keeper_reply_error("sandbox", "signal", strerror(-r))
                         : sc_keeper_reply_ok("{}");
        }
    }
    char number[16];
    snprintf(number, sizeof number, "%" PRIu32, request->process);
    return not_found("process", number, "the session has none of this number");
}

/* ---- answered later ---- */

static int end_session(struct call *call, struct sc_err *err)
{
    (void)err;
    call->session->ending = call->session->is_forgotten = true;
    sc_session_end(call->session->session);
    return 0;
}

static const struct handler {
    char *(*answer)(const struct caller *caller, struct keeper_session *session,
                    struct sc_keeper_request *request);
    int (*start)(struct call *call, struct sc_err *err);
} HANDLERS[] = {
    [SC_KEEPER_SESSION_START] = {.answer = start_session},
    [SC_KEEPER_SESSION_LIST] = {.answer = list_sessions},
    [SC_KEEPER_SESSION_INFO] = {.answer = tell_session},
    [SC_KEEPER_SESSION_END] = {.start = end_session},
    [SC_KEEPER_SESSION_NETWORK] = {.answer = set_network},
    [SC_KEEPER_SESSION_ACCESS] = {.answer = access_tell},
    [SC_KEEPER_SESSION_TIME] = {.answer = time_set},
    [SC_KEEPER_SESSION_PAUSE] = {.start = pause_start},
    [SC_KEEPER_SESSION_RESUME] = {.start = resume_start},
    [SC_KEEPER_SESSION_FORK] = {.start = fork_start},
    [SC_KEEPER_SESSION_SNAPSHOT] = {.start = fork_start},
    [SC_KEEPER_SESSION_ROLLBACK] = {.start = rollback_start},
    [SC_KEEPER_RUN] = {.start = task_start},
    [SC_KEEPER_CHECK] = {.start = check_start},
    [SC_KEEPER_ONCE] = {.start = once_start},
    [SC_KEEPER_RUN_INTERRUPT] = {.answer = interrupt_runs},
    [SC_KEEPER_EXEC] = {.start = task_start},
    [SC_KEEPER_COMMAND] = {.start = command_start},
    [SC_KEEPER_PROCESS_LIST] = {.answer = list_processes},
    [SC_KEEPER_PROCESS_SIGNAL] = {.answer = signal_process},
    [SC_KEEPER_CONTEXT_LIST] = {.answer = list_contexts},
    [SC_KEEPER_CONTEXT_RESTART] = {.answer = restart_context},
    [SC_KEEPER_FILE] = {.start = file_start},
    [SC_KEEPER_TEMPLATES] = {.answer = about_templates},
    [SC_KEEPER_HOST] = {.answer = about_host},
    [SC_KEEPER_IDENTIFY] = {.answer = identify},
    [SC_KEEPER_METRICS] = {.answer = tell_metrics},
    [SC_KEEPER_WATCH_EVENTS] = {0}, /* events.c */
    [SC_KEEPER_JUDGE] = {0},        /* judging.c */
};

static struct call *call_new(struct peer *peer, struct keeper_session *session, uint16_t channel,
                             struct sc_keeper_request *request)
{
    struct call *call = calloc(1, sizeof *call);
    if (!call)
        return NULL;
    *call = (struct call){.peer = peer, .session = session, .channel = channel, .since_ns = sc_now_ns()};
    call->request = *request;
    /* What was taken is not the caller's any more. */
    *request = (struct sc_keeper_request){.verb = call->request.verb};
    sc_spec_init(&request->spec);
    if (call->request.needs & SC_KEEPER_TAKES_INPUT) {
        bool closed = call->request.no_stdin || call->request.background;
        call->input_credit = closed ? 0 : SC_KEEPER_INPUT_WINDOW;
        call->input = evbuffer_new();
    }
    TAILQ_INSERT_TAIL(&peer->calls, call, of_peer);
    TAILQ_INSERT_TAIL(&session->calls, call, of_session);
    peer->n_calls++;
    return call;
}

static void begin_call(struct peer *peer, struct keeper_session *session, uint16_t channel,
                       struct sc_keeper_request *request)
{
    struct sc_err err = {0};
    struct call *call = call_new(peer, session, channel, request);
    if (!call) {
        peer_reply(peer, channel, NULL);
        return;
    }
    bool lacks_input = (call->request.needs & SC_KEEPER_TAKES_INPUT) && !call->input;
    if (lacks_input)
        call_finish(call, NULL);
    else if (HANDLERS[call->request.verb].start(call, &err) < 0)
        call_finish(call, sc_keeper_reply_err(&err));
}

static char *busy(const struct keeper_session *session)
{
    char message[SC_ERR_MESSAGE_MAX];
    snprintf(message, sizeof message, "session: %s: it %s", session->id, session->busy);
    return sc_keeper_reply_error("busy", "session", message);
}

static char *of_snapshot(const struct keeper_session *session)
{
    char message[SC_ERR_MESSAGE_MAX];
    snprintf(message, sizeof message, "session: %s: it is a snapshot, which runs nothing; fork it",
             session->id);
    return sc_keeper_reply_error("conflict", "session", message);
}

/* What can be asked of one that is paused; NULL: nothing, or there is none. */
static char *of_paused(const struct caller *caller, const struct sc_keeper_request *request)
{
    char message[SC_ERR_MESSAGE_MAX];
    if (request->verb == SC_KEEPER_SESSION_END)
        return rest_end(caller, request->session);
    json_t *value = rest_tell(caller, request->session);
    if (!value)
        return NULL;
    if (request->verb == SC_KEEPER_SESSION_INFO)
        return sc_keeper_reply_value(value);
    json_decref(value);
    snprintf(message, sizeof message, "session: %s: it is paused; resume it first", request->session);
    return sc_keeper_reply_error("conflict", "session", message);
}

/* The session that a request names. NULL: *ret_refusal says why not. */
static struct keeper_session *session_of(const struct caller *caller, const struct sc_keeper_request *request,
                                         char **ret_refusal)
{
    struct keeper_session *session = session_find(caller, request->session);
    const char *subject = sc_keeper_request_subject(request);
    if ((request->needs & SC_KEEPER_ONLY_SNAPSHOTS) && (!session || !session->is_snapshot)) {
        *ret_refusal = not_found(subject, request->session, "there is none of this name");
        return NULL;
    }
    bool is_asked = request->verb == SC_KEEPER_SESSION_INFO;
    if (session && session->busy && !is_asked) {
        *ret_refusal = busy(session);
        return NULL;
    }
    if (session && session->is_snapshot && !(request->needs & SC_KEEPER_OF_SNAPSHOTS)) {
        *ret_refusal = of_snapshot(session);
        return NULL;
    }
    if (session && (!session->ending || (request->needs & SC_KEEPER_WHILE_ENDING)))
        return session;
    if (!session && (*ret_refusal = of_paused(caller, request)))
        return NULL;
    if (session)
        *ret_refusal = sc_keeper_reply_error("ended", "session", "session: its end was asked for");
    else if (journal_lost(caller, request->session))
        *ret_refusal = sc_keeper_reply_error(
            "ended", "session", "session: it has ended (lost): the keeper that it belonged to was killed");
    else
        *ret_refusal = not_found(subject, request->session, "there is none of this name");
    return NULL;
}

/* A single run has a session of its own; one that is resumed gets a new cell. `need` NULL: it is not a
 * tenant's. */
static void begin_with_cell(const struct caller *caller, struct peer *peer, uint16_t channel,
                            struct sc_keeper_request *request, const struct need *need, uint64_t queued_ns)
{
    struct keeper_session *session = NULL;
    struct sc_err err = {0};
    bool once = request->verb == SC_KEEPER_ONCE;
    int r = once ? session_open_once(caller, request, &session, &err)
                 : session_open_paused(caller, request, need, &session, &err);
    if (r < 0 || !session) {
        peer_reply(peer, channel, once ? sc_keeper_reply_err(&err) : sc_keeper_reply_refusal(&err));
        return;
    }
    session->queued_ns = queued_ns;
    if (need)
        admission_take(session, need, once);
    begin_call(peer, session, channel, request);
    if (TAILQ_EMPTY(&session->calls))
        sc_session_end(session->session);
    session_arm(session);
}

void call_admitted(const struct caller *caller, struct peer *peer, uint16_t channel,
                   struct sc_keeper_request *request, const struct need *need, uint64_t queued_ns)
{
    if (request->verb == SC_KEEPER_JUDGE)
        judging_begin(caller, peer, channel, request, need);
    else if (request->verb != SC_KEEPER_SESSION_START)
        begin_with_cell(caller, peer, channel, request, need, queued_ns);
    else
        peer_reply(peer, channel, open_session(caller, request, need));
}

/* What does work must leave its trace, where that is asked for. */
static char *refuse_unwritten(struct keeper *keeper, const struct sc_keeper_request *request)
{
    bool tells = request->verb == SC_KEEPER_SESSION_LIST || request->verb == SC_KEEPER_METRICS ||
                 request->verb == SC_KEEPER_WATCH_EVENTS || (request->needs & SC_KEEPER_WHILE_ENDING);
    const char *trouble = tells ? NULL : note_trouble(keeper);
    return trouble ? sc_keeper_reply_later("overloaded", trouble, UNWRITTEN_RETRY_MS) : NULL;
}

static char *use_token(struct peer *peer, const struct sc_keeper_request *request, struct caller *ret_caller)
{
    const struct identity *identity =
        request->as ? identities_find(peer->keeper->identities, request->as) : NULL;
    if (!identity) {
        note_nobody(peer->keeper);
        return unauthorized();
    }
    ret_caller->uid = (uid_t)-1;
    ret_caller->tenant = identity->tenant;
    memcpy(ret_caller->key, identity->key, sizeof ret_caller->key);
    return NULL;
}

/* Whom the request is for. Else the reply that refuses it. */
static char *find_caller(struct peer *peer, const struct sc_keeper_request *request,
                         struct caller *ret_caller)
{
    *ret_caller = (struct caller){.keeper = peer->keeper, .uid = peer->uid};
    if (!(request->kinds & peer->kind))
        return sc_keeper_reply_error("forbidden", "request",
                                     "request: not one that may come from this kind of connection");
    if (peer->kind == SC_KEEPER_CLIENT)
        return request->of_gate
                   ? sc_keeper_reply_error("usage", "as", "as, priority, deadline_ms: a gate's only")
                   : NULL;
    if (request->needs & SC_KEEPER_WITHOUT_AS)
        return NULL;
    char *no = request->access ? access_use(request, ret_caller) : use_token(peer, request, ret_caller);
    if (!no)
        no = admission_rate(ret_caller);
    if (no)
        return no;
    no = policy_refuse(ret_caller->tenant->quota, request);
    if (no)
        note_forbidden(ret_caller, request, no);
    return no ? no : refuse_unwritten(ret_caller->keeper, request);
}

void call_begin(struct peer *peer, uint16_t channel, struct sc_keeper_request *request)
{
    const struct handler *handler = &HANDLERS[request->verb];
    const unsigned most = peer->kind == SC_KEEPER_GATE ? SC_KEEPER_GATE_CALLS_MAX : SC_KEEPER_CALLS_MAX;
    struct keeper_session *session = NULL;
    struct caller caller;
    char *no = find_caller(peer, request, &caller);
    if (no) {
        peer_reply(peer, channel, no);
        return;
    }
    if (request->needs & SC_KEEPER_NEEDS_SESSION) {
        char *refusal = NULL;
        session = session_of(&caller, request, &refusal);
        if (!session) {
            peer_reply(peer, channel, refusal);
            return;
        }
        sc_session_touch(session->session);
    }
    const bool needs_cell = request->verb == SC_KEEPER_ONCE || request->verb == SC_KEEPER_JUDGE ||
                            request->verb == SC_KEEPER_SESSION_START ||
                            request->verb == SC_KEEPER_SESSION_RESUME;
    const bool waits = (caller.tenant && needs_cell) || !handler->answer;
    if (waits && peer->n_calls >= most)
        peer_reply(peer, channel,
                   sc_keeper_reply_error("usage", "", "too many requests at once on this connection"));
    else if (caller.tenant && needs_cell)
        admission_ask(&caller, peer, channel, request);
    else if (request->verb == SC_KEEPER_JUDGE)
        judging_begin(&caller, peer, channel, request, NULL);
    else if (request->verb == SC_KEEPER_WATCH_EVENTS)
        events_watch(&caller, peer, channel);
    else if (handler->answer)
        peer_reply(peer, channel, handler->answer(&caller, session, request));
    else if (request->verb == SC_KEEPER_ONCE || request->verb == SC_KEEPER_SESSION_RESUME)
        begin_with_cell(&caller, peer, channel, request, NULL, 0);
    else
        begin_call(peer, session, channel, request);
    if (session)
        session_arm(session);
}

struct call *call_by_channel(struct peer *peer, uint16_t channel)
{
    struct call *call;
    TAILQ_FOREACH(call, &peer->calls, of_peer)
    {
        if (call->channel == channel)
            return call;
    }
    return NULL;
}

static void call_free(struct call *call)
{
    if (call->peer) {
        TAILQ_REMOVE(&call->peer->calls, call, of_peer);
        call->peer->n_calls--;
    }
    TAILQ_REMOVE(&call->session->calls, call, of_session);
    if (call->input)
        evbuffer_free(call->input);
    free(call->entries);
    sc_keeper_request_fini(&call->request);
    free(call);
}

void call_finish(struct call *call, char *text)
{
    note_call_end(call, text);
    if (call->peer)
        peer_reply(call->peer, call->channel, text);
    else
        free(text);
    call_free(call);
}

static bool session_is_forked_by(const struct call *call)
{
    return call->request.verb == SC_KEEPER_SESSION_FORK || call->request.verb == SC_KEEPER_SESSION_SNAPSHOT ||
           call->request.verb == SC_KEEPER_SESSION_ROLLBACK;
}

void call_cancel(struct call *call)
{
    struct sc_session *session = call->session->session;
    if (call->cancelled || call->request.verb == SC_KEEPER_SESSION_END)
        return;
    call->cancelled = true;
    if (session_is_forked_by(call))
        return; /* it takes no longer than its files do */
    if (call->request.verb == SC_KEEPER_SESSION_PAUSE || call->request.verb == SC_KEEPER_SESSION_RESUME) {
        rest_cancel(call);
        session_arm(call->session);
        return;
    }
    /* A file operation is asked to end, so that it leaves no half file; the agent insists.
     * -ESRCH: it has just ended; its answer is on the way. */
    int number = call->request.verb == SC_KEEPER_COMMAND ? SIGKILL : SIGTERM;
    if (call->live)
        (void)sc_live_signal(sc_session_live(session), call->id, number, SC_SIGNAL_TREE);
    else
        (void)sc_session_cancel(session, call->task);
    session_arm(call->session);
}

bool call_input(struct call *call, const void *data, size_t len)
{
    if (len > call->input_credit || call->input_ended)
        return false;
    call->input_credit -= len;
    if (evbuffer_add(call->input, data, len) < 0)
        return false;
    stream_input(call);
    session_arm(call->session);
    return true;
}

void call_input_end(struct call *call)
{
    if (!call->input)
        return;
    call->input_ended = true;
    stream_input(call);
    session_arm(call->session);
}

void call_resize(struct call *call, const struct sc_keeper_size *size)
{
    if (!call->live || !call->request.pty)
        return;
    (void)sc_live_resize(sc_session_live(call->session->session), call->id, size->rows, size->cols);
    session_arm(call->session);
}

void call_room(struct call *call)
{
    if (!call->live)
        return;
    stream_output(call, SC_STREAM_OUT, 0);
    stream_output(call, SC_STREAM_ERR, 0);
    session_arm(call->session);
}
