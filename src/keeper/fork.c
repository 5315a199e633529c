/* Forks of living sessions: copies of a session below it, snapshots, which are copies that nobody runs in, and
 * rollbacks, where a copy of a snapshot takes the session's place.
 *
 * Copies are sessions like any from the beginning on, but nothing can be asked of them, nor of what they are
 * copies of, until all of them are ready; when one cannot be made, none is. A session that ends before its
 * copies do is retired (sessions.c): their cells lie below its own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keeper/parts.h"
#include "keeper/reply.h"

#define SNAPSHOT_IDLE_NS (24 * 3600 * SC_NS_PER_S)
#define SNAPSHOT_TOTAL_NS (7 * 24 * 3600 * SC_NS_PER_S)

struct forking {
    struct call *call; /* NULL: its session's end has answered it */
    struct keeper_session *from;
    struct keeper_session *instead_of; /* of a rollback */
    size_t n_copies;
    struct keeper_session *copies[SC_KEEPER_COPIES_MAX];
};

static char *refusal(const struct sc_err *err)
{
    if (err->kind == SC_ERR_USAGE && err->code == -EBUSY)
        return sc_keeper_reply_error("busy", err->field, err->message);
    if (err->kind == SC_ERR_USAGE && err->code == -EOPNOTSUPP)
        return sc_keeper_reply_error("not_forkable", err->field, err->message);
    return sc_keeper_reply_err(err);
}

/* ---- the end ---- */

static char *told(const struct forking *forking)
{
    json_t *list = json_array();
    int r = 0;
    if (forking->call->request.verb == SC_KEEPER_SESSION_SNAPSHOT) {
        json_decref(list);
        return sc_keeper_reply_value(json_pack("{s:s}", "snapshot", forking->copies[0]->id));
    }
    for (size_t i = 0; i < forking->n_copies && r == 0; i++)
        r = json_array_append_new(list, json_string(forking->copies[i]->id));
    if (r == 0)
        return sc_keeper_reply_value(json_pack("{s:o}", "sessions", list));
    json_decref(list);
    return NULL;
}

/* The copy has the name from now on; the session before goes as one that nobody can name. */
static void take_place(struct forking *forking)
{
    struct keeper_session *copy = forking->copies[0], *old = forking->instead_of;
    memcpy(copy->id, old->id, sizeof copy->id);
    copy->metadata = json_incref(old->metadata);
    note_session_end(old);
    journal_ended(old);
    *old->id = '\0';
    old->ending = true;
    sc_session_end(old->session);
    session_arm(old);
}

static void end_copies(const struct forking *forking)
{
    for (size_t i = 0; i < forking->n_copies; i++) {
        forking->copies[i]->ending = true;
        sc_session_end(forking->copies[i]->session);
        session_arm(forking->copies[i]);
    }
}

static void over(struct forking *forking, int r, char *text)
{
    struct keeper_session *instead_of = forking->instead_of;
    forking->from->forking = NULL;
    forking->from->busy = NULL;
    sc_session_touch(forking->from->session);
    if (instead_of) {
        instead_of->forking = NULL;
        instead_of->busy = NULL;
    }
    if (forking->call)
        call_finish(forking->call, text);
    else
        free(text);
    if (r < 0)
        end_copies(forking);
    free(forking);
}

static void on_forked(void *userdata, int r, const struct sc_err *err)
{
    struct forking *forking = userdata;
    struct keeper_session *instead_of = forking->instead_of;
    if (r == 0 && (!forking->call || (instead_of && instead_of->over)))
        r = -ESHUTDOWN; /* who asked for it is gone */
    if (r < 0) {
        over(forking, r, forking->call && err ? refusal(err) : NULL);
        return;
    }
    for (size_t i = 0; i < forking->n_copies; i++) {
        forking->copies[i]->busy = NULL;
        sc_session_touch(forking->copies[i]->session);
    }
    char *text = instead_of ? sc_keeper_reply_value(json_pack("{s:s}", "session", instead_of->id))
                            : told(forking);
    struct call *call = forking->call;
    if (instead_of) {
        /* Before its session, which answers what is left. */
        forking->call = NULL;
        take_place(forking);
        call_finish(call, text);
        text = NULL;
    }
    for (size_t i = 0; i < forking->n_copies; i++) {
        note_session_start(forking->copies[i]);
        session_arm(forking->copies[i]);
    }
    over(forking, 0, text);
}

void fork_let_go(struct keeper_session *session)
{
    struct forking *forking = session->forking;
    if (!forking)
        return;
    if (forking->call && forking->call->session == session)
        forking->call = NULL;
    if (forking->instead_of == session)
        forking->instead_of = NULL;
    session->forking = NULL;
}

/* ---- the beginning ---- */

static int name_of(const struct call *call, size_t i, char ret_name[SC_KEEPER_NAME_MAX + 1],
                   struct sc_err *err)
{
    const struct sc_keeper_request *request = &call->request;
    int n = request->copies > 1 ? snprintf(ret_name, SC_KEEPER_NAME_MAX + 1, "%s-%zu", request->name, i + 1)
                                : snprintf(ret_name, SC_KEEPER_NAME_MAX + 1, "%s", request->name);
    return n <= SC_KEEPER_NAME_MAX
               ? 0
               : sc_err_usage(err, "name", "name: %s: with a number behind it, it is longer than %d",
                              request->name, SC_KEEPER_NAME_MAX);
}

