/* Sessions that rest on disk: pausing, resuming, and what is told of them.
 *
 * Pausing: packed by the cell into the vault, on the loop; then a child waits for the disk, compares and lets
 * the generation take its place; only after that the session ends. Whatever fails before, the session goes
 * on. Resuming: a new cell, unpacked into on the loop, and nobody's until that is done. The vault's lock of
 * its name is held for as long as a resumed session lives: there is one of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "keeper/parts.h"
#include "keeper/reply.h"
#include "snap/pause.h"

struct rest {
    struct keeper_session *session; /* NULL: it is gone, the child works on */
    struct call *call;
    struct sc_vault_writer writer;
    struct sc_vault_reader reader;
    struct sc_pause *pause;
    struct sc_unpause *unpause;
    pid_t child;
    int told; /* the child's word */
    struct event *event;
};

/* What a child says of its work. */
struct word {
    int r;
    struct sc_err err;
};

static void rest_free(struct rest *rest)
{
    if (rest->event)
        event_free(rest->event);
    sc_close(&rest->told);
    sc_vault_close(&rest->writer);
    sc_vault_reader_close(&rest->reader);
    sc_pause_free(rest->pause);
    sc_unpause_free(rest->unpause);
    free(rest);
}

static struct rest *rest_new(struct keeper_session *session)
{
    struct rest *rest = calloc(1, sizeof *rest);
    if (!rest)
        return NULL;
    *rest = (struct rest){.session = session, .child = -1, .told = -1};
    rest->writer.folder = rest->writer.lock = rest->writer.work = rest->writer.piece = -1;
    rest->reader.folder = rest->reader.lock = rest->reader.piece = -1;
    session->rest = rest;
    return rest;
}

void rest_let_go(struct keeper_session *session)
{
    struct rest *rest = session->rest;
    session->rest = NULL;
    sc_close(&session->vault_lock);
    if (!rest)
        return;
    rest->session = NULL;
    rest->call = NULL;
    if (rest->child >= 0)
        return;
    if (rest->writer.folder >= 0)
        sc_vault_abandon(&rest->writer);
    rest_free(rest);
}

static void answer(struct rest *rest, char *text)
{
    struct call *call = rest->call;
    rest->call = NULL;
    if (call)
        call_finish(call, text);
    else
        free(text);
}

/* ---- pausing ---- */

/* The session goes on. */
static void give_up(struct rest *rest, const struct sc_err *err)
{
    struct keeper_session *session = rest->session;
    struct sc_vault_writer *writer = &rest->writer;
    /* Something of this name counts: an earlier pause, or this one, whose child died behind its last step. */
    if (session && session->vault_lock < 0 && sc_vault_is_there(writer))
        session->vault_lock = fcntl(writer->lock, F_DUPFD_CLOEXEC, 3);
    sc_vault_abandon(writer);
    if (session) {
        session->rest = NULL;
        session->busy = NULL;
    }
    answer(rest, sc_keeper_reply_refusal(err));
    rest_free(rest);
}

static void end_paused(struct rest *rest)
{
    struct keeper_session *session = rest->session;
    sc_vault_close(&rest->writer);
    if (session) {
        session->rest = NULL;
        session->is_paused = session->ending = true;
        for (size_t i = 0; i < SC_VAULT_PIECES; i++)
            session->paused_bytes += rest->writer.pieces[i].bytes;
        sc_session_end_paused(session->session); /* the call is answered with the session's end */
        session_arm(session);
    }
    rest_free(rest);
}

static void on_word(evutil_socket_t fd, short what, void *userdata)
{
    struct rest *rest = userdata;
    struct word word;
    (void)what;
    if (sc_read_all(fd, &word, sizeof word) < 0) {
        word = (struct word){.r = -EIO};
        sc_err_sys(&word.err, -EIO, "pause: the process that writes to the disk died");
    }
    while (waitpid(rest->child, NULL, 0) < 0 && errno == EINTR)
        ;
    rest->child = -1;
    if (word.r < 0 && rest->session) {
        sc_pause_undo(rest->session->session);
        session_arm(rest->session);
    }
    if (word.r < 0)
        give_up(rest, &word.err);
    else
        end_paused(rest);
}

/* All descriptors but these, which are in no order. */
static void close_others(int *fds, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && fds[j] < fds[j - 1]; j--) {
            int other = fds[j];
            fds[j] = fds[j - 1];
            fds[j - 1] = other;
        }
    unsigned from = 3;
    for (size_t i = 0; i < n; i++) {
        if (fds[i] > (int)from)
            close_range(from, (unsigned)fds[i] - 1, 0);
        if (fds[i] >= (int)from)
            from = (unsigned)fds[i] + 1;
    }
    close_range(from, ~0u, 0);
}

