/* Runs of a session, without a cell: what is asked of one, and what is answered for what one tells. */
#include "asking.h"

static void a_good_run(void **state)
{
    (void)state;
    struct sc_session_run run = a_run("1+1");
    ask(&run, 0);
    assert_string_equal(fake.ops[0].argv, "/usr/bin/python3 /snapcell/python/runner.py");
    assert_int_equal(fake.ops[0].flags, SC_COMMAND_RUNNER);
    assert_int_equal(fake.ops[0].input_len, 0);
    fake_started(0);
    fake_says(0, SC_STREAM_RUNNER, READY);
    assert_int_equal(fake.ops[0].input_len, strlen("run 0123456789abcdef 3 - rich\n1+1"));
    assert_memory_equal(fake.ops[0].input + 20, " 3 - rich\n1+1", 13);
    fake_says(0, SC_STREAM_OUT, "hello");
    fake_says(0, SC_STREAM_ERR, "oh");
    fake_result(0, OK_RESULT);
    assert_int_equal(answers[0].n, 0); /* only from the step's end */
    expect(0, SC_STATUS_OK, "");
    assert_string_equal(answers[0].output, "1:hello;2:oh;");
    assert_int_equal(answers[0].result.exit_code, 0);
    assert_true(answers[0].result.inside.present);
    assert_false(answers[0].result.context_lost);
    assert_int_equal(fake.ops[0].untaken, 0);
    /* Words between runs are nobody's, and held up by nobody. */
    fake_says(0, SC_STREAM_OUT, "background");
    assert_int_equal(fake.ops[0].untaken, 0);
    ask(&run, 1);
    assert_int_equal(fake.n_ops, 1); /* the same interpreter */
    fake_result(0, OK_RESULT);
    expect(1, SC_STATUS_OK, "");
    assert_string_equal(answers[1].output, "");
}

static void input_in_pieces(void **state)
{
    (void)state;
    struct sc_session_run run = a_run("code");
    run.stdin_data = "some input";
    run.stdin_len = 10;
    fake.credit = 7;
    ask_ready(&run);
    for (unsigned i = 0; i < 20; i++) {
        fake.credit = 0;
        fake.ops[0].events->room(fake.ops[0].userdata, SC_STREAM_RUNNER);
    }
    assert_memory_equal(fake.ops[0].input + 20, " 4 10 rich\ncodesome input", 25);
    assert_int_equal(fake.ops[0].input_len, 45);
    assert_false(fake.ops[0].input_closed);
}

static void contexts(void **state)
{
    (void)state;
    struct sc_session_run run = a_run("1"), other = a_run("2");
    other.context = "b";
    ask_ready(&run);
    ask(&run, 1); /* waits for the first */
    ask(&other, 2);
    assert_int_equal(fake.n_ops, 2);
    fake_started(1);
    fake_says(1, SC_STREAM_RUNNER, READY);
    fake_result(1, OK_RESULT); /* side by side */
    expect(2, SC_STATUS_OK, "");
    assert_int_equal(answers[0].n + answers[1].n, 0);
    fake_result(0, OK_RESULT);
    expect(0, SC_STATUS_OK, "");
    fake_result(0, OK_RESULT);
    expect(1, SC_STATUS_OK, "");
    uint32_t id;
    other.lang = SC_LANG_BASH;
    assert_int_equal(sc_session_run(session, &other, &events, &answers[3], &id, &err), -EINVAL);
    assert_string_equal(err.field, "context");
}

static void runners(void **state)
{
    (void)state;
    struct sc_session_run run = a_run("1");
    run.mode = SC_MODE_RESTRICTED;
    ask(&run, 0);
    run.mode = SC_MODE_RICH;
    run.lang = SC_LANG_NODE;
    ask(&run, 1);
    run.lang = SC_LANG_BASH;
    ask(&run, 2);
    assert_string_equal(fake.ops[0].argv, "/usr/bin/python3 -E -s /snapcell/python/runner.py --restricted");
    assert_string_equal(fake.ops[1].argv, "/usr/bin/node /snapcell/node/runner.js");
    assert_string_equal(fake.ops[2].argv, "/bin/bash --norc --noprofile /snapcell/bash/runner.bash");
    fake_fails(1, -ENOENT, "exec", "node");
    expect(1, SC_STATUS_ERROR, "node: node: cannot be started in the cell: No such file or directory");
    assert_int_equal(answers[1].result.exit_code, 127);
    fake_fails(2, -EPERM, "domain", "x");
    expect(2, SC_STATUS_SANDBOX_ERROR, "bash: stage domain: x: Operation not permitted");
}

