/* A living cell: its life from open to close. The states are told in live_parts.h. */
#include "cell/live.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/num.h"
#include "base/sys.h"
#include "cell/feed.h"
#include "cell/live_parts.h"
#include "cell/run.h"

/* How long the agent may take to seal the cell, and later to take what it is told. */
#define START_PATIENCE_NS (60 * SC_NS_PER_S)
#define ORDER_PATIENCE_NS (30 * SC_NS_PER_S)
/* Between the end of the stream and process 1 being dead; then it is killed. */
#define LOST_PATIENCE_NS (100 * SC_NS_PER_MS)
/* One that hangs in the kernel may take long to die, but not for ever. */
#define DEATH_PATIENCE_NS (30 * SC_NS_PER_S)
/* Between two looks at whether those below are dead. */
#define CHILDREN_LOOK_NS (5 * SC_NS_PER_MS)
/* Of the stream, in one step: others wait, too. */
#define FILLS_STEP 8
#define FILLS_LAST 64 /* more than a socket holds */

/* ---- the end ---- */

/* Nothing of the stream matters any more, but whether what was said last has been read. */
static void hang_up(struct sc_live *live, enum sc_live_phase phase)
{
    sc_live_watch_source(live, SC_LIVE_CONTROL, live->cell.control, SC_LIVE_UNWATCHED);
    if (sc_live_queued(live))
        live->is_unread = true;
    sc_buf_fini(&live->queue);
    live->queue_done = 0;
    live->phase = phase;
    live->over_ns = sc_now_ns();
}

void sc_live_end(struct sc_live *live, enum sc_status why, const char *format, ...)
{
    if (live->phase == SC_LIVE_KILLED || live->phase == SC_LIVE_ENDED)
        return;
    va_list ap;
    va_start(ap, format);
    live->has_reason = true;
    live->why = why;
    vsnprintf(live->message, sizeof live->message, format, ap);
    va_end(ap);
    sc_sys_pidfd_kill(live->cell.pidfd, SIGKILL);
    hang_up(live, SC_LIVE_KILLED);
}

void sc_live_kill(struct sc_live *live)
{
    sc_live_end(live, SC_STATUS_CANCELLED, "the cell was ended");
}

/* By the kernel, for memory: killed, and that shortly after the count had moved. */
static bool died_of_memory(const struct sc_live *live)
{
    bool by_kill = !live->death.known ||
                   (WIFSIGNALED(live->death.wait_status) && WTERMSIG(live->death.wait_status) == SIGKILL);
    return by_kill && sc_live_lacked_memory(live, live->over_ns);
}

/* The agent is dead: had it read everything? */
static void close_stream(struct sc_live *live)
{
    int error = 0;
    socklen_t len = sizeof error;
    if (live->cell.control >= 0 && getsockopt(live->cell.control, SOL_SOCKET, SO_ERROR, &error, &len) == 0 &&
        error == ECONNRESET)
        live->is_unread = true;
    sc_close(&live->cell.control);
}

static void tell_end(struct sc_live *live)
{
    close_stream(live);
    sc_live_watch_source(live, SC_LIVE_PIDFD, live->cell.pidfd, SC_LIVE_UNWATCHED);
    if (live->cell.space.has_group)
        sc_live_watch_source(live, SC_LIVE_MEMORY, live->cell.space.group.oom_event_fd, SC_LIVE_UNWATCHED);
    if (live->notices.listener >= 0)
        sc_live_watch_source(live, SC_LIVE_NOTICE, live->notices.listener, SC_LIVE_UNWATCHED);
    if (live->cell.egress.control >= 0)
        sc_live_watch_source(live, SC_LIVE_EGRESS, live->cell.egress.control, SC_LIVE_UNWATCHED);
    if (live->fork_notices.listener >= 0)
        sc_live_watch_source(live, SC_LIVE_NOTICE_FORK, live->fork_notices.listener, SC_LIVE_UNWATCHED);
    live->phase = SC_LIVE_ENDED;
    sc_live_ops_abandon(live);
    if (live->events.ended)
        live->events.ended(live->events.userdata, live->why, live->message);
}

