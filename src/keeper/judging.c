/* Theory of operation
 *
 * `judge`: a task is run by a process of its own, a child of the keeper's, which makes the task's cells
 * itself, as `snapcell judge` does, and writes the whole reply when it is done. The keeper only waits: for
 * what the child says, for its end, for its client. It never reads a report but for the few figures in front
 * of it.
 *
 *     keeper ── cancel ──▶ child ── cells of the build, of the tests, of the checker
 *            ◀── said ───
 *
 * The child dies with the keeper, and its cells with the child. Asked to end (a client that cancels or goes
 * away, a time that has passed, a keeper that ends), it ends its cells and then itself; one that does not is
 * killed.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "judge/judge.h"
#include "keeper/parts.h"
#include "keeper/reply.h"

#define SAID_MAX (SC_KEEPER_REPLY_MAX + sizeof(struct judged))
#define END_MS 5000 /* for a child that was asked to end */
#define STEP_MS 20

/* What the child says first; the reply's text follows. */
struct judged {
    uint64_t len; /* of that text */
    struct noted_task figures;
};

struct judging {
    TAILQ_ENTRY(judging) of_keeper;
    TAILQ_ENTRY(judging) of_peer; /* while it has one */
    struct caller caller;
    struct peer *peer; /* NULL: gone */
    uint16_t channel;
    struct share share;
    json_t *subject; /* of its records */
    pid_t pid;
    int pidfd, said_fd, cancel_fd;
    struct event *readable, *gone, *clock;
    struct sc_buf said;
};

/* ---- in the child ---- */

static bool close_between(unsigned first, unsigned last)
{
    return first > last || sc_sys_close_range(first, last, 0) == 0;
}

/* Nothing of the keeper's is the child's: not its handlers, which would wake the keeper's loop, nor its
 * descriptors. */
