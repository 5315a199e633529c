/* The supervisor's loop: everything that can happen while a program runs, until one thing ends it. The
 * agent's report is read before any clock is looked at, so that a program that ended in time is never called
 * late. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "cell/ready.h"
#include "cell/run.h"

/* How long the agent may take to seal the cell and start the program. */
#define START_PATIENCE_NS (60 * SC_NS_PER_S)
#define CANCEL_POLL_NS (100 * SC_NS_PER_MS)
#define CPU_TIE_NS (100 * SC_NS_PER_MS) /* one period of the rate */
#define CPU_CHECK_MIN_NS (1 * SC_NS_PER_MS)

enum watched {
    W_CONTROL,
    W_PIDFD,
    W_OUT,
    W_ERR,
    W_IN,
    W_STDIN_SOURCE,
    W_NOTICE,
    W_MEMORY,
    W_CANCEL,
    W_EGRESS,
    W_COUNT
};

static bool counts_cpu(const struct sc_run *run)
{
    return run->cell.space.has_group && !(run->plan->degraded & SC_DEGRADE_CPU);
}

static void on_started(struct sc_run *run)
{
    run->started_ns = sc_now_ns();
    run->result->usage.start_ns = run->started_ns - run->begun_ns;
    if (counts_cpu(run))
        sc_group_cpu_ns(&run->cell.space.group, &run->cpu_base_ns);
    run->next_cpu_check_ns = run->started_ns;
}

/* READY comes once, before everything else. Takes the descriptors, also when it fails. */
static int store_ready(struct sc_run *run, const struct sc_frame *frame, const uint8_t *payload,
                       const int *fds, size_t n_fds)
{
    if (run->has_ready) {
        for (size_t i = 0; i < n_fds; i++)
            close(fds[i]);
        return -EPROTO;
    }
    int r = sc_ready_take(frame, payload, fds, n_fds, run->ready);
    if (r < 0)
        return r;
    run->has_ready = true;
    run->notices.listener = run->ready[SC_READY_NOTIFY];
    if (run->ready[SC_READY_PTY] >= 0) {
        sc_set_nonblocking(run->ready[SC_READY_PTY]);
        if (run->callbacks->terminal)
            run->callbacks->terminal(run->callbacks->userdata, run->ready[SC_READY_PTY]);
    }
    return 0;
}

static int handle(struct sc_run *run, const struct sc_frame *frame, const uint8_t *payload)
{
    switch (frame->type) {
    case SC_MSG_STARTED:
        if (run->started_ns || !run->has_ready)
            return -EPROTO;
        on_started(run);
        return 0;
    case SC_MSG_EXIT:
        if (frame->len != sizeof run->exit || !run->started_ns)
            return -EPROTO;
        memcpy(&run->exit, payload, sizeof run->exit);
        sc_run_end(run, SC_END_EXIT);
        return 0;
    case SC_MSG_FAILED:
        if (sc_failed_take(frame, payload, &run->failed) < 0)
            return -EPROTO;
        sc_run_end(run, SC_END_FAILED);
        return 0;
    default:
        return -EPROTO;
    }
}

/* READY is a frame like the others, but the first, and the only one that carries descriptors. */
static int read_control(struct sc_run *run)
{
    struct sc_frame frame;
    const uint8_t *payload;
    int fds[SC_FDS_MAX];
    size_t n_fds = SC_FDS_MAX;
    ssize_t n = sc_frame_fill(run->reader, run->cell.control, fds, &n_fds);
    if (n <= 0 && n != -EAGAIN) {
        sc_run_end(run, SC_END_AGENT);
        return 0;
    }
    int r = 0;
    /* What comes after the end of the run is not looked at: the first reason stays. */
    while (r == 0 && run->end == SC_END_NONE && (r = sc_frame_next(run->reader, &frame, &payload)) > 0) {
        if (frame.type == SC_MSG_READY) {
            r = store_ready(run, &frame, payload, fds, n_fds);
            n_fds = 0;
        } else {
            r = handle(run, &frame, payload);
        }
    }
    for (size_t i = 0; i < n_fds; i++)
        close(fds[i]);
    return r;
}

/* A processor limit that is no tighter than wall clock and rate together, as the derived one, meets both at
 * the same moment for a loop. Then it is the wall clock's, whose verdict does not hang on a tick or on where
 * a period of the rate began. */
static bool is_the_walls(const struct sc_run *run, uint64_t now)
{
    const struct sc_limits *limits = &run->plan->limits;
    return limits->cpu >= limits->wall / 1000 * limits->cpus &&
           now + CPU_TIE_NS >= run->started_ns + limits->wall;
}

/* The earliest moment at which the processor budget can be gone, were all the cell's processors busy until
 * then. */
static void check_cpu(struct sc_run *run, uint64_t now)
{
    uint64_t used = 0, limit = run->plan->limits.cpu;
    if (!counts_cpu(run) || !run->started_ns || now < run->next_cpu_check_ns ||
        sc_group_cpu_ns(&run->cell.space.group, &used) < 0)
        return;
    used -= sc_min_u64(used, run->cpu_base_ns);
    if (used >= limit && !is_the_walls(run, now)) {
        run->result->limits_hit |= SC_HIT_CPU;
        sc_run_end(run, SC_END_CPU);
        return;
    }
    uint64_t milli = sc_min_u64(sc_max_u64(run->plan->limits.cpus, 1000), run->plan->host->cpus * 1000ull);
    uint64_t left = limit - sc_min_u64(limit, used);
    run->next_cpu_check_ns = now + sc_max_u64(CPU_CHECK_MIN_NS, left / milli * 1000);
}

