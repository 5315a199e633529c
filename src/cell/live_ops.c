/* Commands and file operations of a living cell, as their caller sees them. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>

#include "base/num.h"
#include "cell/live_parts.h"

#define WINDOW_STANDARD (1u << 20)

/* Slots and their channels: 1 + slot + turn × slots. */
_Static_assert(SC_CHANNEL_MAX % SC_COMMANDS_MAX == 0 && SC_CHANNEL_MAX / SC_COMMANDS_MAX <= 256,
               "every slot has equally many channels, and its turn fits a byte");

struct sc_live_op *sc_live_find(struct sc_live *live, uint16_t id)
{
    struct sc_live_op *op = id ? &live->ops[(id - 1) % SC_COMMANDS_MAX] : NULL;
    return op && op->state != SC_OP_FREE && op->id == id ? op : NULL;
}

struct sc_live_op *sc_live_take_slot(struct sc_live *live, const struct sc_live_op_events *events,
                                     void *userdata)
{
    for (size_t i = 0; i < SC_COMMANDS_MAX; i++) {
        struct sc_live_op *op = &live->ops[i];
        if (op->state != SC_OP_FREE)
            continue;
        *op = (struct sc_live_op){
            .id = (uint16_t)(1 + i + (size_t)live->turns[i] * SC_COMMANDS_MAX),
            .fork_socket = -1,
            .events = events,
            .userdata = userdata,
        };
        live->turns[i] = (uint8_t)((live->turns[i] + 1u) % (SC_CHANNEL_MAX / SC_COMMANDS_MAX));
        return op;
    }
    return NULL;
}

struct sc_live_op sc_live_op_over(struct sc_live *live, struct sc_live_op *op)
{
    struct sc_live_op over = *op;
    if (sc_live_fork_has(live, op))
        sc_live_fork_over(live);
    if (op->fork_socket >= 0)
        sc_live_watch_source(live, SC_LIVE_SOURCES + (unsigned)(op - live->ops), op->fork_socket,
                             SC_LIVE_UNWATCHED);
    sc_close(&op->fork_socket);
    op->state = SC_OP_FREE;
    return over;
}

void sc_live_ops_abandon(struct sc_live *live)
{
    const struct sc_msg_failed failed = {.code = -ECANCELED, .stage = "cell", .object = "the cell has ended"};
    for (size_t i = 0; i < SC_COMMANDS_MAX; i++) {
        if (live->ops[i].state == SC_OP_FREE)
            continue;
        struct sc_live_op op = sc_live_op_over(live, &live->ops[i]);
        bool ran = op.state == SC_OP_STARTED || op.state == SC_OP_EXITED;
        bool is_last = live->last_type == SC_MSG_RUNNER_INPUT && live->last_channel == op.id;
        if (live->is_unread && is_last && op.state == SC_OP_STARTED && op.events->unread)
            op.events->unread(op.userdata);
        if (ran && op.events->gone)
            op.events->gone(op.userdata);
        else if (!ran && op.events->failed)
            op.events->failed(op.userdata, &failed);
    }
}

void sc_live_ops_room(struct sc_live *live)
{
    static const enum sc_stream_number inputs[] = {SC_STREAM_IN, SC_STREAM_RUNNER};
    for (size_t i = 0; i < 2 * SC_COMMANDS_MAX && sc_live_has_room(live, SC_INPUT_CREDIT); i++) {
        struct sc_live_op *op = &live->ops[i / 2];
        struct sc_live_input *in = &op->in[inputs[i % 2]];
        if (op->state == SC_OP_FREE || !in->wants_room || in->credit == 0)
            continue;
        in->wants_room = false;
        if (op->events->room)
            op->events->room(op->userdata, inputs[i % 2]);
    }
}

/* Whether one more operation can be taken now, whose messages are this long. */
int sc_live_may_open(const struct sc_live *live, size_t len, struct sc_err *err)
{
    if (live->phase != SC_LIVE_LIVES)
        return sc_err_set(err, SC_ERR_SANDBOX, -ESHUTDOWN, "the cell has ended");
    if (!sc_live_has_room(live, len))
        return sc_err_set(err, SC_ERR_SANDBOX, -EAGAIN, "the cell's agent has too much to do already");
    for (size_t i = 0; i < SC_COMMANDS_MAX; i++)
        if (live->ops[i].state == SC_OP_FREE)
            return 0;
    return sc_err_set(err, SC_ERR_USAGE, -EMFILE,
                      "command: %d commands and file operations are open in this cell: no more are allowed",
                      SC_COMMANDS_MAX);
}

static uint32_t open_output(struct sc_live_op *op, enum sc_stream_number stream, bool has_it, uint32_t window)
{
    if (!has_it)
        return 0;
    op->out[stream].window = op->out[stream].credit = window ? window : WINDOW_STANDARD;
    return window ? window : WINDOW_STANDARD;
}

static void open_input(struct sc_live_op *op, enum sc_stream_number stream, bool has_it)
{
    op->in[stream].is_open = has_it;
    op->in[stream].credit = has_it ? SC_INPUT_CREDIT : 0;
}