static void leave_keeper(pid_t parent, int said, int cancel)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        if (number != SIGPIPE && number != SIGKILL && number != SIGSTOP)
            (void)signal(number, SIG_DFL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    unsigned low = (unsigned)(said < cancel ? said : cancel),
             high = (unsigned)(said < cancel ? cancel : said);
    if (getppid() != parent || !close_between(STDERR_FILENO + 1, low - 1) ||
        !close_between(low + 1, high - 1) || !close_between(high + 1, ~0u))
        _exit(1);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void say(int fd, struct judged *head, char *text)
{
    head->len = text ? strlen(text) : 0;
    /* The keeper takes half of it for none. */
    if (text && sc_write_all(fd, head, sizeof *head) == 0)
        (void)sc_write_all(fd, text, (size_t)head->len);
    free(text);
}

static char *reply_of(const struct sc_judge_task *task, struct sc_judge_report *report, struct judged *head)
{
    char *text = sc_judge_report_to_json(report, task, 0);
    char *reply = text ? sc_keeper_reply_ok(text) : NULL;
    head->figures = (struct noted_task){.ended = true, .verdict = report->verdict, .tests = report->n_tests};
    for (size_t i = 0; i < report->n_tests; i++)
        head->figures.accepted += report->tests[i].verdict == SC_VERDICT_ACCEPTED;
    free(text);
    sc_judge_report_fini(report);
    return reply;
}

_Noreturn static void be_judge(const struct sc_judge_task *task, pid_t parent, int said, int cancel)
{
    struct judged head = {0};
    struct sc_judge_report report;
    struct sc_err err = {0};
    leave_keeper(parent, said, cancel);
    const struct sc_judge_callbacks callbacks = {.cancel_fd = cancel};
    int r = sc_judge_here(task, &callbacks, &report, &err);
    sc_err_below(&err, "judge");
    say(said, &head, r == 0 ? reply_of(task, &report, &head) : sc_keeper_reply_err(&err));
    _exit(0);
}

/* ---- its end ---- */

static void drop_event(struct event **event)
{
    if (*event)
        event_free(*event);
    *event = NULL;
}

static void let_go_of_peer(struct judging *judging)
{
    if (!judging->peer)
        return;
    TAILQ_REMOVE(&judging->peer->judgings, judging, of_peer);
    judging->peer->n_calls--;
    judging->peer = NULL;
}

static void judging_free(struct judging *judging)
{
    struct keeper *keeper = judging->caller.keeper;
    let_go_of_peer(judging);
    TAILQ_REMOVE(&keeper->judgings, judging, of_keeper);
    keeper->n_judgings--;
    share_give_back(&judging->caller, &judging->share);
    drop_event(&judging->readable);
    drop_event(&judging->gone);
    drop_event(&judging->clock);
    sc_close(&judging->pidfd);
    sc_close(&judging->said_fd);
    sc_close(&judging->cancel_fd);
    sc_buf_fini(&judging->said);
    json_decref(judging->subject);
    free(judging);
}

static void finish(struct judging *judging, char *reply, const struct noted_task *figures)
{
    note_task(&judging->caller, judging->subject, figures, reply);
    if (judging->peer)
        peer_reply(judging->peer, judging->channel, reply);
    else
        free(reply);
    judging_free(judging);
}

/* What it said, if that is whole. */
static char *take_said(const struct judging *judging, struct judged *ret_head)
{
    const struct sc_buf *said = &judging->said;
    if (said->len < sizeof *ret_head)
        return NULL;
    memcpy(ret_head, said->data, sizeof *ret_head);
    return ret_head->len && said->len - sizeof *ret_head == ret_head->len
               ? strndup((const char *)said->data + sizeof *ret_head, (size_t)ret_head->len)
               : NULL;
}

/* 1: it says no more; 0: not now; -EMSGSIZE. */
static int hear(struct judging *judging)
{
    for (;;) {
        uint8_t *room = sc_buf_reserve(&judging->said, 65536);
        ssize_t n = room ? read(judging->said_fd, room, 65536) : 0;
        if (!room)
            return -EMSGSIZE;
        if (n > 0)
            sc_buf_took(&judging->said, (size_t)n);
        else if (n == 0 || errno != EINTR)
            return n < 0 && errno == EAGAIN ? 0 : 1;
    }
}

static void on_said(evutil_socket_t fd, short what, void *userdata)
{
    struct judging *judging = userdata;
    (void)fd;
    (void)what;
    int r = hear(judging);
    if (r < 0)
        (void)sc_sys_pidfd_kill(judging->pidfd, SIGKILL);
    if (r != 0)
        event_del(judging->readable);
}

static void bury(struct judging *judging)
{
    while (waitpid(judging->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static void on_gone(evutil_socket_t fd, short what, void *userdata)
{
    struct judging *judging = userdata;
    struct judged head = {0};
    (void)fd;
    (void)what;
    bool too_long = hear(judging) < 0;
    bury(judging);
    char *reply = take_said(judging, &head);
    if (!reply)
        head.figures = (struct noted_task){0};
    if (!reply && too_long)
        reply = sc_keeper_reply_error("usage", "judge.output_bytes",
                                      "judge.output_bytes: the report is larger than 256M; ask for fewer");
    else if (!reply)
        reply = sc_keeper_reply_error("sandbox", "", "the process that judged ended without a word");
    finish(judging, reply, &head.figures);
}

static void ask_to_end(struct judging *judging)
{
    sc_close(&judging->cancel_fd);
}

static void on_time(evutil_socket_t fd, short what, void *userdata)
{
    (void)fd;
    (void)what;
    ask_to_end(userdata);
}

void judging_cancel(struct judging *judging)
{
    ask_to_end(judging);
}

void judgings_drop(struct peer *peer)
{
    struct judging *judging;
    while ((judging = TAILQ_FIRST(&peer->judgings))) {
        ask_to_end(judging);
        let_go_of_peer(judging);
    }
}

/* All are asked before one is waited for. */
void judgings_close(struct keeper *keeper)
{
    struct judging *judging;
    TAILQ_FOREACH(judging, &keeper->judgings, of_keeper)
    {
        ask_to_end(judging);
    }
    while ((judging = TAILQ_FIRST(&keeper->judgings))) {
        struct pollfd end = {.fd = judging->pidfd, .events = POLLIN};
        /* It may be writing: what it says is taken away meanwhile. */
        for (int i = 0; i < END_MS / STEP_MS && hear(judging) >= 0 && poll(&end, 1, STEP_MS) == 0; i++)
            ;
        (void)sc_sys_pidfd_kill(judging->pidfd, SIGKILL);
        bury(judging);
        finish(judging, sc_keeper_reply_error("ended", "", "the keeper ends"), &(struct noted_task){0});
    }
}

struct judging *judging_by_channel(const struct peer *peer, uint16_t channel)
{
    struct judging *judging;
    TAILQ_FOREACH(judging, &peer->judgings, of_peer)
    {
        if (judging->channel == channel)
            return judging;
    }
    return NULL;
}

/* ---- its beginning ---- */

/* What reaches the network, within what the tenant may; its field is named as the request has it. */
static int add_network(const struct caller *caller, struct sc_spec *spec, const char *part,
                       struct sc_err *err)
{
    int r = policy_network(caller, spec, err);
    if (r < 0 && err->kind == SC_ERR_USAGE)
        return sc_err_usage(err, part, "%s: this tenant has no network: allowed is none", part);
    return r;
}

static int prepare(const struct caller *caller, struct sc_judge_task *task, struct sc_err *err)
{
    struct keeper *keeper = caller->keeper;
    if (keeper->n_sessions + keeper->n_judgings >= keeper->options->sessions)
        return sc_err_set(err, SC_ERR_HOST, -EAGAIN,
                          "judge: %u sessions and tasks are alive, which is all that this keeper allows",
                          keeper->n_sessions + keeper->n_judgings);
    int r = sc_judge_task_check(task, 0, err);
    sc_err_below(err, "judge");
    if (r == 0)
        r = add_network(caller, &task->build, "judge.build.network", err);
    if (r == 0)
        r = add_network(caller, &task->run, "judge.run.network", err);
    return r < 0 ? r : add_network(caller, &task->checker, "judge.checker.network", err);
}

static json_t *subject_of(const struct sc_judge_task *task)
{
    json_t *subject = note_subject(&task->run), *build = task->has_build ? note_subject(&task->build) : NULL;
    if (subject && build)
        (void)json_object_set(subject, "build", json_object_get(build, "spec"));
    json_decref(build);
    return subject;
}

/* The signals that come to the child before it has left the keeper wait until then. */
static int start_child(struct judging *judging, const struct sc_judge_task *task)
{
    sigset_t all, before;
    int said = -1, cancel = -1;
    pid_t parent = getpid();
    int r = sc_pipe(&judging->said_fd, &said);
    if (r == 0)
        r = sc_pipe(&cancel, &judging->cancel_fd);
    if (r == 0)
        r = sc_set_nonblocking(judging->said_fd);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    judging->pid = r == 0 ? fork() : -1;
    if (judging->pid == 0)
        be_judge(task, parent, said, cancel);
    if (r == 0 && judging->pid < 0)
        r = -errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    sc_close(&said);
    sc_close(&cancel);
    if (r == 0 && (judging->pidfd = sc_sys_pidfd_open(judging->pid)) < 0) {
        r = judging->pidfd;
        (void)kill(judging->pid, SIGKILL); /* not waited for yet: its number is its own */
        bury(judging);
    }
    return r;
}

static int watch(struct judging *judging)
{
    struct event_base *base = judging->caller.keeper->base;
    const struct tenant *tenant = judging->caller.tenant;
    uint64_t ns = tenant ? tenant->quota->session_ns : 0;
    const struct timeval wait = {.tv_sec = (time_t)(ns / SC_NS_PER_S),
                                 .tv_usec = (suseconds_t)(ns % SC_NS_PER_S / 1000)};
    judging->readable = event_new(base, judging->said_fd, EV_READ | EV_PERSIST, on_said, judging);
    judging->gone = event_new(base, judging->pidfd, EV_READ, on_gone, judging);
    judging->clock = evtimer_new(base, on_time, judging);
    if (!judging->readable || !judging->gone || !judging->clock || event_add(judging->readable, NULL) < 0 ||
        event_add(judging->gone, NULL) < 0)
        return -ENOMEM;
    return ns && evtimer_add(judging->clock, &wait) < 0 ? -ENOMEM : 0;
}

static int open_judging(const struct caller *caller, const struct sc_judge_task *task,
                        struct judging **ret_judging, struct sc_err *err)
{
    struct judging *judging = calloc(1, sizeof *judging);
    if (!judging)
        return sc_err_sys(err, -ENOMEM, "judge");
    *judging = (struct judging){.caller = *caller, .pidfd = -1, .said_fd = -1, .cancel_fd = -1};
    sc_buf_init(&judging->said, SAID_MAX);
    TAILQ_INSERT_TAIL(&caller->keeper->judgings, judging, of_keeper);
    caller->keeper->n_judgings++;
    int r = start_child(judging, task);
    if (r == 0 && (r = watch(judging)) < 0) {
        (void)sc_sys_pidfd_kill(judging->pidfd, SIGKILL);
        bury(judging);
    }
    if (r < 0) {
        judging_free(judging);
        return sc_err_sys(err, r, "judge: a process for the task");
    }
    *ret_judging = judging;
    return 0;
}

void judging_begin(const struct caller *caller, struct peer *peer, uint16_t channel,
                   struct sc_keeper_request *request, const struct need *need)
{
    struct judging *judging = NULL;
    struct sc_err err = {0};
    if (prepare(caller, request->judge, &err) < 0 ||
        open_judging(caller, request->judge, &judging, &err) < 0) {
        peer_reply(peer, channel, sc_keeper_reply_err(&err));
        return;
    }
    judging->peer = peer;
    judging->channel = channel;
    judging->subject = subject_of(request->judge);
    TAILQ_INSERT_TAIL(&peer->judgings, judging, of_peer);
    peer->n_calls++;
    if (need)
        share_take(caller, need, true, &judging->share);
}
