/* Forks of living sessions: copies of a session below it, snapshots, which are copies that nobody runs in,
 * and rollbacks, where a copy of a snapshot takes the session's place.
 *
 * Copies are sessions like any from the beginning on, but nothing can be asked of them, nor of what they are
 * copies of, until all of them are ready; when one cannot be made, none is. A session that ends before its
 * copies do is retired (sessions.c): their cells lie below its own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
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

/* ---- the end ---- */

static char *told(const struct forking *forking)
{
    json_t *list = json_array();
    int r = 0;
    if (forking->instead_of) {
        json_decref(list);
        return sc_keeper_reply_value(json_pack("{s:s, s:b}", "session", forking->instead_of->id, "forkable",
                                               (int)sc_session_is_forkable(forking->copies[0]->session)));
    }
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
    memcpy(copy->key, old->key, sizeof copy->key);
    copy->metadata = json_incref(old->metadata);
    copy->vault_lock = sc_steal_fd(&old->vault_lock);
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
        *forking->copies[i]->id = '\0'; /* nobody was told of it: its name is free at once */
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
        over(forking, r, forking->call && err ? sc_keeper_reply_refusal(err) : NULL);
        return;
    }
    for (size_t i = 0; i < forking->n_copies; i++) {
        forking->copies[i]->busy = NULL;
        forking->copies[i]->is_unborn = false;
        sc_session_touch(forking->copies[i]->session);
    }
    char *text = told(forking);
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

/* What a rollback makes has the times of the session that it is made for, begun anew, and is forkable if that
 * was. */
static struct keeper_copy how_to_copy(const struct forking *forking)
{
    const struct sc_keeper_request *request = &forking->call->request;
    const struct keeper_session *old = forking->instead_of;
    const struct tenant *tenant = forking->from->tenant;
    struct keeper_copy how = {.from = forking->from, .is_forkable = request->forkable, .is_nameless = old};
    if (old) {
        how.is_forkable = old->wants_forks;
        sc_session_times(old->session, &how.idle_ns, &how.total_ns);
    } else if (request->verb == SC_KEEPER_SESSION_SNAPSHOT) {
        how.is_snapshot = how.is_forkable = true;
        how.idle_ns = SNAPSHOT_IDLE_NS;
        how.total_ns = policy_total_ns(tenant, 0, SNAPSHOT_TOTAL_NS);
    } else {
        how.idle_ns = request->idle_ns;
        how.total_ns = policy_total_ns(tenant, request->total_ns, SC_SESSION_TOTAL_NS);
    }
    return how;
}

/* A rollback is not refused for being the last of too many generations: then nothing is forked from it. */
static int open_copy(struct forking *forking, struct keeper_copy *how, struct sc_err *err)
{
    int r = session_open_copy(how, &forking->copies[forking->n_copies], err);
    if (r != -EOPNOTSUPP || !forking->instead_of || !how->is_forkable)
        return r;
    *err = (struct sc_err){0};
    how->is_forkable = false;
    r = session_open_copy(how, &forking->copies[forking->n_copies], err);
    if (r == 0)
        forking->copies[forking->n_copies]->wants_forks = true;
    return r;
}

