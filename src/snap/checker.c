/* The living checker: its line of checks. The parts are told in checker_parts.h. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/num.h"
#include "cell/cell.h"
#include "snap/checker_parts.h"

static void free_job(struct sc_check_job *job)
{
    sc_check_report_fini(&job->report);
    sc_buf_fini(&job->reply);
    sc_buf_fini(&job->words);
    free(job->message);
    free(job);
}

int sc_checker_open(const struct sc_host *host, const struct sc_spec *place, struct sc_checker **ret_checker,
                    struct sc_err *err)
{
    struct sc_checker *checker = calloc(1, sizeof *checker);
    if (!checker)
        return sc_err_sys(err, -ENOMEM, "checker");
    checker->host = host;
    checker->last = &checker->jobs;
    checker->epoll = epoll_create1(EPOLL_CLOEXEC);
    int r = checker->epoll < 0 ? sc_err_sys(err, -errno, "checker: epoll_create1")
                               : sc_checker_make_works(checker, place, err);
    /* Its program is there by the time that somebody asks. */
    if (r == 0)
        r = sc_checker_need_cell(checker, err);
    if (r < 0) {
        sc_checker_close(checker);
        return r;
    }
    *ret_checker = checker;
    return 0;
}

void sc_checker_close(struct sc_checker *checker)
{
    if (!checker)
        return;
    sc_checker_drop_cell(checker);
    while (checker->jobs) {
        struct sc_check_job *job = checker->jobs;
        checker->jobs = job->next;
        free_job(job);
    }
    sc_works_free(checker->works);
    sc_plan_free(checker->plan);
    sc_spec_fini(&checker->spec);
    sc_close(&checker->epoll);
    free(checker);
}

int sc_checker_fd(const struct sc_checker *checker)
{
    return checker->epoll;
}

uint64_t sc_checker_next_ns(const struct sc_checker *checker)
{
    const struct sc_check_job *job = checker->jobs;
    if (job && (!job->begun || (job->answered && job->asked)))
        return 0;
    uint64_t next = checker->live ? sc_live_next_ns(checker->live) : UINT64_MAX;
    return job && checker->deadline_ns ? sc_min_u64(next, checker->deadline_ns) : next;
}

/* ---- one check ---- */

static void finish(struct sc_checker *checker, struct sc_check_job *job)
{
    checker->jobs = job->next;
    if (!checker->jobs)
        checker->last = &checker->jobs;
    checker->deadline_ns = 0;
    if (!job->err.kind)
        sc_check_conclude(job);
    job->done(job->userdata, job->err.kind ? NULL : &job->report, job->err.kind ? &job->err : NULL);
    free_job(job);
}

/* The check is over without an answer of the program's: it died of the source, or there is no cell for it. */
static void give_up(struct sc_checker *checker, struct sc_check_job *job)
{
    if (checker->started)
        sc_check_unreadable(job, "Reading the source took more than it may take, or its reader failed.");
    else
        sc_err_set(&job->err, SC_ERR_SANDBOX, -EIO, "checker: %s",
                   checker->why[0] ? checker->why : "its cell ended before it ran");
    job->answered = job->asked = true;
}

static void begin(struct sc_checker *checker, struct sc_check_job *job)
{
    job->begun = true;
    if (sc_checker_need_cell(checker, &job->err) < 0) {
        job->answered = job->asked = true;
        return;
    }
    checker->program.data = job->message;
    checker->program.len = job->message_len;
    checker->program.sent = 0;
    if (checker->started)
        checker->deadline_ns = sc_now_ns() + SC_CHECK_WALL_NS;
    sc_check_push(checker, &checker->program);
    if (!job->syntax)
        job->asked = true;
    else if (sc_check_ask(checker, job, &job->err) < 0)
        job->answered = job->asked = true;
}

/* Has the check under way come to its end, one way or another? */
static void look_after(struct sc_checker *checker, struct sc_check_job *job)
{
    bool gone = !checker->live || checker->is_over;
    uint64_t patience = job->answered ? SC_SYNTAX_WALL_NS : 0; /* the interpreter has a limit of its own */
    bool late = checker->deadline_ns && sc_now_ns() >= checker->deadline_ns + patience;
    if ((!gone && !late) || (job->answered && job->asked))
        return;
    if (job->answered)
        job->asked = true; /* what the program said holds without the interpreter */
    else
        give_up(checker, job);
    sc_checker_drop_cell(checker);
}

int sc_checker_step(struct sc_checker *checker, struct sc_err *err)
{
    if (checker->live) {
        int r = sc_live_step(checker->live, err);
        if (r < 0)
            return r;
    }
    struct sc_check_job *job = checker->jobs;
    if (job && job->begun)
        look_after(checker, job);
    if (job && job->answered && job->asked)
        finish(checker, job);
    if (checker->jobs && !checker->jobs->begun)
        begin(checker, checker->jobs);
    return 0;
}

int sc_checker_check(struct sc_checker *checker, const struct sc_check_request *request, sc_check_done *done,
                     void *userdata, struct sc_err *err)
{
    struct sc_check_job *job = calloc(1, sizeof *job);
    if (!job)
        return sc_err_sys(err, -ENOMEM, "checker");
    *job = (struct sc_check_job){
        .lang = request->lang,
        .syntax = request->syntax,
        .notebook = request->notebook,
        .done = done,
        .userdata = userdata,
    };
    sc_buf_init(&job->reply, SC_REPLY_MAX + sizeof(uint32_t));
    sc_buf_init(&job->words, SC_WORDS_MAX);
    int r = sc_check_message(request, job, err);
    if (r < 0) {
        free_job(job);
        return r;
    }
    *checker->last = job;
    checker->last = &job->next;
    return 0;
}

/* ---- the same, waiting ---- */

struct waiting {
    struct sc_check_report *report;
    struct sc_err *err;
    int r; /* 1: not yet */
};

static void take_report(void *userdata, const struct sc_check_report *report, const struct sc_err *err)
{
    struct waiting *waiting = userdata;
    if (!report) {
        if (waiting->err)
            *waiting->err = *err;
        waiting->r = err->code;
        return;
    }
    *waiting->report = *report;
    json_incref(report->findings);
    waiting->r = 0;
}

static int wait_for_checker(struct sc_checker *checker, struct sc_err *err)
{
    struct pollfd poll_fd = {checker->epoll, POLLIN, 0};
    uint64_t next = sc_checker_next_ns(checker), now = sc_now_ns();
    uint64_t wait = next - sc_min_u64(next, now);
    const struct timespec timeout = {(time_t)(wait / SC_NS_PER_S), (long)(wait % SC_NS_PER_S)};
    if (ppoll(&poll_fd, 1, next == UINT64_MAX ? NULL : &timeout, NULL) < 0 && errno != EINTR)
        return sc_err_sys(err, -errno, "checker: poll");
    return sc_checker_step(checker, err);
}

int sc_checker_check_now(struct sc_checker *checker, const struct sc_check_request *request,
                         struct sc_check_report *ret_report, struct sc_err *err)
{
    struct waiting waiting = {.report = ret_report, .err = err, .r = 1};
    int r = sc_checker_check(checker, request, take_report, &waiting, err);
    while (r == 0 && waiting.r == 1)
        r = wait_for_checker(checker, err);
    return r < 0 ? r : waiting.r;
}
