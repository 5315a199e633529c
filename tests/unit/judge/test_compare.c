/* Comparing outputs, and what a run's end means. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "judge/parts.h"

#define OK SC_VERDICT_ACCEPTED
#define PE SC_VERDICT_PRESENTATION_ERROR
#define WA SC_VERDICT_WRONG_ANSWER

static const struct row {
    const char *got, *expected;
    enum sc_verdict exact, trimmed;
    size_t line; /* of the exact comparison, where it differs */
} ROWS[] = {
    {"", "", OK, OK, 0},
    {"3\n", "3\n", OK, OK, 0},
    {"3", "3\n", PE, OK, 2},
    {"3 \n", "3\n", PE, OK, 1},
    {"3\r\n4\r\n", "3\n4\n", PE, OK, 1},
    {"3\n\n \n", "3\n", PE, OK, 2},
    {"3\n\n4\n", "3\n4\n", PE, PE, 2},
    {"3\n4", "3 4", PE, PE, 1},
    {" 3\n", "3\n", PE, PE, 1},
    {"1  2\n", "1 2\n", PE, PE, 1},
    {"12\n", "1 2\n", WA, WA, 1},
    {"3\n5\n", "3\n4\n", WA, WA, 2},
    {"3\n", "", WA, WA, 1},
    {"", "3\n", WA, WA, 1},
    {"\n\n", "", PE, OK, 1},
    {"3\n4\n", "3\n", WA, WA, 2},
    {"abc", "abd", WA, WA, 1},
    {"a\n\tb \t\v\f\r\n", "a\n\tb", PE, OK, 2},
};

static void texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        const struct row *row = &ROWS[i];
        size_t line = 0, got = strlen(row->got), expected = strlen(row->expected);
        enum sc_verdict exact =
            sc_judge_compare(SC_COMPARE_EXACT, row->got, got, row->expected, expected, &line);
        if (exact != row->exact || line != row->line)
            fail_msg("row %zu exact: %s in line %zu", i, SC_VERDICT_NAMES[exact], line);
        enum sc_verdict trimmed =
            sc_judge_compare(SC_COMPARE_TRIMMED, row->got, got, row->expected, expected, &line);
        if (trimmed != row->trimmed)
            fail_msg("row %zu trimmed: %s", i, SC_VERDICT_NAMES[trimmed]);
    }
}

/* Bytes, not text: what follows a NUL counts. */
static void any_bytes(void **state)
{
    (void)state;
    size_t line = 0;
    assert_int_equal(sc_judge_compare(SC_COMPARE_EXACT, "a\0b", 3, "a\0b", 3, &line), OK);
    assert_int_equal(sc_judge_compare(SC_COMPARE_EXACT, "a\0b", 3, "a\0c", 3, &line), WA);
    assert_int_equal(sc_judge_compare(SC_COMPARE_TRIMMED, "a\0b\n", 4, "a\0c\n", 4, &line), WA);
    assert_int_equal(sc_judge_compare(SC_COMPARE_TRIMMED, "\xFF\n", 2, "\xFF", 1, &line), OK);
    /* A NUL is no blank. */
    assert_int_equal(sc_judge_compare(SC_COMPARE_TRIMMED, "a\0", 2, "a", 1, &line), WA);
}

/* A hostile shape must not take more than a look at each byte. */
static void long_lines_of_blanks(void **state)
{
    (void)state;
    size_t len = 32u << 20, line = 0;
    char *blanks = malloc(len);
    assert_non_null(blanks);
    memset(blanks, ' ', len);
    blanks[0] = 'x';
    assert_int_equal(sc_judge_compare(SC_COMPARE_TRIMMED, blanks, len, "x\n", 2, &line), OK);
    blanks[len - 1] = 'y';
    assert_int_equal(sc_judge_compare(SC_COMPARE_TRIMMED, blanks, len, "x y", 3, &line), PE);
    memset(blanks, '\n', len);
    assert_int_equal(sc_judge_compare(SC_COMPARE_TRIMMED, blanks, len, "", 0, &line), OK);
    free(blanks);
}

static void ends_of_runs(void **state)
{
    (void)state;
    static const enum sc_verdict rows[] = {
        [SC_STATUS_OK] = OK,
        [SC_STATUS_ERROR] = SC_VERDICT_RUNTIME_ERROR,
        [SC_STATUS_SIGNALED] = SC_VERDICT_RUNTIME_ERROR,
        [SC_STATUS_TIMEOUT] = SC_VERDICT_TIME_LIMIT,
        [SC_STATUS_CPU_TIMEOUT] = SC_VERDICT_TIME_LIMIT,
        [SC_STATUS_OUT_OF_MEMORY] = SC_VERDICT_MEMORY_LIMIT,
        [SC_STATUS_OUTPUT_LIMIT] = SC_VERDICT_OUTPUT_LIMIT,
        [SC_STATUS_DISK_LIMIT] = SC_VERDICT_DISK_LIMIT,
        [SC_STATUS_PROCESS_LIMIT] = SC_VERDICT_PROCESS_LIMIT,
        [SC_STATUS_BLOCKED] = SC_VERDICT_RUNTIME_ERROR,
        [SC_STATUS_SYNTAX_ERROR] = SC_VERDICT_RUNTIME_ERROR,
        [SC_STATUS_CANCELLED] = SC_VERDICT_SKIPPED,
        [SC_STATUS_SANDBOX_ERROR] = SC_VERDICT_SANDBOX_ERROR,
    };
    struct sc_result result;
    sc_result_init(&result, 10, 10);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        result.status = (enum sc_status)i;
        assert_int_equal(sc_judge_status(&result), rows[i]);
    }
    /* What was cut off cannot be compared; what it wrote to stderr nobody compares. */
    result.status = SC_STATUS_OK;
    result.err.truncated = true;
    assert_int_equal(sc_judge_status(&result), OK);
    result.out.truncated = true;
    assert_int_equal(sc_judge_status(&result), SC_VERDICT_OUTPUT_LIMIT);
    sc_result_fini(&result);
}

static void ends_of_checkers(void **state)
{
    (void)state;
    static const struct {
        enum sc_status status;
        int exit_code;
        enum sc_verdict verdict;
    } rows[] = {
        {SC_STATUS_OK, 0, OK},
        {SC_STATUS_ERROR, 1, WA},
        {SC_STATUS_ERROR, 2, PE},
        {SC_STATUS_ERROR, 3, SC_VERDICT_CHECKER_ERROR},
        {SC_STATUS_ERROR, 127, SC_VERDICT_CHECKER_ERROR},
        {SC_STATUS_SIGNALED, -1, SC_VERDICT_CHECKER_ERROR},
        {SC_STATUS_TIMEOUT, -1, SC_VERDICT_CHECKER_ERROR},
        /* Whoever ran into a limit has not judged, whatever it then said. */
        {SC_STATUS_DISK_LIMIT, 1, SC_VERDICT_CHECKER_ERROR},
        {SC_STATUS_CANCELLED, -1, SC_VERDICT_SKIPPED},
        {SC_STATUS_SANDBOX_ERROR, -1, SC_VERDICT_SANDBOX_ERROR},
    };
    struct sc_result result;
    sc_result_init(&result, 10, 10);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        result.status = rows[i].status;
        result.exit_code = rows[i].exit_code;
        assert_int_equal(sc_judge_checker_status(&result), rows[i].verdict);
    }
    sc_result_fini(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(any_bytes),
        cmocka_unit_test(long_lines_of_blanks),
        cmocka_unit_test(ends_of_runs),
        cmocka_unit_test(ends_of_checkers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
