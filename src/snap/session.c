/* A session's life: its cell, its clocks, its end. */
#include "snap/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/num.h"
#include "snap/session_parts.h"
#include "snap/session_wait.h"

#define OPTION_MIN_NS (1 * SC_NS_PER_S)
#define IDLE_MAX_NS (24 * 3600 * SC_NS_PER_S)
#define TOTAL_MAX_NS (7 * 24 * 3600 * SC_NS_PER_S)

static int check_option(const char *name, uint64_t ns, uint64_t max_ns, struct sc_err *err)
{
    char given[32], max[32];
    if (ns >= OPTION_MIN_NS && ns <= max_ns)
        return 0;
    sc_format_duration(ns, given, sizeof given);
    sc_format_duration(max_ns, max, sizeof max);
    return sc_err_usage(err, name, "%s: %s: allowed 1s to %s", name, given, max);
}

static int resolve_options(const struct sc_session_options *given, struct sc_session_options *ret_options,
                           struct sc_err *err)
{
    struct sc_session_options options = given ? *given : (struct sc_session_options){0};
    if (!options.idle_ns)
        options.idle_ns = SC_SESSION_IDLE_NS;
    if (!options.total_ns)
        options.total_ns = SC_SESSION_TOTAL_NS;
    int r = check_option("idle", options.idle_ns, IDLE_MAX_NS, err);
    if (r == 0)
        r = check_option("total", options.total_ns, TOTAL_MAX_NS, err);
    if (r == 0)
        *ret_options = options;
    return r;
}

/* ---- what the cell tells ---- */

/* A command's first refused call may be heard of before its start is. */
static bool may_have_run(const struct sc_task *task)
{
    return task->state == SC_TASK_RUNNING ||
           (task->state == SC_TASK_WAITING && !task->context && task->begun_ns);
}

static void on_denial(void *userdata, const struct sc_denial *denial)
{
    struct sc_session *session = userdata;
    for (struct sc_task *task = session->tasks; task; task = task->next)
        if (may_have_run(task))
            sc_result_deny_many(&task->result, denial->layer, denial->action, denial->resource, denial->rule,
                                denial->hint, denial->count);
}

static void on_out_of_memory(void *userdata)
{
    struct sc_session *session = userdata;
    if (session->options.end_on_memory)
        sc_session_fail(session, "out_of_memory", SC_STATUS_OUT_OF_MEMORY, "the cell ran out of memory");
}

static void finish_all(struct sc_session *session)
{
    for (struct sc_task *task; (task = session->tasks);) {
        if (session->end_status != SC_STATUS_CANCELLED)
            sc_task_unserve(task, false);
        sc_judge_count(task);
        if (session->end_status == SC_STATUS_OUT_OF_MEMORY)
            task->result.limits_hit |= SC_HIT_MEMORY;
        task->result.context_lost = task->context && task->started_ns;
        sc_judge_say(task, session->end_status, "%s", session->end_message);
        sc_task_finish(task);
    }
    session->is_over = true;
}

static void on_ended(void *userdata, enum sc_status why, const char *message)
{
    struct sc_session *session = userdata;
    if (!session->ending) {
        session->ending = why == SC_STATUS_OUT_OF_MEMORY ? "out_of_memory" : "failed";
        session->end_status = why;
        snprintf(session->end_message, sizeof session->end_message, "%s", message);
    }
    sc_birth_over(session, "the cell has ended");
    if (!session->is_over)
        finish_all(session);
}

/* ---- life ---- */

static void free_tasks(struct sc_task *task)
{
    for (struct sc_task *next; task; task = next) {
        next = task->next;
        sc_task_free(task);
    }
}

void sc_session_close(struct sc_session *session)
{
    if (!session)
        return;
    sc_session_close_events(session);
    sc_live_close(session->live);
    if (session->above)
        session->above->n_below--;
    while (session->processes)
        sc_process_free(session->processes);
    free_tasks(session->tasks);
    free_tasks(session->finished);
    for (struct sc_context *context = session->contexts, *next; context; context = next) {
        next = context->next;
        sc_buf_fini(&context->piece);
        free(context);
    }
    free(session->trouble);
    free(session);
}

static int open_cell(struct sc_session *session, struct sc_err *err)
{
    const struct sc_live_events cell = {
        .userdata = session,
        .denial = on_denial,
        .out_of_memory = on_out_of_memory,
        .ended = on_ended,
    };
    if (!session->above)
        return sc_live_open(session->works, &cell, &session->live, err);
    int r = sc_live_open_child(session->works, session->above->live, session->is_forkable, &cell,
                               &session->live, err);
    if (r == 0)
        session->above->n_below++;
    return r;
}

enum kind { FIRST, FOR_ONE_RUN, COPY, FORKABLE_COPY };

