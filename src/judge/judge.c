/* The work as a whole: build, lanes, verdict. */
#include "judge/judge.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/parts.h"

bool sc_judge_cancelled(struct sc_judge_work *work)
{
    const struct sc_judge_callbacks *callbacks = work->callbacks;
    struct pollfd cancel = {callbacks->cancel_fd > 0 ? callbacks->cancel_fd : -1, POLLIN, 0};
    bool wanted = poll(&cancel, 1, 0) > 0;
    if (!wanted && callbacks->cancelled) {
        pthread_mutex_lock(&work->lock);
        wanted = callbacks->cancelled(callbacks->userdata) != 0;
        pthread_mutex_unlock(&work->lock);
    }
    if (wanted)
        atomic_store(&work->stopped, true);
    return wanted;
}

static int ask(void *userdata)
{
    return sc_judge_cancelled(userdata);
}

struct sc_callbacks sc_judge_cell_callbacks(struct sc_judge_work *work, const struct sc_run_input *input)
{
    return (struct sc_callbacks){.userdata = work,
                                 .cancelled = work->callbacks->cancelled ? ask : NULL,
                                 .cancel_fd = work->callbacks->cancel_fd,
                                 .input = input};
}

/* ---- lanes ---- */

/* The processor of lane `number`, as a list of one. */
static int choose_processor(unsigned number, char *ret_pin, size_t size)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) < 0)
        return -errno;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && number-- == 0) {
            snprintf(ret_pin, size, "%d", cpu);
            return 0;
        }
    return -ERANGE;
}

static int prepare_lanes(struct sc_judge_work *work, struct sc_lane *lanes, unsigned n, struct sc_err *err)
{
    for (unsigned i = 0; i < n; i++) {
        sc_lane_init(&lanes[i], work);
        if (!work->task->pin_each)
            continue;
        int r = choose_processor(i, lanes[i].pin, sizeof lanes[i].pin);
        if (r == -ERANGE)
            return sc_err_usage(
                err, "jobs", "jobs: %u: with pin at most %u are allowed: each needs a processor of its own",
                n, i);
        if (r < 0)
            return sc_err_sys(err, r, "the processors of this process");
    }
    return 0;
}

static void *work_in_thread(void *lane)
{
    sc_lane_work(lane);
    /* Cells that were made ahead here end here. */
    sc_lane_fini(lane);
    return NULL;
}

/* The caller's signals are for the caller's own threads. */
static int start_thread(pthread_t *ret_thread, struct sc_lane *lane)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int r = pthread_create(ret_thread, NULL, work_in_thread, lane);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -r;
}

/* The first lane is the caller's own thread. A thread that cannot be had is no failure: the others do its
 * part. */
static void run_lanes(struct sc_lane *lanes, unsigned n)
{
    pthread_t threads[SC_JUDGE_JOBS_MAX];
    unsigned started = 0;
    while (started + 1 < n && start_thread(&threads[started], &lanes[started + 1]) == 0)
        started++;
    work_in_thread(&lanes[0]);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

static int run_tests(struct sc_judge_work *work, struct sc_err *err)
{
    const struct sc_judge_task *task = work->task;
    struct sc_lane *lanes = calloc(task->jobs, sizeof *lanes);
    if (!lanes)
        return sc_err_sys(err, -ENOMEM, "the judge's lanes");
    int r = prepare_lanes(work, lanes, task->jobs, err);
    if (r == 0)
        r = sc_lane_open(&lanes[0], err);
    if (r == 0)
        run_lanes(lanes, (unsigned)(task->n_tests < task->jobs ? task->n_tests : task->jobs));
    else
        sc_lane_fini(&lanes[0]);
    free(lanes);
    return r;
}

/* ---- the whole ---- */

static int make_report(struct sc_judge_report *report, const struct sc_judge_task *task, struct sc_err *err)
{
    *report = (struct sc_judge_report){.tests = calloc(task->n_tests, sizeof *report->tests)};
    if (!report->tests)
        return sc_err_sys(err, -ENOMEM, "the judge's report");
    report->n_tests = task->n_tests;
    for (size_t i = 0; i < report->n_tests; i++) {
        report->tests[i].verdict = SC_VERDICT_SKIPPED;
        report->tests[i].exit_code = -1;
        snprintf(report->tests[i].message, sizeof report->tests[i].message, "not run");
    }
    return 0;
}

static enum sc_verdict whole_verdict(const struct sc_judge_report *report)
{
    if (report->has_build && report->build_verdict != SC_VERDICT_ACCEPTED)
        return report->build_verdict;
    for (size_t i = 0; i < report->n_tests; i++)
        if (report->tests[i].verdict != SC_VERDICT_ACCEPTED)
            return report->tests[i].verdict;
    return SC_VERDICT_ACCEPTED;
}

static int judge(struct sc_judge_work *work, struct sc_err *err)
{
    struct sc_judge_report *report = work->report;
    int r = work->task->has_build ? sc_judge_build(work, err) : 0;
    if (r == 0 && report->build_verdict == SC_VERDICT_ACCEPTED)
        r = run_tests(work, err);
    report->verdict = whole_verdict(report);
    return r;
}

int sc_judge_here(const struct sc_judge_task *task, const struct sc_judge_callbacks *callbacks,
                  struct sc_judge_report *ret_report, struct sc_err *err)
{
    const struct sc_host_options options = {.cgroup_parent = task->run.cgroup_parent, .want_scope = true};
    struct sc_host *host = calloc(1, sizeof *host);
    int r = host ? sc_judge_task_check(task, 0, err) : sc_err_sys(err, -ENOMEM, "the judge's host");
    if (r == 0)
        r = sc_host_probe(host, &options, err);
    if (r == 0)
        r = sc_judge(task, host, callbacks, ret_report, err);
    free(host);
    return r;
}

int sc_judge(const struct sc_judge_task *task, const struct sc_host *host,
             const struct sc_judge_callbacks *callbacks, struct sc_judge_report *ret_report,
             struct sc_err *err)
{
    static const struct sc_judge_callbacks none = {.cancel_fd = -1};
    struct sc_judge_report report;
    struct sc_judge_work work = {.task = task,
                                 .host = host,
                                 .callbacks = callbacks ? callbacks : &none,
                                 .store = SC_STORE_NONE,
                                 .report = &report,
                                 .lock = PTHREAD_MUTEX_INITIALIZER};
    int r = sc_judge_task_check(task, host->memory_bytes, err);
    if (r == 0)
        r = make_report(&report, task, err);
    if (r < 0)
        return r;
    if (task->has_build)
        r = sc_store_open(&work.store, err);
    if (r == 0)
        r = judge(&work, err);
    sc_store_close(&work.store);
    if (r < 0) {
        sc_judge_report_fini(&report);
        return r;
    }
    *ret_report = report;
    return 0;
}