static int make_copies(struct forking *forking, size_t n, struct sc_err *err)
{
    const struct sc_keeper_request *request = &forking->call->request;
    const bool is_snapshot = request->verb == SC_KEEPER_SESSION_SNAPSHOT;
    for (size_t i = 0; i < n; i++) {
        char name[SC_KEEPER_NAME_MAX + 1] = "";
        struct keeper_copy how = {.from = forking->from,
                                  .name = request->name ? name : NULL,
                                  .idle_ns = is_snapshot ? SNAPSHOT_IDLE_NS : request->idle_ns,
                                  .total_ns = is_snapshot ? SNAPSHOT_TOTAL_NS : request->total_ns,
                                  .is_forkable = is_snapshot || request->forkable,
                                  .is_nameless = forking->instead_of,
                                  .is_snapshot = is_snapshot};
        int r = request->name ? name_of(forking->call, i, name, err) : 0;
        if (r == 0)
            r = session_open_copy(&how, &forking->copies[i], err);
        if (r < 0)
            return r;
        forking->copies[i]->metadata = json_incref(request->metadata);
        forking->n_copies++;
    }
    return 0;
}

static unsigned others(const struct keeper_session *session, const struct call *but)
{
    const struct call *other;
    unsigned n = 0;
    TAILQ_FOREACH(other, &session->calls, of_session)
    {
        n += other != but;
    }
    return n;
}

static int may_fork(const struct call *call, const struct keeper_session *from, size_t n, struct sc_err *err)
{
    const struct keeper *keeper = from->keeper;
    unsigned under_way = others(from, call);
    int r = sc_session_may_fork(from->session, err);
    if (r < 0)
        return r;
    if (under_way)
        return sc_err_set(err, SC_ERR_USAGE, -EBUSY,
                          "session: %s: %u requests or commands are under way: it can be forked when they have "
                          "ended",
                          from->id, under_way);
    if (keeper->n_sessions + n > keeper->options->sessions)
        return sc_err_set(err, SC_ERR_HOST, -EAGAIN,
                          "session: %u are alive: %zu more are more than this keeper allows; end some, or start "
                          "the keeper with --sessions",
                          keeper->n_sessions, n);
    return 0;
}

static int begin(struct call *call, struct keeper_session *from, struct keeper_session *instead_of, size_t n,
                 struct sc_err *err)
{
    struct sc_session *copies[SC_KEEPER_COPIES_MAX];
    int r = may_fork(call, from, n, err);
    if (r < 0)
        return r;
    struct forking *forking = calloc(1, sizeof *forking);
    if (!forking)
        return sc_err_sys(err, -ENOMEM, "fork");
    *forking = (struct forking){.call = call, .from = from, .instead_of = instead_of};
    r = make_copies(forking, n, err);
    for (size_t i = 0; i < forking->n_copies; i++)
        copies[i] = forking->copies[i]->session;
    if (r == 0)
        r = sc_session_fork(from->session, copies, n, on_forked, forking, err);
    if (r < 0) {
        end_copies(forking);
        free(forking);
        return r;
    }
    from->forking = forking;
    from->busy = "is being forked";
    if (instead_of) {
        instead_of->forking = forking;
        instead_of->busy = "is being rolled back";
    }
    session_arm(from);
    return 0;
}

/* Its kind of error is one of these requests' own. */
static int answer(struct call *call, int r, const struct sc_err *err)
{
    if (r < 0)
        call_finish(call, refusal(err));
    return 0;
}

int fork_start(struct call *call, struct sc_err *err)
{
    bool is_fork = call->request.verb == SC_KEEPER_SESSION_FORK;
    size_t n = is_fork && call->request.copies ? call->request.copies : 1;
    int r = call->session->tenant ? sc_err_usage(err, "session",
                                                 "session: %s: a tenant's: only users' own can be forked",
                                                 call->session->id)
                                  : begin(call, call->session, NULL, n, err);
    return answer(call, r, err);
}

int rollback_start(struct call *call, struct sc_err *err)
{
    struct keeper_session *session = call->session;
    const struct caller caller = {.keeper = session->keeper, .uid = session->owner, .tenant = session->tenant};
    struct keeper_session *from = session_find(&caller, call->request.snapshot);
    int r = 0;
    if (!from || !from->is_snapshot || from->ending || from->tenant)
        r = sc_err_set(err, SC_ERR_USAGE, -ENOENT, "snapshot: %s: there is none of this name",
                       call->request.snapshot);
    else if (from->busy)
        r = sc_err_set(err, SC_ERR_USAGE, -EBUSY, "snapshot: %s: it %s", from->id, from->busy);
    else if (others(session, call))
        r = sc_err_set(err, SC_ERR_USAGE, -EBUSY, "session: %s: requests or commands are under way", session->id);
    else
        r = begin(call, from, session, 1, err);
    return answer(call, r, err);
}
