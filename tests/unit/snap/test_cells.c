/* Sessions in real cells: what they keep, what they end, and that nothing is left of them. */
#include "../cell/fixture.h"

#include <jansson.h>
#include <signal.h>
#include <unistd.h>

#include "base/num.h"
#include "cell/run.h"
#include "snap/session_wait.h"

#define MS SC_NS_PER_MS

/* What became of one run. */
struct answer {
    bool done;
    struct sc_result result;
};

static struct sc_spec spec;
static struct sc_plan *plan;
static struct sc_works *works;
static struct sc_session *session;
static struct sc_err err;
static struct sc_validate validate; /* of the next session */
static struct traces before;
static struct answer answers[4];
static bool is_over;
static char why[32];

static void on_ended(void *userdata, const char *reason, const char *message)
{
    (void)userdata;
    (void)message;
    is_over = true;
    snprintf(why, sizeof why, "%s", reason);
}

static void take_result(void *userdata, struct sc_result *result)
{
    struct answer *answer = userdata;
    sc_result_fini(&answer->result);
    sc_result_move(&answer->result, result);
    answer->done = true;
}

static const struct sc_task_events events = {.done = take_result};

/* Options as pairs ended by NULL. */
static void open_session(const struct sc_session_options *options, const char *const *limits)
{
    const struct sc_session_events on = {.ended = on_ended};
    sc_spec_init(&spec);
    spec.session = true;
    spec.validate.on = validate.on;
    spec.validate.on_finding = validate.on_finding;
    assert_int_equal(sc_spec_set(&spec, "wall", "20s", NULL), 0); /* a busy machine is no failure */
    for (; limits && *limits; limits += 2)
        assert_int_equal(sc_spec_set(&spec, limits[0], limits[1], NULL), 0);
    if (*to_accept())
        assert_int_equal(sc_spec_add(&spec, "allow-degraded", to_accept(), NULL), 0);
    if (sc_spec_check(&spec, the_host()->memory_bytes, &err) < 0 ||
        sc_plan_make(&spec, the_host(), &plan, &err) < 0 || sc_works_new(plan, &works, &err) < 0 ||
        sc_session_open(works, options, &on, &session, &err) < 0)
        fail_msg("%s", err.message);
}

static int begin_test(void **state)
{
    (void)state;
    before = traces_of_now();
    is_over = false;
    validate = (struct sc_validate){0};
    memset(answers, 0, sizeof answers);
    return 0;
}

static int end_test(void **state)
{
    (void)state;
    sc_session_close(session);
    sc_works_free(works);
    sc_plan_free(plan);
    sc_spec_fini(&spec);
    session = NULL;
    works = NULL;
    plan = NULL;
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        sc_result_fini(&answers[i].result);
    assert_same_traces(&before);
    return 0;
}

static void wait_for(const bool *done)
{
    uint64_t until = sc_now_ns() + 60 * SC_NS_PER_S;
    while (!*done) {
        if (sc_session_wait(session, NULL, 0, until, &err) < 0 || sc_now_ns() >= until)
            fail_msg("no answer: %s", err.message);
    }
}

static struct sc_session_run a_run(enum sc_lang lang, const char *code)
{
    struct sc_session_run run = {.lang = lang, .mode = SC_MODE_RICH, .code = code, .code_len = strlen(code)};
    sc_session_default_limits(session, &run.limits);
    return run;
}

static uint32_t ask(const struct sc_session_run *run, unsigned to)
{
    uint32_t task;
    answers[to].done = false;
    if (sc_session_run(session, run, &events, &answers[to], &task, &err) < 0)
        fail_msg("%s", err.message);
    return task;
}

static void expect_answer(unsigned which, enum sc_status status, int exit_code)
{
    const struct sc_result *result = &answers[which].result;
    wait_for(&answers[which].done);
    if (result->status != status || result->exit_code != exit_code)
        fail_msg("%s, exit code %d: %s; %.300s", SC_STATUS_NAMES[result->status], result->exit_code,
                 result->message, result->err.kept.len ? (char *)result->err.kept.data : "");
}

static void expect_run(enum sc_lang lang, const char *code, enum sc_status status, int exit_code,
                       const char *output)
{
    struct sc_session_run run = a_run(lang, code);
    ask(&run, 0);
    expect_answer(0, status, exit_code);
    const struct sc_buf *kept = &answers[0].result.out.kept;
    assert_string_equal(kept->len ? (char *)kept->data : "", output);
}