__attribute__((noreturn)) static void commit(struct rest *rest, int told, json_t *facts)
{
    static const int own[] = {SIGTERM, SIGINT, SIGHUP};
    struct word word = {0};
    int kept[] = {rest->writer.folder, rest->writer.lock, rest->writer.work, told};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        signal(own[i], SIG_IGN); /* they are meant for the keeper */
    close_others(kept, sizeof kept / sizeof *kept);
    word.r = sc_vault_commit(&rest->writer, facts, &word.err);
    (void)sc_write_all(told, &word, sizeof word);
    _exit(0);
}

static int start_child(struct rest *rest, struct sc_err *err)
{
    struct keeper_session *session = rest->session;
    int told = -1;
    json_t *facts = sc_pause_facts(session->session, &session->spec, session->owner);
    if (facts && session->metadata && json_object_set(facts, "metadata", session->metadata) < 0) {
        json_decref(facts);
        facts = NULL;
    }
    if (!facts ||
        (session->tenant && json_object_set_new(facts, "tenant", json_string(session->tenant->name)) < 0)) {
        json_decref(facts);
        return sc_err_sys(err, -ENOMEM, "pause");
    }
    int r = sc_pipe(&rest->told, &told);
    if (r == 0) {
        rest->event = event_new(session->keeper->base, rest->told, EV_READ, on_word, rest);
        r = rest->event && event_add(rest->event, NULL) == 0 ? 0 : -ENOMEM;
    }
    if (r == 0) {
        rest->child = fork();
        if (rest->child == 0)
            commit(rest, told, facts);
        r = rest->child < 0 ? -errno : 0;
    }
    json_decref(facts);
    sc_close(&told);
    return r < 0 ? sc_err_sys(err, r, "pause") : 0;
}

static void on_packed(void *userdata, int r, const struct sc_err *told)
{
    struct rest *rest = userdata;
    struct sc_err err = {0};
    if (r == -EPIPE)
        return; /* the session's end answers */
    if (r == 0) {
        r = start_child(rest, &err);
        told = &err;
        if (r < 0)
            sc_pause_undo(rest->session->session);
    }
    if (r < 0)
        give_up(rest, told);
}

/* Other requests of the session's that are not answered, and commands left running. */
static unsigned others(const struct call *call)
{
    const struct call *other;
    unsigned n = 0;
    TAILQ_FOREACH(other, &call->session->calls, of_session)
    {
        n += other != call;
    }
    return n;
}

static int busy(struct sc_err *err)
{
    return err->code = -EBUSY; /* what is wrong is not the request */
}

/* A tenant's are bounded by its quota; those of users by the store. */
static int has_place(const struct keeper_session *session, struct sc_err *err)
{
    const struct tenant *tenant = session->tenant;
    int n = tenant ? sc_vault_count(tenant->name, session->id, err) : 0;
    if (n < 0 || !tenant || (uint64_t)n < tenant->quota->paused)
        return n < 0 ? n : 0;
    (void)sc_err_usage(err, "session",
                       "session: %s: %d are paused already, which is all that this tenant may have",
                       session->id, n);
    return busy(err);
}

static int may_pause(const struct call *call, struct sc_err *err)
{
    const struct keeper_session *session = call->session;
    if (session->tenant && call->peer->kind == SC_KEEPER_CLIENT)
        return sc_err_usage(err, "session", "session: %s: a tenant's: only by the service it can be paused",
                            session->id);
    if (sc_net_has_credentials(&session->spec.net))
        return sc_err_usage(err, "session",
                            "session: its network has credentials, which are written to no file: "
                            "it cannot be paused");
    if (call->request.memory)
        return sc_err_set(
            err, SC_ERR_HOST, -EOPNOTSUPP,
            "memory: what processes of a cell hold cannot be stored: nothing can give a process its "
            "Landlock domain and its filter back (docs/sessions.md); without it the files are kept");
    if (others(call)) {
        (void)sc_err_usage(
            err, "session",
            "session: %s: %u requests or commands are under way: it can be paused when they have "
            "ended",
            session->id, others(call));
        return busy(err);
    }
    return has_place(session, err);
}

static int start_packing(struct call *call, struct sc_err *err)
{
    struct keeper_session *session = call->session;
    int r = may_pause(call, err);
    if (r < 0)
        return r;
    struct rest *rest = rest_new(session);
    if (!rest)
        return sc_err_sys(err, -ENOMEM, "pause");
    int lock = session->vault_lock < 0 ? -1 : fcntl(session->vault_lock, F_DUPFD_CLOEXEC, 3);
    r = sc_vault_begin(rest_store(session->tenant), session->id, lock, &rest->writer, err);
    if (r == 0)
        r = sc_pause_start(session->session, &rest->writer, on_packed, rest, &rest->pause, err);
    if (r < 0) {
        if (rest->writer.folder >= 0)
            sc_vault_abandon(&rest->writer);
        session->rest = NULL;
        rest_free(rest);
        return r;
    }
    rest->call = call;
    session->busy = "is being paused";
    return 0;
}