/* Process 1 is dead, and everybody with it. What it had said before counts. */
static void bury(struct sc_live *live)
{
    if (live->phase == SC_LIVE_LIVES) {
        sc_live_read(live, FILLS_LAST);
        if (live->phase == SC_LIVE_LIVES)
            hang_up(live, SC_LIVE_LOST);
    }
    sc_live_look_at_memory(live);
    if (live->cell.pid > 0) /* else its parent's end has done it */
        sc_cell_reap(&live->cell, &live->death);
    if (!live->has_reason && died_of_memory(live)) {
        live->why = SC_STATUS_OUT_OF_MEMORY;
        snprintf(live->message, sizeof live->message, "the cell ran out of memory");
    } else if (!live->has_reason) {
        live->why = SC_STATUS_SANDBOX_ERROR;
        snprintf(live->message, sizeof live->message, "the cell's process 1 ended without a report");
    }
    live->has_reason = true;
    tell_end(live);
}

/* ---- events ---- */

static void on_notice(struct sc_live *live, enum sc_live_source source, uint32_t events)
{
    bool of_fork = source == SC_LIVE_NOTICE_FORK;
    struct sc_notices *notices = of_fork ? &live->fork_notices : &live->notices;
    if (events & EPOLLIN) {
        sc_notices_take(notices);
        return;
    }
    /* Nobody is left under the filter. */
    sc_live_watch_source(live, source, notices->listener, SC_LIVE_UNWATCHED);
    notices->listener = -1;
    sc_close(of_fork ? &live->fork_listener : &live->ready[SC_READY_NOTIFY]);
}

static void on_control(struct sc_live *live, uint32_t events)
{
    if (events & EPOLLOUT) {
        sc_live_flush(live);
        sc_live_ops_room(live);
    }
    if (live->phase != SC_LIVE_LIVES || !(events & ~(uint32_t)EPOLLOUT))
        return;
    if (!sc_live_read(live, FILLS_STEP) && live->phase == SC_LIVE_LIVES)
        hang_up(live, SC_LIVE_LOST);
}

/* A call was refused. */
static void note_denial(void *userdata, const struct sc_filter_notice *rule, const char *resource)
{
    struct sc_live *live = userdata;
    live->told.n_denials = 0; /* each is told by itself: whose it is, the caller knows */
    const struct sc_denial *denial =
        sc_result_deny(&live->told, "seccomp", rule->action, resource, rule->rule, rule->hint);
    if (live->events.denial)
        live->events.denial(live->events.userdata, denial);
}

/* ---- clocks ---- */

uint64_t sc_live_next_ns(const struct sc_live *live)
{
    uint64_t next = UINT64_MAX;
    if (live->phase == SC_LIVE_ENDED)
        return next;
    if (live->phase != SC_LIVE_LIVES && live->children)
        return sc_now_ns() + CHILDREN_LOOK_NS;
    if (live->phase != SC_LIVE_LIVES)
        return live->over_ns + (live->phase == SC_LIVE_LOST ? LOST_PATIENCE_NS : DEATH_PATIENCE_NS);
    if (!live->has_ready)
        next = live->begun_ns + START_PATIENCE_NS;
    else if (sc_live_queued(live))
        next = sc_max_u64(live->queue_ns, live->ready_ns) + ORDER_PATIENCE_NS;
    if (live->look_ns)
        next = sc_min_u64(next, live->look_ns);
    if (live->watched[SC_LIVE_NOTICE] == 0)
        next = sc_min_u64(next, live->notices.next_ns);
    if (live->watched[SC_LIVE_NOTICE_FORK] == 0)
        next = sc_min_u64(next, live->fork_notices.next_ns);
    return sc_min_u64(next, sc_live_fork_next_ns(live));
}