static void python(const char *code, const char *output)
{
    expect_run(SC_LANG_PYTHON, code, SC_STATUS_OK, 0, output);
}

static void python_keeps_its_state(void **state)
{
    (void)state;
    open_session(NULL, NULL);
    python("x = 20\ndef f(a): return a + x", "");
    python("print(f(22))", "42\n");
    assert_true(answers[0].result.usage.start_ns < MS); /* no second interpreter */
    python("open('file', 'w').write('kept')", "");
    python("print(open('file').read())", "kept\n");
    expect_run(SC_LANG_PYTHON, "1/0", SC_STATUS_ERROR, 1, "");
    assert_string_equal(answers[0].result.message, "ZeroDivisionError: division by zero (line 1)");
    expect_run(SC_LANG_PYTHON, "def (", SC_STATUS_SYNTAX_ERROR, 1, "");
    expect_run(SC_LANG_PYTHON, "import sys\nprint(x)\nsys.exit(9)", SC_STATUS_ERROR, 9, "20\n");
    python("print(x)", "20\n");
}

static void bash_keeps_its_state(void **state)
{
    (void)state;
    open_session(NULL, NULL);
    expect_run(SC_LANG_BASH, "x=4; f() { echo \"f $x\"; }; cd /tmp", SC_STATUS_OK, 0, "");
    expect_run(SC_LANG_BASH, "f; pwd", SC_STATUS_OK, 0, "f 4\n/tmp\n");
    expect_run(SC_LANG_BASH, "(exit 3)", SC_STATUS_ERROR, 3, "");
    expect_run(SC_LANG_BASH, "f", SC_STATUS_OK, 0, "f 4\n");
}

static void node_keeps_its_state(void **state)
{
    (void)state;
    if (access("/usr/bin/node", X_OK) < 0)
        skip();
    open_session(NULL, (const char *const[]){"memory", "1G", NULL});
    expect_run(SC_LANG_NODE, "const x = 5; function f() { return x + 1 }", SC_STATUS_OK, 0, "");
    expect_run(SC_LANG_NODE, "console.log(f())", SC_STATUS_OK, 0, "6\n");
    expect_run(SC_LANG_NODE, "throw new Error('no')", SC_STATUS_ERROR, 1, "");
    expect_run(SC_LANG_NODE, "console.log(await Promise.resolve(f()))", SC_STATUS_OK, 0, "6\n");
}

static void an_interrupt_keeps_the_state(void **state)
{
    (void)state;
    open_session(NULL, NULL);
    python("x = 1", "");
    struct sc_session_run run = a_run(SC_LANG_PYTHON, "x = 2\nprint('on', flush=True)\nwhile True: pass");
    run.limits.wall = 300 * MS;
    ask(&run, 0);
    expect_answer(0, SC_STATUS_TIMEOUT, -1);
    assert_false(answers[0].result.context_lost);
    assert_true(answers[0].result.usage.wall_ns >= 300 * MS);
    assert_int_equal(answers[0].result.limits_hit, SC_HIT_WALL);
    python("print(x)", "2\n");
    run = a_run(SC_LANG_PYTHON, "import time\ntime.sleep(60)");
    uint32_t task = ask(&run, 0);
    uint64_t until = sc_now_ns() + 100 * MS;
    while (sc_now_ns() < until)
        assert_int_equal(sc_session_wait(session, NULL, 0, until, &err), 0);
    assert_int_equal(sc_session_cancel(session, task), 0);
    expect_answer(0, SC_STATUS_CANCELLED, -1);
    assert_false(answers[0].result.context_lost);
    python("print(x)", "2\n");
}

