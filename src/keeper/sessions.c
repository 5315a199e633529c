/* The keeper's sessions: from a spec to a living cell, on the event loop, to its end. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/json.h"
#include "cell/cell.h"
#include "keeper/parts.h"
#include "keeper/reply.h"
#include "snap/pause.h"
#include "snap/recipe.h"

/* More than any single run may take. */
#define ONCE_NS (24 * 3600 * SC_NS_PER_S)
/* Parked cells that one run may lose before it could have begun; then it gets one made for it. */
#define PARKED_TRIES 2

static void on_ended(void *userdata, const char *why, const char *message)
{
    struct keeper_session *session = userdata;
    session->over = true;
    snprintf(session->why, sizeof session->why, "%.*s", (int)sizeof session->why - 1, why);
    snprintf(session->message, sizeof session->message, "%.*s", (int)sizeof session->message - 1,
             message ? message : "");
}

/* A call that a client waits for is a request for as long as it lasts. */
static bool is_in_use(const struct keeper_session *session)
{
    const struct call *call;
    TAILQ_FOREACH(call, &session->calls, of_session)
    {
        if (call->peer && call->request.verb != SC_KEEPER_SESSION_END)
            return true;
    }
    return false;
}

static void retire(struct keeper_session *session);

static void step(evutil_socket_t fd, short what, void *userdata)
{
    struct keeper_session *session = userdata;
    struct sc_err err = {0};
    (void)fd;
    (void)what;
    if (is_in_use(session))
        sc_session_touch(session->session);
    if (sc_session_step(session->session, &err) < 0 && !session->over)
        on_ended(session, "failed", err.message);
    session_serve_again(session);
    if (session->over && sc_session_below(session->session) > 0)
        retire(session);
    else if (session->over)
        session_close(session);
    else
        session_arm(session);
}

void session_arm(struct keeper_session *session)
{
    uint64_t due = sc_session_next_ns(session->session), now = sc_now_ns();
    if (due == UINT64_MAX) {
        evtimer_del(session->timer);
        return;
    }
    uint64_t wait_us = due > now ? (due - now + 999) / 1000 : 0;
    const struct timeval wait = {.tv_sec = (time_t)(wait_us / 1000000),
                                 .tv_usec = (suseconds_t)(wait_us % 1000000)};
    evtimer_add(session->timer, &wait);
}

/* Names are a tenant's own; those at the keeper's own socket share theirs. */
static bool is_taken(const struct keeper *keeper, const struct tenant *tenant, const char *id)
{
    const struct keeper_session *session;
    TAILQ_FOREACH(session, &keeper->sessions, entry)
    {
        if (session->tenant == tenant && !strcmp(session->id, id))
            return true;
    }
    return false;
}

/* Of users, whoever's it is: they lie in one folder. */
static bool is_resting(const struct tenant *tenant, const char *name)
{
    json_t *value = sc_vault_tell(rest_store(tenant), name);
    json_decref(value);
    return value;
}

