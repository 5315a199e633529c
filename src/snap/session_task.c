/* One request of a session, from asking to answer: its clocks, its output, its end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "snap/session_parts.h"

/* As the supervisor of a single run looks at processor time: src/cell/run_watch.c. */
#define CPU_TIE_NS (100 * SC_NS_PER_MS)
#define CPU_CHECK_MIN_NS (1 * SC_NS_PER_MS)

static int check_limits(const struct sc_run_limits *limits, struct sc_err *err)
{
    const struct {
        const char *option;
        uint64_t value;
    } all[] = {
        {"wall", limits->wall}, {"cpu", limits->cpu}, {"stdout", limits->stdout}, {"stderr", limits->stderr}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char given[32], min[32], max[32];
        const struct sc_limit_row *row = sc_limit_row_by_option(all[i].option, strlen(all[i].option));
        if (all[i].value >= row->min && all[i].value <= row->max)
            continue;
        sc_limit_format(row, all[i].value, given, sizeof given);
        sc_limit_format(row, row->min, min, sizeof min);
        sc_limit_format(row, row->max, max, sizeof max);
        return sc_err_usage(err, all[i].option, "%s: %s: allowed %s to %s", all[i].option, given, min, max);
    }
    return 0;
}

int sc_task_allowed(const struct sc_session *session, const struct sc_run_limits *limits, struct sc_err *err)
{
    if (session->ending)
        return sc_err_usage(err, "session", "session: it is over (%s: %s): allowed is a new one",
                            session->ending, session->end_message);
    if (session->n_tasks >= SC_SESSION_TASKS_MAX)
        return sc_err_usage(err, "session", "session: %u requests wait already: at most %d are allowed",
                            session->n_tasks, SC_SESSION_TASKS_MAX);
    return check_limits(limits, err);
}

struct sc_task *sc_task_new(struct sc_session *session, const struct sc_run_limits *limits,
                            const struct sc_task_events *events, void *userdata)
{
    struct sc_task *task = calloc(1, sizeof *task);
    if (!task)
        return NULL;
    *task = (struct sc_task){
        .session = session,
        .state = SC_TASK_WAITING,
        .limits = *limits,
        .events = *events,
        .userdata = userdata,
        .asked_ns = sc_now_ns(),
    };
    do
        task->id = ++session->last_id;
    while (task->id == 0);
    sc_result_init(&task->result, limits->stdout, limits->stderr);
    sc_buf_init(&task->input, SC_SPEC_CODE_MAX + SC_SPEC_STDIN_MAX + SC_SPEC_ARGS_BYTES_MAX + 128);
    return task;
}

void sc_task_add(struct sc_task *task)
{
    struct sc_session *session = task->session;
    struct sc_task **end = &session->tasks;
    while (*end)
        end = &(*end)->next;
    *end = task;
    session->n_tasks++;
    session->touched_ns = task->asked_ns;
}

void sc_task_free(struct sc_task *task)
{
    if (!task)
        return;
    sc_result_fini(&task->result);
    sc_buf_fini(&task->input);
    free(task);
}

/* What the cell used since the last look is shared equally by what ran meanwhile: which process used it is
 * not told. Without a run it is nobody's. */
void sc_tasks_share_cpu(struct sc_session *session)
{
    uint64_t now = sc_live_cpu_ns(session->live), n = 0;
    uint64_t used = now - sc_min_u64(now, session->cpu_seen_ns);
    session->cpu_seen_ns = sc_max_u64(now, session->cpu_seen_ns);
    for (struct sc_task *task = session->tasks; task; task = task->next)
        n += task->state == SC_TASK_RUNNING;
    for (struct sc_task *task = session->tasks; task; task = task->next)
        if (task->state == SC_TASK_RUNNING)
            task->cpu_ns += used / n;
}

void sc_task_start(struct sc_task *task)
{
    struct sc_session *session = task->session;
    sc_tasks_share_cpu(session);
    task->base = session->seen;
    task->started_ns = sc_now_ns();
    task->result.usage.queue_ns = task->begun_ns - task->asked_ns;
    task->result.usage.start_ns = task->started_ns - task->begun_ns;
    task->state = SC_TASK_RUNNING;
    session->next_cpu_check_ns = task->started_ns;
}

void sc_task_unserve(struct sc_task *task, bool is_unread)
{
    const struct sc_result *result = &task->result;
    bool was_sent = task->state == SC_TASK_RUNNING && task->input.len == 0;
    bool is_silent = result->out.total == 0 && result->err.total == 0 && !result->inside.present;
    if (task->context && task->state != SC_TASK_FINISHED && (is_unread || !was_sent) && is_silent)
        task->is_unserved = true;
}

static void unlink_task(struct sc_task *task)
{
    struct sc_task **at = &task->session->tasks;
    while (*at != task)
        at = &(*at)->next;
    *at = task->next;
    task->next = NULL;
}

void sc_task_finish(struct sc_task *task)
{
    struct sc_session *session = task->session;
    struct sc_task **end = &session->finished;
    unlink_task(task);
    while (*end)
        end = &(*end)->next;
    *end = task;
    if (task->process)
        task->process->task = NULL;
    task->process = NULL;
    task->state = SC_TASK_FINISHED;
    session->touched_ns = sc_now_ns();
}

void sc_tasks_deliver(struct sc_session *session)
{
    /* A callback may ask for more, and what it asks for may be finished at once. */
    for (struct sc_task *task; (task = session->finished);) {
        session->finished = task->next;
        session->n_tasks--;
        if (task->refusal.kind == SC_ERR_USAGE && task->events.refused)
            task->events.refused(task->userdata, &task->refusal);
        else if (task->is_unserved && task->stop == SC_STOP_NONE && task->events.unserved)
            task->events.unserved(task->userdata);
        else if (task->events.done)
            task->events.done(task->userdata, &task->result);
        sc_task_free(task);
    }
}

