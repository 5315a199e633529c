/* Jobs that need a whole process: it makes cells itself and says at its end what came of it, in one object.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/sys.h"
#include "cell/cell.h"
#include "cli/batch.h"
#include "cli/job.h"
#include "judge/judge.h"
#include "snap/session.h"
#include "spec/json_read.h"

#define SAID_MAX ((size_t)1024 * 1024 * 1024)

/* ---- in the child ---- */

/* {"NAME": TEXT} */
static void say(int fd, const char *name, char *text)
{
    char head[32];
    int n = snprintf(head, sizeof head, "{\"%s\":", name);
    if (text && sc_write_all(fd, head, (size_t)n) == 0 && sc_write_all(fd, text, strlen(text)) == 0)
        (void)sc_write_all(fd, "}", 1); /* half an object tells the parent as much as none */
    free(text);
}

static void say_error(int fd, const struct sc_err *err)
{
    static const char *const kinds[] = {[SC_ERR_NONE] = "sandbox",
                                        [SC_ERR_USAGE] = "usage",
                                        [SC_ERR_HOST] = "host",
                                        [SC_ERR_SANDBOX] = "sandbox"};
    json_t *error =
        json_pack("{s:s, s:s, s:s}", "kind", kinds[err->kind], "field", err->field, "message", err->message);
    say(fd, "error", sc_json_dump(error, JSON_COMPACT));
    json_decref(error);
}

static int run_spec(int fd, const json_t *value, struct sc_err *err)
{
    struct sc_cli_job job = {.stdin_fd = -1};
    struct sc_works *works = NULL;
    struct sc_result result;
    sc_spec_init(&job.spec);
    int r = sc_spec_read(&job.spec, value, "spec", err);
    if (r == 0)
        r = sc_cli_cgroup_parent(&job.spec, err);
    if (r == 0)
        r = sc_cli_job_plan(&job, err);
    if (r == 0)
        r = sc_works_new(job.plan, &works, err);
    if (r == 0) {
        sc_result_init(&result, job.plan->limits.stdout, job.plan->limits.stderr);
        const struct sc_callbacks callbacks = {.cancel_fd = -1};
        r = sc_run_once(works, &callbacks, 0, &result, err);
        if (r == 0)
            say(fd, "result", sc_result_to_json(&result, 0));
        sc_result_fini(&result);
    }
    sc_works_free(works);
    sc_cli_job_fini(&job);
    return r;
}

static int run_judge(int fd, const json_t *value, struct sc_err *err)
{
    struct sc_judge_task task;
    struct sc_judge_report report;
    const struct sc_judge_callbacks callbacks = {.cancel_fd = -1};
    struct sc_spec *const parts[] = {&task.build, &task.run, &task.checker};
    char *text = sc_json_dump(value, JSON_COMPACT);
    sc_judge_task_init(&task);
    int r = text ? sc_judge_task_from_json(&task, text, strlen(text), err) : sc_err_sys(err, -ENOMEM, "job");
    free(text);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && r == 0; i++)
        r = sc_cli_cgroup_parent(parts[i], err);
    if (r == 0)
        r = sc_judge_here(&task, &callbacks, &report, err);
    if (r == 0) {
        say(fd, "report", sc_judge_report_to_json(&report, &task, 0));
        sc_judge_report_fini(&report);
    }
    sc_judge_task_fini(&task);
    return r;
}

/* Dies with its parent; the agents of its cells see that and end them. */
static void be_lane(const struct batch_job *job, int fd, pid_t parent)
{
    struct sc_err err = {0};
    sigset_t none;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || dup2(fd, STDERR_FILENO + 1) < 0 ||
        sc_sys_close_range(STDERR_FILENO + 2, ~0u, 0) < 0)
        _exit(1);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    json_t *value = batch_value(job);
    const json_t *what = json_object_get(value, job->kind == BATCH_JUDGE ? "judge" : "spec");
    fd = STDERR_FILENO + 1;
    if ((job->kind == BATCH_JUDGE ? run_judge(fd, what, &err) : run_spec(fd, what, &err)) < 0)
        say_error(fd, &err);
    _exit(0);
}

/* ---- in the parent ---- */

int batch_lane_start(struct batch_lane *lane, struct batch_job *job, struct sc_err *err)
{
    int from = -1, to = -1;
    pid_t parent = getpid();
    int r = sc_pipe(&from, &to);
    if (r == 0)
        r = sc_set_nonblocking(from);
    pid_t pid = r == 0 ? fork() : -1;
    if (pid == 0)
        be_lane(job, to, parent);
    if (pid < 0) {
        r = r < 0 ? r : -errno;
        sc_close(&from);
    }
    sc_close(&to);
    if (r < 0)
        return sc_err_sys(err, r, "batch: a process for a job");
    *lane = (struct batch_lane){.pid = pid, .fd = from, .job = job};
    sc_buf_init(&lane->said, SAID_MAX);
    return 0;
}

static void lane_fini(struct batch_lane *lane)
{
    while (waitpid(lane->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    sc_close(&lane->fd);
    sc_buf_fini(&lane->said);
    lane->pid = 0;
}

/* The one member of the object. */
static void take_said(const struct batch_lane *lane, const char **ret_name, json_t **ret_value)
{
    static const char *const names[] = {"result", "report", "error"};
    json_t *object = NULL;
    json_error_t where;
    const char *text = lane->said.data ? (const char *)lane->said.data : "";
    (void)sc_json_load(text, lane->said.len, JSON_ALLOW_NUL, &object, &where);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *value = json_object_get(object, names[i]);
        if (value) {
            *ret_name = names[i];
            *ret_value = json_incref(value);
        }
    }
    json_decref(object);
    if (*ret_value)
        return;
    *ret_name = "error";
    *ret_value = json_pack("{s:s, s:s, s:s}", "kind", "sandbox", "field", "", "message",
                           "the process that ran this job ended without a word");
}

int batch_lane_read(struct batch_lane *lane, const char **ret_name, json_t **ret_value)
{
    for (;;) {
        uint8_t *room = sc_buf_reserve(&lane->said, 65536);
        ssize_t n = room ? read(lane->fd, room, 65536) : -1;
        if (n > 0) {
            sc_buf_took(&lane->said, (size_t)n);
            continue;
        }
        if (n < 0 && room && errno == EINTR)
            continue;
        if (n < 0 && room && errno == EAGAIN)
            return 0;
        break;
    }
    *ret_value = NULL;
    take_said(lane, ret_name, ret_value);
    lane_fini(lane);
    return 1;
}

void batch_lane_kill(struct batch_lane *lane)
{
    if (!lane->pid)
        return;
    (void)kill(lane->pid, SIGKILL);
    lane_fini(lane);
}
