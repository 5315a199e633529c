/* What the agent of a living cell says: each message in its state, of its size, within its credit. Anything
 * else breaks the protocol, and that ends the cell. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/num.h"
#include "cell/live_parts.h"
#include "cell/ready.h"

/* ---- about one operation; each returns 0 or -EPROTO ---- */

/* The fork socket comes with the news of the start; a forked child's was made here. */
static int take_socket(struct sc_live *live, struct sc_live_op *op)
{
    if (sc_live_fork_has(live, op))
        return sc_live_fork_started(live, op);
    if (!(op->flags & SC_COMMAND_SOCKET))
        return 0;
    if (live->n_fds != 1)
        return -EPROTO;
    op->fork_socket = live->fds[0];
    live->n_fds = 0;
    sc_live_watch_source(live, SC_LIVE_SOURCES + (unsigned)(op - live->ops), op->fork_socket, EPOLLIN);
    return 0;
}

static int take_lent(struct sc_live *live, struct sc_live_op *op, const void *payload, size_t len)
{
    struct sc_msg_ready lent;
    memcpy(&lent, payload, len);
    return sc_live_fork_has(live, op) ? sc_live_fork_lent(live, op, lent.mask) : -EPROTO;
}

static int take_orphan(struct sc_live *live, struct sc_live_op *op, const void *payload, size_t len)
{
    struct sc_msg_orphan orphan;
    memcpy(&orphan, payload, len);
    if (!(op->flags & SC_COMMAND_SOCKET) ||
        (!WIFEXITED(orphan.wait_status) && !WIFSIGNALED(orphan.wait_status)))
        return -EPROTO;
    sc_live_fork_orphan(live, op, &orphan);
    return 0;
}

static int take_started(struct sc_live *live, struct sc_live_op *op, const void *payload, size_t len)
{
    struct sc_msg_started started;
    (void)live;
    memcpy(&started, payload, len);
    if (op->state == SC_OP_ASKED && started.pid <= 0)
        return -EPROTO;
    int r = op->state == SC_OP_ASKED ? take_socket(live, op) : 0;
    if (r < 0)
        return r;
    op->state = op->state == SC_OP_ASKED ? SC_OP_STARTED : SC_OP_FILE_STARTED;
    if (op->events->started)
        op->events->started(op->userdata, started.pid);
    return 0;
}

static int pass_output(struct sc_live_op *op, enum sc_stream_number stream, const void *payload, size_t len)
{
    struct sc_live_output *out = &op->out[stream];
    if (len > out->credit)
        return -EPROTO;
    out->credit -= len;
    out->untaken += len;
    if (op->events->output)
        op->events->output(op->userdata, stream, payload, len);
    return 0;
}

static int take_output(struct sc_live *live, struct sc_live_op *op, const void *payload, size_t len)
{
    (void)live;
    return pass_output(op, SC_STREAM_OUT, payload, len);
}

static int take_output_err(struct sc_live *live, struct sc_live_op *op, const void *payload, size_t len)
{
    (void)live;
    return pass_output(op, SC_STREAM_ERR, payload, len);
}

static int take_runner_output(struct sc_live *live, struct sc_live_op *op, const void *payload, size_t len)
{
    (void)live;
    return pass_output(op, SC_STREAM_RUNNER, payload, len);
}

