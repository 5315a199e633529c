/* Packing: one tar operation a piece, with everybody else in the cell standing still. */
#include "snap/pause.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/num.h"
#include "snap/session_parts.h"

/* Of a member of a tar stream beside its content: headers, long names, what fills the last block. */
#define MEMBER_BYTES 2048ull

struct sc_pause {
    struct sc_session *session;
    struct sc_vault_writer *writer;
    sc_pause_done *done;
    void *userdata;
    uint16_t op;
    bool is_over, is_cancelled;
    struct sc_err err; /* of the first thing that went wrong with the store */
};

/* ---- standing still ---- */

static void signal_all(struct sc_session *session, int number)
{
    for (const struct sc_process *process = session->processes; process; process = process->next)
        (void)sc_live_signal(session->live, process->op, number,
                             session->n_below > 0 ? SC_SIGNAL_OWN : SC_SIGNAL_TREE);
}

void sc_pause_undo(struct sc_session *session)
{
    signal_all(session, SIGCONT);
}

static void tell(struct sc_pause *pause, int r, const struct sc_err *err)
{
    if (pause->is_over)
        return;
    pause->is_over = true;
    if (r < 0 && r != -EPIPE)
        signal_all(pause->session, SIGCONT);
    pause->done(pause->userdata, r, err);
}

/* ---- packing ---- */

static uint64_t most_bytes(const struct sc_pause *pause)
{
    const struct sc_limits *limits = &pause->session->plan->limits;
    uint64_t bytes = pause->writer->at == 0 ? limits->disk : limits->tmp;
    uint64_t members = pause->writer->at == 0 ? limits->disk_inodes : limits->tmp_inodes;
    /* However many there may be: a file takes a page of the folder, or nearly so. */
    return bytes + sc_min_u64(members * MEMBER_BYTES, bytes) + SC_MIB;
}

static int begin_piece(struct sc_pause *pause, struct sc_err *err);

static void on_output(void *userdata, enum sc_stream_number stream, const void *data, size_t len)
{
    struct sc_pause *pause = userdata;
    bool is_lost = pause->is_cancelled || pause->err.kind != SC_ERR_NONE;
    if (!is_lost && sc_vault_piece_add(pause->writer, data, len, &pause->err) < 0)
        (void)sc_live_signal(pause->session->live, pause->op, SIGKILL, SC_SIGNAL_TREE);
    (void)sc_live_took(pause->session->live, pause->op, stream, len);
}

/* What the store or the caller said counts more than what became of the operation. */
static int why(const struct sc_pause *pause, const struct sc_err **ret_err, struct sc_err *err)
{
    *ret_err = &pause->err;
    if (pause->err.kind != SC_ERR_NONE)
        return pause->err.code;
    *ret_err = err;
    return pause->is_cancelled ? sc_err_set(err, SC_ERR_USAGE, -ECANCELED, "session: the pause was cancelled")
                               : 0;
}

static void not_packed(struct sc_pause *pause, int code, const char *object, size_t size)
{
    struct sc_err own = {0};
    const struct sc_err *err;
    int r = why(pause, &err, &own);
    if (r == 0)
        r = sc_err_set(&own, SC_ERR_USAGE, code < 0 ? code : -EIO,
                       "session: %s: cannot be packed: %s: it cannot be paused",
                       *object ? object : "its files", strerror(code < 0 ? -code : EIO));
    (void)size;
    tell(pause, r, err);
}

static void on_done(void *userdata, const struct sc_msg_file_done *done)
{
    struct sc_pause *pause = userdata;
    struct sc_err own = {0};
    const struct sc_err *err;
    char object[sizeof done->object + 1] = "";
    memcpy(object, done->object, sizeof done->object);
    if (done->code != 0) {
        not_packed(pause, done->code, object, sizeof object);
        return;
    }
    int r = why(pause, &err, &own);
    if (r == 0)
        r = sc_vault_piece_end(pause->writer, &own);
    if (r == 0 && pause->writer->at < SC_VAULT_PIECES) {
        r = begin_piece(pause, &own);
        if (r == 0)
            return;
    }
    tell(pause, r, r < 0 ? err : NULL);
}

static void on_failed(void *userdata, const struct sc_msg_failed *failed)
{
    not_packed(userdata, failed->code, "", 0);
}