static int open_session(struct sc_works *works, struct sc_session *above, enum kind kind,
                        const struct sc_session_options *options, const struct sc_session_events *events,
                        struct sc_session **ret_session, struct sc_err *err)
{
    struct sc_session_options resolved;
    int r = resolve_options(options, &resolved, err);
    if (r < 0)
        return r;
    if (!works->plan->stay)
        return sc_err_usage(err, "session",
                            "session: the plan is of a single program: allowed is one made "
                            "for a session");
    struct sc_session *session = calloc(1, sizeof *session);
    if (!session)
        return sc_err_sys(err, -ENOMEM, "session");
    uint64_t now = sc_now_ns();
    *session = (struct sc_session){
        .works = works,
        .plan = works->plan,
        .above = above,
        .is_forkable = kind == FORKABLE_COPY || (kind == FIRST && works->plan->forkable),
        .is_copy = kind == COPY || kind == FORKABLE_COPY,
        .options = resolved,
        .events = events ? *events : (struct sc_session_events){0},
        .epoll = -1,
        .opened_ns = now,
        .touched_ns = now,
    };
    r = open_cell(session, err);
    if (r < 0) {
        free(session);
        return r;
    }
    r = session->is_copy ? 0 : sc_live_feed(session->live, err); /* a copy has its files from the other */
    if (r == 0)
        r = sc_session_open_events(session, err);
    if (r < 0) {
        sc_session_close(session);
        return r;
    }
    *ret_session = session;
    return 0;
}

int sc_session_open(struct sc_works *works, const struct sc_session_options *options,
                    const struct sc_session_events *events, struct sc_session **ret_session,
                    struct sc_err *err)
{
    return open_session(works, NULL, FIRST, options, events, ret_session, err);
}

int sc_session_open_networked(struct sc_works *works, const struct sc_net *net,
                              const struct sc_session_options *options,
                              const struct sc_session_events *events, struct sc_session **ret_session,
                              struct sc_err *err)
{
    const struct sc_egress_kit kept = works->egress;
    struct sc_egress_kit own = SC_EGRESS_KIT_NONE;
    int r = sc_egress_kit_set(&own, net, err);
    if (r < 0)
        return r;
    /* For this one cell: its rules and credentials are nobody else's. */
    works->egress = own;
    works->egress.image = kept.image;
    r = sc_session_open(works, options, events, ret_session, err);
    works->egress = kept;
    sc_egress_kit_close(&own);
    return r;
}

int sc_session_open_below(struct sc_works *works, struct sc_session *above,
                          const struct sc_session_options *options, const struct sc_session_events *events,
                          struct sc_session **ret_session, struct sc_err *err)
{
    return open_session(works, above, FOR_ONE_RUN, options, events, ret_session, err);
}

/* Who forks a session at once, when it has just been opened, waits the millisecond that its cell still needs.
 */
static int wait_until_sealed(struct sc_session *session, struct sc_err *err)
{
    int r = 0;
    while (r == 0 && sc_live_is_alive(session->live) && !sc_live_is_sealed(session->live))
        r = sc_session_wait(session, NULL, 0, UINT64_MAX, err);
    return r;
}

int sc_session_open_copy(struct sc_session *above, bool forkable, const struct sc_session_options *options,
                         const struct sc_session_events *events, struct sc_session **ret_session,
                         struct sc_err *err)
{
    int r = wait_until_sealed(above, err);
    if (r < 0)
        return r;
    return open_session(above->works, above, forkable ? FORKABLE_COPY : COPY, options, events, ret_session,
                        err);
}

int sc_session_is_sealed(const struct sc_session *session)
{
    if (session->ending || session->is_over || !sc_live_is_alive(session->live))
        return -ESRCH;
    return sc_live_is_sealed(session->live);
}

bool sc_session_is_blank(const struct sc_session *session)
{
    return sc_session_is_sealed(session) == 1 && !session->contexts && !session->processes &&
           session->n_tasks == 0 && sc_live_is_blank(session->live);
}

int sc_session_adopt(struct sc_session *session, const struct sc_session_options *options,
                     const struct sc_session_events *events, struct sc_err *err)
{
    struct sc_session_options resolved;
    int r = resolve_options(options, &resolved, err);
    if (r < 0)
        return r;
    session->options = resolved;
    session->events = events ? *events : (struct sc_session_events){0};
    session->opened_ns = session->touched_ns = sc_now_ns();
    return 0;
}

void sc_session_times(const struct sc_session *session, uint64_t *ret_idle_ns, uint64_t *ret_total_ns)
{
    *ret_idle_ns = session->options.idle_ns;
    *ret_total_ns = session->options.total_ns;
}

bool sc_session_is_forkable(const struct sc_session *session)
{
    return session->is_forkable;
}

int sc_session_fd(const struct sc_session *session)
{
    return session->epoll;
}

struct sc_live *sc_session_live(struct sc_session *session)
{
    return session->live;
}

void sc_session_touch(struct sc_session *session)
{
    session->touched_ns = sc_now_ns();
}

