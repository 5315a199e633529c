/* `snapcell batch`: thousands of jobs, some at a time.
 *
 * Code is run by a keeper, warm where it can be: the one that --socket names, else one of our own that ends
 * with us. Programs as they are, and jobs with a build and tests, are run by a process of ours each. With
 * --url a service runs all of them (batch_url.c). */
#include "cli/batch.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/num.h"
#include "cli/keeper.h"
#include "cli/options.h"
#include "cli/say.h"
#include "cli/session.h"
#include "cli/signals.h"
#include "keeper/calls.h"
#include "spec/json_read.h"

#define EXIT_NOT_OK 1
#define EXIT_CANCELLED 130
#define BAR_MS 200
#define AGAIN_MS 100 /* before a job is offered again to a keeper that had no room */

struct asked {
    uint32_t call; /* 0: free */
    struct batch_job *job;
};

struct running {
    struct batch batch;
    const struct sc_cli_args *args;
    struct sc_cli_own_keeper own;
    struct sc_keeper_calls *calls;
    struct asked asked[BATCH_AT_ONCE_MAX];
    struct batch_lane lanes[BATCH_AT_ONCE_MAX];
    unsigned at_once, under_way;
    size_t next;       /* job to look at */
    uint64_t again_ns; /* when some job before `next` is offered again; 0: none waits */
    int signal_fd;
    struct sc_err err; /* what ended it all; kind NONE: nothing */
};

/* ---- jobs by the keeper ---- */

static void finish(struct running *running, struct batch_job *job, const char *name, json_t *value)
{
    running->under_way--;
    if (batch_answer(&running->batch, job, name, value, &running->err) < 0)
        running->batch.stopped = true;
}

static bool wants_again(const json_t *error)
{
    const char *kind = json_string_value(json_object_get(error, "kind"));
    return kind && (!strcmp(kind, "too_many") || !strcmp(kind, "overloaded"));
}

static void on_reply(void *userdata, uint32_t call, const json_t *reply)
{
    struct running *running = userdata;
    struct asked *asked = running->asked;
    while (asked->call != call)
        asked++;
    asked->call = 0;
    json_t *ok = json_object_get(reply, "ok"), *error = json_object_get(reply, "error");
    if (ok) {
        finish(running, asked->job, "result", json_incref(ok));
    } else if (error && !wants_again(error)) {
        finish(running, asked->job, "error", json_incref(error));
    } else {
        /* No room, or the keeper is gone: the job has not run, or its answer is lost with it. */
        asked->job->state = BATCH_WAITS;
        running->again_ns = sc_now_ns() + AGAIN_MS * SC_NS_PER_MS;
        running->under_way--;
    }
}

static int connect_keeper(struct running *running, struct sc_err *err)
{
    const struct sc_keeper_calls_events events = {.userdata = running, .reply = on_reply};
    const char *socket = running->args->texts[SC_TEXT_SOCKET];
    struct sc_keeper_client *client = NULL;
    int r =
        socket ? sc_keeper_client_open(socket, &client, err) : sc_cli_keeper_own(&running->own, &client, err);
    return r < 0 ? r : sc_keeper_calls_open(sc_keeper_client_release(client), &events, &running->calls, err);
}

/* Host paths are ours, and the keeper has another folder. */
static int make_request(const struct batch_job *job, json_t **ret_request, struct sc_err *err)
{
    struct sc_spec spec;
    json_t *value = batch_value(job), *sent = NULL;
    const json_t *given = json_object_get(value, "spec");
    sc_spec_init(&spec);
    int r = value ? sc_spec_read(&spec, given, "spec", err) : sc_err_sys(err, -ENOMEM, "job");
    if (r == 0 && !json_object_get(given, "mode"))
        spec.mode = SC_MODE_RICH;
    if (r == 0)
        r = sc_cli_session_spec(&spec, &sent, err);
    sc_spec_fini(&spec);
    json_decref(value);
    if (r < 0)
        return r;
    *ret_request = json_pack("{s:s, s:o, s:s}", "request", "once", "spec", sent, "output", "reply");
    return *ret_request ? 0 : sc_err_sys(err, -ENOMEM, "job");
}