static void what_it_said(void **state)
{
    (void)state;
    static const struct {
        const char *said;
        enum sc_status status;
        int exit_code;
        const char *message;
    } cases[] = {
        {"\"status\":\"exit\",\"exit_code\":3", SC_STATUS_ERROR, 3, "the run ended with exit code 3"},
        {"\"status\":\"exit\",\"exit_code\":0", SC_STATUS_OK, 0, ""},
        {"\"status\":\"error\",\"exit_code\":1,\"error\":{\"name\":\"ZeroDivisionError\",\"message\":"
         "\"division "
         "by zero\",\"traceback\":\"\",\"line\":3}",
         SC_STATUS_ERROR, 1, "ZeroDivisionError: division by zero (line 3)"},
        {"\"status\":\"error\",\"exit_code\":1,\"error\":{\"name\":\"E\",\"message\":\"a\\nb\\u001b[0m\","
         "\"traceback\":\"\",\"line\":null}",
         SC_STATUS_ERROR, 1, "E: a\\x0ab\\x1b[0m"},
        {"\"status\":\"syntax_error\",\"exit_code\":1,\"error\":{\"name\":\"SyntaxError\",\"message\":\"'(' "
         "was "
         "never closed\",\"traceback\":\"\",\"line\":1}",
         SC_STATUS_SYNTAX_ERROR, 1, "Syntax error: '(' was never closed (line 1)"},
        {"\"status\":\"interrupted\",\"exit_code\":130", SC_STATUS_ERROR, 130,
         "the run was interrupted from inside"},
    };
    struct sc_session_run run = a_run("1");
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (i == 0)
            ask_ready(&run);
        else
            ask(&run, i);
        fake_result(0, cases[i].said);
        expect(i, cases[i].status, cases[i].message);
        assert_int_equal(answers[i].result.exit_code, cases[i].exit_code);
    }
}

static void hostile_runner(void **state)
{
    (void)state;
    struct sc_session_run run = a_run("1");
    ask_ready(&run);
    ask(&run, 1);
    fake_says(0, SC_STREAM_RUNNER, "{\"op\":\"result\",\"id\":\"0000000000000000\"}\n");
    expect_signal(0, 0, SIGKILL, SC_SIGNAL_TREE);
    fake_result(0, OK_RESULT); /* nothing it says now counts */
    step();
    assert_int_equal(answers[0].n, 0);
    fake_exits(0, SIGKILL);
    fake_gone(0);
    expect(0, SC_STATUS_ERROR,
           "the interpreter broke its protocol and was ended: it spoke of a run that is not under way");
    assert_true(answers[0].result.context_lost);
    assert_int_equal(fake.n_ops, 2); /* for the run that waits */
}

static void wall_clock(void **state)
{
    (void)state;
    struct sc_session_run run = a_run("while 1: pass");
    run.limits.wall = 20 * MS;
    ask_ready(&run);
    step_until(&fake.ops[0].n_signals, 1);
    expect_signal(0, 0, SIGINT, SC_SIGNAL_GROUP);
    fake_result(0, OK_RESULT); /* whatever it says of itself */
    expect(0, SC_STATUS_TIMEOUT, "the run was ended at its wall-clock limit");
    assert_int_equal(answers[0].result.limits_hit, SC_HIT_WALL);
    assert_int_equal(answers[0].result.exit_code, -1);
    assert_false(answers[0].result.context_lost);
    /* One that does not heed it goes with its context. */
    ask(&run, 1);
    step_until(&fake.ops[0].n_signals, 3);
    expect_signal(0, 1, SIGINT, SC_SIGNAL_GROUP);
    expect_signal(0, 2, SIGKILL, SC_SIGNAL_TREE);
    fake_exits(0, SIGKILL);
    fake_gone(0);
    expect(1, SC_STATUS_TIMEOUT, "the run was ended at its wall-clock limit");
    assert_true(answers[1].result.context_lost);
    assert_true(answers[1].result.usage.wall_ns >= 520 * MS);
}

