/* A program of the cell above is forked into this one. Who says what, in order:
 *
 *   we → agent     ADOPT                          it makes the streams
 *   agent → us     ADOPTING + descriptors         its ends of them, and where the process is to live
 *   we → program   an order with all of these, on its fork socket
 *   program → us   answer: the process's number above; child → us: report, "sealed"
 *   we             look at the child from outside (live_fork_check.c)
 *   we → agent     ADOPTED; we → child: "go"
 *   agent → us     STARTED … EXIT, GONE; the agent above: ORPHAN, with the true wait status
 *
 * Nobody but us is believed: the program above may be anybody's code, and the child has its memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/fork_order.h"
#include "base/clock.h"
#include "cell/live_parts.h"
#include "cell/ready.h"

#define FORK_PATIENCE_NS (30 * SC_NS_PER_S)
#define ORPHAN_PATIENCE_NS (10 * SC_NS_PER_S)

bool sc_live_fork_has(const struct sc_live *live, const struct sc_live_op *op)
{
    return live->fork.op && live->fork.op == op->id;
}

static void close_report(struct sc_live *live)
{
    if (live->fork.report >= 0)
        sc_live_watch_source(live, SC_LIVE_REPORT, live->fork.report, SC_LIVE_UNWATCHED);
    sc_close(&live->fork.report);
}

void sc_live_fork_over(struct sc_live *live)
{
    close_report(live);
    sc_close(&live->fork.socket);
    sc_close(&live->fork.listener);
    free(live->fork.cwd);
    live->fork = SC_LIVE_FORK_NONE;
}

/* ---- asking ---- */

static int check(const struct sc_live *live, const struct sc_live *from, const struct sc_live_op *program,
                 const struct sc_command *like, struct sc_err *err)
{
    uint32_t flags =
        SC_COMMAND_STDIN | SC_COMMAND_RUNNER | SC_COMMAND_MERGE | (live->forkable ? SC_COMMAND_SOCKET : 0);
    if (live->parent != from)
        return sc_err_usage(err, "fork", "fork: allowed into a cell below the program's own");
    if (from->phase != SC_LIVE_LIVES)
        return sc_err_set(err, SC_ERR_SANDBOX, -ESHUTDOWN, "the cell above has ended");
    if (!program || program->state != SC_OP_STARTED || program->fork_socket < 0)
        return sc_err_usage(err, "fork", "fork: the command has no fork socket, or does not run");
    if (live->fork.op)
        return sc_err_set(err, SC_ERR_SANDBOX, -EBUSY,
                          "a process that was forked lives in this cell already");
    if (like->flags & ~flags)
        return sc_err_usage(err, "flags", "flags: 0x%x: allowed for a fork are 0x%x", like->flags, flags);
    if (like->env || !like->argv || !like->argv[0])
        return sc_err_usage(err, "fork", "fork: a name is needed, and no environment is allowed");
    if (like->cwd && strlen(like->cwd) >= SC_FORK_CWD_MAX)
        return sc_err_usage(err, "cwd", "cwd: %zu bytes: allowed 0 to %d", strlen(like->cwd),
                            SC_FORK_CWD_MAX - 1);
    return 0;
}

static void ask(struct sc_live *live, const struct sc_live_op *op, const struct sc_command *like,
                struct sc_msg_command *order)
{
    char texts[sizeof((struct sc_msg_listed *)0)->name + 1] = "";
    size_t len = strnlen(like->argv[0], sizeof texts - 2);
    memcpy(texts, like->argv[0], len);
    order->argc = 1;
    order->text_len = (uint32_t)len + 2; /* the name, and no working directory */
    sc_live_say(live, SC_MSG_ADOPT, op->id, order, sizeof *order, texts, len + 2);
}

