/* Every allocation of reading a task, checking it and writing a report fails in turn: a clean error, nothing
 * leaked. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fail_alloc.h"
#include "judge/judge.h"

static const char TASK[] =
    "{\"build\":{\"command\":[\"gcc\"],\"outputs\":[\"a\",\"b\"]},\"run\":{\"command\":[\"/build/a\"]},"
    "\"checker\":{\"command\":[\"true\"]},\"pin\":\"0\",\"tests\":[{\"name\":\"x\",\"stdin_b64\":\"AP8=\","
    "\"args\":[\"v\"],\"limits\":{\"wall_ms\":100},\"expected\":\"e\"},{\"stdin_file\":\"/etc/passwd\"}]}";

static int read_step(void *context)
{
    (void)context;
    struct sc_judge_task task;
    struct sc_err err = {0};
    sc_judge_task_init(&task);
    int r = sc_judge_task_from_json(&task, TASK, sizeof TASK - 1, &err);
    if (r == 0)
        r = sc_judge_task_check(&task, 0, &err);
    if (r < 0)
        assert_int_equal(err.kind, SC_ERR_SANDBOX);
    sc_judge_task_fini(&task);
    return r;
}

static void reading(void **state)
{
    (void)state;
    assert_true(fail_alloc_each(read_step, NULL) > 60);
}

static const struct sc_judge_task *named;
static char *whole;

static int write_step(void *context)
{
    char *text = sc_judge_report_to_json(context, named, 2);
    int r = text ? 0 : -ENOMEM;
    if (text)
        assert_string_equal(text, whole);
    free(text);
    return r;
}

static void writing(void **state)
{
    (void)state;
    struct sc_judge_task task;
    struct sc_judged tests[2] = {{.verdict = SC_VERDICT_TIME_LIMIT, .signal = 9}, {.exit_code = 1}};
    struct sc_judge_report report = {.has_build = true, .tests = tests, .n_tests = 2};
    sc_judge_task_init(&task);
    assert_int_equal(sc_judge_task_from_json(&task, TASK, sizeof TASK - 1, NULL), 0);
    task.shown_bytes = 10;
    named = &task;
    sc_result_init(&report.build, 10, 10);
    assert_int_equal(sc_buf_add(&report.build.err.kept, "\xFF", 1), 0);
    assert_int_equal(sc_result_add_artifact(&report.build, "a\xFF", NULL, 1), 0);
    assert_int_equal(sc_result_add_skip(&report.build, "l\xFF", "symlink"), 0);
    whole = sc_judge_report_to_json(&report, &task, 2);
    assert_non_null(strstr(whole, "\"SIGKILL\""));
    assert_true(fail_alloc_each(write_step, &report) > 100);
    free(whole);
    sc_result_fini(&report.build);
    sc_judge_task_fini(&task);
}

int main(void)
{
    if (!fail_alloc_works()) {
        print_message("skipped: a sanitizer owns malloc\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(reading), cmocka_unit_test(writing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