int pause_start(struct call *call, struct sc_err *err)
{
    if (start_packing(call, err) < 0)
        call_finish(call, sc_keeper_reply_refusal(err));
    return 0;
}

/* ---- resuming ---- */

static void on_unpacked(void *userdata, int r, const struct sc_err *err)
{
    struct rest *rest = userdata;
    struct keeper_session *session = rest->session;
    if (r == -EPIPE)
        return; /* the session's end answers */
    if (r < 0) {
        answer(rest, sc_keeper_reply_refusal(err));
        *session->id = '\0'; /* nobody was told of it; what lies on disk stays */
        session->ending = true;
        sc_session_end(session->session);
        return;
    }
    session->busy = NULL;
    session->rest = NULL;
    note_session_start(session);
    answer(rest, sc_keeper_reply_value(json_pack("{s:s}", "session", session->id)));
    rest_free(rest); /* it has told its last */
}

int resume_start(struct call *call, struct sc_err *err)
{
    struct keeper_session *session = call->session;
    struct rest *rest = session->rest;
    int r = sc_unpause_start(session->session, &rest->reader, on_unpacked, rest, &rest->unpause, err);
    if (r < 0) {
        session->ending = true;
        sc_session_end(session->session);
        return r;
    }
    rest->call = call;
    return 0;
}

static int no_such(const char *name, struct sc_err *err)
{
    (void)sc_err_usage(err, "session", "session: %s: none of this name is paused", name);
    return err->code = -ENOENT;
}

/* The group is the keeper's of now. */
static int take_group(struct sc_spec *spec, const struct tenant *tenant, struct sc_err *err)
{
    const char *parent = getenv("SNAPCELL_CGROUP_PARENT");
    if (!tenant)
        return 0;
    free(spec->cgroup_parent);
    spec->cgroup_parent = parent && *parent ? strdup(parent) : NULL;
    return parent && *parent && !spec->cgroup_parent ? sc_err_sys(err, -ENOMEM, "session") : 0;
}

/* What request and manifest say of it: the spec, checked, and the times. */
static int take_manifest(const struct caller *caller, const struct sc_vault_reader *reader,
                         struct sc_keeper_request *request, struct sc_spec *ret_spec, struct sc_err *err)
{
    struct sc_session_options options = {0};
    int r = sc_unpause_spec(reader->manifest, &request->spec, ret_spec, &options, err);
    if (r < 0)
        return r;
    ret_spec->session = true;
    r = take_group(ret_spec, caller->tenant, err);
    if (r == 0)
        r = sc_spec_check(ret_spec, 0, err);
    if (r < 0) {
        sc_spec_fini(ret_spec);
        return r;
    }
    request->idle_ns = request->idle_ns ? request->idle_ns : options.idle_ns;
    request->total_ns = policy_total_ns(caller->tenant, request->total_ns, options.total_ns);
    return 0;
}

static int open_reader(const struct caller *caller, const char *name, struct sc_vault_reader *reader,
                       struct sc_err *err)
{
    int r = sc_vault_open(rest_store(caller->tenant), name, reader, err);
    if (r == -ENOENT || (r == 0 && !rest_may_use(caller, reader->manifest)))
        return no_such(name, err);
    return r;
}

int rest_spec(const struct caller *caller, struct sc_keeper_request *request, struct sc_err *err)
{
    struct sc_vault_reader reader = {.folder = -1, .lock = -1, .piece = -1};
    struct sc_spec spec;
    int r = open_reader(caller, request->session, &reader, err);
    if (r == 0)
        r = take_manifest(caller, &reader, request, &spec, err);
    sc_vault_reader_close(&reader);
    if (r < 0)
        return r;
    sc_spec_fini(&request->spec);
    request->spec = spec;
    return 0;
}

int rest_open(const struct caller *caller, struct keeper_session *session, struct sc_keeper_request *request,
              struct sc_err *err)
{
    struct rest *rest = rest_new(session);
    if (!rest)
        return sc_err_sys(err, -ENOMEM, "session");
    struct sc_vault_reader *reader = &rest->reader;
    int r = open_reader(caller, request->session, reader, err);
    if (r < 0)
        return r;
    session->vault_lock = sc_steal_fd(&reader->lock);
    session->busy = "is being resumed";
    session->is_resumed = true;
    session->owner = (uid_t)json_integer_value(json_object_get(reader->manifest, "uid"));
    if (json_is_object(json_object_get(reader->manifest, "metadata")))
        session->metadata = json_incref(json_object_get(reader->manifest, "metadata"));
    r = take_manifest(caller, reader, request, &session->spec, err);
    session->wants_forks = r == 0 && session->spec.forkable;
    return r;
}

void rest_cancel(struct call *call)
{
    struct keeper_session *session = call->session;
    if (session->rest && session->rest->pause)
        sc_pause_cancel(session->rest->pause);
    else if (session->rest && session->busy && session->rest->unpause)
        sc_session_end(session->session);
}