int sc_live_adopt(struct sc_live *live, struct sc_live *from, uint16_t from_id, const struct sc_command *like,
                  const struct sc_live_op_events *events, void *userdata, uint16_t *ret_id,
                  struct sc_err *err)
{
    struct sc_msg_command order = {.flags = like->flags, .wall_ns = like->wall_ns};
    int r = check(live, from, sc_live_find(from, from_id), like, err);
    if (r == 0)
        r = sc_live_may_open(live, sizeof order + 128, err);
    if (r < 0)
        return r;
    char *cwd = strdup(like->cwd ? like->cwd : "");
    if (!cwd)
        return sc_err_sys(err, -ENOMEM, "fork");
    struct sc_live_op *op = sc_live_take_slot(live, events, userdata);
    op->state = SC_OP_ASKED;
    op->flags = like->flags;
    sc_live_open_streams(op, like, &order);
    live->fork = SC_LIVE_FORK_NONE;
    live->fork.op = op->id;
    live->fork.from = from_id;
    live->fork.cwd = cwd;
    live->fork.since_ns = sc_now_ns();
    *ret_id = op->id;
    ask(live, op, like, &order);
    return 0;
}

/* ---- it does not come ---- */

/* The child, if there is one, ends without our "go". The agent answers with FAILED, which ends the operation.
 */
void sc_live_fork_fail(struct sc_live *live, const char *stage, const char *object, int code)
{
    const struct sc_msg_started nobody = {.pid = 0};
    struct sc_msg_failed *failed = &live->fork.failed;
    if (live->fork.has_failed || live->fork.may_go)
        return;
    live->fork.has_failed = true;
    memset(failed, 0, sizeof *failed);
    failed->code = code;
    strncpy(failed->stage, stage, sizeof failed->stage - 1);
    strncpy(failed->object, object, sizeof failed->object - 1);
    close_report(live);
    sc_live_say(live, SC_MSG_ADOPTED, live->fork.op, &nobody, sizeof nobody, NULL, 0);
}

void sc_live_fork_failed(struct sc_live *live, struct sc_msg_failed *failed)
{
    if (live->fork.has_failed)
        *failed = live->fork.failed;
}

/* ---- answer and report ---- */

static void look_whether_it_may_go(struct sc_live *live);

static struct sc_live *find_child(const struct sc_live *live, const struct sc_live_op *op, uint32_t id)
{
    for (struct sc_live *child = live->children; child; child = child->other)
        if (child->fork.op && child->fork.is_ordered && child->fork.from == op->id && child->fork.id == id)
            return child;
    return NULL;
}

static void take_answer(struct sc_live *live, const struct sc_live_op *op, struct sc_fork_answer *answer)
{
    struct sc_live *child = find_child(live, op, answer->id);
    answer->step[sizeof answer->step - 1] = answer->object[sizeof answer->object - 1] = '\0';
    if (!child || child->fork.has_answer || child->phase != SC_LIVE_LIVES)
        return; /* nobody waits for it any more */
    child->fork.has_answer = true;
    if (answer->code != 0 || answer->pid <= 0)
        sc_live_fork_fail(child, answer->step, answer->object,
                          sc_is_errno(answer->code) ? answer->code : -EPROTO);
    child->fork.above = answer->pid;
    look_whether_it_may_go(child);
    sc_live_watch(child);
}

/* The program is at its end, or serves no more. */
static void lose_socket(struct sc_live *live, struct sc_live_op *op)
{
    sc_live_watch_source(live, SC_LIVE_SOURCES + (unsigned)(op - live->ops), op->fork_socket,
                         SC_LIVE_UNWATCHED);
    sc_close(&op->fork_socket);
    for (struct sc_live *child = live->children; child; child = child->other)
        if (child->fork.op && child->fork.from == op->id && !child->fork.has_answer) {
            sc_live_fork_fail(child, "fork", "the program that was to be forked has ended", -ESRCH);
            sc_live_watch(child);
        }
}

void sc_live_fork_answer(struct sc_live *live, struct sc_live_op *op)
{
    struct sc_fork_answer answer;
    ssize_t n = recv(op->fork_socket, &answer, sizeof answer, MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n == (ssize_t)sizeof answer)
        take_answer(live, op, &answer);
    else
        lose_socket(live, op);
}

struct told {
    struct sc_fork_report report;
    pid_t pid; /* who said it, as the kernel tells */
    int fd;
};

