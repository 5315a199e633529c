/* A session's copies: first its files, packed by its cell and unpacked by theirs, then its interpreter, whose
 * open files are opened anew among these. Nothing runs in the session meanwhile, as its owner sees to. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "snap/session_parts.h"
#include "snap/vault.h"

struct sc_birth {
    struct sc_forking *of;
    struct sc_session *session; /* the copy */
    uint16_t op;
    bool is_open; /* the operation that unpacks */
    bool is_input_over;
    struct sc_buf waiting; /* what its cell has not taken */
    size_t taken;
};

struct sc_forking {
    struct sc_session *session;
    sc_session_forked *done;
    void *userdata;
    uint16_t op;
    bool is_open; /* the operation that packs */
    bool has_begun, is_told;
    unsigned place;   /* of SC_VAULT_PLACES */
    size_t untold;    /* bytes that came and that the cell was not told are taken */
    unsigned n_under; /* operations and births that will tell their end */
    size_t n_births;
    struct sc_birth births[];
};

/* ---- the end ---- */

static void free_forking(struct sc_forking *forking)
{
    for (size_t i = 0; i < forking->n_births; i++)
        sc_buf_fini(&forking->births[i].waiting);
    free(forking);
}

static void tell(struct sc_forking *forking, int r, const struct sc_err *err)
{
    if (forking->is_told)
        return;
    forking->is_told = true;
    if (forking->has_begun)
        forking->done(forking->userdata, r, err);
}

static void fail(struct sc_forking *forking, const struct sc_err *err)
{
    if (forking->is_told)
        return;
    if (forking->is_open)
        (void)sc_live_signal(forking->session->live, forking->op, SIGKILL, SC_SIGNAL_TREE);
    for (size_t i = 0; i < forking->n_births; i++)
        if (forking->births[i].is_open)
            (void)sc_live_signal(forking->births[i].session->live, forking->births[i].op, SIGKILL,
                                 SC_SIGNAL_TREE);
    tell(forking, err->code, err);
}

static void go_on(struct sc_forking *forking, struct sc_err *err);

/* One of those under way has ended. */
static void release(struct sc_forking *forking)
{
    struct sc_err err = {0};
    if (--forking->n_under > 0)
        return;
    if (!forking->is_told)
        go_on(forking, &err);
    if (forking->n_under == 0)
        free_forking(forking);
}

static void not_copied(struct sc_forking *forking, int code, const char *object)
{
    struct sc_err err = {0};
    sc_err_set(&err, SC_ERR_USAGE, code < 0 ? code : -EIO, "session: %s: cannot be copied: %s",
               *object ? object : "its files", strerror(code < 0 ? -code : EIO));
    fail(forking, &err);
}

/* ---- files ---- */

static void push(struct sc_birth *birth)
{
    while (birth->is_open && birth->taken < birth->waiting.len) {
        ssize_t n = sc_live_write(birth->session->live, birth->op, SC_STREAM_IN,
                                  birth->waiting.data + birth->taken, birth->waiting.len - birth->taken);
        if (n <= 0)
            return; /* `room` comes, or the operation's end does */
        birth->taken += (size_t)n;
    }
    birth->waiting.len = birth->taken = 0;
    if (birth->is_open && !birth->of->is_open && !birth->is_input_over) {
        birth->is_input_over = true;
        (void)sc_live_close_input(birth->session->live, birth->op);
    }
}

/* The slowest copy sets the pace. */
static void push_all(struct sc_forking *forking)
{
    bool is_all = true;
    for (size_t i = 0; i < forking->n_births; i++) {
        push(&forking->births[i]);
        is_all = is_all && forking->births[i].waiting.len == 0;
    }
    if (!is_all || !forking->untold || !forking->is_open)
        return;
    (void)sc_live_took(forking->session->live, forking->op, SC_STREAM_OUT, forking->untold);
    forking->untold = 0;
}