static int make_copies(struct forking *forking, size_t n, struct sc_err *err)
{
    const struct sc_keeper_request *request = &forking->call->request;
    const struct keeper_session *from = forking->from;
    struct keeper_copy how = how_to_copy(forking);
    for (size_t i = 0; i < n; i++) {
        char name[SC_KEEPER_NAME_MAX + 1] = "";
        int r = request->name ? name_of(forking->call, i, name, err) : 0;
        how.name = request->name ? name : NULL;
        if (r == 0)
            r = open_copy(forking, &how, err);
        if (r < 0)
            return r;
        if (from->tenant)
            admission_take(forking->copies[i], &from->need, false);
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

static int busy(const struct keeper_session *session, unsigned under_way, const char *what,
                struct sc_err *err)
{
    (void)sc_err_usage(
        err, "session",
        "session: %s: %u requests or commands are under way: it can be %s when they have ended", session->id,
        under_way, what);
    return err->code = -EBUSY;
}

/* Copied memory and environment are copied secrets. */
static int may_copy_secrets(const struct call *call, const struct keeper_session *from, struct sc_err *err)
{
    const bool has_some = from->spec.secrets.n > 0 || sc_net_has_credentials(&from->spec.net);
    if (!has_some || call->request.inherit_secrets)
        return 0;
    (void)sc_err_usage(
        err, "inherit_secrets",
        "inherit_secrets: %s was given secrets, or its network credentials, and a copy would have them, "
        "too: say so, if it shall",
        from->id);
    return err->code = -EOPNOTSUPP;
}

static int may_fork(const struct call *call, const struct keeper_session *from, size_t n, struct sc_err *err)
{
    const struct keeper *keeper = from->keeper;
    unsigned under_way = others(from, call);
    int r = sc_session_may_fork(from->session, err);
    if (r == 0)
        r = may_copy_secrets(call, from, err);
    if (r < 0)
        return r;
    if (under_way)
        return busy(from, under_way, "forked", err);
    if (keeper->n_sessions + n > keeper->options->sessions)
        return sc_err_set(
            err, SC_ERR_HOST, -EAGAIN,
            "session: %u are alive: %zu more are more than this keeper allows; end some, or start "
            "the keeper with --sessions",
            keeper->n_sessions, n);
    return 0;
}

static int begin(struct call *call, struct keeper_session *from, struct keeper_session *instead_of, size_t n,
                 struct sc_err *err)
{
    struct sc_session *copies[SC_KEEPER_COPIES_MAX];
    int r = 0;
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

/* Whether there is room is asked last: who may not fork at all is told that. */
static int try_to(struct call *call, struct keeper_session *from, struct keeper_session *instead_of, size_t n)
{
    struct sc_err err = {0};
    int r = may_fork(call, from, n, &err);
    char *no = r == 0 && from->tenant ? admission_copies(from, n) : NULL;
    if (r == 0 && !no)
        r = begin(call, from, instead_of, n, &err);
    if (no || r < 0)
        call_finish(call, no ? no : sc_keeper_reply_refusal(&err));
    return 0;
}

int fork_start(struct call *call, struct sc_err *err)
{
    bool is_fork = call->request.verb == SC_KEEPER_SESSION_FORK;
    (void)err;
    return try_to(call, call->session, NULL, is_fork && call->request.copies ? call->request.copies : 1);
}

/* The snapshot of a rollback. NULL: there is none that it may be. */
static struct keeper_session *snapshot_of(const struct call *call)
{
    const struct keeper_session *session = call->session;
    const struct caller caller = {
        .keeper = session->keeper, .uid = session->owner, .tenant = session->tenant};
    struct keeper_session *from = session_find(&caller, call->request.snapshot);
    return from && from->is_snapshot && !from->ending && from->tenant == session->tenant ? from : NULL;
}

int rollback_start(struct call *call, struct sc_err *err)
{
    struct keeper_session *session = call->session, *from = snapshot_of(call);
    unsigned under_way = others(session, call);
    int r = 0;
    if (!from) {
        (void)sc_err_usage(err, "snapshot", "snapshot: %s: there is none of this name",
                           call->request.snapshot);
        r = err->code = -ENOENT;
    } else if (from->busy) {
        r = sc_err_usage(err, "snapshot", "snapshot: %s: it %s", from->id, from->busy);
        r = err->code = -EBUSY;
    } else if (under_way) {
        r = busy(session, under_way, "rolled back", err);
    }
    if (r == 0)
        return try_to(call, from, session, 1);
    call_finish(call, sc_keeper_reply_refusal(err));
    return 0;
}