static ssize_t receive_report(int socket, struct told *told)
{
    union {
        char space[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int) * SC_FDS_MAX)];
        struct cmsghdr align;
    } control;
    struct iovec part = {&told->report, sizeof told->report};
    struct msghdr msg = {.msg_iov = &part,
                         .msg_iovlen = 1,
                         .msg_control = control.space,
                         .msg_controllen = sizeof control.space};
    ssize_t n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    told->pid = 0;
    told->fd = -1;
    if (n < 0)
        return -errno;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS) {
            struct ucred who;
            memcpy(&who, CMSG_DATA(c), sizeof who);
            told->pid = who.pid;
        }
        size_t count = c->cmsg_type == SCM_RIGHTS ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            sc_close(&told->fd);
            told->fd = fd;
        }
    }
    return n;
}

/* Ends the cell: whoever says this of itself was made to. */
static void end_for(struct sc_live *live, const char *what)
{
    sc_live_end(live, SC_STATUS_SANDBOX_ERROR, "a process that was forked into the cell is not sealed: %s",
                what);
}

static void take_report(struct sc_live *live, struct told *told)
{
    struct sc_fork_report *report = &told->report;
    report->step[sizeof report->step - 1] = report->object[sizeof report->object - 1] = '\0';
    if (report->code != 0) {
        sc_live_fork_fail(live, report->step, report->object,
                          sc_is_errno(report->code) ? report->code : -EPROTO);
        return;
    }
    live->fork.has_report = true;
    /* Anything else would be ready to be read for ever. */
    if (told->fd >= 0 && !sc_live_fork_is_listener(told->fd)) {
        end_for(live, "what it gave as its filter's listener is none");
        return;
    }
    live->fork.listener = sc_steal_fd(&told->fd);
    live->fork.sender = told->pid;
    look_whether_it_may_go(live);
}

static void tell_end(struct sc_live *live, struct sc_live_op *op);

void sc_live_fork_report(struct sc_live *live)
{
    struct told told;
    if (live->fork.has_exit) { /* the bell of sc_live_fork_orphan */
        struct sc_live_op *op = sc_live_find(live, live->fork.op);
        close_report(live);
        if (op && live->fork.has_orphan && !live->fork.is_told)
            tell_end(live, op);
        return;
    }
    ssize_t n = receive_report(live->fork.report, &told);
    if (n == -EAGAIN || n == -EINTR)
        return;
    if (n == (ssize_t)sizeof told.report && !live->fork.has_report) {
        take_report(live, &told);
    } else {
        /* The program's answer may tell more. */
        close_report(live);
        if (live->fork.has_answer)
            sc_live_fork_fail(live, "fork", "the child ended before it was sealed", -ECHILD);
        else
            live->fork.has_ended = true;
    }
    sc_close(&told.fd);
}

/* ---- go ---- */