static void on_packed_bytes(void *userdata, enum sc_stream_number stream, const void *data, size_t len)
{
    struct sc_forking *forking = userdata;
    (void)stream;
    forking->untold += len;
    for (size_t i = 0; i < forking->n_births; i++)
        if (forking->births[i].is_open && sc_buf_add(&forking->births[i].waiting, data, len) < 0)
            not_copied(forking, -ENOMEM, "");
    push_all(forking);
}

static void packed(struct sc_forking *forking, int code, const char *object)
{
    forking->is_open = false;
    if (code != 0)
        not_copied(forking, code, object);
    push_all(forking);
    release(forking);
}

static void on_packed(void *userdata, const struct sc_msg_file_done *done)
{
    char object[sizeof done->object + 1] = "";
    memcpy(object, done->object, sizeof done->object);
    packed(userdata, done->code, object);
}

static void on_not_packed(void *userdata, const struct sc_msg_failed *failed)
{
    packed(userdata, failed->code, "");
}

static void on_packer_gone(void *userdata)
{
    packed(userdata, -ESHUTDOWN, "");
}

static void on_room(void *userdata, enum sc_stream_number stream)
{
    (void)stream;
    push_all(((struct sc_birth *)userdata)->of);
}

static void unpacked(struct sc_birth *birth, int code, const char *object)
{
    birth->is_open = false;
    if (code != 0)
        not_copied(birth->of, code, object);
    push_all(birth->of);
    release(birth->of);
}

static void on_unpacked(void *userdata, const struct sc_msg_file_done *done)
{
    char object[sizeof done->object + 1] = "";
    memcpy(object, done->object, sizeof done->object);
    unpacked(userdata, done->code, object);
}

static void on_not_unpacked(void *userdata, const struct sc_msg_failed *failed)
{
    unpacked(userdata, failed->code, "");
}

static void on_unpacker_gone(void *userdata)
{
    unpacked(userdata, -ESHUTDOWN, "");
}

static int begin_copy(struct sc_birth *birth, const char *path, struct sc_err *err)
{
    static const struct sc_live_op_events events = {
        .room = on_room, .gone = on_unpacker_gone, .failed = on_not_unpacked, .done = on_unpacked};
    const struct sc_file_op op = {.kind = SC_FILE_TAR_IN, .path = path, .flags = SC_FILE_AS_IT_WAS};
    birth->is_input_over = false;
    int r = sc_live_file(birth->session->live, &op, &events, birth, &birth->op, err);
    if (r < 0)
        return r;
    birth->is_open = true;
    birth->of->n_under++;
    return 0;
}

static int begin_place(struct sc_forking *forking, struct sc_err *err)
{
    static const struct sc_live_op_events events = {
        .output = on_packed_bytes, .gone = on_packer_gone, .failed = on_not_packed, .done = on_packed};
    const char *path = SC_VAULT_PLACES[forking->place].path;
    const struct sc_file_op op = {.kind = SC_FILE_TAR_OUT, .path = path, .flags = SC_FILE_AS_IT_WAS};
    forking->untold = 0;
    int r = sc_live_file(forking->session->live, &op, &events, forking, &forking->op, err);
    if (r < 0)
        return r;
    forking->is_open = true;
    forking->n_under++;
    for (size_t i = 0; i < forking->n_births && r == 0; i++)
        r = begin_copy(&forking->births[i], path, err);
    forking->place++;
    return r;
}

/* ---- the interpreter ---- */

void sc_birth_over(struct sc_session *session, const char *why)
{
    struct sc_birth *birth = session->birth;
    struct sc_err err = {0};
    if (!birth)
        return;
    session->birth = NULL;
    if (why) {
        sc_err_set(&err, SC_ERR_USAGE, -EOPNOTSUPP, "session: it cannot be forked: %s", why);
        fail(birth->of, &err);
    }
    release(birth->of);
}