/* It holds off the interrupt, and so does its child; both are dead when the answer comes. */
static void who_does_not_heed_is_killed(void **state)
{
    (void)state;
    char code[400], mark[40];
    snprintf(mark, sizeof mark, "mark-%d-%llx", (int)getpid(), (unsigned long long)sc_now_ns());
    snprintf(code, sizeof code,
             "import os, signal, subprocess, sys\n"
             "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
             "subprocess.Popen([sys.executable, '-c', 'while True: pass', '%s'], start_new_session=True)\n"
             "print('on', flush=True)\nwhile True: pass",
             mark);
    open_session(NULL, NULL);
    python("x = 1", "");
    struct sc_session_run run = a_run(SC_LANG_PYTHON, code);
    run.limits.wall = SC_NS_PER_S;
    ask(&run, 0);
    expect_answer(0, SC_STATUS_TIMEOUT, -1);
    assert_true(answers[0].result.context_lost);
    assert_string_equal((char *)answers[0].result.out.kept.data, "on\n");
    assert_int_equal(marked(mark), 0);
    expect_run(SC_LANG_PYTHON, "x", SC_STATUS_ERROR, 1, ""); /* a new interpreter */
    assert_string_equal(answers[0].result.message, "NameError: name 'x' is not defined (line 1)");
    python("print(1)", "1\n");
}

static void objects_that_flood_or_hang(void **state)
{
    (void)state;
    open_session(NULL, NULL);
    python("class A:\n def __repr__(self): return 'x' * 50_000_000\n"
           "class B:\n def __repr__(self): raise OSError\n"
           "class C:\n def __repr__(self):\n  while True: pass\n"
           "a, b, c = A(), B(), C()",
           "");
    json_t *locals = answers[0].result.inside.locals;
    assert_true(json_string_length(json_object_get(locals, "a")) < 20000);
    assert_non_null(strstr(json_string_value(json_object_get(locals, "b")), "repr failed"));
    assert_non_null(strstr(json_string_value(json_object_get(locals, "c")), "repr timed out"));
}

static void how_an_interpreter_may_end(void **state)
{
    (void)state;
    open_session(NULL, NULL);
    expect_run(SC_LANG_PYTHON, "import os; os._exit(5)", SC_STATUS_ERROR, 5, "");
    assert_true(answers[0].result.context_lost);
    expect_run(SC_LANG_PYTHON, "import os; os.abort()", SC_STATUS_SIGNALED, -1, "");
    assert_int_equal(answers[0].result.signal, SIGABRT);
    python("x = 1", "");
    assert_int_equal(sc_session_restart(session, "python"), 0);
    expect_run(SC_LANG_PYTHON, "x", SC_STATUS_ERROR, 1, "");
    assert_false(answers[0].result.context_lost); /* it was asked for */
}

/* Whatever the code writes to the runner's stream, status and output are told from outside. */
static void a_forged_result(void **state)
{
    (void)state;
    open_session(NULL, NULL);
    struct sc_session_run run =
        a_run(SC_LANG_PYTHON, "import os\n"
                              "for fd in range(3, 64):\n"
                              "  try: os.write(fd, b'{\"op\":\"result\",\"id\":\"0000000000000000\","
                              "\"status\":\"ok\",\"exit_code\":0,\"locals\":{}}\\n')\n"
                              "  except OSError: pass\n"
                              "while True: pass");
    run.limits.wall = 2 * SC_NS_PER_S;
    ask(&run, 0);
    wait_for(&answers[0].done);
    assert_int_not_equal(answers[0].result.status, SC_STATUS_OK);
    python("print(1)", "1\n");
}

static void memory_of_one_context(void **state)
{
    (void)state;
    if (strstr(to_accept(), "memory"))
        skip(); /* where no group counts, a process is refused memory before it is killed */
    open_session(NULL, (const char *const[]){"memory", "128M", NULL});
    struct sc_session_run run = a_run(SC_LANG_PYTHON, "kept = 7");
    run.context = "other";
    ask(&run, 0);
    expect_answer(0, SC_STATUS_OK, 0);
    expect_run(SC_LANG_PYTHON, "x = bytearray(500 << 20)", SC_STATUS_OUT_OF_MEMORY, -1, "");
    assert_true(answers[0].result.limits_hit & SC_HIT_MEMORY);
    assert_true(answers[0].result.context_lost);
    run.code = "print(kept)";
    run.code_len = strlen(run.code);
    ask(&run, 0);
    expect_answer(0, SC_STATUS_OK, 0);
    assert_string_equal((char *)answers[0].result.out.kept.data, "7\n");
    assert_false(answers[0].result.limits_hit & SC_HIT_MEMORY);
    python("print(1)", "1\n");
}

