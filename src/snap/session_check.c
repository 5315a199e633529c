/* Code that is read before it runs, as the session's spec or the run itself asks: each run waits for its
 * report, in the order of their coming. The syntax of wrong code is told by the runner, which reads it
 * anyway. The checker is opened with the session whose spec asks for it, or by the first run that does. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/fd.h"
#include "snap/check_first.h"
#include "snap/session_parts.h"

/* A run whose code is being read. The run may end before that does. */
struct sc_reading {
    struct sc_reading *next;
    struct sc_session *session;
    uint32_t task;
    enum sc_on_finding on_finding;
};

static int watch(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int open_checker(struct sc_session *session, struct sc_err *err)
{
    int r = sc_checker_open(session->plan->host, session->plan->spec, &session->checker, err);
    if (r < 0)
        return r;
    r = watch(session->epoll, sc_checker_fd(session->checker));
    if (r < 0) {
        sc_checker_close(session->checker);
        session->checker = NULL;
        return sc_err_sys(err, r, "watching the checker");
    }
    return 0;
}

int sc_session_open_events(struct sc_session *session, struct sc_err *err)
{
    const struct sc_spec *spec = session->plan->spec;
    session->epoll = epoll_create1(EPOLL_CLOEXEC);
    int r = session->epoll < 0 ? -errno : watch(session->epoll, sc_live_fd(session->live));
    if (r < 0)
        return sc_err_sys(err, r, "session");
    /* Of a single run the code was read before its session was there. */
    return spec->session && spec->validate.on ? open_checker(session, err) : 0;
}

void sc_session_close_events(struct sc_session *session)
{
    sc_checker_close(session->checker);
    sc_close(&session->epoll);
    for (struct sc_reading *reading = session->readings, *next; reading; reading = next) {
        next = reading->next;
        free(reading);
    }
}

static struct sc_task *forget(struct sc_reading *reading)
{
    struct sc_session *session = reading->session;
    struct sc_task *task = session->tasks;
    struct sc_reading **at = &session->readings;
    while (*at != reading)
        at = &(*at)->next;
    *at = reading->next;
    while (task && task->id != reading->task)
        task = task->next;
    free(reading);
    return task;
}

static void on_report(void *userdata, const struct sc_check_report *report, const struct sc_err *err)
{
    struct sc_reading *reading = userdata;
    const struct sc_validate validate = {.on = true, .on_finding = reading->on_finding};
    struct sc_task *task = forget(reading);
    if (!task)
        return;
    if (!report) {
        sc_judge_count(task);
        sc_judge_say(task, SC_STATUS_SANDBOX_ERROR, "%s", err->message);
        task->refusal = *err;
        sc_task_finish(task);
    } else if (sc_check_apply(&validate, report, &task->result)) {
        sc_judge_count(task);
        sc_task_finish(task);
    } else {
        task->state = SC_TASK_WAITING;
        sc_context_pump(task->session, task->context);
    }
}

int sc_task_read_first(struct sc_task *task, const struct sc_session_run *run, struct sc_err *err)
{
    struct sc_session *session = task->session;
    const struct sc_spec *spec = session->plan->spec;
    const struct sc_validate *validate = run->validate ? run->validate : &spec->validate;
    const struct sc_check_request request = {
        .lang = run->lang,
        .source = run->code,
        .len = run->code_len,
        .validate = validate,
        .notebook = true,
    };
    if (!validate->on || (!run->validate && !spec->session))
        return 0;
    int r = session->checker ? 0 : open_checker(session, err);
    if (r < 0)
        return r;
    struct sc_reading *reading = calloc(1, sizeof *reading);
    if (!reading)
        return sc_err_sys(err, -ENOMEM, "run");
    *reading = (struct sc_reading){session->readings, session, task->id, validate->on_finding};
    r = sc_checker_check(session->checker, &request, on_report, reading, err);
    if (r < 0) {
        free(reading);
        return r;
    }
    session->readings = reading;
    task->state = SC_TASK_READING;
    return 0;
}

int sc_session_check(struct sc_session *session, enum sc_lang lang, const char *code, size_t len,
                     const struct sc_validate *validate, sc_check_done *done, void *userdata,
                     struct sc_err *err)
{
    const struct sc_check_request request = {
        .lang = lang,
        .source = code,
        .len = len,
        .validate = validate,
        .syntax = true,
        .notebook = true,
    };
    int r = session->checker ? 0 : open_checker(session, err);
    return r < 0 ? r : sc_checker_check(session->checker, &request, done, userdata, err);
}