static uint64_t next_wake(const struct sc_run *run)
{
    uint64_t next =
        run->started_ns ? run->started_ns + run->plan->limits.wall : run->begun_ns + START_PATIENCE_NS;
    if (run->started_ns && counts_cpu(run))
        next = sc_min_u64(next, run->next_cpu_check_ns);
    if (run->notices.next_ns > sc_now_ns())
        next = sc_min_u64(next, run->notices.next_ns);
    if (run->callbacks->cancelled)
        next = sc_min_u64(next, sc_now_ns() + CANCEL_POLL_NS);
    return next;
}

static void check_clocks(struct sc_run *run)
{
    uint64_t now = sc_now_ns();
    check_cpu(run, now);
    if (run->started_ns && now >= run->started_ns + run->plan->limits.wall) {
        run->result->limits_hit |= SC_HIT_WALL;
        sc_run_end(run, SC_END_WALL);
    }
    if (!run->started_ns && now >= run->begun_ns + START_PATIENCE_NS)
        sc_run_end(run, SC_END_AGENT);
    if (run->callbacks->cancelled && run->callbacks->cancelled(run->callbacks->userdata))
        sc_run_end(run, SC_END_CANCEL);
}

static void watch_list(const struct sc_run *run, struct pollfd polls[W_COUNT])
{
    bool stdin_from_fd = run->cell.in >= 0 && !run->stdin_data;
    bool have_bytes = run->cell.in >= 0 && (!stdin_from_fd || run->stdin_done < run->stdin_chunk.len);
    const int fds[W_COUNT] = {
        [W_CONTROL] = run->cell.control,
        [W_PIDFD] = run->cell.pidfd,
        [W_OUT] = run->cell.out,
        [W_ERR] = run->cell.err,
        [W_IN] = have_bytes ? run->cell.in : -1,
        [W_STDIN_SOURCE] = stdin_from_fd && !have_bytes ? run->plan->spec->stdin_fd : -1,
        [W_NOTICE] = sc_now_ns() >= run->notices.next_ns ? run->ready[SC_READY_NOTIFY] : -1,
        [W_MEMORY] = run->cell.space.has_group ? run->cell.space.group.oom_event_fd : -1,
        [W_EGRESS] = run->cell.egress.control,
        [W_CANCEL] = run->callbacks->cancel_fd > 0 ? run->callbacks->cancel_fd : -1,
    };
    for (int i = 0; i < W_COUNT; i++)
        polls[i] = (struct pollfd){fds[i], i == W_IN ? POLLOUT : POLLIN, 0};
}

/* The group's own count says whether a kill for memory was this cell's; the event only wakes us. */
static void on_memory_event(struct sc_run *run)
{
    if (sc_group_oom(&run->cell.space.group)) {
        run->result->limits_hit |= SC_HIT_MEMORY;
        sc_run_end(run, SC_END_MEMORY);
    }
}

static void serve_streams(struct sc_run *run, const struct pollfd polls[W_COUNT])
{
    if (polls[W_OUT].revents)
        sc_run_read_stream(run, &run->cell.out, 1);
    if (polls[W_ERR].revents)
        sc_run_read_stream(run, &run->cell.err, 2);
    if (polls[W_IN].revents || polls[W_STDIN_SOURCE].revents)
        sc_run_write_stdin(run);
    if (polls[W_NOTICE].revents & POLLIN)
        sc_notices_take(&run->notices);
    else if (polls[W_NOTICE].revents) { /* nobody is left under the filter */
        sc_close(&run->ready[SC_READY_NOTIFY]);
        run->notices.listener = -1;
    }
}

int sc_run_watch(struct sc_run *run, struct sc_err *err)
{
    sc_set_nonblocking(run->cell.control);
    while (run->end == SC_END_NONE) {
        struct pollfd polls[W_COUNT];
        uint64_t now = sc_now_ns(), next = next_wake(run);
        uint64_t wait = next > now ? next - now : 0;
        const struct timespec timeout = {(time_t)(wait / SC_NS_PER_S), (long)(wait % SC_NS_PER_S)};
        watch_list(run, polls);
        if (ppoll(polls, W_COUNT, &timeout, NULL) < 0 && errno != EINTR)
            return sc_err_sys(err, -errno, "poll");
        if (polls[W_CONTROL].revents) {
            int r = read_control(run);
            if (r < 0)
                return sc_err_sys(err, r, "the agent broke the protocol");
        } else if (polls[W_PIDFD].revents) {
            sc_run_end(run, SC_END_AGENT);
        }
        serve_streams(run, polls);
        if (polls[W_MEMORY].revents)
            on_memory_event(run);
        if (polls[W_EGRESS].revents)
            sc_run_hear_egress(run);
        if (polls[W_CANCEL].revents)
            sc_run_end(run, SC_END_CANCEL);
        check_clocks(run);
    }
    return 0;
}