static int choose_id(struct keeper_session *session, const char *name, struct sc_err *err)
{
    uint8_t bytes[16];
    if (name && is_taken(session->keeper, session->tenant, name)) {
        (void)sc_err_usage(err, session->is_resumed ? "session" : "name",
                           "%s: %s: a session of this name is alive; must be another",
                           session->is_resumed ? "session" : "name", name);
        return err->code = session->is_resumed ? -EBUSY : -EINVAL;
    }
    if (name && !session->is_resumed && is_resting(session->tenant, name))
        return sc_err_usage(err, "name", "name: %s: a session of this name is paused; resume or end it",
                            name);
    if (name) {
        snprintf(session->id, sizeof session->id, "%s", name);
        return 0;
    }
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return sc_err_sys(err, -errno, "session: random number");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(session->id + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

static int make_plan(struct keeper_session *session, struct sc_err *err)
{
    struct sc_spec *spec = &session->spec;
    const struct sc_host_options options = {.cgroup_parent = spec->cgroup_parent, .want_scope = true};
    spec->session = true;
    const struct caller caller = {session->keeper, session->owner, session->tenant};
    int r = sc_recipe_apply(spec, err);
    if (r == 0)
        r = policy_network(&caller, spec, err);
    if (r == 0)
        r = sc_spec_check(spec, 0, err);
    if (r == 0)
        r = sc_host_probe(&session->host, &options, err);
    if (r == 0)
        r = sc_spec_check(spec, session->host.memory_bytes, err);
    if (r == 0)
        r = sc_plan_make(spec, &session->host, &session->plan, err);
    return r == 0 ? sc_works_new(session->plan, &session->works, err) : r;
}

static int watch(struct keeper_session *session, struct sc_err *err)
{
    struct event_base *base = session->keeper->base;
    session->timer = evtimer_new(base, step, session);
    session->readable = event_new(base, sc_session_fd(session->session), EV_READ | EV_PERSIST, step, session);
    if (!session->timer || !session->readable || event_add(session->readable, NULL) < 0)
        return sc_err_sys(err, -ENOMEM, "session");
    return 0;
}

static int open_cell(struct keeper_session *session, const struct sc_keeper_request *request,
                     struct sc_err *err)
{
    const struct sc_session_options options = {.idle_ns = request->idle_ns, .total_ns = request->total_ns};
    const struct sc_session_events events = {.userdata = session, .ended = on_ended};
    int r = make_plan(session, err);
    if (r == 0)
        r = sc_session_open(session->works, &options, &events, &session->session, err);
    if (r < 0)
        return r;
    return watch(session, err);
}

static const struct sc_session_options ONCE_OPTIONS = {
    .idle_ns = ONCE_NS, .total_ns = 2 * ONCE_NS, .end_on_memory = true};

/* From its shape's pool, and with its network's rules. One whose egress process is gone serves nobody: as if
 * there was none. */
static void take_once_cell(struct keeper_session *session, const struct sc_net *net)
{
    const struct sc_session_events events = {.userdata = session, .ended = on_ended};
    struct sc_pool_origin origin = {0};
    struct sc_err err = {0};
    session->session = shape_take(session->shape, &ONCE_OPTIONS, &events, &origin);
    if (!session->session)
        return;
    if (net->mode != SC_NET_NONE && sc_session_take_network(session->session, net, &err) < 0) {
        sc_session_close(session->session);
        session->session = NULL;
        return;
    }
    session->start = origin.kind;
    session->parked_ns = origin.parked_ns;
    session->zygote_age_ns = origin.zygote_age_ns;
}

/* A shape that serves this request only has its rules already. */
static int make_once_cell(struct keeper_session *session, const struct sc_net *net, struct sc_err *err)
{
    const struct sc_session_events events = {.userdata = session, .ended = on_ended};
    struct sc_works *works = session->shape->works;
    session->start = SC_START_COLD;
    return session->shape->key && net->mode != SC_NET_NONE
               ? sc_session_open_networked(works, net, &ONCE_OPTIONS, &events, &session->session, err)
               : sc_session_open(works, &ONCE_OPTIONS, &events, &session->session, err);
}

/* From its shape's pool, or made now: at once where the pool's cells do not last. */
static int open_once_cell(struct keeper_session *session, const struct sc_net *net, struct sc_err *err)
{
    int r = 0;
    if (session->cells_lost < PARKED_TRIES)
        take_once_cell(session, net);
    if (!session->session)
        r = make_once_cell(session, net, err);
    return r < 0 ? r : watch(session, err);
}

/* Its end was asked for: nothing is left of it. */
static void forget(const struct keeper_session *session)
{
    if (session->is_forgotten && session->vault_lock >= 0)
        (void)sc_vault_remove(rest_store(session->tenant), session->id, session->vault_lock, NULL);
}

static void session_free(struct keeper_session *session)
{
    if (session->readable)
        event_free(session->readable);
    if (session->timer)
        event_free(session->timer);
    sc_session_close(session->session);
    forget(session);
    rest_let_go(session);
    sc_fill_free(session->fill);
    json_decref(session->metadata);
    shape_let_go(session->shape);
    sc_works_free(session->works);
    sc_plan_free(session->plan);
    sc_spec_fini(&session->spec);
    json_decref(session->subject);
    free(session);
}

static struct keeper_session *session_new(const struct caller *caller)
{
    struct keeper_session *session = calloc(1, sizeof *session);
    if (!session)
        return NULL;
    *session = (struct keeper_session){.keeper = caller->keeper,
                                       .owner = caller->uid,
                                       .tenant = caller->tenant,
                                       .since_ns = sc_now_ns(),
                                       .vault_lock = -1};
    memcpy(session->key, caller->key, sizeof session->key);
    TAILQ_INIT(&session->calls);
    sc_spec_init(&session->spec);
    return session;
}

static int make_session(const struct caller *caller, struct keeper_session **ret_session, struct sc_err *err)
{
    struct keeper *keeper = caller->keeper;
    unsigned most = keeper->options->sessions;
    if (keeper->n_sessions >= most)
        return sc_err_set(
            err, SC_ERR_HOST, -EAGAIN,
            "session: %u are alive, which is all that this keeper allows; end one, or start the "
            "keeper with --sessions",
            keeper->n_sessions);
    *ret_session = session_new(caller);
    return *ret_session ? 0 : sc_err_sys(err, -ENOMEM, "session");
}

/* Into the list, once it lives; frees one that does not. */
static int add_session(struct keeper_session *session, int r, struct keeper_session **ret_session)
{
    struct keeper *keeper = session->keeper;
    if (r < 0) {
        session_free(session);
        return r;
    }
    TAILQ_INSERT_TAIL(&keeper->sessions, session, entry);
    keeper->n_sessions++;
    keeper_watch_idle(keeper);
    session_arm(session);
    *ret_session = session;
    return 0;
}

int session_open(const struct caller *caller, struct sc_keeper_request *request,
                 struct keeper_session **ret_session, struct sc_err *err)
{
    struct keeper_session *session = NULL;
    int r = make_session(caller, &session, err);
    if (!session)
        return r;
    if (session->keeper->audit)
        session->subject = note_subject(&request->spec);
    session->spec = request->spec;
    session->wants_forks = request->spec.forkable;
    sc_spec_init(&request->spec);
    session->metadata = json_incref(request->metadata);
    r = choose_id(session, request->name, err);
    if (r == 0)
        r = open_cell(session, request, err);
    r = add_session(session, r, ret_session);
    if (r == 0)
        note_session_start(*ret_session);
    return r;
}

int session_open_once(const struct caller *caller, struct sc_keeper_request *request,
                      struct keeper_session **ret_session, struct sc_err *err)
{
    struct keeper_session *session = NULL;
    int r = make_session(caller, &session, err);
    if (!session)
        return r;
    if (session->keeper->audit)
        session->subject = note_subject(&request->spec);
    r = shape_get(caller, &request->spec, &session->shape, err);
    if (r == 0)
        r = open_once_cell(session, &request->spec.net, err);
    return add_session(session, r, ret_session);
}

static void give_call(struct call *call, struct keeper_session *session)
{
    TAILQ_REMOVE(&call->session->calls, call, of_session);
    call->session = session;
    TAILQ_INSERT_TAIL(&session->calls, call, of_session);
}

/* What is its tenant's, and what is noted of it. */
static void inherit(struct keeper_session *session, struct keeper_session *lost)
{
    memcpy(session->key, lost->key, sizeof session->key);
    session->subject = lost->subject;
    session->need = lost->need;
    session->charged_ns = lost->charged_ns;
    session->queued_ns = lost->queued_ns;
    session->once = lost->once;
    lost->subject = NULL;
    lost->need = (struct need){0};
}

/* The next cell for a run that `lost` has lost. It takes its place: their number is not asked about. */
static int open_next(struct keeper_session *lost, const struct call *call,
                     struct keeper_session **ret_session, struct sc_err *err)
{
    const struct caller caller = {.keeper = lost->keeper, .uid = lost->owner, .tenant = lost->tenant};
    struct keeper_session *session = session_new(&caller);
    if (!session)
        return sc_err_sys(err, -ENOMEM, "session");
    session->since_ns = lost->since_ns;
    session->cells_lost = lost->cells_lost + 1;
    session->shape = lost->shape;
    session->shape->users++;
    return add_session(session, open_once_cell(session, &call->request.spec.net, err), ret_session);
}

void session_serve_again(struct keeper_session *lost)
{
    struct call *call = lost->unserved;
    struct keeper_session *session = NULL;
    struct sc_err err = {0};
    if (!call)
        return;
    lost->unserved = NULL;
    if (open_next(lost, call, &session, &err) < 0 || !session) {
        call_finish(call, sc_keeper_reply_err(&err));
        return;
    }
    inherit(session, lost);
    give_call(call, session);
    if (once_start(call, &err) < 0) {
        call_finish(call, sc_keeper_reply_err(&err));
        sc_session_end(session->session);
    }
    session_arm(session);
}

/* What was paused may have been paused anew while it waited for its turn. */
static int check_need(const struct keeper_session *session, const struct need *need, struct sc_err *err)
{
    struct need now;
    room_need_of(&session->spec.limits, &now);
    if (!need || (now.memory <= need->memory && now.disk <= need->disk && now.cpus <= need->cpus))
        return 0;
    (void)sc_err_usage(err, "session", "session: %s: it was paused with other limits meanwhile", session->id);
    return err->code = -EBUSY;
}

int session_open_paused(const struct caller *caller, struct sc_keeper_request *request,
                        const struct need *need, struct keeper_session **ret_session, struct sc_err *err)
{
    struct keeper_session *session = NULL;
    int r = make_session(caller, &session, err);
    if (!session)
        return r;
    session->is_resumed = true;
    r = choose_id(session, request->session, err);
    if (r == 0)
        r = rest_open(caller, session, request, err);
    if (r == 0)
        r = check_need(session, need, err);
    if (r == 0 && session->keeper->audit)
        session->subject = note_subject(&session->spec);
    if (r == 0)
        r = open_cell(session, request, err);
    return add_session(session, r, ret_session);
}

int session_open_copy(const struct keeper_copy *how, struct keeper_session **ret_session, struct sc_err *err)
{
    struct keeper_session *from = how->from, *session = NULL;
    struct caller caller = {.keeper = from->keeper, .uid = from->owner, .tenant = from->tenant};
    memcpy(caller.key, from->key, sizeof caller.key);
    const struct sc_session_options options = {.idle_ns = how->idle_ns, .total_ns = how->total_ns};
    int r = make_session(&caller, &session, err);
    if (!session)
        return r;
    if (from->keeper->audit)
        session->subject = note_subject(&from->spec);
    r = sc_spec_copy(&from->spec, &session->spec);
    r = r < 0 ? sc_err_sys(err, r, "fork") : how->is_nameless ? 0 : choose_id(session, how->name, err);
    session->is_snapshot = how->is_snapshot;
    session->wants_forks = how->is_forkable;
    session->generation = from->generation + 1;
    snprintf(session->parent, sizeof session->parent, "%s", from->is_snapshot ? from->parent : from->id);
    snprintf(session->snapshot, sizeof session->snapshot, "%s", from->is_snapshot ? from->id : "");
    session->busy = "is being made";
    session->is_unborn = true;
    const struct sc_session_events events = {.userdata = session, .ended = on_ended};
    if (r == 0)
        r = sc_session_open_copy(from->session, how->is_forkable, &options, &events, &session->session, err);
    if (r == 0)
        session->above = from;
    if (r == 0)
        r = watch(session, err);
    return add_session(session, r, ret_session);
}

static char *last_words(const struct keeper_session *session, const struct call *call)
{
    char message[400];
    if (call->request.verb == SC_KEEPER_SESSION_END)
        return sc_keeper_reply_value(json_pack("{s:s}", "why", session->why));
    if (call->request.verb == SC_KEEPER_SESSION_PAUSE && session->is_paused)
        return sc_keeper_reply_value(
            json_pack("{s:s, s:I}", "session", session->id, "bytes", (json_int_t)session->paused_bytes));
    snprintf(message, sizeof message, "session: it has ended (%s)%s%s", session->why,
             *session->message ? ": " : "", session->message);
    return sc_keeper_reply_error("ended", "session", message);
}

/* Commands and file operations speak to their calls until they end. */
static bool has_live_calls(const struct keeper_session *session)
{
    const struct call *call;
    bool any = false;
    TAILQ_FOREACH(call, &session->calls, of_session)
    {
        if (call->live)
            (void)sc_live_signal(sc_session_live(session->session), call->id, SIGKILL, SC_SIGNAL_TREE);
        any = any || call->live;
    }
    return any;
}

static void answer_all(struct keeper_session *session)
{
    struct call *call;
    fork_let_go(session);
    while ((call = TAILQ_FIRST(&session->calls)))
        call_finish(call, call->peer ? last_words(session, call) : NULL);
    note_session_end(session);
    journal_ended(session);
}

/* It is over, but copies of it live below its cell: that stays, empty, and nobody can name it. */
static void retire(struct keeper_session *session)
{
    if (!session->is_retired && !has_live_calls(session)) {
        answer_all(session);
        *session->id = '\0';
        session->is_retired = true;
    }
    session_arm(session);
}

static void close_childless(struct keeper_session *session)
{
    if (session && session->is_retired && sc_session_below(session->session) == 0)
        session_close(session);
}

void session_close(struct keeper_session *session)
{
    struct keeper *keeper = session->keeper;
    struct keeper_session *above = session->above;
    struct call *call;
    if (!session->over)
        on_ended(session, "ended", "the keeper ends");
    fork_let_go(session);
    /* First the cell, so that nobody calls back for the calls that are answered now. */
    sc_session_close(session->session);
    session->session = NULL;
    while ((call = TAILQ_FIRST(&session->calls)))
        call_finish(call, call->peer ? last_words(session, call) : NULL);
    note_session_end(session);
    admission_give_back(session);
    TAILQ_REMOVE(&keeper->sessions, session, entry);
    keeper->n_sessions--;
    journal_ended(session);
    session_free(session);
    keeper_watch_idle(keeper);
    close_childless(above);
}
