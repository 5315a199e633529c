/* One run in a session of its own, and everything gone before the answer: `snapcell run --mode rich`.
 *
 * open (files) → stdin (whole: a runner is told its length) → run → end → collect (artifacts). The
 * cell is ended on every way out.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/num.h"
#include "cell/artifacts.h"
#include "cell/feed.h"
#include "cell/run.h"
#include "snap/check_first.h"
#include "snap/session_wait.h"

#define STDIN_STEP (64u * 1024)
#define POLL_NS (100 * SC_NS_PER_MS)
/* More than any run may take. */
#define IDLE_NS (24 * 3600 * SC_NS_PER_S)
#define LIFE_NS (2 * IDLE_NS)

struct once {
    struct sc_works *works;
    const struct sc_plan *plan;
    const struct sc_callbacks *callbacks; /* never NULL */
    struct sc_result *result;
    struct sc_session *session;
    struct sc_buf code, stdin_data;
    uint32_t task;
    uint64_t begun_ns, stdin_ns, before_ns; /* start; waiting for stdin; all before the run but that */
    bool is_cancelled, is_done, is_ended;
    char end_message[256];
};

static void take_output(void *userdata, int stream, const void *data, size_t len)
{
    struct once *once = userdata;
    if (once->callbacks->output)
        once->callbacks->output(once->callbacks->userdata, stream, data, len);
}

static void take_result(void *userdata, struct sc_result *result)
{
    struct once *once = userdata;
    sc_result_fini(once->result);
    sc_result_move(once->result, result);
    once->result->usage.start_ns += once->before_ns;
    once->is_done = true;
}

static void on_ended(void *userdata, const char *why, const char *message)
{
    struct once *once = userdata;
    (void)why;
    once->is_ended = true;
    snprintf(once->end_message, sizeof once->end_message, "%s", message);
}

/* One turn of the loop; `input_fd` (-1: none) being readable ends the wait, too. Whether we are cancelled is
 * asked about ten times a second, and at every event. 1: there is input; 0; negative errno. */
static int turn(struct once *once, int input_fd, struct sc_err *err)
{
    const struct sc_callbacks *callbacks = once->callbacks;
    bool watch_cancel = callbacks->cancel_fd > 0 && !once->is_cancelled;
    struct pollfd others[2] = {{watch_cancel ? callbacks->cancel_fd : -1, POLLIN, 0}, {input_fd, POLLIN, 0}};
    uint64_t until = callbacks->cancelled || input_fd >= 0 ? sc_now_ns() + POLL_NS : UINT64_MAX;
    int r = sc_session_wait(once->session, others, 2, until, err);
    if (r < 0)
        return r;
    if (others[0].revents || (callbacks->cancelled && callbacks->cancelled(callbacks->userdata)))
        once->is_cancelled = true;
    return others[1].revents != 0;
}

/* ---- what goes in ---- */

static int read_code(struct once *once, struct sc_err *err)
{
    const struct sc_spec *spec = once->plan->spec;
    if (spec->code)
        return 0;
    int r = sc_buf_read_file(&once->code, AT_FDCWD, spec->program);
    if (r == -EMSGSIZE)
        return sc_err_usage(err, "program", "program: %s: is larger than %llu bytes", spec->program,
                            SC_SPEC_CODE_MAX);
    return r < 0
               ? sc_err_usage(err, "program", "program: %s: cannot be read: %s", spec->program, strerror(-r))
               : 0;
}

/* More of the caller's stdin. 1: that was its end. */
static int read_some(struct once *once, struct sc_err *err)
{
    uint8_t *room = sc_buf_reserve(&once->stdin_data, STDIN_STEP);
    ssize_t n = room ? read(once->plan->spec->stdin_fd, room, STDIN_STEP) : -1;
    if (!room)
        return sc_err_sys(err, -ENOMEM, "stdin");
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n < 0)
        return sc_err_sys(err, -errno, "reading stdin");
    sc_buf_took(&once->stdin_data, (size_t)n);
    if (once->stdin_data.len > SC_SPEC_STDIN_MAX)
        return sc_err_usage(err, "stdin", "stdin: more than %llu bytes: not allowed in mode %s",
                            SC_SPEC_STDIN_MAX, sc_mode_name(once->plan->spec->mode));
    return n == 0;
}

/* The runner needs all of it first. A stdin that does not end is waited for as long as the run may take. */
static int read_stdin(struct once *once, bool *ret_late, struct sc_err *err)
{
    int fd = once->plan->spec->stdin_fd;
    uint64_t until = sc_now_ns() + once->plan->limits.wall;
    *ret_late = false;
    while (fd >= 0 && !once->is_cancelled && !once->is_ended) {
        int r = turn(once, fd, err);
        if (r > 0)
            r = read_some(once, err);
        if (r != 0)
            return r < 0 ? r : 0;
        if (sc_now_ns() >= until) {
            *ret_late = true;
            return 0;
        }
    }
    return 0;
}

static int start(struct once *once, struct sc_err *err)
{
    static const struct sc_task_events events = {.output = take_output, .done = take_result};
    const struct sc_spec *spec = once->plan->spec;
    once->before_ns = sc_now_ns() - once->begun_ns - once->stdin_ns;
    struct sc_session_run run = {
        .lang = once->plan->lang,
        .mode = spec->mode,
        .code = spec->code ? spec->code : (const char *)once->code.data,
        .code_len = spec->code ? spec->code_len : once->code.len,
        .stdin_data = spec->stdin_data ? spec->stdin_data : (const char *)once->stdin_data.data,
        .stdin_len = spec->stdin_data ? spec->stdin_len : once->stdin_data.len,
    };
    sc_session_default_limits(once->session, &run.limits);
    return sc_session_run(once->session, &run, &events, once, &once->task, err);
}