void sc_session_default_limits(const struct sc_session *session, struct sc_run_limits *ret_limits)
{
    const struct sc_limits *limits = &session->plan->limits;
    *ret_limits = (struct sc_run_limits){
        .wall = limits->wall, .cpu = limits->cpu, .stdout = limits->stdout, .stderr = limits->stderr};
}

void sc_session_limits(const struct sc_session *session, uint64_t wall_ns, uint64_t cpu_ns,
                       struct sc_run_limits *ret_limits)
{
    sc_session_default_limits(session, ret_limits);
    if (wall_ns) {
        ret_limits->wall = wall_ns;
        ret_limits->cpu = wall_ns / 1000 * session->plan->limits.cpus;
    }
    if (cpu_ns)
        ret_limits->cpu = cpu_ns;
}

/* The kernel would end the cells below with this one. */
static void retire(struct sc_session *session)
{
    finish_all(session);
    for (struct sc_process *process = session->processes; process; process = process->next) {
        sc_process_kill(process);
        sc_process_leave(process);
    }
    session->is_retired = true;
}

void sc_session_fail(struct sc_session *session, const char *why, enum sc_status status, const char *message)
{
    if (session->ending)
        return;
    session->ending = why;
    session->end_status = status;
    snprintf(session->end_message, sizeof session->end_message, "%s", message);
    if (session->n_below > 0 && status == SC_STATUS_CANCELLED)
        retire(session);
    else
        sc_live_kill(session->live);
}

void sc_session_end(struct sc_session *session)
{
    sc_session_fail(session, "ended", SC_STATUS_CANCELLED, "the session was ended");
}

void sc_session_end_paused(struct sc_session *session)
{
    sc_session_fail(session, "paused", SC_STATUS_CANCELLED, "the session was paused");
}

/* ---- clocks ---- */

static uint64_t idle_end_ns(const struct sc_session *session)
{
    return session->n_tasks > 0 ? UINT64_MAX : session->touched_ns + session->options.idle_ns;
}

uint64_t sc_session_next_ns(const struct sc_session *session)
{
    if (session->is_over)
        return !session->is_told || session->finished ? 0
               : session->is_retired                  ? sc_live_next_ns(session->live)
                                                      : UINT64_MAX;
    uint64_t next = sc_min_u64(sc_live_next_ns(session->live), sc_tasks_next_ns(session));
    if (session->ending)
        return next;
    if (session->checker)
        next = sc_min_u64(next, sc_checker_next_ns(session->checker));
    next = sc_min_u64(next, sc_processes_next_ns(session));
    next = sc_min_u64(next, idle_end_ns(session));
    return sc_min_u64(next, session->opened_ns + session->options.total_ns);
}

uint64_t sc_session_age_ns(const struct sc_session *session)
{
    return sc_now_ns() - session->opened_ns;
}

int sc_session_set_left(struct sc_session *session, uint64_t left_ns, struct sc_err *err)
{
    uint64_t total_ns = sc_session_age_ns(session) + left_ns;
    int r = check_option("total", total_ns, TOTAL_MAX_NS, err);
    if (r == 0)
        session->options.total_ns = total_ns;
    return r;
}

static void check_clocks(struct sc_session *session)
{
    uint64_t now = sc_now_ns();
    sc_tasks_check(session, now);
    sc_processes_check(session, now);
    if (now >= session->opened_ns + session->options.total_ns)
        sc_session_fail(session, "total", SC_STATUS_CANCELLED, "the session reached the end of its time");
    else if (now >= idle_end_ns(session))
        sc_session_fail(session, "idle", SC_STATUS_CANCELLED, "the session was idle for too long");
}

static void tell_end(struct sc_session *session)
{
    if (session->is_told)
        return;
    session->is_told = true;
    if (session->events.ended)
        session->events.ended(session->events.userdata, session->ending, session->end_message);
}

int sc_session_step(struct sc_session *session, struct sc_err *err)
{
    bool is_alive = !session->is_over || (session->is_retired && sc_live_is_alive(session->live));
    int r = !is_alive ? 0 : sc_live_step(session->live, err);
    if (r == 0 && session->checker && !session->is_over)
        r = sc_checker_step(session->checker, err);
    if (r < 0)
        return r;
    /* What the cell has told is taken before any clock is looked at: who ended in time is never late. */
    if (!session->ending)
        check_clocks(session);
    sc_tasks_deliver(session);
    if (session->is_over)
        tell_end(session);
    return 0;
}

int sc_session_cancel(struct sc_session *session, uint32_t id)
{
    for (struct sc_task *task = session->tasks; task; task = task->next) {
        if (task->id != id)
            continue;
        session->touched_ns = sc_now_ns();
        sc_task_stop(task, SC_STOP_CANCEL);
        return 0;
    }
    return -ESRCH;
}

int sc_session_set_network(struct sc_session *session, const struct sc_net *net, struct sc_err *err)
{
    return sc_live_set_network(session->live, net, err);
}

int sc_session_take_network(struct sc_session *session, const struct sc_net *net, struct sc_err *err)
{
    return sc_live_take_network(session->live, net, err);
}