/* ---- commands ---- */

static int add_texts(struct sc_buf *texts, const char *const *list, uint32_t *ret_count)
{
    int r = 0;
    uint32_t n = 0;
    for (; list && list[n] && r == 0; n++)
        r = n == SC_COMMAND_ARGS_MAX ? -EMSGSIZE : sc_buf_add(texts, list[n], strlen(list[n]) + 1);
    *ret_count = n;
    return r;
}

static int gather_texts(const struct sc_command *command, struct sc_msg_command *order, struct sc_buf *texts,
                        struct sc_err *err)
{
    if (!command->argv || !command->argv[0])
        return sc_err_usage(err, "command", "command: at least one argument, the program, is needed");
    sc_buf_init(texts, SC_COMMAND_TEXT_MAX);
    const char *cwd = command->cwd ? command->cwd : "";
    int r = add_texts(texts, command->argv, &order->argc);
    if (r == 0)
        r = add_texts(texts, command->env, &order->envc);
    if (r == 0)
        r = sc_buf_add(texts, cwd, strlen(cwd) + 1);
    if (r < 0)
        sc_buf_fini(texts);
    if (r == -EMSGSIZE)
        return sc_err_set(err, SC_ERR_USAGE, -E2BIG,
                          "command: at most %d arguments, as many entries of the environment, and %u bytes "
                          "of these and the working directory together are allowed",
                          SC_COMMAND_ARGS_MAX, SC_COMMAND_TEXT_MAX);
    return r < 0 ? sc_err_sys(err, r, "command") : 0;
}

void sc_live_open_streams(struct sc_live_op *op, const struct sc_command *command,
                          struct sc_msg_command *order)
{
    uint32_t flags = command->flags;
    bool apart = !(flags & (SC_COMMAND_PTY | SC_COMMAND_MERGE));
    open_input(op, SC_STREAM_IN, flags & (SC_COMMAND_STDIN | SC_COMMAND_PTY));
    open_input(op, SC_STREAM_RUNNER, flags & SC_COMMAND_RUNNER);
    order->credit[SC_STREAM_OUT] = open_output(op, SC_STREAM_OUT, true, command->window);
    order->credit[SC_STREAM_ERR] = open_output(op, SC_STREAM_ERR, apart, command->window);
    order->credit[SC_STREAM_RUNNER] =
        open_output(op, SC_STREAM_RUNNER, flags & SC_COMMAND_RUNNER, command->window);
}

/* The first piece goes with the head; nothing else may come in between. */
static void send_command(struct sc_live *live, uint16_t id, const struct sc_msg_command *order,
                         const struct sc_buf *texts)
{
    size_t first = sc_min_u64(texts->len, SC_FRAME_MAX - sizeof *order);
    sc_live_say(live, SC_MSG_COMMAND, id, order, sizeof *order, texts->data, first);
    for (size_t done = first; done < texts->len;) {
        size_t n = sc_min_u64(texts->len - done, SC_FRAME_MAX);
        sc_live_say(live, SC_MSG_MORE, id, NULL, 0, texts->data + done, n);
        done += n;
    }
}

int sc_live_command(struct sc_live *live, const struct sc_command *command,
                    const struct sc_live_op_events *events, void *userdata, uint16_t *ret_id,
                    struct sc_err *err)
{
    struct sc_msg_command order = {
        .flags = command->flags, .rows = command->rows, .cols = command->cols, .wall_ns = command->wall_ns};
    struct sc_buf texts;
    int r = gather_texts(command, &order, &texts, err);
    if (r < 0)
        return r;
    order.text_len = (uint32_t)texts.len;
    r = sc_live_may_open(live, texts.len, err);
    if (r == 0) {
        struct sc_live_op *op = sc_live_take_slot(live, events, userdata);
        op->state = SC_OP_ASKED;
        op->flags = command->flags;
        sc_live_open_streams(op, command, &order);
        *ret_id = op->id;
        send_command(live, op->id, &order, &texts);
    }
    sc_buf_fini(&texts);
    return r;
}

/* ---- files ---- */

static bool reads(enum sc_file_kind kind)
{
    return kind == SC_FILE_READ || kind == SC_FILE_LIST || kind == SC_FILE_STAT || kind == SC_FILE_WATCH ||
           kind == SC_FILE_TAR_OUT || kind == SC_FILE_PORT;
}

static bool writes(enum sc_file_kind kind)
{
    return kind == SC_FILE_WRITE || kind == SC_FILE_APPEND || kind == SC_FILE_TAR_IN || kind == SC_FILE_PORT;
}

static int check_path(const char *path, struct sc_err *err)
{
    size_t len = path ? strlen(path) : 0;
    if (len == 0 || len >= PATH_MAX)
        return sc_err_usage(err, "path", "path: %zu bytes: allowed 1 to %d", len, PATH_MAX - 1);
    return 0;
}