/* An input may be closed already: what it held is still passed on, and given back. */
static int take_input_credit(struct sc_live *live, struct sc_live_op *op, const void *payload, size_t len)
{
    struct sc_msg_credit credit;
    memcpy(&credit, payload, len);
    if (credit.stream != SC_STREAM_IN && credit.stream != SC_STREAM_RUNNER)
        return -EPROTO;
    struct sc_live_input *in = &op->in[credit.stream];
    if (credit.bytes == 0 || credit.bytes > SC_INPUT_CREDIT - in->credit)
        return -EPROTO;
    in->credit += credit.bytes;
    if (!in->wants_room || !in->is_open || in->credit == 0 || !sc_live_has_room(live, SC_INPUT_CREDIT))
        return 0;
    in->wants_room = false;
    if (op->events->room)
        op->events->room(op->userdata, (enum sc_stream_number)credit.stream);
    return 0;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void sc_live_tell_exit(struct sc_live *live, struct sc_live_op *op, const struct sc_msg_command_exit *told)
{
    const struct sc_command_end end = {
        .wait_status = told->wait_status,
        .timed_out = told->flags & SC_EXIT_TIMED_OUT,
        .cpu_user_ns = told->user_ns,
        .cpu_system_ns = told->system_ns,
        .rss_peak_bytes = told->rss_peak_bytes,
        .wall_ns = told->wall_ns,
    };
    live->user_ns = sum(live->user_ns, told->user_ns);
    live->system_ns = sum(live->system_ns, told->system_ns);
    live->rss_peak_bytes = sc_max_u64(live->rss_peak_bytes, told->rss_peak_bytes);
    /* The kernel counts before it kills: whoever asks why it died finds the reason told. */
    if (WIFSIGNALED(told->wait_status) && WTERMSIG(told->wait_status) == SIGKILL)
        sc_live_look_at_memory(live);
    bool is_unread = told->runner_bytes < op->in[SC_STREAM_RUNNER].sent || told->flags & SC_EXIT_UNREAD;
    if (is_unread && op->events->unread)
        op->events->unread(op->userdata);
    if (op->events->exited)
        op->events->exited(op->userdata, &end);
}

static int take_exit(struct sc_live *live, struct sc_live_op *op, const void *payload, size_t len)
{
    struct sc_msg_command_exit told;
    memcpy(&told, payload, len);
    uint64_t sent = op->in[SC_STREAM_RUNNER].sent;
    if (!WIFEXITED(told.wait_status) && !WIFSIGNALED(told.wait_status))
        return -EPROTO;
    if (told.runner_bytes > sent)
        return -EPROTO;
    op->state = SC_OP_EXITED;
    if (sc_live_fork_has(live, op))
        return sc_live_fork_exited(live, op, &told);
    sc_live_tell_exit(live, op, &told);
    return 0;
}

static int take_gone(struct sc_live *live, struct sc_live_op *op, const void *payload, size_t len)
{
    (void)payload;
    (void)len;
    if (sc_live_fork_has(live, op) && sc_live_fork_gone(live, op))
        return 0;
    struct sc_live_op over = sc_live_op_over(live, op);
    if (over.events->gone)
        over.events->gone(over.userdata);
    return 0;
}

static int take_command_failed(struct sc_live *live, struct sc_live_op *op, const void *payload, size_t len)
{
    const struct sc_frame frame = {.len = (uint32_t)len};
    struct sc_msg_failed failed;
    int r = sc_failed_take(&frame, payload, &failed);
    if (r < 0)
        return r;
    if (sc_live_fork_has(live, op))
        sc_live_fork_failed(live, &failed);
    struct sc_live_op over = sc_live_op_over(live, op);
    if (over.events->failed)
        over.events->failed(over.userdata, &failed);
    return 0;
}

static int take_file_done(struct sc_live *live, struct sc_live_op *op, const void *payload, size_t len)
{
    struct sc_msg_file_done done;
    memcpy(&done, payload, len);
    if (done.code != 0 && !sc_is_errno(done.code))
        return -EPROTO;
    done.object[sizeof done.object - 1] = '\0';
    struct sc_live_op over = sc_live_op_over(live, op);
    if (over.events->done)
        over.events->done(over.userdata, &done);
    return 0;
}

#define IN(state) (1u << (state))
#define ASKED (IN(SC_OP_ASKED) | IN(SC_OP_FILE_ASKED))
#define RUNS (IN(SC_OP_STARTED) | IN(SC_OP_EXITED))
#define FILE_OPEN (IN(SC_OP_FILE_ASKED) | IN(SC_OP_FILE_STARTED))
#define BYTES SIZE_MAX /* at least one, at most a frame */

static const struct rule {
    uint16_t type;
    uint32_t states;
    size_t len;
    int (*take)(struct sc_live *live, struct sc_live_op *op, const void *payload, size_t len);
} RULES[] = {
    {SC_MSG_COMMAND_STARTED, ASKED, sizeof(struct sc_msg_started), take_started},
    {SC_MSG_OUTPUT, RUNS | FILE_OPEN, BYTES, take_output},
    {SC_MSG_OUTPUT_ERR, RUNS, BYTES, take_output_err},
    {SC_MSG_RUNNER_OUTPUT, RUNS, BYTES, take_runner_output},
    {SC_MSG_INPUT_CREDIT, ASKED | RUNS | FILE_OPEN, sizeof(struct sc_msg_credit), take_input_credit},
    {SC_MSG_COMMAND_EXIT, IN(SC_OP_STARTED), sizeof(struct sc_msg_command_exit), take_exit},
    {SC_MSG_COMMAND_GONE, IN(SC_OP_EXITED), 0, take_gone},
    {SC_MSG_COMMAND_FAILED, ASKED, sizeof(struct sc_msg_failed), take_command_failed},
    {SC_MSG_FILE_DONE, FILE_OPEN, sizeof(struct sc_msg_file_done), take_file_done},
    {SC_MSG_ADOPTING, IN(SC_OP_ASKED), sizeof(struct sc_msg_ready), take_lent},
    {SC_MSG_ORPHAN, RUNS, sizeof(struct sc_msg_orphan), take_orphan},
};

static int handle_op(struct sc_live *live, const struct sc_frame *frame, const uint8_t *payload)
{
    struct sc_live_op *op = sc_live_find(live, frame->channel);
    for (size_t i = 0; op && i < sizeof RULES / sizeof RULES[0]; i++) {
        const struct rule *rule = &RULES[i];
        if (rule->type != frame->type)
            continue;
        bool fits = rule->len == BYTES ? frame->len > 0 : frame->len == rule->len;
        return fits && (rule->states & IN(op->state)) ? rule->take(live, op, payload, frame->len) : -EPROTO;
    }
    return -EPROTO;
}

/* ---- about the cell ---- */

/* Takes the descriptors, also when it fails. */
static int handle_ready(struct sc_live *live, const struct sc_frame *frame, const uint8_t *payload,
                        const int *fds, size_t n_fds)
{
    int r = sc_ready_take(frame, payload, fds, n_fds, live->ready);
    if (r < 0)
        return r;
    live->has_ready = true;
    live->ready_ns = sc_now_ns();
    live->notices.listener = live->ready[SC_READY_NOTIFY];
    return 0;
}

/* What lacks memory, or a process of its own that was killed for it, is no failure of ours. */
static int handle_failed(struct sc_live *live, const struct sc_frame *frame, const uint8_t *payload)
{
    struct sc_msg_failed failed;
    int r = sc_failed_take(frame, payload, &failed);
    if (r < 0)
        return r;
    sc_live_look_at_memory(live);
    if (sc_live_lacked_memory(live, sc_now_ns()))
        sc_live_end(live, SC_STATUS_OUT_OF_MEMORY, "the cell ran out of memory");
    else
        sc_live_end(live, SC_STATUS_SANDBOX_ERROR, "stage %s: %s: %s", failed.stage, failed.object,
                    strerror(-failed.code));
    return 0;
}

static int handle(struct sc_live *live, const struct sc_frame *frame, const uint8_t *payload)
{
    if (frame->type == SC_MSG_READY && !live->has_ready) {
        size_t n = live->n_fds;
        live->n_fds = 0;
        return handle_ready(live, frame, payload, live->fds, n);
    }
    if (frame->type == SC_MSG_FAILED)
        return handle_failed(live, frame, payload);
    return live->has_ready ? handle_op(live, frame, payload) : -EPROTO;
}

/* Descriptors are only taken where a message with some may come; else the kernel drops them. */
static bool wants_fds(const struct sc_live *live)
{
    if (!live->has_ready)
        return true;
    for (size_t i = 0; i < SC_COMMANDS_MAX; i++) {
        const struct sc_live_op *op = &live->ops[i];
        if (op->state == SC_OP_ASKED && (op->flags & SC_COMMAND_SOCKET || sc_live_fork_has(live, op)))
            return true;
    }
    return false;
}

/* They come with the first byte of their message, whose rest may come later. */
static ssize_t fill(struct sc_live *live)
{
    size_t n_fds = SC_FDS_MAX - live->n_fds;
    if (!wants_fds(live))
        return sc_frame_fill(&live->reader, live->cell.control, NULL, NULL);
    ssize_t n = sc_frame_fill(&live->reader, live->cell.control, live->fds + live->n_fds, &n_fds);
    live->n_fds += n_fds;
    return n;
}

void sc_live_drop_fds(struct sc_live *live)
{
    while (live->n_fds > 0)
        close(live->fds[--live->n_fds]);
}

bool sc_live_read(struct sc_live *live, unsigned fills)
{
    struct sc_frame frame;
    const uint8_t *payload;
    for (unsigned i = 0; i < fills; i++) {
        ssize_t n = fill(live);
        if (n == -ECONNRESET) /* said once, after all that came from it */
            live->is_unread = true;
        if (n <= 0)
            return n == -EAGAIN;
        int r = 0;
        /* What comes after the end is not looked at. */
        while (live->phase == SC_LIVE_LIVES && (r = sc_frame_next(&live->reader, &frame, &payload)) > 0) {
            r = handle(live, &frame, payload);
            if (r < 0)
                break;
        }
        /* Between messages nothing is left over. */
        if (r == 0 && live->n_fds > 0 && live->reader.used == live->reader.start)
            r = -EPROTO;
        if (r < 0)
            sc_live_end(live, SC_STATUS_SANDBOX_ERROR, "the cell's agent broke the protocol");
        if (live->phase != SC_LIVE_LIVES) {
            sc_live_drop_fds(live);
            return true;
        }
    }
    return true;
}
