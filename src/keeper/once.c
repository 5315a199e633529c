/* A single run in a fresh cell: files, then the run, then the end of the cell. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "keeper/parts.h"
#include "keeper/reply.h"
#include "snap/shape.h"

/* A shape that serves this request only has taken its spec, and its cell has files and environment already.
 */
static bool is_fed(const struct call *call)
{
    return !call->session->shape->key;
}

static const struct sc_spec *spec_of(const struct call *call)
{
    return is_fed(call) ? &call->session->shape->spec : &call->request.spec;
}

/* What its cell does not have already; heap list of borrowed texts, or NULL. */
static const char **own_env(const struct sc_spec *spec)
{
    size_t n = sc_shape_own_env(spec);
    const char **env = calloc(n + 1, sizeof *env);
    for (size_t i = 0; env && i < n; i++)
        env[i] = spec->env.v[i];
    return env;
}

static int run(struct call *call, struct sc_err *err)
{
    const struct sc_spec *spec = spec_of(call);
    struct sc_session *session = call->session->session;
    const char **env = is_fed(call) ? NULL : own_env(spec);
    if (!env && !is_fed(call))
        return sc_err_sys(err, -ENOMEM, "run");
    const struct sc_session_run run = {
        .lang = spec->lang,
        .mode = spec->mode,
        .code = spec->code,
        .code_len = spec->code_len,
        .stdin_data = spec->stdin_data,
        .stdin_len = spec->stdin_len,
        .limits = {.wall = spec->limits.wall,
                   .cpu = spec->limits.cpu,
                   .stdout = spec->limits.stdout,
                   .stderr = spec->limits.stderr},
        .validate = spec->validate.on ? &spec->validate : NULL,
        .env = env,
    };
    call->session->before_ns = sc_now_ns() - call->session->since_ns;
    const struct sc_task_events *events =
        call->session->start != SC_START_COLD ? &ONCE_WARM_EVENTS : &TASK_EVENTS;
    int r = sc_session_run(session, &run, events, call, &call->task, err);
    free(env);
    /* What was cancelled while its files went in has a result like any other. */
    if (r == 0 && (call->cancelled || !call->peer))
        (void)sc_session_cancel(session, call->task);
    return r;
}

/* Ends the call, too. */
static void refuse(struct call *call, char *text)
{
    struct sc_session *session = call->session->session;
    call_finish(call, text);
    sc_session_end(session);
}

void once_unserved(void *userdata)
{
    struct call *call = userdata;
    call->session->unserved = call;
    call->task = 0;
    sc_session_end(call->session->session);
}

static void on_files(void *userdata, int r, const struct sc_err *err)
{
    struct call *call = userdata;
    struct sc_err story = {0};
    if (r == -EPIPE && call->session->start != SC_START_COLD)
        once_unserved(call);
    else if (r == -EPIPE)
        sc_session_end(call->session->session); /* its end answers */
    else if (r < 0)
        refuse(call, sc_keeper_reply_err(err));
    else if (run(call, &story) < 0)
        refuse(call, sc_keeper_reply_err(&story));
}

int once_start(struct call *call, struct sc_err *err)
{
    const struct sc_spec *spec = spec_of(call);
    struct keeper_session *session = call->session;
    size_t n_files = is_fed(call) ? 0 : sc_shape_own_files(spec);
    if (n_files == 0)
        return run(call, err);
    /* The interpreter of a cell made for this starts meanwhile. */
    int r = sc_session_prepare(session->session, spec->lang, spec->mode, NULL, err);
    return r < 0 ? r
                 : sc_fill_start(sc_session_live(session->session), spec->files, n_files, on_files, call,
                                 &session->fill, err);
}

void once_refused(struct call *call)
{
    if (call->request.verb == SC_KEEPER_ONCE)
        sc_session_end(call->session->session);
}

/* That memory ran out for it is no reason to lose the result. */
static void tell_shape(const struct keeper_session *session, struct sc_result *result)
{
    const struct shape *shape = session->shape;
    const char *trouble = shape_trouble(shape, session);
    if (shape->spec.template)
        result->template = strdup(shape->spec.template);
    if (trouble)
        result->trouble = strdup(trouble);
}

/* One that failed was served by an interpreter that was started. */
static void tell_fork(struct keeper_session *session, const struct call *call)
{
    const struct sc_spec *spec = spec_of(call);
    if (session->start != SC_START_FORK)
        return;
    bool is_forked = sc_session_is_forked(session->session, spec->lang, spec->mode);
    sc_pool_note_fork(session->shape->pool, is_forked);
    if (is_forked)
        return;
    session->start = SC_START_COLD;
    session->zygote_age_ns = 0;
}

void once_done(struct call *call, struct sc_result *result)
{
    struct keeper_session *session = call->session;
    if (call->request.verb != SC_KEEPER_ONCE)
        return;
    tell_fork(session, call);
    result->start = session->start;
    result->parked_ns = session->parked_ns;
    result->zygote_age_ns = session->zygote_age_ns;
    tell_shape(session, result);
    /* All that passed from the request to the hand-over. */
    result->usage.start_ns += result->usage.queue_ns + session->before_ns;
    result->usage.queue_ns = session->queued_ns;
    result->context_lost = false; /* nobody could come back to it */
    sc_session_end(session->session);
}