int sc_live_file(struct sc_live *live, const struct sc_file_op *file, const struct sc_live_op_events *events,
                 void *userdata, uint16_t *ret_id, struct sc_err *err)
{
    char paths[2 * PATH_MAX];
    struct sc_msg_file_op order = {.kind = file->kind,
                                   .flags = file->flags,
                                   .mode = file->mode,
                                   .offset = file->offset,
                                   .length = file->length};
    if (file->kind >= SC_FILE_KINDS)
        return sc_err_usage(err, "kind", "kind: %d: no such file operation", (int)file->kind);
    int r = check_path(file->path, err);
    if (r == 0 && file->kind == SC_FILE_RENAME)
        r = check_path(file->to, err);
    if (r == 0)
        r = sc_live_may_open(live, sizeof order + sizeof paths, err);
    if (r < 0)
        return r;
    size_t len = strlen(file->path) + 1, to_len = file->kind == SC_FILE_RENAME ? strlen(file->to) + 1 : 0;
    memcpy(paths, file->path, len);
    if (to_len)
        memcpy(paths + len, file->to, to_len);
    struct sc_live_op *op = sc_live_take_slot(live, events, userdata);
    op->state = SC_OP_FILE_ASKED;
    open_input(op, SC_STREAM_IN, writes(file->kind));
    order.credit = open_output(op, SC_STREAM_OUT, reads(file->kind), file->window);
    *ret_id = op->id;
    sc_live_say(live, SC_MSG_FILE_OP, op->id, &order, sizeof order, paths, len + to_len);
    return 0;
}

/* ---- while it is open ---- */

ssize_t sc_live_write(struct sc_live *live, uint16_t id, enum sc_stream_number stream, const void *data,
                      size_t len)
{
    struct sc_live_op *op = live->phase == SC_LIVE_LIVES ? sc_live_find(live, id) : NULL;
    bool is_input = stream == SC_STREAM_IN || stream == SC_STREAM_RUNNER;
    uint16_t type = stream == SC_STREAM_RUNNER ? SC_MSG_RUNNER_INPUT : SC_MSG_INPUT;
    if (!op || !is_input || !op->in[stream].is_open)
        return -EPIPE;
    struct sc_live_input *in = &op->in[stream];
    size_t take = sc_live_has_room(live, SC_INPUT_CREDIT) ? sc_min_u64(len, in->credit) : 0;
    in->wants_room = take < len;
    in->credit -= (uint32_t)take;
    in->sent += take;
    for (size_t done = 0; done < take;) {
        size_t n = sc_min_u64(take - done, SC_FRAME_MAX);
        sc_live_say(live, type, id, NULL, 0, (const char *)data + done, n);
        done += n;
    }
    return (ssize_t)take;
}

int sc_live_close_input(struct sc_live *live, uint16_t id)
{
    struct sc_live_op *op = live->phase == SC_LIVE_LIVES ? sc_live_find(live, id) : NULL;
    if (!op || !op->in[SC_STREAM_IN].is_open)
        return -EPIPE;
    op->in[SC_STREAM_IN].is_open = op->in[SC_STREAM_IN].wants_room = false;
    sc_live_say(live, SC_MSG_INPUT_END, id, NULL, 0, NULL, 0);
    return 0;
}

int sc_live_took(struct sc_live *live, uint16_t id, enum sc_stream_number stream, size_t bytes)
{
    struct sc_live_op *op = sc_live_find(live, id);
    if (!op || stream > SC_STREAM_RUNNER)
        return -EPIPE;
    struct sc_live_output *out = &op->out[stream];
    if (bytes > out->untaken)
        return -EINVAL;
    out->untaken -= bytes;
    out->taken += bytes;
    /* In steps of half a window: a message for every piece would cost more than the piece. */
    if (out->taken > 0 && out->taken >= out->window / 2) {
        const struct sc_msg_credit credit = {.stream = stream, .bytes = (uint32_t)out->taken};
        out->credit += out->taken;
        out->taken = 0;
        sc_live_say(live, SC_MSG_CREDIT, id, &credit, sizeof credit, NULL, 0);
    }
    return 0;
}

int sc_live_signal(struct sc_live *live, uint16_t id, int number, enum sc_signal_whom whom)
{
    const struct sc_msg_signal message = {.number = number, .whom = whom};
    if (live->phase != SC_LIVE_LIVES || !sc_live_find(live, id))
        return -EPIPE;
    if (number < 1 || number > SIGRTMAX || whom >= SC_SIGNAL_WHOM_COUNT)
        return -EINVAL;
    sc_live_say(live, SC_MSG_SIGNAL, id, &message, sizeof message, NULL, 0);
    return 0;
}

int sc_live_resize(struct sc_live *live, uint16_t id, uint16_t rows, uint16_t cols)
{
    const struct sc_msg_size size = {.rows = rows, .cols = cols};
    struct sc_live_op *op = live->phase == SC_LIVE_LIVES ? sc_live_find(live, id) : NULL;
    if (!op)
        return -EPIPE;
    if (!(op->flags & SC_COMMAND_PTY))
        return -EINVAL;
    sc_live_say(live, SC_MSG_RESIZE, id, &size, sizeof size, NULL, 0);
    return 0;
}