static void on_gone(void *userdata)
{
    tell(userdata, -EPIPE, NULL);
}

static int begin_piece(struct sc_pause *pause, struct sc_err *err)
{
    static const struct sc_live_op_events events = {
        .output = on_output, .gone = on_gone, .failed = on_failed, .done = on_done};
    const struct sc_file_op op = {
        .kind = SC_FILE_TAR_OUT, .path = SC_VAULT_PLACES[pause->writer->at].path, .flags = SC_FILE_AS_IT_WAS};
    int r = sc_vault_piece_begin(pause->writer, most_bytes(pause), err);
    return r < 0 ? r : sc_live_file(pause->session->live, &op, &events, pause, &pause->op, err);
}

int sc_pause_start(struct sc_session *session, struct sc_vault_writer *writer, sc_pause_done *done,
                   void *userdata, struct sc_pause **ret_pause, struct sc_err *err)
{
    if (session->n_tasks)
        return sc_err_usage(
            err, "session",
            "session: %u runs or commands are under way: it can be paused when they have ended, "
            "or were interrupted",
            session->n_tasks);
    struct sc_pause *pause = calloc(1, sizeof *pause);
    if (!pause)
        return sc_err_sys(err, -ENOMEM, "pause");
    *pause = (struct sc_pause){.session = session, .writer = writer, .done = done, .userdata = userdata};
    signal_all(session, SIGSTOP);
    int r = begin_piece(pause, err);
    if (r < 0) {
        signal_all(session, SIGCONT);
        free(pause);
        return r;
    }
    *ret_pause = pause;
    return 0;
}

void sc_pause_cancel(struct sc_pause *pause)
{
    if (pause->is_over || pause->is_cancelled)
        return;
    pause->is_cancelled = true;
    (void)sc_live_signal(pause->session->live, pause->op, SIGKILL, SC_SIGNAL_TREE);
}

void sc_pause_free(struct sc_pause *pause)
{
    free(pause);
}

/* ---- the manifest ---- */

static json_t *contexts_of(const struct sc_session *session)
{
    json_t *list = json_array();
    int r = 0;
    for (const struct sc_context *context = session->contexts; context && r == 0; context = context->next)
        r = json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "name", context->name, "language",
                                                  sc_lang_name(context->lang), "mode",
                                                  sc_mode_name(context->mode)));
    if (r < 0) {
        json_decref(list);
        list = NULL;
    }
    return list;
}

/* What was copied in is among the files that are kept. Of secrets only the names are written, beside the
 * spec. */
static json_t *spec_of(const struct sc_spec *spec)
{
    struct sc_spec without = *spec;
    json_t *value = NULL;
    json_error_t where;
    struct sc_spec_dir *mounts = calloc(spec->n_dirs + 1, sizeof *mounts);
    if (!mounts)
        return NULL;
    without.n_files = without.n_dirs = 0;
    without.dirs = mounts;
    for (size_t i = 0; i < spec->n_dirs; i++)
        if (spec->dirs[i].read_only_mount)
            mounts[without.n_dirs++] = spec->dirs[i];
    char *text = sc_spec_to_json(&without);
    if (text)
        (void)sc_json_load(text, strlen(text), JSON_ALLOW_NUL, &value, &where);
    if (value)
        (void)json_object_del(value, "secrets");
    free(text);
    free(mounts);
    return value;
}

static json_t *secrets_of(const struct sc_spec *spec)
{
    json_t *names = json_array();
    int r = names ? 0 : -1;
    for (size_t i = 0; i < spec->secrets.n && r == 0; i++)
        r = json_array_append_new(names, json_string(spec->secrets.v[i]));
    if (r == 0)
        return names;
    json_decref(names);
    return NULL;
}

json_t *sc_pause_facts(const struct sc_session *session, const struct sc_spec *spec, uid_t owner)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    json_int_t ms = (json_int_t)now.tv_sec * 1000 + (json_int_t)((uint64_t)now.tv_nsec / SC_NS_PER_MS);
    return json_pack("{s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "uid", (json_int_t)owner, "paused_ms", ms,
                     "idle_ms", (json_int_t)(session->options.idle_ns / SC_NS_PER_MS), "total_ms",
                     (json_int_t)(session->options.total_ns / SC_NS_PER_MS), "spec", spec_of(spec),
                     "contexts", contexts_of(session), "secrets", secrets_of(spec));
}