/* Each waits for the other's file: that only ends when both run at once. */
static void two_at_once(void **state)
{
    (void)state;
    static const char code[] = "import os, time\n"
                               "open('%s', 'w').close()\n"
                               "while not os.path.exists('%s'): time.sleep(0.01)\n"
                               "print('met')";
    char one[200], two[200];
    open_session(NULL, NULL);
    snprintf(one, sizeof one, code, "a", "b");
    snprintf(two, sizeof two, code, "b", "a");
    struct sc_session_run run = a_run(SC_LANG_PYTHON, one), other = a_run(SC_LANG_PYTHON, two);
    other.context = "other";
    ask(&run, 0);
    ask(&other, 1);
    expect_answer(0, SC_STATUS_OK, 0);
    expect_answer(1, SC_STATUS_OK, 0);
}

static void execute(const struct sc_session_exec *exec)
{
    uint32_t task;
    answers[0].done = false;
    if (sc_session_exec(session, exec, &events, &answers[0], &task, &err) < 0)
        fail_msg("%s", err.message);
}

static void commands_and_what_they_leave(void **state)
{
    (void)state;
    static const char *const argv[] = {"sh", "-c", "cat; sleep 1000 & exit 3", NULL};
    struct sc_session_exec exec = {.argv = argv, .stdin_data = "hello", .stdin_len = 5};
    open_session(NULL, NULL);
    sc_session_default_limits(session, &exec.limits);
    execute(&exec);
    expect_answer(0, SC_STATUS_ERROR, 3); /* though `sleep` holds its pipes */
    assert_string_equal((char *)answers[0].result.out.kept.data, "hello");
    /* Of the background only what was asked for is left. */
    exec.stdin_data = NULL;
    exec.argv = (const char *const[]){"sh", "-c", "sleep 2000 & exit 0", NULL};
    exec.background = true;
    execute(&exec);
    expect_answer(0, SC_STATUS_OK, 0);
    exec.background = false;
    exec.argv = (const char *const[]){
        "sh", "-c", "for d in /proc/[0-9]*; do tr '\\0' ' ' < $d/cmdline; done | grep -o 'sleep [12]000'",
        NULL};
    execute(&exec);
    wait_for(&answers[0].done);
    assert_string_equal((char *)answers[0].result.out.kept.data, "sleep 2000\n");
    exec.argv = (const char *const[]){"no-such-command", NULL};
    execute(&exec);
    expect_answer(0, SC_STATUS_ERROR, 127);
    exec.argv = (const char *const[]){"sh", "-c", "sleep 1000; echo no", NULL};
    exec.limits.wall = 200 * MS;
    execute(&exec);
    expect_answer(0, SC_STATUS_TIMEOUT, -1);
}

static void a_restricted_context(void **state)
{
    (void)state;
    open_session(NULL, NULL);
    struct sc_session_run run = a_run(SC_LANG_PYTHON, "x = [i**2 for i in range(10)]; print(sum(x))");
    run.mode = SC_MODE_RESTRICTED;
    ask(&run, 0);
    expect_answer(0, SC_STATUS_OK, 0);
    assert_string_equal((char *)answers[0].result.out.kept.data, "285\n");
    run.code = "while True: pass";
    run.code_len = strlen(run.code);
    run.limits.wall = 500 * MS;
    ask(&run, 0);
    expect_answer(0, SC_STATUS_TIMEOUT, -1);
    assert_string_equal(answers[0].result.message, "Execution timed out after 0.5s");
    assert_true(answers[0].result.context_lost);
}

/* In their order, and none of what is refused has run. */
static void code_that_is_read_first(void **state)
{
    (void)state;
    validate.on = true;
    open_session(NULL, NULL);
    struct sc_session_run bad = a_run(SC_LANG_PYTHON, "print('ran')\nimport subprocess"),
                          good = a_run(SC_LANG_PYTHON, "x = 5"), next = a_run(SC_LANG_PYTHON, "print(x)");
    ask(&bad, 0);
    ask(&good, 1);
    ask(&next, 2);
    uint32_t cancelled = ask(&next, 3);
    assert_int_equal(sc_session_cancel(session, cancelled), 0);
    expect_answer(3, SC_STATUS_CANCELLED, -1);
    expect_answer(0, SC_STATUS_BLOCKED, -1);
    assert_string_equal(answers[0].result.message, "Blocked: subprocess (line 2)");
    assert_int_equal(answers[0].result.out.total, 0);
    expect_answer(1, SC_STATUS_OK, 0);
    expect_answer(2, SC_STATUS_OK, 0);
    assert_string_equal((char *)answers[2].result.out.kept.data, "5\n");
    assert_int_equal(json_array_size(answers[2].result.findings), 0);
    ask(&bad, 0); /* still being read when the session ends */
    sc_session_end(session);
    wait_for(&is_over);
    assert_true(answers[0].done);
}