/* ---- the run ---- */

static void answer(struct once *once, enum sc_status status, const char *message)
{
    once->result->status = status;
    snprintf(once->result->message, sizeof once->result->message, "%s", message);
    once->is_done = true;
}

/* Until there is a result; nothing may have been started for it. */
static int run(struct once *once, struct sc_err *err)
{
    bool late = false, told = false;
    uint64_t began_ns = sc_now_ns();
    int r = read_stdin(once, &late, err);
    once->stdin_ns = sc_now_ns() - began_ns;
    if (r < 0)
        return r;
    if (late)
        answer(once, SC_STATUS_TIMEOUT,
               "stdin did not end within the wall-clock limit; this mode needs all "
               "of it before the run");
    else if (once->is_cancelled)
        answer(once, SC_STATUS_CANCELLED, "the run was cancelled");
    else if (!once->is_ended)
        r = start(once, err);
    while (r == 0 && !once->is_done && !once->is_ended) {
        r = turn(once, -1, err);
        if (once->is_cancelled && !told)
            sc_session_cancel(once->session, once->task);
        told = once->is_cancelled;
    }
    if (r == 0 && !once->is_done) /* the cell ended before there was a run to answer */
        answer(once, SC_STATUS_SANDBOX_ERROR, once->end_message);
    return r;
}

/* Until every process of the cell is dead: then what it used and left is final. */
static int finish(struct once *once, struct sc_err *err)
{
    int r = 0;
    sc_session_end(once->session);
    while (r == 0 && !once->is_ended)
        r = sc_session_wait(once->session, NULL, 0, UINT64_MAX, err);
    return r;
}

/* What only the dead cell tells for good: here the whole cell was the run's. */
static void count_usage(struct once *once)
{
    struct sc_live_view cell;
    struct sc_usage *usage = &once->result->usage;
    sc_live_look(sc_session_live(once->session), &cell);
    usage->memory_peak_bytes = cell.usage.memory_peak_bytes;
    usage->tasks_peak = cell.usage.tasks_peak;
    usage->disk_bytes = cell.usage.disk_bytes;
    usage->disk_inodes = cell.usage.disk_inodes;
    once->result->limits_hit |= cell.hits;
    once->result->context_lost = false; /* nobody could come back to it */
}

static void tell_denials(const struct once *once)
{
    for (size_t i = 0; once->callbacks->denial && i < once->result->n_denials; i++)
        once->callbacks->denial(once->callbacks->userdata, &once->result->denials[i]);
}

/* Nothing ran, because a file did not get in. */
static int refuse_files(struct once *once, struct sc_err *err)
{
    const struct sc_msg_failed *failed = sc_live_failed(sc_session_live(once->session));
    return failed && !strcmp(failed->stage, "file") ? sc_feed_refused(failed, err) : 0;
}

static int run_in_session(struct once *once, struct sc_err *err)
{
    struct sc_live *live = sc_session_live(once->session);
    int r = run(once, err);
    int ended = finish(once, r < 0 ? NULL : err);
    if (r == 0)
        r = ended;
    if (r == 0)
        r = refuse_files(once, err);
    if (r < 0)
        return r;
    count_usage(once);
    tell_denials(once);
    /* Nothing ran: what lies there is what was put in. */
    if (once->result->usage.wall_ns == 0 || sc_live_work(live) < 0)
        return 0;
    return sc_artifacts_collect(once->plan, once->callbacks, sc_live_work(live), once->result, err);
}

static int open_and_run(struct once *once, struct sc_err *err)
{
    const struct sc_session_events events = {.userdata = once, .ended = on_ended};
    const struct sc_session_options options = {
        .idle_ns = IDLE_NS, .total_ns = LIFE_NS, .end_on_memory = true};
    int r = read_code(once, err);
    if (r == 0)
        r = sc_session_open(once->works, &options, &events, &once->session, err);
    if (r == 0)
        r = run_in_session(once, err);
    sc_session_close(once->session);
    return r;
}

static int run_mode(struct sc_works *works, const struct sc_callbacks *callbacks, uint64_t queue_ns,
                    struct sc_result *result, struct sc_err *err)
{
    static const struct sc_callbacks none = {.cancel_fd = -1};
    if (works->plan->spec->mode == SC_MODE_PLAIN)
        return sc_cell_run(works, callbacks, queue_ns, result, err);
    struct once once = {
        .works = works,
        .plan = works->plan,
        .callbacks = callbacks ? callbacks : &none,
        .result = result,
        .begun_ns = sc_now_ns(),
    };
    sc_buf_init(&once.code, SC_SPEC_CODE_MAX);
    sc_buf_init(&once.stdin_data, SC_SPEC_STDIN_MAX + STDIN_STEP);
    result->mode = works->plan->spec->mode;
    int r = open_and_run(&once, err);
    result->usage.queue_ns = queue_ns;
    sc_buf_fini(&once.code);
    sc_buf_fini(&once.stdin_data);
    return r;
}

int sc_run_once(struct sc_works *works, const struct sc_callbacks *callbacks, uint64_t queue_ns,
                struct sc_result *result, struct sc_err *err)
{
    int r = sc_check_first(works->plan, result, err);
    if (r != 0)
        return r < 0 ? r : 0;
    /* The run's own result takes the place of this one. */
    json_t *findings = result->findings;
    result->findings = NULL;
    r = run_mode(works, callbacks, queue_ns, result, err);
    json_decref(result->findings);
    result->findings = findings;
    return r;
}
