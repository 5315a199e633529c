#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Both sinks into one file, so that what comes out can be read back. */
static const char *inside_report(const struct sc_result *result)
{
    static char text[2048];
    struct sc_cli_sink out, err;
    FILE *file = tmpfile();
    assert_non_null(file);
    sc_cli_sink_init(&out, fileno(file), false, SC_CLI_INSIDE_MAX);
    sc_cli_sink_init(&err, fileno(file), false, SC_CLI_INSIDE_MAX);
    sc_cli_report_inside(result, &out, &err);
    sc_cli_sink_finish(&out, -1);
    sc_cli_sink_finish(&err, -1);
    assert_int_equal(out.broken | err.broken, 0);
    sc_cli_sink_fini(&out);
    sc_cli_sink_fini(&err);
    text[pread(fileno(file), text, sizeof text - 1, 0)] = '\0';
    fclose(file);
    return text;
}

static void what_was_said_inside(void **state)
{
    (void)state;
    struct sc_result result;
    sc_result_init(&result, 10, 10);
    assert_string_equal(inside_report(&result), "");
    result.mode = SC_MODE_RICH;
    result.inside.value = json_pack("{s:s}", "text/plain", "42");
    assert_string_equal(inside_report(&result), "42\n");
    /* On a line of its own. */
    sc_buf_add(&result.out.kept, "no end", 6);
    assert_string_equal(inside_report(&result), "\n42\n");
    result.status = SC_STATUS_ERROR;
    result.exit_code = 127;
    result.inside.error = json_pack("{s:s}", "traceback", "Traceback\nNameError\n");
    assert_string_equal(inside_report(&result), "\n42\nTraceback\nNameError\n");
    /* It speaks for itself. */
    assert_string_equal(short_report(&result), "");
    result.status = SC_STATUS_SYNTAX_ERROR;
    assert_string_equal(short_report(&result), "");
    sc_result_fini(&result);
}

static void what_is_no_text_is_left_out(void **state)
{
    (void)state;
    struct sc_result result;
    sc_result_init(&result, 10, 10);
    result.mode = SC_MODE_RICH;
    result.inside.value = json_pack("{s:i}", "text/plain", 42);
    result.inside.error = json_pack("{s:i}", "traceback", 42);
    result.status = SC_STATUS_SYNTAX_ERROR;
    snprintf(result.message, sizeof result.message, "Syntax error: odd (line 1)");
    assert_string_equal(inside_report(&result), "");
    assert_string_equal(short_report(&result), "snapcell: Syntax error: odd (line 1)\n");
    sc_result_fini(&result);
}

static void a_flood_is_cut(void **state)
{
    (void)state;
    struct sc_result result;
    size_t size = 4 * SC_CLI_INSIDE_MAX;
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, 'x', size);
    text[size] = '\0';
    sc_result_init(&result, 10, 10);
    sc_buf_add(&result.out.kept, "no end", 6);
    result.inside.value = json_pack("{s:s}", "text/plain", text);
    assert_int_equal(strspn(inside_report(&result), "\nx"), 2047);
    sc_result_fini(&result);
    free(text);
}

static void findings_are_told(void **state)
{
    (void)state;
    struct sc_result result;
    sc_result_init(&result, 10, 10);
    result.findings =
        json_pack("[{s:s,s:i,s:s}]", "rule", "subprocess", "line", 3, "message", "starts\na program");
    assert_string_equal(short_report(&result), "snapcell: found: subprocess (line 3): starts^Ja program\n");
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
        cmocka_unit_test(what_was_said_inside),
        cmocka_unit_test(what_is_no_text_is_left_out),
        cmocka_unit_test(a_flood_is_cut),
        cmocka_unit_test(findings_are_told),
        cmocka_unit_test(long_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