static void restricted_time(void **state)
{
    (void)state;
    struct sc_session_run run = a_run("while 1: pass");
    run.mode = SC_MODE_RESTRICTED;
    run.limits.wall = 50 * MS;
    ask_ready(&run);
    step_until(&fake.ops[0].n_signals, 1);
    expect_signal(0, 0, SIGKILL, SC_SIGNAL_TREE);
    fake_exits(0, SIGKILL);
    fake_gone(0);
    expect(0, SC_STATUS_TIMEOUT, "Execution timed out after 0.05s");
    run.limits.wall = 2000 * MS;
    answers[0].n = 0;
    ask(&run, 0);
    assert_int_equal(fake.n_ops, 2);
}

static void processor_time(void **state)
{
    (void)state;
    struct sc_session_run run = a_run("1"), other = a_run("2");
    other.context = "b";
    run.limits.cpu = other.limits.cpu = 100 * MS;
    ask_ready(&run);
    ask(&other, 1);
    fake_started(1);
    fake_says(1, SC_STREAM_RUNNER, READY);
    fake.cpu_ns = 120 * MS; /* shared: 60 each */
    fake.view.usage.cpu_user_ns = 80 * MS;
    fake.view.usage.cpu_system_ns = 40 * MS;
    step();
    fake_result(1, OK_RESULT);
    expect(1, SC_STATUS_OK, "");
    assert_int_equal(answers[1].result.usage.cpu_user_ns + answers[1].result.usage.cpu_system_ns, 60 * MS);
    assert_in_range(answers[1].result.usage.cpu_system_ns, 20 * MS - 1, 20 * MS + 1);
    fake.cpu_ns = 161 * MS; /* the rest is the one's that runs: 101 */
    step_until(&fake.ops[0].n_signals, 1);
    expect_signal(0, 0, SIGINT, SC_SIGNAL_GROUP);
    fake_result(0, "\"status\":\"interrupted\",\"exit_code\":130");
    expect(0, SC_STATUS_CPU_TIMEOUT, "the run used up its processor time");
}

static void deaths(void **state)
{
    (void)state;
    struct sc_session_run run = a_run("1");
    ask_ready(&run);
    fake_exits(0, SIGSEGV);
    expect_signal(0, 0, SIGKILL, SC_SIGNAL_TREE); /* what it left running */
    fake_gone(0);
    expect(0, SC_STATUS_SIGNALED, "the interpreter was ended by signal 11 (Segmentation fault)");
    assert_true(answers[0].result.context_lost);

    ask(&run, 1);
    fake_says(1, SC_STREAM_RUNNER, READY);
    fake_exits(1, EXITED(3));
    fake_gone(1);
    expect(1, SC_STATUS_ERROR, "the run ended with exit code 3");

    ask(&run, 2);
    fake_says(2, SC_STREAM_RUNNER, READY);
    fake.view.counts.memory_kills = 1;
    fake_exits(2, SIGKILL);
    fake_gone(2);
    expect(2, SC_STATUS_OUT_OF_MEMORY, "the kernel ended the interpreter for memory");

    ask(&run, 3); /* that kill is not this run's */
    fake_says(3, SC_STREAM_RUNNER, READY);
    fake_exits(3, SIGKILL);
    fake_gone(3);
    expect(3, SC_STATUS_SIGNALED, "the interpreter was ended by signal 9 (Killed)");

    ask(&run, 4);
    fake_exits(4, EXITED(1));
    fake_gone(4);
    expect(4, SC_STATUS_SANDBOX_ERROR,
           "the python interpreter ended before it was ready (wait status 0x100): it said nothing");
    /* One that dies between runs: the next is told. */
    ask(&run, 5);
    fake_says(5, SC_STREAM_RUNNER, READY);
    fake_result(5, OK_RESULT);
    expect(5, SC_STATUS_OK, "");
    fake_exits(5, SIGKILL);
    fake_gone(5);
    ask(&run, 6);
    fake_says(6, SC_STREAM_RUNNER, READY);
    fake_result(6, OK_RESULT);
    expect(6, SC_STATUS_OK, "");
    assert_true(answers[6].result.context_lost);
}