static int ask(struct running *running, struct batch_job *job, struct sc_err *err)
{
    json_t *request = NULL;
    struct asked *free_one = running->asked;
    while (free_one->call)
        free_one++;
    int r = running->calls ? 0 : connect_keeper(running, err);
    if (r < 0) {
        running->err = *err;
        return r;
    }
    r = make_request(job, &request, err);
    if (r == 0)
        r = sc_keeper_calls_ask(running->calls, request, NULL, 0, &free_one->call, err);
    if (r == 0)
        free_one->job = job;
    else
        free_one->call = 0;
    return r;
}

/* ---- starting ---- */

static int start_lane(struct running *running, struct batch_job *job, struct sc_err *err)
{
    struct batch_lane *lane = running->lanes;
    while (lane->pid)
        lane++;
    return batch_lane_start(lane, job, err);
}

static json_t *error_value(const struct sc_err *err)
{
    return json_pack("{s:s, s:s, s:s}", "kind", err->kind == SC_ERR_USAGE ? "usage" : "sandbox", "field",
                     err->field, "message", err->message);
}

static void start(struct running *running, struct batch_job *job)
{
    struct sc_err err = {0};
    job->state = BATCH_RUNS;
    running->under_way++;
    int r = job->kind == BATCH_WARM ? ask(running, job, &err) : start_lane(running, job, &err);
    if (r < 0 && running->err.kind == SC_ERR_NONE)
        finish(running, job, "error", error_value(&err));
    else if (r < 0)
        running->batch.stopped = true;
}

/* Jobs whose answer is another one's wait for that. */
static void start_some(struct running *running)
{
    struct batch *batch = &running->batch;
    while (!batch->stopped && running->under_way < running->at_once && running->next < batch->n_jobs) {
        struct batch_job *job = &batch->jobs[running->next++];
        bool answered = job->first && job->first->state != BATCH_DONE;
        if (job->state == BATCH_WAITS && !answered)
            start(running, job);
    }
}

/* ---- the loop ---- */

static void step_keeper(struct running *running)
{
    struct sc_err err = {0};
    if (!running->calls || sc_keeper_calls_step(running->calls, &err) == 0)
        return;
    running->err = err;
    running->batch.stopped = true;
}

static void read_lanes(struct running *running, const struct pollfd *fds)
{
    for (size_t i = 0; i < BATCH_AT_ONCE_MAX; i++) {
        struct batch_lane *lane = &running->lanes[i];
        const char *name = NULL;
        json_t *value = NULL;
        struct batch_job *job = lane->job;
        if (lane->pid && fds[i].revents && batch_lane_read(lane, &name, &value) == 1)
            finish(running, job, name, value);
    }
}

/* False: it was interrupted. */
static bool wait_a_while(struct running *running)
{
    struct pollfd fds[BATCH_AT_ONCE_MAX + 2];
    for (size_t i = 0; i < BATCH_AT_ONCE_MAX; i++)
        fds[i] = (struct pollfd){.fd = running->lanes[i].pid ? running->lanes[i].fd : -1, .events = POLLIN};
    struct pollfd *keeper = &fds[BATCH_AT_ONCE_MAX], *stop = &fds[BATCH_AT_ONCE_MAX + 1];
    *keeper = (struct pollfd){.fd = -1};
    *stop = (struct pollfd){.fd = running->signal_fd, .events = POLLIN};
    if (running->calls)
        *keeper = (struct pollfd){.fd = sc_keeper_calls_fd(running->calls),
                                  .events = sc_keeper_calls_poll(running->calls)};
    int wait_ms = running->again_ns ? AGAIN_MS : BAR_MS;
    if (poll(fds, BATCH_AT_ONCE_MAX + 2, wait_ms) < 0 && errno != EINTR)
        return false;
    if (stop->revents)
        return false;
    read_lanes(running, fds);
    step_keeper(running);
    return true;
}

