/* A session's commands, refusals and end, without a cell. */
#include "asking.h"

#include <jansson.h>
#include <sched.h>

static void commands(void **state)
{
    (void)state;
    struct sc_session_exec exec = a_command();
    uint32_t id;
    exec.stdin_data = "in";
    exec.stdin_len = 2;
    assert_int_equal(sc_session_exec(session, &exec, &events, &answers[0], &id, &err), 0);
    assert_string_equal(fake.ops[0].argv, "make all");
    assert_int_equal(fake.ops[0].flags, SC_COMMAND_STDIN);
    fake_started(0);
    assert_true(fake.ops[0].input_closed);
    fake_says(0, SC_STREAM_OUT, "done\n");
    fake_exits(0, EXITED(2)); /* others hold its pipes: nobody waits for them */
    expect(0, SC_STATUS_ERROR, "the command ended with exit code 2");
    assert_string_equal(answers[0].output, "1:done\n;");
    expect_signal(0, 0, SIGKILL, SC_SIGNAL_TREE);
    fake_says(0, SC_STREAM_OUT, "late");
    fake_gone(0);

    exec = a_command();
    exec.background = true;
    assert_int_equal(sc_session_exec(session, &exec, &events, &answers[1], &id, &err), 0);
    fake_started(1);
    fake_exits(1, 0);
    expect(1, SC_STATUS_OK, "");
    assert_int_equal(fake.ops[1].n_signals, 0);

    exec = a_command();
    exec.limits.wall = 20 * MS;
    assert_int_equal(sc_session_exec(session, &exec, &events, &answers[2], &id, &err), 0);
    fake_started(2);
    step_until(&fake.ops[2].n_signals, 1);
    expect_signal(2, 0, SIGKILL, SC_SIGNAL_TREE);
    fake_exits(2, SIGKILL);
    expect(2, SC_STATUS_TIMEOUT, "the command was ended at its wall-clock limit");

    assert_int_equal(sc_session_exec(session, &exec, &events, &answers[3], &id, &err), 0);
    fake_fails(3, -ENOENT, "exec", "make");
    expect(3, SC_STATUS_ERROR, "command: make: cannot be started in the cell: No such file or directory");
}

static void refusals(void **state)
{
    (void)state;
    struct sc_session_run run = a_run("1");
    uint32_t id;
    static const char *const names[] = {
        "", "a b", "../x", "é", "0123456789012345678901234567890123456789012345678901234567890123456789"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        run.context = names[i];
        assert_int_equal(sc_session_run(session, &run, &events, &answers[0], &id, &err), -EINVAL);
        assert_string_equal(err.field, "context");
    }
    run = a_run("1");
    run.limits.wall = 0; /* never "unlimited" */
    assert_int_equal(sc_session_run(session, &run, &events, &answers[0], &id, &err), -EINVAL);
    assert_string_equal(err.field, "wall");
    run = a_run("1");
    run.lang = SC_LANG_JAVA;
    assert_int_equal(sc_session_run(session, &run, &events, &answers[0], &id, &err), -EINVAL);
    assert_string_equal(err.field, "language");
    run.lang = SC_LANG_NODE;
    run.mode = SC_MODE_RESTRICTED;
    assert_int_equal(sc_session_run(session, &run, &events, &answers[0], &id, &err), -EINVAL);
    assert_string_equal(err.field, "mode");
    assert_int_equal(fake.n_ops, 0);
    for (unsigned i = 0; i < SC_SESSION_CONTEXTS_MAX; i++) {
        char name[8];
        run = a_run("1");
        run.context = name;
        snprintf(name, sizeof name, "c%u", i);
        ask(&run, 0);
    }
    run.context = "more";
    assert_int_equal(sc_session_run(session, &run, &events, &answers[0], &id, &err), -EINVAL);
    assert_string_equal(err.field, "context");
}

static void ending(void **state)
{
    (void)state;
    struct sc_session_run run = a_run("1");
    uint32_t id;
    ask_ready(&run);
    ask(&run, 1);
    sc_session_end(session);
    assert_true(fake.is_killed);
    assert_int_equal(sc_session_run(session, &run, &events, &answers[2], &id, &err), -EINVAL);
    assert_string_equal(err.field, "session");
    step();
    assert_int_equal(n_ended, 0);
    fake_dies(SC_STATUS_CANCELLED, "killed");
    expect(0, SC_STATUS_CANCELLED, "the session was ended");
    expect(1, SC_STATUS_CANCELLED, "the session was ended");
    assert_true(answers[0].result.context_lost);
    assert_int_equal(n_ended, 1);
    assert_string_equal(why, "ended");
    assert_int_equal(sc_session_next_ns(session), UINT64_MAX);
}

