#include <stdio.h>
#include <string.h>

#include "cli/report.h"
#include "unit.h"

static const char *short_report(const struct sc_result *result)
{
    static char text[2048];
    struct sc_buf out;
    sc_buf_init(&out, sizeof text - 1);
    sc_cli_report_short(result, &out);
    snprintf(text, sizeof text, "%s", out.data ? (const char *)out.data : "");
    sc_buf_fini(&out);
    return text;
}

static void ordinary_end_is_silent(void **state)
{
    (void)state;
    struct sc_result result;
    sc_result_init(&result, 10, 10);
    assert_string_equal(short_report(&result), "");
    result.status = SC_STATUS_ERROR;
    result.exit_code = 3;
    snprintf(result.message, sizeof result.message, "the program exited with 3");
    assert_string_equal(short_report(&result), "");
    sc_result_fini(&result);
}

static void command_that_never_started(void **state)
{
    (void)state;
    struct sc_result result;
    sc_result_init(&result, 10, 10);
    result.status = SC_STATUS_ERROR;
    result.exit_code = 127;
    snprintf(result.message, sizeof result.message, "x: cannot be started");
    assert_string_equal(short_report(&result), "snapcell: x: cannot be started\n");
    result.err.total = 1;
    assert_string_equal(short_report(&result), "");
    sc_result_fini(&result);
}

static void other_ends_are_told(void **state)
{
    (void)state;
    struct sc_result result;
    sc_result_init(&result, 10, 10);
    result.status = SC_STATUS_TIMEOUT;
    snprintf(result.message, sizeof result.message, "time-out after 5 s (wall)");
    assert_string_equal(short_report(&result), "snapcell: time-out after 5 s (wall)\n");
    result.message[0] = '\0';
    assert_string_equal(short_report(&result), "snapcell: timeout\n");
    sc_result_fini(&result);
}

static void cut_output_is_told(void **state)
{
    (void)state;
    struct sc_result result;
    sc_result_init(&result, 10, 10);
    sc_buf_add(&result.out.kept, "0123456789", 10);
    result.out.total = 3 * 1024 * 1024;
    result.out.truncated = true;
    assert_string_equal(short_report(&result), "snapcell: stdout was cut: 10B kept of 3.0M\n");
    sc_result_fini(&result);
}

/* A refusal explains a failure; a program that coped needs no explaining. */
static void refusals(void **state)
{
    (void)state;
    struct sc_result result;
    sc_result_init(&result, 10, 10);
    sc_result_deny(&result, "seccomp", "socket", "family 17", "packet-sockets", "no raw network in a cell");
    sc_result_deny(&result, "seccomp", "socket", "family 17", "packet-sockets", "no raw network in a cell");
    sc_result_deny(&result, "seccomp", "unshare", "", "namespaces", "");
    assert_string_equal(short_report(&result), "");
    result.status = SC_STATUS_ERROR;
    assert_string_equal(short_report(&result), "snapcell: refused: seccomp: socket family 17 (2 times); "
                                               "no raw network in a cell and 1 more (--verbose)\n");
    sc_result_fini(&result);
}

/* A file's name cannot forge a line. */
static void names_stay_on_their_line(void **state)
{
    (void)state;
    struct sc_result result;
    sc_result_init(&result, 10, 10);
    assert_int_equal(sc_result_add_skip(&result, "a\nsnapcell: ok", "symlink"), 0);
    assert_string_equal(short_report(&result), "snapcell: not saved: a^Jsnapcell: ok (symlink)\n");
    sc_result_fini(&result);
}

static void long_report(void **state)
{
    (void)state;
    struct sc_result result;
    struct sc_limits limits;
    struct sc_buf out;
    sc_limits_init(&limits);
    sc_buf_init(&out, 8192);
    sc_result_init(&result, 10, 10);
    result.exit_code = 0;
    result.usage.wall_ns = 1500000000;
    result.usage.memory_peak_bytes = 3 * 1024 * 1024;
    result.usage.tasks_peak = 2;
    result.limits_hit = SC_HIT_TMP;
    result.degraded = SC_DEGRADE_CPUS;
    assert_int_equal(sc_result_add_artifact(&result, "plot.png", "./plot.png", 2048), 0);
    sc_cli_report_long(&result, &limits, &out);
    const char *text = (const char *)out.data;
    assert_non_null(strstr(text, "snapcell: ok, exit 0\n"));
    assert_non_null(strstr(text, "wall 1.50 s of 5.00 s"));
    assert_non_null(strstr(text, "peak 3.0M of 512M"));
    assert_non_null(strstr(text, "tasks 2 of 128"));
    assert_non_null(strstr(text, "touched    tmp"));
    assert_non_null(strstr(text, "degraded   cpus"));
    assert_non_null(strstr(text, "saved      ./plot.png (2.0K)"));
    sc_buf_fini(&out);
    sc_result_fini(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinary_end_is_silent),
        cmocka_unit_test(command_that_never_started),
        cmocka_unit_test(other_ends_are_told),
        cmocka_unit_test(cut_output_is_told),
        cmocka_unit_test(refusals),
        cmocka_unit_test(names_stay_on_their_line),
        cmocka_unit_test(long_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