static void findings_that_are_only_told(void **state)
{
    (void)state;
    validate.on = true;
    validate.on_finding = SC_FINDING_REPORT;
    open_session(NULL, NULL);
    python("import subprocess\nprint('ran')", "ran\n");
    assert_true(json_array_size(answers[0].result.findings) > 0);
}

static void idle_sessions_end(void **state)
{
    (void)state;
    const struct sc_session_options options = {.idle_ns = SC_NS_PER_S};
    open_session(&options, NULL);
    python("1", "");
    uint64_t asked = sc_now_ns();
    wait_for(&is_over);
    assert_string_equal(why, "idle");
    assert_true(sc_now_ns() - asked >= 900 * MS);
}

static void an_end_answers_everybody(void **state)
{
    (void)state;
    open_session(NULL, NULL);
    struct sc_session_run run = a_run(SC_LANG_PYTHON, "while True: pass");
    ask(&run, 0);
    ask(&run, 1);
    sc_session_end(session);
    wait_for(&is_over);
    assert_true(answers[0].done && answers[1].done);
    assert_int_equal(answers[0].result.status, SC_STATUS_CANCELLED);
    assert_string_equal(why, "ended");
}

static void files_are_put_in_first(void **state)
{
    (void)state;
    struct sc_result result;
    char *folder = make_folder();
    char out[80];
    sc_spec_init(&spec);
    spec.mode = SC_MODE_RICH;
    spec.lang = SC_LANG_PYTHON;
    snprintf(out, sizeof out, "made.txt:%s", folder);
    static const char code[] = "import sys\nopen('made.txt', 'w').write(open('in').read() + input())\n6 * 7";
    spec.files = calloc(1, sizeof *spec.files);
    assert_non_null(spec.files);
    spec.n_files = 1;
    spec.files[0] = (struct sc_spec_file){.data = strdup("put "), .len = 4, .path = strdup("in")};
    assert_int_equal(sc_spec_set_code(&spec, code, strlen(code), NULL), 0);
    assert_int_equal(sc_spec_set_stdin(&spec, "in\n", 3, NULL), 0);
    assert_int_equal(sc_spec_add(&spec, "out", out, NULL), 0);
    if (*to_accept())
        assert_int_equal(sc_spec_add(&spec, "allow-degraded", to_accept(), NULL), 0);
    if (sc_spec_check(&spec, the_host()->memory_bytes, &err) < 0 ||
        sc_plan_make(&spec, the_host(), &plan, &err) < 0 || sc_works_new(plan, &works, &err) < 0)
        fail_msg("%s", err.message);
    sc_result_init(&result, 1000, 1000);
    if (sc_run_once(works, NULL, 0, &result, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(result.status, SC_STATUS_OK);
    assert_string_equal(json_string_value(json_object_get(result.inside.value, "text/plain")), "42");
    assert_int_equal(result.n_artifacts, 1);
    assert_int_equal(result.artifacts[0].size, strlen("put in"));
    sc_result_fini(&result);
    remove_folder(folder);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(python_keeps_its_state),
        TEST(bash_keeps_its_state),
        TEST(node_keeps_its_state),
        TEST(an_interrupt_keeps_the_state),
        TEST(who_does_not_heed_is_killed),
        TEST(objects_that_flood_or_hang),
        TEST(how_an_interpreter_may_end),
        TEST(a_forged_result),
        TEST(memory_of_one_context),
        TEST(two_at_once),
        TEST(commands_and_what_they_leave),
        TEST(a_restricted_context),
        TEST(code_that_is_read_first),
        TEST(findings_that_are_only_told),
        TEST(idle_sessions_end),
        TEST(an_end_answers_everybody),
        TEST(files_are_put_in_first),
    };
    return RUN_AS_BOTH(tests);
}