static bool work(struct running *running)
{
    struct batch *batch = &running->batch;
    for (;;) {
        if (running->again_ns && sc_now_ns() >= running->again_ns) {
            running->next = 0;
            running->again_ns = 0;
        }
        start_some(running);
        if (running->under_way == 0 && !running->again_ns &&
            (running->next >= batch->n_jobs || batch->stopped))
            return true;
        if (batch->stopped)
            return true;
        if (!wait_a_while(running))
            return false;
        batch_show_bar(batch, false);
    }
}

static void end_all(struct running *running)
{
    for (size_t i = 0; i < BATCH_AT_ONCE_MAX; i++)
        batch_lane_kill(&running->lanes[i]);
    sc_keeper_calls_close(running->calls);
    sc_cli_keeper_own_end(&running->own);
}

static int prepare(struct running *running, struct sc_err *err)
{
    const struct sc_cli_args *args = running->args;
    const char *jobs = args->texts[SC_TEXT_JOBS], *output = args->texts[SC_TEXT_OUTPUT];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t n = processors < 1 ? 1 : sc_min_u64((uint64_t)processors, BATCH_AT_ONCE_MAX);
    if (args->n_operands != 1)
        return sc_err_usage(err, "", "batch: needs one operand, the file of the jobs");
    if (args->texts[SC_TEXT_URL] && args->texts[SC_TEXT_SOCKET])
        return sc_err_usage(err, "url", "url: not allowed with --socket");
    if (args->texts[SC_TEXT_KEY_FILE] && !args->texts[SC_TEXT_URL])
        return sc_err_usage(err, "key-file", "key-file: allowed with --url");
    if (!output)
        return sc_err_usage(err, "output", "output: must be given: the file for the results");
    if (jobs && (sc_parse_u64(jobs, &n) < 0 || n < 1 || n > BATCH_AT_ONCE_MAX))
        return sc_err_usage(err, "jobs", "jobs: %s: allowed are 1 to %d", jobs, BATCH_AT_ONCE_MAX);
    running->at_once = (unsigned)n;
    running->batch.json = args->flags & SC_FLAG_JSON;
    running->batch.same_once = args->flags & SC_FLAG_SAME_ONCE;
    running->batch.stop_first = args->flags & SC_FLAG_STOP_FIRST;
    int r = batch_read(&running->batch, args->operands[0], err);
    if (r == 0)
        r = batch_resume(&running->batch, output, err);
    return r == 0 ? sc_cli_signals_open(&running->signal_fd, err) : r;
}

static int run(struct running *running)
{
    struct batch *batch = &running->batch;
    const struct batch_service service = {.url = running->args->texts[SC_TEXT_URL],
                                          .key_file = running->args->texts[SC_TEXT_KEY_FILE],
                                          .at_once =
                                              running->args->texts[SC_TEXT_JOBS] ? running->at_once : 0,
                                          .stop_fd = running->signal_fd};
    batch->since_ns = sc_now_ns();
    bool whole = service.url ? batch_url_work(batch, &service, &running->err) : work(running);
    end_all(running);
    batch_show_bar(batch, true);
    int status = batch_tell(batch);
    if (running->err.kind != SC_ERR_NONE)
        return sc_cli_fail(&running->err);
    if (!whole)
        return EXIT_CANCELLED;
    bool ok = batch->outcomes[BATCH_OK] == batch->n_jobs;
    return status == SC_CLI_EXIT_OK && !ok ? EXIT_NOT_OK : status;
}

int sc_cli_batch(const struct sc_cli_args *args)
{
    static struct running running;
    struct sc_err err = {0};
    running = (struct running){
        .args = args, .signal_fd = -1, .own = {.pid = -1}, .batch = {.jobs_fd = -1, .results_fd = -1}};
    int status = prepare(&running, &err) < 0 ? sc_cli_fail(&err) : run(&running);
    batch_fini(&running.batch);
    sc_close(&running.signal_fd);
    return status;
}
