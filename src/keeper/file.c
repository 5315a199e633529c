/* File operations: the cell does them with its own rights; the keeper only passes bytes. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keeper/parts.h"
#include "keeper/reply.h"

#define LINES_MAX (64u * 1024 * 1024)

/* Records become lines. -EPROTO and the like: the agent's word cannot be trusted any more. */
static int pass_entries(struct call *call, const void *data, size_t len)
{
    struct sc_buf lines;
    sc_buf_init(&lines, LINES_MAX);
    int r = sc_keeper_entries_add(call->entries, data, len, &lines);
    if (r == 0 && call->peer)
        peer_output(call->peer, call->channel, SC_KEEPER_EVENTS, lines.data, lines.len);
    sc_buf_fini(&lines);
    return r;
}

static void on_output(void *userdata, enum sc_stream_number stream, const void *data, size_t len)
{
    struct call *call = userdata;
    if (call->entries && pass_entries(call, data, len) < 0) {
        sc_live_kill(sc_session_live(call->session->session));
        return;
    }
    if (!call->entries && call->peer)
        peer_output(call->peer, call->channel, SC_KEEPER_STDOUT, data, len);
    stream_output(call, stream, len);
}

static void on_started(void *userdata, pid_t pid)
{
    static const char event[] = "{\"started\": {}}\n";
    struct call *call = userdata;
    (void)pid;
    if (call->peer && (call->request.file == SC_FILE_WATCH || call->request.file == SC_FILE_PORT))
        peer_output(call->peer, call->channel, SC_KEEPER_EVENTS, event, sizeof event - 1);
}

static void on_room(void *userdata, enum sc_stream_number stream)
{
    (void)stream;
    stream_input(userdata);
}

static void answer_code(struct call *call, int code, const char *object, size_t size)
{
    char name[sizeof((struct sc_msg_file_done *)0)->object + 1];
    snprintf(name, sizeof name, "%.*s", (int)size, object);
    call_finish(call, sc_keeper_reply_file_error(code, *name ? name : call->request.path));
}

static void on_done(void *userdata, const struct sc_msg_file_done *done)
{
    struct call *call = userdata;
    /* A watch has no other end than this. */
    bool stopped = call->cancelled && call->request.file == SC_FILE_WATCH;
    if (done->code != 0 && !stopped) {
        answer_code(call, done->code, done->object, sizeof done->object);
        return;
    }
    call_finish(call, sc_keeper_reply_value(json_pack("{s:I, s:I}", "bytes", (json_int_t)done->bytes, "files",
                                                      (json_int_t)done->files)));
}

static void on_failed(void *userdata, const struct sc_msg_failed *failed)
{
    answer_code(userdata, failed->code, failed->object, sizeof failed->object);
}

/* The cell is over. */
static void on_gone(void *userdata)
{
    call_finish(userdata, sc_keeper_reply_error("ended", "session", "session: it has ended meanwhile"));
}

static const struct sc_live_op_events EVENTS = {
    .started = on_started,
    .output = on_output,
    .room = on_room,
    .gone = on_gone,
    .failed = on_failed,
    .done = on_done,
};

static bool has_entries(enum sc_file_kind kind)
{
    return kind == SC_FILE_LIST || kind == SC_FILE_STAT || kind == SC_FILE_WATCH;
}

int file_start(struct call *call, struct sc_err *err)
{
    const struct sc_keeper_request *request = &call->request;
    const struct sc_file_op op = {
        .kind = request->file,
        .path = request->path,
        .to = request->to,
        .flags = (request->parents ? SC_FILE_PARENTS : 0u) | (request->recursive ? SC_FILE_RECURSIVE : 0u),
        .mode = request->mode,
        .offset = request->offset,
        .length = request->length,
    };
    if (has_entries(op.kind)) {
        call->entries = calloc(1, sizeof *call->entries);
        if (!call->entries)
            return sc_err_sys(err, -ENOMEM, "file");
        call->entries->kind = op.kind;
    }
    int r = sc_live_file(sc_session_live(call->session->session), &op, &EVENTS, call, &call->id, err);
    call->live = r == 0;
    return r;
}