void sc_birth_failed(struct sc_session *session, const struct sc_msg_failed *failed)
{
    char why[2 * sizeof *failed + 64];
    bool is_refused = failed->code == -EBUSY;
    if (failed->code == -E2BIG) {
        sc_birth_over(session,
                      "it is a copy of too many copies: the kernel stacks no more rules on its program");
        return;
    }
    snprintf(why, sizeof why, "%.*s%s%s%s%.*s", (int)sizeof failed->object, failed->object,
             is_refused ? "" : ": ", is_refused ? "" : strerror(-failed->code), is_refused ? "" : ", at ",
             is_refused ? 0 : (int)sizeof failed->stage, failed->stage);
    sc_birth_over(session, why);
}

static int bear(struct sc_birth *birth, const struct sc_context *from, struct sc_err *err)
{
    struct sc_context *own = NULL;
    int r = sc_session_fork_runner(birth->session, from->lang, from->mode, err);
    if (r == 0)
        r = sc_context_of(birth->session, from->lang, from->mode, &own, err);
    if (r < 0 || !own)
        return r;
    own->runs = from->runs;
    birth->session->birth = birth;
    birth->of->n_under++;
    return 0;
}

static void go_on(struct sc_forking *forking, struct sc_err *err)
{
    const struct sc_context *from = sc_context_find(forking->session, SC_LANG_PYTHON, SC_MODE_RICH);
    int r = 0;
    if (forking->place < SC_VAULT_PIECES) {
        r = begin_place(forking, err);
    } else if (from && from->runner && forking->place == SC_VAULT_PIECES) {
        forking->place++;
        for (size_t i = 0; i < forking->n_births && r == 0; i++)
            r = bear(&forking->births[i], from, err);
    } else {
        tell(forking, 0, NULL);
    }
    if (r < 0)
        fail(forking, err);
}

/* ---- whether ---- */

static int busy(const char *what, struct sc_err *err)
{
    return sc_err_set(err, SC_ERR_USAGE, -EBUSY, "session: %s: it can be forked when nothing is under way",
                      what);
}

static int refuse(struct sc_err *err, const char *what, const char *name)
{
    return sc_err_set(err, SC_ERR_USAGE, -EOPNOTSUPP, "session: it cannot be forked: %s%s", what, name);
}

int sc_session_may_fork(const struct sc_session *session, struct sc_err *err)
{
    if (!session->is_forkable)
        return refuse(err, "it was not started with --forkable, or is the last of too many rollbacks", "");
    if (session->ending)
        return refuse(err, "it has ended", "");
    if (session->n_tasks > 0)
        return busy("runs or commands are under way", err);
    for (const struct sc_context *context = session->contexts; context; context = context->next) {
        bool is_own = context->lang == SC_LANG_PYTHON && context->mode == SC_MODE_RICH &&
                      !strcmp(context->name, sc_lang_name(SC_LANG_PYTHON));
        if (context->runner && !is_own)
            return refuse(err, "only the context \"python\" can be carried over; it also has ",
                          context->name);
        if (context->runner && (!context->runner->reader.is_ready || context->runner->killed))
            return busy("an interpreter is starting or ending", err);
    }
    for (const struct sc_process *process = session->processes; process; process = process->next)
        if (!process->context && !process->exited)
            return busy("a command runs", err);
    return 0;
}

int sc_session_fork(struct sc_session *session, struct sc_session *const *copies, size_t n_copies,
                    sc_session_forked *done, void *userdata, struct sc_err *err)
{
    int r = sc_session_may_fork(session, err);
    if (r < 0)
        return r;
    struct sc_forking *forking = calloc(1, sizeof *forking + n_copies * sizeof forking->births[0]);
    if (!forking)
        return sc_err_sys(err, -ENOMEM, "fork");
    *forking =
        (struct sc_forking){.session = session, .done = done, .userdata = userdata, .n_births = n_copies};
    for (size_t i = 0; i < n_copies; i++) {
        forking->births[i] = (struct sc_birth){.of = forking, .session = copies[i]};
        sc_buf_init(&forking->births[i].waiting, SC_MIB * 8);
    }
    r = begin_place(forking, err);
    if (r == 0) {
        forking->has_begun = true;
        return 0;
    }
    fail(forking, err); /* it is the caller who tells */
    if (forking->n_under == 0)
        free_forking(forking);
    return r;
}
