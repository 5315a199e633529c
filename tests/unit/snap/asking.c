#include "asking.h"

#include <sched.h>

static struct sc_host host;
struct sc_plan plan;
struct sc_works works;
struct sc_session *session;
struct sc_err err;
char why[32];
unsigned n_ended;

struct answer answers[8];

static void take_output(void *userdata, int stream, const void *data, size_t len)
{
    struct answer *answer = userdata;
    size_t used = strlen(answer->output);
    snprintf(answer->output + used, sizeof answer->output - used, "%d:%.*s;", stream, (int)len,
             (const char *)data);
}

static void take_display(void *userdata, const char *json, size_t len)
{
    struct answer *answer = userdata;
    snprintf(answer->displays, sizeof answer->displays, "%.*s", (int)len, json);
}

static void take_result(void *userdata, struct sc_result *result)
{
    struct answer *answer = userdata;
    answer->n++;
    sc_result_move(&answer->result, result);
}

const struct sc_task_events events = {take_output, take_display, take_result};

static void on_ended(void *userdata, const char *reason, const char *message)
{
    (void)userdata;
    (void)message;
    n_ended++;
    snprintf(why, sizeof why, "%s", reason);
}

void open_session(const struct sc_session_options *options)
{
    const struct sc_session_events on = {.ended = on_ended};
    assert_int_equal(sc_session_open(&works, options, &on, &session, &err), 0);
}

int begin(void **state)
{
    (void)state;
    static struct sc_spec spec;
    sc_spec_init(&spec);
    host = (struct sc_host){.cpus = 2};
    plan = (struct sc_plan){.host = &host, .spec = &spec, .stay = true};
    sc_limits_init(&plan.limits);
    plan.limits.cpu = 5 * SC_NS_PER_S;
    works = (struct sc_works){.plan = &plan};
    memset(answers, 0, sizeof answers);
    n_ended = 0;
    fake_reset();
    open_session(NULL);
    return 0;
}

int end(void **state)
{
    (void)state;
    sc_session_close(session);
    for (size_t i = 0; i < 8; i++)
        sc_result_fini(&answers[i].result);
    return fake.is_closed ? 0 : -1;
}

void step(void)
{
    assert_int_equal(sc_session_step(session, &err), 0);
}

void step_until(const unsigned *n, unsigned value)
{
    uint64_t until = sc_now_ns() + 10 * SC_NS_PER_S;
    while (*n < value) {
        assert_true(sc_now_ns() < until);
        if (sc_session_next_ns(session) <= sc_now_ns())
            step();
        else
            sched_yield();
    }
}

struct sc_session_run a_run(const char *code)
{
    struct sc_session_run run = {
        .lang = SC_LANG_PYTHON, .mode = SC_MODE_RICH, .code = code, .code_len = strlen(code)};
    sc_session_default_limits(session, &run.limits);
    return run;
}

uint32_t ask(const struct sc_session_run *run, unsigned to)
{
    uint32_t id = 0;
    if (sc_session_run(session, run, &events, &answers[to], &id, &err) < 0)
        fail_msg("%s", err.message);
    return id;
}

uint32_t ask_ready(const struct sc_session_run *run)
{
    uint32_t id = ask(run, 0);
    fake_started(0);
    fake_says(0, SC_STREAM_RUNNER, READY);
    return id;
}

void fake_result(unsigned op, const char *rest)
{
    char line[1024];
    const char *head = fake.ops[op].input, *next;
    while ((next = strstr(head + 1, "run ")))
        head = next;
    snprintf(line, sizeof line, "{\"op\":\"result\",\"id\":\"%.16s\",\"locals\":{},%s}\n", head + 4, rest);
    fake_says(op, SC_STREAM_RUNNER, line);
}

void expect(unsigned which, enum sc_status status, const char *message)
{
    const struct answer *answer = &answers[which];
    step();
    if (answer->n != 1 || answer->result.status != status || strcmp(answer->result.message, message) != 0)
        fail_msg("%u answers, %s: %s", answer->n, SC_STATUS_NAMES[answer->result.status],
                 answer->result.message);
}

void expect_signal(unsigned op, unsigned which, int number, enum sc_signal_whom whom)
{
    assert_true(fake.ops[op].n_signals > which);
    assert_int_equal(fake.ops[op].signals[which], number);
    assert_int_equal(fake.ops[op].whom[which], whom);
}

struct sc_session_exec a_command(void)
{
    static const char *const argv[] = {"make", "all", NULL};
    struct sc_session_exec exec = {.argv = argv};
    sc_session_default_limits(session, &exec.limits);
    return exec;
}