/* Keeps what fits, counts the rest, and ends the task where that was asked for. */
void sc_task_take(struct sc_task *task, int stream, const void *data, size_t len)
{
    struct sc_result *result = &task->result;
    struct sc_stream *kept = stream == 1 ? &result->out : &result->err;
    uint64_t max = stream == 1 ? task->limits.stdout : task->limits.stderr;
    size_t room = (size_t)sc_min_u64(len, max - sc_min_u64(max, kept->total));
    kept->total += len;
    if (room > 0) {
        if (sc_buf_add(&kept->kept, data, room) < 0)
            room = 0; /* out of memory: the cut is flagged like any other */
        else if (task->events.output)
            task->events.output(task->userdata, stream, data, room);
    }
    if (room == len)
        return;
    kept->truncated = true;
    result->limits_hit |= stream == 1 ? SC_HIT_STDOUT : SC_HIT_STDERR;
    if (task->session->plan->overflow == SC_OVERFLOW_END && task->state == SC_TASK_RUNNING)
        sc_task_stop(task, SC_STOP_OUTPUT);
}

void sc_task_push(struct sc_task *task)
{
    struct sc_live *live = task->session->live;
    uint16_t op = task->process->op;
    enum sc_stream_number stream = task->context ? SC_STREAM_RUNNER : SC_STREAM_IN;
    while (task->input_done < task->input.len) {
        ssize_t n = sc_live_write(live, op, stream, task->input.data + task->input_done,
                                  task->input.len - task->input_done);
        if (n <= 0)
            return; /* `room` comes, or the process does not read it: that is its right */
        task->input_done += (size_t)n;
    }
    if (!task->context && task->input.len > 0)
        sc_live_close_input(live, op);
    sc_buf_fini(&task->input);
    task->input_done = 0;
}

/* A restricted run is never asked: what it runs may catch the interrupt and its word is not needed. */
static bool may_be_asked(const struct sc_task *task, enum sc_stop why)
{
    bool is_late = why == SC_STOP_WALL || why == SC_STOP_CPU;
    return task->context && !(is_late && task->context->mode == SC_MODE_RESTRICTED);
}

void sc_task_stop(struct sc_task *task, enum sc_stop why)
{
    if (task->stop != SC_STOP_NONE || task->state == SC_TASK_FINISHED)
        return;
    task->stop = why;
    if (why == SC_STOP_WALL || why == SC_STOP_CPU)
        task->result.limits_hit |= why == SC_STOP_WALL ? SC_HIT_WALL : SC_HIT_CPU;
    if (task->context && task->state != SC_TASK_RUNNING) {
        sc_judge_dead(task, NULL);
        sc_task_finish(task);
    } else if (!task->process) {
        return; /* the cell is dead: its own end answers */
    } else if (may_be_asked(task, why)) {
        sc_process_interrupt(task->process);
        task->kill_ns = sc_now_ns() + SC_INTERRUPT_PATIENCE_NS;
    } else {
        sc_process_kill(task->process);
    }
}

/* A processor limit that is no tighter than wall clock and rate together meets both at the same moment for a
 * loop. Then it is the wall clock's. */
static bool is_the_walls(const struct sc_task *task, uint64_t now)
{
    uint64_t cpus = task->session->plan->limits.cpus;
    return task->limits.cpu >= task->limits.wall / 1000 * cpus &&
           now + CPU_TIE_NS >= task->started_ns + task->limits.wall;
}

static void check_cpu(struct sc_session *session, uint64_t now)
{
    const struct sc_plan *plan = session->plan;
    uint64_t milli = sc_min_u64(sc_max_u64(plan->limits.cpus, 1000), plan->host->cpus * 1000ull);
    uint64_t next = UINT64_MAX;
    if (now < session->next_cpu_check_ns)
        return;
    sc_tasks_share_cpu(session);
    for (struct sc_task *task = session->tasks, *after; task; task = after) {
        after = task->next;
        if (task->state != SC_TASK_RUNNING || task->stop != SC_STOP_NONE)
            continue;
        uint64_t left = task->limits.cpu - sc_min_u64(task->limits.cpu, task->cpu_ns);
        if (left == 0 && !is_the_walls(task, now))
            sc_task_stop(task, SC_STOP_CPU);
        else /* the earliest moment at which it can be gone, were all processors busy for it until then */
            next = sc_min_u64(next, now + sc_max_u64(CPU_CHECK_MIN_NS, left / milli * 1000));
    }
    session->next_cpu_check_ns = next;
}

void sc_tasks_check(struct sc_session *session, uint64_t now)
{
    check_cpu(session, now);
    for (struct sc_task *task = session->tasks, *after; task; task = after) {
        after = task->next;
        if (task->state != SC_TASK_RUNNING)
            continue;
        if (task->stop == SC_STOP_NONE && now >= task->started_ns + task->limits.wall)
            sc_task_stop(task, SC_STOP_WALL);
        else if (task->kill_ns && now >= task->kill_ns && task->process)
            sc_process_kill(task->process);
    }
}

uint64_t sc_tasks_next_ns(const struct sc_session *session)
{
    uint64_t next = session->finished ? 0 : UINT64_MAX;
    for (const struct sc_task *task = session->tasks; task; task = task->next) {
        if (task->state != SC_TASK_RUNNING)
            continue;
        if (task->stop == SC_STOP_NONE) {
            next = sc_min_u64(next, task->started_ns + task->limits.wall);
            next = sc_min_u64(next, session->next_cpu_check_ns);
        } else if (task->kill_ns && task->process && !task->process->killed) {
            next = sc_min_u64(next, task->kill_ns);
        }
    }
    return next;
}
