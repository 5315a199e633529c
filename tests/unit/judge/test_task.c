/* Tasks in JSON: every field, every refusal with its path, and the check. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/judge.h"

static struct sc_judge_task task;
static struct sc_err err;

static int begin(void **state)
{
    (void)state;
    sc_judge_task_init(&task);
    return 0;
}

static int end(void **state)
{
    (void)state;
    sc_judge_task_fini(&task);
    return 0;
}

static int parse(const char *text)
{
    sc_judge_task_fini(&task);
    sc_err_clear(&err);
    return sc_judge_task_from_json(&task, text, strlen(text), &err);
}

static void taken(const char *text)
{
    if (parse(text) < 0)
        fail_msg("%s: %s", text, err.message);
}

#define RUN "\"run\":{\"command\":[\"cat\"]}"

static void every_field(void **state)
{
    (void)state;
    taken(
        "{\"tests\":[{\"name\":\"a\",\"stdin\":\"x\\u0000\",\"args\":[\"-v\"],\"expected\":\"y\",\"compare\":"
        "\"trimmed\"},"
        "{\"stdin_b64\":\"/w==\",\"expected_b64\":\"/g==\",\"limits\":{\"memory_bytes\":33554432}},"
        "{\"stdin_file\":\"/in\",\"expected_file\":\"/out\",\"compare\":\"checker\"},{}],"
        "\"build\":{\"command\":[\"gcc\"],\"outputs\":[\"a.out\",\"lib/**\"]},"
        "\"run\":{\"command\":[\"/build/a.out\"],\"limits\":{\"wall_ms\":1234}},"
        "\"checker\":{\"language\":\"python\",\"code\":\"1\"},"
        "\"stop_on_first_failure\":true,\"pin\":true,\"jobs\":3,\"output_bytes\":100,\"compare\":\"none\"}");
    assert_true(task.has_build && task.has_run && task.has_checker);
    assert_int_equal(task.build.n_outs, 2);
    assert_string_equal(task.build.outs[1].glob, "lib/**");
    assert_true(task.stop_on_first_failure && task.pin_each);
    assert_int_equal(task.jobs, 3);
    assert_int_equal(task.shown_bytes, 100);
    assert_int_equal(task.n_tests, 4);
    const struct sc_judge_test *tests = task.tests;
    assert_string_equal(tests[0].name, "a");
    assert_int_equal(tests[0].input.len, 2);
    assert_string_equal(tests[0].args.v[0], "-v");
    assert_int_equal(tests[0].compare, SC_COMPARE_TRIMMED);
    assert_false(tests[0].has_limits);
    assert_string_equal(tests[1].name, "2");
    assert_memory_equal(tests[1].input.data, "\xFF", 2);
    assert_memory_equal(tests[1].expected.data, "\xFE", 2);
    assert_int_equal(tests[1].compare, SC_COMPARE_NONE);
    /* On top of those of `run`, which stands behind the tests in the text. */
    assert_true(tests[1].has_limits);
    assert_true(tests[1].limits.wall == 1234 * SC_NS_PER_MS);
    assert_true(tests[1].limits.memory == 32 * SC_MIB);
    assert_string_equal(tests[2].input.file, "/in");
    assert_string_equal(tests[2].expected.file, "/out");
    assert_int_equal(tests[2].compare, SC_COMPARE_CHECKER);
    assert_null(tests[3].input.data);
}

static void how_outputs_are_compared_unless_said(void **state)
{
    (void)state;
    taken("{" RUN ",\"tests\":[{\"expected\":\"\"},{}]}");
    assert_int_equal(task.tests[0].compare, SC_COMPARE_EXACT);
    assert_int_equal(task.tests[1].compare, SC_COMPARE_NONE);
    taken("{" RUN ",\"tests\":[{\"expected\":\"\"},{}],\"checker\":{\"command\":[\"true\"]}}");
    assert_int_equal(task.tests[0].compare, SC_COMPARE_CHECKER);
    assert_int_equal(task.tests[1].compare, SC_COMPARE_CHECKER);
}