static void check_clocks(struct sc_live *live)
{
    uint64_t now = sc_now_ns();
    if (live->phase == SC_LIVE_LIVES)
        sc_live_fork_clock(live, now);
    else
        sc_live_reap_children(live);
    sc_live_memory_clock(live, now);
    if (live->phase == SC_LIVE_LIVES && !live->has_ready && now >= live->begun_ns + START_PATIENCE_NS)
        sc_live_end(live, SC_STATUS_SANDBOX_ERROR, "the cell was not sealed in time");
    if (live->phase == SC_LIVE_LIVES && live->has_ready && sc_live_queued(live) &&
        now >= sc_max_u64(live->queue_ns, live->ready_ns) + ORDER_PATIENCE_NS)
        sc_live_end(live, SC_STATUS_SANDBOX_ERROR, "the cell's agent does not take what it is told");
    if (live->phase == SC_LIVE_LOST && now >= live->over_ns + LOST_PATIENCE_NS) {
        sc_sys_pidfd_kill(live->cell.pidfd, SIGKILL); /* why it is lost shows when it is dead */
        live->phase = SC_LIVE_KILLED;
    }
    if (live->phase == SC_LIVE_KILLED && now >= live->over_ns + DEATH_PATIENCE_NS) {
        live->why = SC_STATUS_SANDBOX_ERROR;
        snprintf(live->message, sizeof live->message, "the cell's processes do not die");
        tell_end(live);
    }
}

static void on_forks(struct sc_live *live, const uint32_t *seen)
{
    if (seen[SC_LIVE_REPORT] && live->fork.report >= 0)
        sc_live_fork_report(live);
    for (unsigned i = 0; i < SC_COMMANDS_MAX; i++)
        if (seen[SC_LIVE_SOURCES + i] && live->ops[i].state != SC_OP_FREE && live->ops[i].fork_socket >= 0)
            sc_live_fork_answer(live, &live->ops[i]);
}

/* The stream is read before anything else is looked at: what the agent said in time counts. */
int sc_live_step(struct sc_live *live, struct sc_err *err)
{
    struct epoll_event events[SC_LIVE_SOURCES + SC_COMMANDS_MAX];
    uint32_t seen[SC_LIVE_SOURCES + SC_COMMANDS_MAX] = {0};
    if (live->phase == SC_LIVE_ENDED)
        return 0;
    int n = epoll_wait(live->epoll, events, SC_LIVE_SOURCES + SC_COMMANDS_MAX, 0);
    if (n < 0 && errno != EINTR)
        return sc_err_sys(err, -errno, "epoll_wait");
    for (int i = 0; i < n; i++)
        seen[events[i].data.u32] = events[i].events;
    if (seen[SC_LIVE_CONTROL] && live->phase == SC_LIVE_LIVES)
        on_control(live, seen[SC_LIVE_CONTROL]);
    on_forks(live, seen);
    if (seen[SC_LIVE_NOTICE] && live->notices.listener >= 0)
        on_notice(live, SC_LIVE_NOTICE, seen[SC_LIVE_NOTICE]);
    if (seen[SC_LIVE_NOTICE_FORK] && live->fork_notices.listener >= 0)
        on_notice(live, SC_LIVE_NOTICE_FORK, seen[SC_LIVE_NOTICE_FORK]);
    if (seen[SC_LIVE_EGRESS] && live->cell.egress.control >= 0)
        sc_live_hear_egress(live);
    if (seen[SC_LIVE_MEMORY])
        sc_live_memory_event(live);
    if (seen[SC_LIVE_PIDFD])
        bury(live);
    if (live->phase != SC_LIVE_ENDED)
        check_clocks(live);
    sc_live_watch(live);
    return 0;
}

int sc_live_fd(const struct sc_live *live)
{
    return live->epoll;
}

int sc_live_work(const struct sc_live *live)
{
    return live->ready[SC_READY_WORK];
}

const struct sc_msg_failed *sc_live_failed(const struct sc_live *live)
{
    return live->has_failed ? &live->failed : NULL;
}

/* The stream waits for once: nothing else is said yet, and what is fed may be more than a queue may hold. */
int sc_live_feed(struct sc_live *live, struct sc_err *err)
{
    int flags = fcntl(live->cell.control, F_GETFL);
    if (live->phase != SC_LIVE_LIVES)
        return 0;
    if (flags < 0 || fcntl(live->cell.control, F_SETFL, flags & ~O_NONBLOCK) < 0)
        return sc_err_sys(err, -errno, "the agent's stream");
    int r = sc_feed(live->cell.control, live->plan->spec, err);
    if (fcntl(live->cell.control, F_SETFL, flags) < 0 && r == 0)
        return sc_err_sys(err, -errno, "the agent's stream");
    return r == -EPIPE || r == -ECONNRESET ? 0 : r;
}