static void look_whether_it_may_go(struct sc_live *live)
{
    struct sc_live_fork *fork = &live->fork;
    struct sc_msg_started adopted = {0};
    const char *what = "it cannot be looked at";
    if (fork->has_failed || fork->may_go || !fork->has_answer)
        return;
    if (fork->has_ended)
        sc_live_fork_fail(live, "fork", "the child ended before it was sealed", -ECHILD);
    if (!fork->has_report || fork->has_failed)
        return;
    bool has_filter = fork->listener >= 0 || live->forkable;
    int r = has_filter ? sc_live_fork_check(live, fork->sender, &adopted.pid, &what) : -EPERM;
    if (r == -ESRCH)
        sc_live_fork_fail(live, "fork", "the child ended before it was sealed", -ECHILD);
    else if (r < 0)
        end_for(live, has_filter ? what : "its filter has no listener");
    if (r < 0)
        return;
    fork->may_go = true;
    live->fork_listener = live->fork_notices.listener = sc_steal_fd(&fork->listener);
    sc_live_say(live, SC_MSG_ADOPTED, fork->op, &adopted, sizeof adopted, NULL, 0);
    if (live->phase != SC_LIVE_LIVES)
        return;
    /* A child that is gone already the agent will tell of. */
    send(fork->report, "g", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    close_report(live);
    sc_live_watch(live);
}

int sc_live_fork_started(struct sc_live *live, struct sc_live_op *op)
{
    if (!live->fork.may_go)
        return -EPROTO;
    op->fork_socket = sc_steal_fd(&live->fork.socket);
    if (op->fork_socket >= 0)
        sc_live_watch_source(live, SC_LIVE_SOURCES + (unsigned)(op - live->ops), op->fork_socket, EPOLLIN);
    return 0;
}

/* ---- the end ---- */

static void tell_end(struct sc_live *live, struct sc_live_op *op)
{
    struct sc_msg_command_exit *told = &live->fork.exit;
    const struct sc_msg_orphan *orphan = &live->fork.orphan;
    bool is_gone = live->fork.is_gone;
    told->wait_status = orphan->wait_status;
    told->user_ns = orphan->user_ns;
    told->system_ns = orphan->system_ns;
    told->rss_peak_bytes = orphan->rss_peak_bytes;
    live->fork.is_told = true;
    sc_live_tell_exit(live, op, told);
    if (!is_gone)
        return;
    struct sc_live_op over = sc_live_op_over(live, op);
    if (over.events->gone)
        over.events->gone(over.userdata);
}

int sc_live_fork_exited(struct sc_live *live, struct sc_live_op *op, const struct sc_msg_command_exit *told)
{
    live->fork.has_exit = true;
    live->fork.exit = *told;
    live->fork.since_ns = sc_now_ns();
    if (live->fork.has_orphan)
        tell_end(live, op);
    return 0;
}

bool sc_live_fork_gone(struct sc_live *live, struct sc_live_op *op)
{
    (void)op;
    live->fork.is_gone = !live->fork.is_told;
    return live->fork.is_gone;
}

/* What happens in a cell is told when that cell is stepped, not in the midst of another's step: its owner
 * waits for the cell's own descriptor. */
static void ring(struct sc_live *live)
{
    close_report(live);
    live->fork.report = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    if (live->fork.report < 0) {
        sc_live_end(live, SC_STATUS_SANDBOX_ERROR, "eventfd: %s", strerror(errno));
        return;
    }
    sc_live_watch_source(live, SC_LIVE_REPORT, live->fork.report, EPOLLIN);
    sc_live_watch(live);
}

void sc_live_fork_orphan(struct sc_live *live, const struct sc_live_op *op,
                         const struct sc_msg_orphan *orphan)
{
    for (struct sc_live *child = live->children; child; child = child->other) {
        struct sc_live_fork *fork = &child->fork;
        if (!fork->op || fork->from != op->id || !fork->may_go || fork->above != orphan->pid ||
            fork->has_orphan)
            continue;
        fork->has_orphan = true;
        fork->orphan = *orphan;
        if (fork->has_exit && child->phase == SC_LIVE_LIVES)
            ring(child);
        return;
    }
}

/* ---- clocks ---- */

void sc_live_fork_watch(struct sc_live *live)
{
    if (live->fork.report >= 0)
        sc_live_watch_source(live, SC_LIVE_REPORT, live->fork.report, EPOLLIN);
}

uint64_t sc_live_fork_next_ns(const struct sc_live *live)
{
    const struct sc_live_fork *fork = &live->fork;
    if (fork->op && fork->has_exit && !fork->is_told)
        return fork->since_ns + ORPHAN_PATIENCE_NS;
    return fork->op && fork->is_ordered && !fork->may_go && !fork->has_failed
               ? fork->since_ns + FORK_PATIENCE_NS
               : UINT64_MAX;
}

void sc_live_fork_clock(struct sc_live *live, uint64_t now)
{
    if (now < sc_live_fork_next_ns(live))
        return;
    if (live->fork.has_exit)
        sc_live_end(live, SC_STATUS_SANDBOX_ERROR,
                    "how the process that was forked into the cell ended was not told");
    else
        sc_live_fork_fail(live, "fork", "the program does not answer", -ETIMEDOUT);
}