static void processors(void **state)
{
    (void)state;
    taken("{" RUN ",\"pin\":\"0-1\",\"tests\":[{}]}");
    assert_string_equal(task.run.pin, "0-1");
    assert_false(task.pin_each);
    taken("{" RUN ",\"pin\":false,\"tests\":[{}]}");
    assert_null(task.run.pin);
}

static const struct refusal {
    const char *text, *field, *part;
} UNREADABLE[] = {
    {"[]", "request", "must be an object"},
    {"{", "request", "not JSON"},
    {"{\"test\":[]}", "test", "did you mean tests?"},
    {"{\"tests\":{}}", "tests", "must be an array"},
    {"{\"tests\":[5]}", "tests[0]", "must be an object"},
    {"{\"tests\":[null]}", "tests[0]", "must be an object"},
    {"{\"tests\":[{\"expect\":\"\"}]}", "tests[0].expect", "did you mean expected?"},
    {"{\"tests\":[{\"name\":\"\"}]}", "tests[0].name", "1 to 255"},
    {"{\"tests\":[{\"stdin\":\"\",\"stdin_b64\":\"\"}]}", "tests[0].stdin_b64", "given twice"},
    {"{\"tests\":[{\"stdin\":\"\",\"stdin_file\":\"/x\"}]}", "tests[0]", "only one of stdin"},
    {"{\"tests\":[{\"expected\":\"\",\"expected_file\":\"/x\"}]}", "tests[0]", "only one of expected"},
    {"{\"tests\":[{},{\"limits\":{\"wall\":1}}]}", "tests[1].limits.wall", "unknown field"},
    {"{\"tests\":[{\"limits\":{\"wall_ms\":1}}]}", "tests[0].limits.wall_ms", "1: allowed 10 to"},
    {"{\"tests\":[{\"compare\":\"fuzzy\"}]}", "tests[0].compare",
     "allowed are none, exact, trimmed, checker"},
    {"{\"tests\":[{\"args\":[1]}]}", "tests[0].args[0]", "must be a string"},
    {"{\"build\":{\"comand\":[]}}", "build.comand", "did you mean command?"},
    {"{\"build\":{\"command\":[\"x\"],\"outputs\":[\"/a\"]}}", "build.outputs[0]", "relative"},
    {"{\"build\":{\"command\":[\"x\"],\"outputs\":\"a\"}}", "build.outputs", "must be an array"},
    {"{\"build\":{\"command\":[\"x\"],\"out\":[{\"glob\":\"a\"}]}}", "build.out",
     "outputs names what is taken"},
    {"{\"build\":5}", "build", "must be an object"},
    {"{\"run\":{\"outputs\":[]}}", "run.outputs", "unknown field"},
    {"{\"checker\":{\"session\":true}}", "checker.session", "unknown field"},
    {"{\"jobs\":0}", "jobs", "0: allowed 1 to 64"},
    {"{\"jobs\":1.5}", "jobs", "must be a whole number"},
    {"{\"output_bytes\":65537}", "output_bytes", "65537: allowed 0 to 65536"},
    {"{\"pin\":5}", "pin", "must be true, false or a list of processors"},
    {"{\"pin\":\"x\"}", "pin", "list of processors"},
};

static void refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof UNREADABLE / sizeof *UNREADABLE; i++) {
        const struct refusal *row = &UNREADABLE[i];
        if (parse(row->text) != -EINVAL)
            fail_msg("taken: %s", row->text);
        assert_int_equal(err.kind, SC_ERR_USAGE);
        if (strcmp(err.field, row->field) || !strstr(err.message, row->part))
            fail_msg("%s: [%s] %s; expected [%s] %s", row->text, err.field, err.message, row->field,
                     row->part);
    }
}

static void too_many_tests(void **state)
{
    (void)state;
    size_t size = 64 * 1024, n = 0;
    char *text = malloc(size);
    assert_non_null(text);
    n += (size_t)snprintf(text, size, "{" RUN ",\"tests\":[");
    for (int i = 0; i <= SC_JUDGE_TESTS_MAX; i++)
        n += (size_t)snprintf(text + n, size - n, "%s{}", i ? "," : "");
    snprintf(text + n, size - n, "]}");
    assert_int_equal(parse(text), -EINVAL);
    assert_string_equal(err.field, "tests[10000]");
    free(text);
}