static void cancelling(void **state)
{
    (void)state;
    struct sc_session_run run = a_run("1");
    uint32_t first = ask_ready(&run), second = ask(&run, 1);
    assert_int_equal(sc_session_cancel(session, 999), -ESRCH);
    assert_int_equal(sc_session_cancel(session, second), 0);
    expect(1, SC_STATUS_CANCELLED, "the run was cancelled");
    assert_int_equal(answers[1].result.usage.wall_ns, 0);
    assert_int_equal(sc_session_cancel(session, first), 0);
    assert_int_equal(sc_session_cancel(session, first), 0); /* once is enough */
    assert_int_equal(fake.ops[0].n_signals, 1);
    expect_signal(0, 0, SIGINT, SC_SIGNAL_GROUP);
    fake_result(0, "\"status\":\"interrupted\",\"exit_code\":130");
    expect(0, SC_STATUS_CANCELLED, "the run was cancelled");
    assert_false(answers[0].result.context_lost);
    assert_int_equal(sc_session_cancel(session, first), -ESRCH);
}

static void restarting(void **state)
{
    (void)state;
    struct sc_session_run run = a_run("1");
    assert_int_equal(sc_session_restart(session, "python"), -ENOENT);
    ask_ready(&run);
    ask(&run, 1);
    assert_int_equal(sc_session_restart(session, "python"), 0);
    expect_signal(0, 0, SIGKILL, SC_SIGNAL_TREE);
    fake_exits(0, SIGKILL);
    fake_gone(0);
    expect(0, SC_STATUS_CANCELLED, "the run was cancelled");
    assert_true(answers[0].result.context_lost);
    assert_int_equal(fake.n_ops, 2);
    /* One that waits for a starting interpreter waits for the next. */
    assert_int_equal(sc_session_restart(session, "python"), 0);
    fake_exits(1, SIGKILL);
    fake_gone(1);
    assert_int_equal(fake.n_ops, 3);
    fake_says(2, SC_STREAM_RUNNER, READY);
    fake_result(2, OK_RESULT);
    expect(1, SC_STATUS_OK, "");
    /* With nothing waiting it is forgotten, its kind included. */
    assert_int_equal(sc_session_restart(session, "python"), 0);
    fake_exits(2, SIGKILL);
    fake_gone(2);
    assert_int_equal(sc_session_restart(session, "python"), -ENOENT);
}

static void output_limits(void **state)
{
    (void)state;
    struct sc_session_run run = a_run("1");
    run.limits.stdout = 4;
    ask_ready(&run);
    fake_says(0, SC_STREAM_OUT, "abc");
    fake_says(0, SC_STREAM_OUT, "def");
    fake_result(0, OK_RESULT);
    expect(0, SC_STATUS_OK, "");
    assert_string_equal(answers[0].output, "1:abc;1:d;");
    assert_int_equal(answers[0].result.out.total, 6);
    assert_true(answers[0].result.out.truncated);
    assert_int_equal(answers[0].result.limits_hit, SC_HIT_STDOUT);
    plan.overflow = SC_OVERFLOW_END;
    ask(&run, 1);
    fake_says(0, SC_STREAM_OUT, "abcdef");
    expect_signal(0, 0, SIGINT, SC_SIGNAL_GROUP);
    fake_result(0, "\"status\":\"interrupted\",\"exit_code\":130");
    expect(1, SC_STATUS_OUTPUT_LIMIT, "the run wrote more than its output limit");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_good_run),     TEST(input_in_pieces), TEST(contexts),   TEST(runners),
        TEST(what_it_said),   TEST(hostile_runner),  TEST(wall_clock), TEST(restricted_time),
        TEST(processor_time), TEST(deaths),          TEST(cancelling), TEST(restarting),
        TEST(output_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
