/* libFuzzer target: any order of requests and events. Every request that was taken is answered exactly once,
 * nothing is asked of a command that is over, and the session's end comes last, once. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/snap/fake_live.h"
#include "cell/run.h"
#include "snap/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TASKS_MAX 64
#define READY "{\"op\":\"ready\",\"protocol\":1,\"language\":\"x\",\"version\":\"1\"}\n"

/* What the agent has told of each command, so that the fuzzer keeps to the agent's own rules. */
static enum { ASKED, STARTED, EXITED } told[FAKE_OPS_MAX];
static struct sc_session *session;
static unsigned answers[TASKS_MAX], n_tasks, n_ended;
static uint32_t ids[TASKS_MAX];

static void hold(bool is_so)
{
    if (!is_so)
        abort();
}

static void take_result(void *userdata, struct sc_result *result)
{
    hold(++*(unsigned *)userdata == 1 && n_ended == 0);
    hold(result->message[sizeof result->message - 1] == '\0' && result->status <= SC_STATUS_SANDBOX_ERROR);
    hold(result->status == SC_STATUS_OK ? result->exit_code == 0 : result->message[0] != '\0');
}

static void on_ended(void *userdata, const char *why, const char *message)
{
    (void)userdata;
    hold(why && message && ++n_ended == 1);
    for (unsigned i = 0; i < n_tasks; i++)
        hold(answers[i] == 1);
}

static const struct sc_task_events events = {.done = take_result};

static void ask_run(uint8_t how)
{
    static const char *const names[] = {NULL, "a", "b", "not a name"};
    static const enum sc_lang langs[] = {SC_LANG_PYTHON, SC_LANG_NODE, SC_LANG_BASH, SC_LANG_JAVA};
    struct sc_session_run run = {.lang = langs[how & 3],
                                 .mode = how & 4 ? SC_MODE_RESTRICTED : SC_MODE_RICH,
                                 .context = names[how >> 3 & 3],
                                 .code = "code",
                                 .code_len = 4};
    sc_session_default_limits(session, &run.limits);
    if (n_tasks < TASKS_MAX && fake.n_ops < FAKE_OPS_MAX &&
        sc_session_run(session, &run, &events, &answers[n_tasks], &ids[n_tasks], NULL) == 0)
        n_tasks++;
}

static void ask_command(uint8_t how)
{
    struct sc_session_exec exec = {.argv = (const char *const[]){"x", NULL}, .background = how & 1};
    if (how & 2) {
        exec.stdin_data = "input";
        exec.stdin_len = 5;
    }
    sc_session_default_limits(session, &exec.limits);
    if (n_tasks < TASKS_MAX && fake.n_ops < FAKE_OPS_MAX &&
        sc_session_exec(session, &exec, &events, &answers[n_tasks], &ids[n_tasks], NULL) == 0)
        n_tasks++;
}

/* A result for the run that was given last. */
static void say_result(unsigned op, uint8_t how)
{
    char line[300] = "";
    static const char *const statuses[] = {"ok", "error", "syntax_error", "interrupted", "exit", "other"};
    fake.ops[op].input[sizeof fake.ops[op].input - 1] = '\0';
    for (const char *at = fake.ops[op].input; (at = strstr(at, "run ")); at += 4)
        snprintf(line, sizeof line,
                 "{\"op\":\"result\",\"id\":\"%.16s\",\"status\":\"%s\",\"exit_code\":%u,\"locals\":{}}\n",
                 at + 4, statuses[how % 6], how / 6u);
    if (line[0])
        fake_says(op, SC_STREAM_RUNNER, line);
}

static void tell(unsigned op, uint8_t what, uint8_t how)
{
    if (op >= fake.n_ops || !fake.ops[op].events)
        return;
    if (told[op] == ASKED && what % 8 == 0) {
        told[op] = STARTED;
        fake_started(op);
    } else if (told[op] == ASKED && what % 8 == 1) {
        fake_fails(op, -(1 + how % 40), how & 64 ? "exec" : "group", "x");
    } else if (told[op] == STARTED && what % 8 == 2) {
        told[op] = EXITED;
        fake_exits(op, how & 1 ? (how & 0x7e) << 8 : SIGKILL);
    } else if (told[op] == EXITED && what % 8 == 3) {
        fake_gone(op);
    } else if (told[op] != ASKED && what % 8 == 4) {
        fake_says(op, how & 1 ? SC_STREAM_OUT : SC_STREAM_ERR, "words");
    } else if (told[op] != ASKED && what % 8 == 5) {
        fake_says(op, SC_STREAM_RUNNER, how & 1 ? READY : "{\"op\":");
    } else if (told[op] != ASKED && what % 8 == 6) {
        say_result(op, how);
    } else if (what % 8 == 7) {
        fake.ops[op].events->room(fake.ops[op].userdata, SC_STREAM_RUNNER);
    }
}

static void act(uint8_t what, uint8_t how)
{
    static const char *const names[] = {"python", "a", "b", "node"};
    if (what < 128) {
        tell(what / 8, what, how);
        return;
    }
    switch (what % 8) {
    case 0:
    case 1:
        ask_run(how);
        break;
    case 2:
        ask_command(how);
        break;
    case 3:
        if (n_tasks > 0)
            sc_session_cancel(session, ids[how % n_tasks]);
        break;
    case 4:
        sc_session_restart(session, names[how & 3]);
        break;
    case 5:
        fake.view.counts.memory_kills += how & 1;
        fake.cpu_ns += how * SC_NS_PER_S / 10;
        if (how & 2)
            fake.events.out_of_memory(fake.events.userdata);
        break;
    case 6:
        free(sc_session_describe(session));
        break;
    default:
        if (how == 255)
            sc_session_end(session);
        fake.credit = how & 1 ? 7 : 0;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sc_spec spec;
    static struct sc_host host = {.cpus = 2};
    static struct sc_plan plan = {.host = &host, .spec = &spec, .stay = true};
    static struct sc_works works = {.plan = &plan};
    const struct sc_session_events on = {.ended = on_ended};
    const struct sc_session_options options = {.end_on_memory = size > 0 && data[0] & 1};
    fake_reset();
    memset(told, 0, sizeof told);
    memset(answers, 0, sizeof answers);
    n_tasks = n_ended = 0;
    spec.stdin_fd = -1;
    sc_limits_init(&plan.limits);
    plan.limits.cpu = plan.limits.wall;
    plan.overflow = size > 0 && data[0] & 2 ? SC_OVERFLOW_END : SC_OVERFLOW_CUT;
    hold(sc_session_open(&works, &options, &on, &session, NULL) == 0);
    for (size_t i = 1; i + 1 < size; i += 2) {
        act(data[i], data[i + 1]);
        hold(sc_session_step(session, NULL) == 0);
    }
    fake_dies(SC_STATUS_CANCELLED, "over");
    hold(sc_session_step(session, NULL) == 0);
    hold(n_ended == 1);
    for (unsigned i = 0; i < fake.n_ops; i++)
        hold(fake.ops[i].untaken == 0 && !fake.ops[i].events);
    sc_session_close(session);
    return 0;
}