static void the_cell_dies(void **state)
{
    (void)state;
    struct sc_session_run run = a_run("1");
    struct sc_session_exec exec = a_command();
    uint32_t id;
    ask_ready(&run);
    assert_int_equal(sc_session_exec(session, &exec, &events, &answers[1], &id, &err), 0);
    fake_dies(SC_STATUS_OUT_OF_MEMORY, "the cell ran out of memory");
    expect(0, SC_STATUS_OUT_OF_MEMORY, "the cell ran out of memory");
    expect(1, SC_STATUS_OUT_OF_MEMORY, "the cell ran out of memory");
    assert_string_equal(why, "out_of_memory");
    assert_int_equal(n_ended, 1);
}

/* The kernel's word of a kill may be read after the run's own: the verdict is the same. */
static void a_kill_that_is_told_late(void **state)
{
    (void)state;
    const struct sc_session_options options = {.end_on_memory = true};
    struct sc_session_run run = a_run("1");
    sc_session_close(session);
    fake_reset();
    open_session(&options);
    ask_ready(&run);
    fake.has_unread_kill = true;
    fake_result(0, "\"status\": \"ok\", \"exit_code\": 0, \"value\": null, \"error\": null");
    expect(0, SC_STATUS_OUT_OF_MEMORY, "the cell ran out of memory");
    assert_true(answers[0].result.limits_hit & SC_HIT_MEMORY);
    assert_true(fake.is_killed);
}

static void a_child_that_is_killed_for_memory(void **state)
{
    (void)state;
    struct sc_session_run run = a_run("1");
    ask_ready(&run);
    fake.has_unread_kill = true;
    fake_result(0, "\"status\": \"ok\", \"exit_code\": 0, \"value\": null, \"error\": null");
    expect(0, SC_STATUS_OK, "");
    assert_true(answers[0].result.limits_hit & SC_HIT_MEMORY);
    assert_false(fake.is_killed);
}

/* The kernel counts ticks of each process where no group counts, and its signal says why. */
static void the_kernels_processor_limit(void **state)
{
    (void)state;
    struct sc_session_run run = a_run("1");
    const struct sc_command_end over = {.wait_status = SIGXCPU, .cpu_user_ns = 5 * SC_NS_PER_S};
    const struct sc_command_end raised = {.wait_status = SIGXCPU, .cpu_user_ns = SC_NS_PER_S};
    plan.degraded = SC_DEGRADE_CPU;
    ask_ready(&run);
    fake.ops[0].events->exited(fake.ops[0].userdata, &over);
    fake_gone(0);
    expect(0, SC_STATUS_CPU_TIMEOUT, "the run used up its processor time");
    assert_true(answers[0].result.limits_hit & SC_HIT_CPU);

    ask(&run, 1); /* sent by somebody */
    fake_says(1, SC_STREAM_RUNNER, READY);
    fake.ops[1].events->exited(fake.ops[1].userdata, &raised);
    fake_gone(1);
    expect(1, SC_STATUS_SIGNALED, "the interpreter was ended by signal 24 (CPU time limit exceeded)");
}

static void idle(void **state)
{
    (void)state;
    const struct sc_session_options options = {.idle_ns = SC_NS_PER_S, .total_ns = 0};
    struct sc_session_options wrong = {.idle_ns = 1};
    sc_session_close(session);
    assert_int_equal(sc_session_open(&works, &wrong, NULL, &session, &err), -EINVAL);
    assert_string_equal(err.field, "idle");
    open_session(&options);
    struct sc_session_run run = a_run("1");
    ask_ready(&run); /* a run is no idleness */
    assert_true(sc_session_next_ns(session) > sc_now_ns() + 2 * SC_NS_PER_S ||
                run.limits.wall < SC_NS_PER_S * 6);
    fake_result(0, OK_RESULT);
    expect(0, SC_STATUS_OK, "");
    uint64_t asked = sc_now_ns();
    while (!fake.is_killed) {
        if (sc_session_next_ns(session) <= sc_now_ns())
            step();
        else
            sched_yield();
    }
    assert_true(sc_now_ns() - asked > SC_NS_PER_S - 100 * MS);
    fake_dies(SC_STATUS_CANCELLED, "killed");
    step();
    assert_string_equal(why, "idle");
}

static void description(void **state)
{
    (void)state;
    struct sc_session_run run = a_run("1");
    ask_ready(&run);
    ask(&run, 1);
    char *text = sc_session_describe(session);
    json_error_t where;
    json_t *all = json_loads(text, 0, &where), *task = json_array_get(json_object_get(all, "tasks"), 0);
    json_t *context = json_array_get(json_object_get(all, "contexts"), 0);
    assert_string_equal(json_string_value(json_object_get(context, "name")), "python");
    assert_string_equal(json_string_value(json_object_get(context, "state")), "running");
    assert_string_equal(json_string_value(json_object_get(task, "state")), "running");
    assert_int_equal(json_array_size(json_object_get(all, "tasks")), 2);
    json_decref(all);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(commands),
        TEST(refusals),
        TEST(ending),
        TEST(the_cell_dies),
        TEST(a_kill_that_is_told_late),
        TEST(a_child_that_is_killed_for_memory),
        TEST(the_kernels_processor_limit),
        TEST(idle),
        TEST(description),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
