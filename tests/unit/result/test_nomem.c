/* Every allocation of the result's functions fails in turn. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "fail_alloc.h"
#include "result/result.h"

static char *whole;

static int fill(struct sc_result *result)
{
    sc_result_init(result, 8192, 8192);
    char noise[3000];
    memset(noise, 0xFF, sizeof noise);
    int r = sc_buf_add(&result->out.kept, "text\0", 5);
    if (r == 0)
        r = sc_buf_add(&result->err.kept, noise, sizeof noise);
    if (r == 0)
        r = sc_result_add_artifact(result, "a", "/x/a", 1);
    if (r == 0)
        r = sc_result_add_artifact(result, "b\xFF", NULL, 2);
    if (r == 0)
        r = sc_result_add_skip(result, "c\xFF", "symlink");
    sc_result_deny(result, "seccomp", "socket", "family \xFF", "sockets", NULL);
    result->signal = 9;
    result->limits_hit = 0x1FFF;
    result->degraded = 0xFF;
    return r;
}

static int fill_step(void *context)
{
    (void)context;
    struct sc_result result;
    int r = fill(&result);
    if (r == 0)
        assert_int_equal(result.n_artifacts + result.n_skipped, 3);
    sc_result_fini(&result);
    return r;
}

static int write_step(void *context)
{
    char *text = sc_result_to_json(context, 2);
    int r = text ? 0 : -ENOMEM;
    if (text)
        assert_string_equal(text, whole);
    free(text);
    return r;
}

static void filling(void **state)
{
    (void)state;
    assert_true(fail_alloc_each(fill_step, NULL) >= 9);
}

static void writing(void **state)
{
    (void)state;
    struct sc_result result;
    assert_int_equal(fill(&result), 0);
    whole = sc_result_to_json(&result, 2);
    assert_non_null(whole);
    assert_true(fail_alloc_each(write_step, &result) > 100);
    free(whole);
    sc_result_fini(&result);
}

static void writing_what_was_said(void **state)
{
    (void)state;
    struct sc_result result;
    sc_result_init(&result, 10, 10);
    result.mode = SC_MODE_RESTRICTED;
    result.status = SC_STATUS_SYNTAX_ERROR;
    result.inside.locals = json_pack("{s:s}", "x", "1");
    result.inside.error = json_pack("{s:s}", "message", "odd");
    result.findings = json_array();
    whole = sc_result_to_json(&result, 2);
    assert_non_null(strstr(whole, "Syntax error: odd"));
    assert_true(fail_alloc_each(write_step, &result) > 100);
    free(whole);
    sc_result_fini(&result);
}

int main(void)
{
    if (!fail_alloc_works()) {
        print_message("skipped: a sanitizer owns malloc\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(filling), cmocka_unit_test(writing),
                                       cmocka_unit_test(writing_what_was_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