static const struct refusal NOT_ALLOWED[] = {
    {"{\"tests\":[{}]}", "run", "missing"},
    {"{" RUN "}", "tests", "at least one"},
    {"{" RUN ",\"tests\":[{}],\"build\":{\"command\":[\"true\"]}}", "build.outputs", "missing"},
    {"{\"run\":{\"command\":[\"cat\"],\"stdin\":\"\"},\"tests\":[{}]}", "run.stdin", "each test has its own"},
    {"{\"run\":{\"command\":[\"cat\"],\"pty\":true},\"tests\":[{}]}", "run.pty", "not allowed here"},
    {"{\"run\":{\"command\":[\"cat\"],\"out\":[{\"glob\":\"a\"}]},\"tests\":[{}]}", "run.out", "its stdout"},
    {"{\"run\":{\"code\":\"1\",\"language\":\"python\",\"mode\":\"rich\"},\"tests\":[{}]}", "run.mode",
     "mode plain"},
    {"{\"run\":{\"code\":\"1\",\"language\":\"python\",\"validate\":true},\"tests\":[{}]}", "run.validate",
     "snapcell check"},
    {"{\"run\":{},\"tests\":[{}]}", "run.program", "run.program: nothing to run"},
    {"{" RUN ",\"tests\":[{}],\"checker\":{\"command\":[\"true\"],\"cgroup_parent\":\"/x\"}}",
     "checker.cgroup_parent", "that of run"},
    {"{" RUN ",\"tests\":[{\"compare\":\"checker\"}]}", "tests[0].compare", "no checker"},
    {"{" RUN ",\"tests\":[{},{\"compare\":\"exact\"}]}", "tests[1].compare", "no expected output"},
    {"{" RUN ",\"tests\":[{\"stdin_file\":\"/nowhere/x\"}]}", "tests[0].stdin_file", "No such file"},
    {"{" RUN ",\"tests\":[{\"expected_file\":\"/etc\"}]}", "tests[0].expected_file", "not a regular file"},
    {"{" RUN ",\"tests\":[{\"limits\":{\"memory_bytes\":16777216,\"tmp_bytes\":16777216}}]}", "tests[0].tmp",
     "tests[0].tmp: "},
    {"{" RUN ",\"tests\":[{}],\"checker\":{\"command\":[\"true\"],\"files\":[{\"path\":\"output\","
     "\"content\":\"\"}]}}",
     "checker.files", "output: the name of one of the files"},
    {"{" RUN ",\"tests\":[{}],\"checker\":{\"command\":[\"true\"],\"stdin\":\"\"}}", "checker.stdin",
     "not allowed here"},
};

static void the_check(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof NOT_ALLOWED / sizeof *NOT_ALLOWED; i++) {
        const struct refusal *row = &NOT_ALLOWED[i];
        taken(row->text);
        if (sc_judge_task_check(&task, 0, &err) != -EINVAL)
            fail_msg("allowed: %s", row->text);
        assert_int_equal(err.kind, SC_ERR_USAGE);
        if (strcmp(err.field, row->field) || !strstr(err.message, row->part))
            fail_msg("%s: [%s] %s; expected [%s] %s", row->text, err.field, err.message, row->field,
                     row->part);
    }
    taken("{" RUN ",\"tests\":[{\"limits\":{\"wall_ms\":100}}]}");
    assert_int_equal(sc_judge_task_check(&task, 0, &err), 0);
    /* Nothing is resolved by it. */
    assert_true(task.tests[0].limits.cpu == SC_DERIVED);
    assert_true(task.run.limits.cpu == SC_DERIVED);
    task.jobs = 65;
    assert_int_equal(sc_judge_task_check(&task, 0, &err), -EINVAL);
    assert_string_equal(err.field, "jobs");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_field),    TEST(how_outputs_are_compared_unless_said),
        TEST(processors),     TEST(refusals),
        TEST(too_many_tests), TEST(the_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