bool sc_live_is_alive(const struct sc_live *live)
{
    return live->phase == SC_LIVE_LIVES;
}

bool sc_live_is_sealed(const struct sc_live *live)
{
    return live->has_ready;
}

/* ---- open and close ---- */

static struct sc_live *make(struct sc_works *works, struct sc_cell *cell, const struct sc_live_events *events)
{
    struct sc_live *live = calloc(1, sizeof *live);
    if (!live)
        return NULL;
    live->works = works;
    live->plan = works->plan;
    live->events = *events;
    live->cell = *cell;
    live->begun_ns = sc_now_ns();
    for (int i = 0; i < SC_READY_COUNT; i++)
        live->ready[i] = -1;
    for (int i = 0; i < SC_LIVE_SOURCES + SC_COMMANDS_MAX; i++)
        live->watched[i] = SC_LIVE_UNWATCHED;
    live->fork = SC_LIVE_FORK_NONE;
    live->fork_listener = -1;
    live->forkable = works->plan->forkable;
    live->notices = (struct sc_notices){.plan = works->plan,
                                        .space = &live->cell.space,
                                        .listener = -1,
                                        .refused = note_denial,
                                        .userdata = live};
    live->fork_notices = live->notices;
    live->fork_notices.exec_used = true; /* what was forked runs already */
    sc_result_init(&live->told, 0, 0);
    live->epoll = epoll_create1(EPOLL_CLOEXEC);
    return live;
}

int sc_live_begin(struct sc_works *works, struct sc_cell *cell, const struct sc_live_events *events,
                  struct sc_live **ret_live, struct sc_err *err)
{
    struct sc_live *live = make(works, cell, events);
    if (!live)
        sc_works_release(works, cell);
    if (!live)
        return sc_err_sys(err, -ENOMEM, "living cell");
    int r = live->epoll < 0 ? -errno : sc_set_nonblocking(live->cell.control);
    if (r == 0) {
        int memory = live->cell.space.has_group ? live->cell.space.group.oom_event_fd : -1;
        sc_live_watch_source(live, SC_LIVE_PIDFD, live->cell.pidfd, EPOLLIN);
        if (memory >= 0)
            sc_live_watch_source(live, SC_LIVE_MEMORY, memory, EPOLLIN);
        if (live->cell.egress.control >= 0)
            sc_live_watch_source(live, SC_LIVE_EGRESS, live->cell.egress.control, EPOLLIN);
        sc_live_watch(live);
        r = live->phase == SC_LIVE_LIVES ? 0 : -ENOMEM;
    }
    if (r < 0) {
        sc_live_close(live);
        return sc_err_sys(err, r, "watching the cell");
    }
    *ret_live = live;
    return 0;
}

int sc_live_open(struct sc_works *works, const struct sc_live_events *events, struct sc_live **ret_live,
                 struct sc_err *err)
{
    struct sc_cell cell = SC_CELL_NONE;
    int r = sc_works_take(works, &cell, err);
    return r < 0 ? r : sc_live_begin(works, &cell, events, ret_live, err);
}

void sc_live_close(struct sc_live *live)
{
    static const struct sc_mourner nobody = {NULL, NULL}; /* such a cell has no streams of its own */
    if (!live)
        return;
    sc_live_leave_kin(live);
    /* Also of an ended one, when it was one that does not die. */
    sc_cell_bury(&live->cell, &nobody, &live->death, NULL);
    sc_live_fork_over(live);
    sc_live_drop_fds(live);
    sc_close(&live->fork_listener);
    for (size_t i = 0; i < SC_COMMANDS_MAX; i++)
        if (live->ops[i].state != SC_OP_FREE)
            sc_close(&live->ops[i].fork_socket);
    sc_works_release(live->works, &live->cell);
    for (int i = 0; i < SC_READY_COUNT; i++)
        sc_close(&live->ready[i]);
    sc_close(&live->epoll);
    sc_buf_fini(&live->queue);
    sc_result_fini(&live->told);
    free(live);
}
