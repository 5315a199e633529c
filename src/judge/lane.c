/* A lane: one thread that takes the next test, runs it in a fresh cell, and judges it, until none is left. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "judge/parts.h"

/* Cells that are ready when a test begins, its own included: sealing takes a cell a millisecond or two of its
 * own, while the one before is at work. */
#define AHEAD 2
#define COMMENT_MAX 500 /* bytes of what a checker said */

const char *const SC_CHECKER_NAMES[] = {
    [SC_CHECKER_INPUT] = "input",
    [SC_CHECKER_OUTPUT] = "output",
    [SC_CHECKER_EXPECTED] = "expected",
    [SC_CHECKER_FILES] = NULL,
};

/* ---- bytes of a test ---- */

/* What a test brings, read if it lies in a file. */
struct loaded {
    const char *data;
    size_t len;
    struct sc_buf buf;
};

static int load(struct loaded *loaded, const struct sc_judge_bytes *bytes, size_t max, struct sc_err *err)
{
    *loaded = (struct loaded){.data = bytes->data ? bytes->data : "", .len = bytes->data ? bytes->len : 0};
    sc_buf_init(&loaded->buf, max);
    if (!bytes->file)
        return 0;
    int r = sc_buf_read_file(&loaded->buf, AT_FDCWD, bytes->file);
    if (r < 0)
        return sc_err_sys(err, r, "reading %s", bytes->file);
    if (loaded->buf.data)
        loaded->data = (const char *)loaded->buf.data;
    loaded->len = loaded->buf.len;
    return 0;
}

/* ---- one test ---- */

static void judge_as(struct sc_judged *judged, enum sc_verdict verdict, const char *message)
{
    judged->verdict = verdict;
    snprintf(judged->message, sizeof judged->message, "%.*s", (int)sizeof judged->message - 1, message);
}

/* It cannot be blamed on the program that a test came to no verdict. */
static void judge_failed(struct sc_judged *judged, const struct sc_err *err)
{
    judge_as(judged, SC_VERDICT_SANDBOX_ERROR, err->message);
}

static void keep_usage(struct sc_judged *judged, const struct sc_result *result)
{
    judged->exit_code = result->exit_code;
    judged->signal = result->signal;
    judged->cpu_ns = result->usage.cpu_user_ns + result->usage.cpu_system_ns;
    judged->wall_ns = result->usage.wall_ns;
    judged->memory_peak_bytes = result->usage.memory_peak_bytes;
}

/* The first bytes of a stream. Where memory is short they are left out: the verdict stands without them. */
static void keep_shown(struct sc_buf *shown, const struct sc_stream *stream, size_t max)
{
    sc_buf_init(shown, max);
    (void)sc_buf_add(shown, stream->kept.data, stream->kept.len < max ? stream->kept.len : max);
}

static void compare(const struct sc_judge_test *test, const struct sc_result *result,
                    struct sc_judged *judged)
{
    struct loaded expected;
    struct sc_err err = {0};
    size_t line = 0;
    if (load(&expected, &test->expected, SC_JUDGE_EXPECTED_MAX, &err) < 0) {
        judge_failed(judged, &err);
    } else {
        const struct sc_buf *out = &result->out.kept;
        judged->verdict = sc_judge_compare(test->compare, out->len ? (const char *)out->data : "", out->len,
                                           expected.data, expected.len, &line);
        if (judged->verdict != SC_VERDICT_ACCEPTED)
            snprintf(judged->message, sizeof judged->message, "the output differs in line %zu", line);
    }
    sc_buf_fini(&expected.buf);
}

/* A checker's comment is the program's words too: its output may be quoted there. */
static void keep_comment(struct sc_judged *judged, const struct sc_result *result)
{
    const struct sc_buf *said = &result->err.kept;
    if (judged->verdict == SC_VERDICT_CHECKER_ERROR)
        snprintf(judged->message, sizeof judged->message, "checker: %.*s", COMMENT_MAX, result->message);
    if (said->len == 0)
        return;
    size_t len = said->len;
    while (len && (said->data[len - 1] == '\n' || said->data[len - 1] == ' '))
        len--;
    sc_text_show(judged->message, COMMENT_MAX, (const char *)said->data, len);
}

static int open_checker(struct sc_lane *lane, struct sc_err *err)
{
    const struct sc_setup_change change = {.args = SC_CHECKER_NAMES};
    if (lane->checker.works)
        return 0;
    return sc_setup_open(&lane->checker, &lane->work->task->checker, &change, lane->work->host, err);
}

static int run_checker(struct sc_lane *lane, const struct sc_run_input *input, struct sc_judged *judged,
                       struct sc_err *err)
{
    int r = open_checker(lane, err);
    if (r < 0)
        return r;
    const struct sc_limits *limits = &lane->checker.plan->limits;
    struct sc_callbacks callbacks = sc_judge_cell_callbacks(lane->work, input);
    struct sc_result result;
    sc_result_init(&result, limits->stdout, limits->stderr);
    r = sc_cell_run(lane->checker.works, &callbacks, 0, &result, err);
    if (r == 0) {
        judged->verdict = sc_judge_checker_status(&result);
        keep_comment(judged, &result);
    }
    sc_result_fini(&result);
    return r;
}

/* In a cell of the checker's own, which what was judged has never seen. */
static void ask_checker(struct sc_lane *lane, const struct sc_judge_test *test, const struct loaded *input,
                        const struct sc_result *result, struct sc_judged *judged)
{
    struct loaded expected;
    struct sc_err err = {0};
    int r = load(&expected, &test->expected, SC_JUDGE_EXPECTED_MAX, &err);
    const struct sc_stream *out = &result->out;
    struct sc_spec_file files[SC_CHECKER_FILES] = {
        [SC_CHECKER_INPUT] = {.data = (char *)input->data, .len = input->len},
        [SC_CHECKER_OUTPUT] = {.data = out->kept.len ? (char *)out->kept.data : (char *)"",
                               .len = out->kept.len},
        [SC_CHECKER_EXPECTED] = {.data = (char *)expected.data, .len = expected.len},
    };
    for (size_t i = 0; i < SC_CHECKER_FILES; i++)
        files[i].path = (char *)SC_CHECKER_NAMES[i];
    const struct sc_run_input run_input = {.files = files, .n_files = SC_CHECKER_FILES};
    if (r == 0)
        r = run_checker(lane, &run_input, judged, &err);
    if (r < 0 && err.kind == SC_ERR_USAGE)
        judge_as(judged, SC_VERDICT_CHECKER_ERROR, err.message);
    else if (r < 0)
        judge_failed(judged, &err);
    sc_buf_fini(&expected.buf);
}

static void judge_result(struct sc_lane *lane, const struct sc_judge_test *test, const struct loaded *input,
                         const struct sc_result *result, struct sc_judged *judged)
{
    uint32_t shown = lane->work->task->shown_bytes;
    keep_usage(judged, result);
    if (shown) {
        keep_shown(&judged->out, &result->out, shown);
        keep_shown(&judged->err, &result->err, shown);
    }
    judge_as(judged, sc_judge_status(result), result->message);
    if (result->status == SC_STATUS_OK && judged->verdict == SC_VERDICT_OUTPUT_LIMIT)
        judge_as(judged, SC_VERDICT_OUTPUT_LIMIT, "the program wrote more than its output limit");
    if (judged->verdict != SC_VERDICT_ACCEPTED)
        return;
    if (test->compare == SC_COMPARE_CHECKER)
        ask_checker(lane, test, input, result, judged);
    else if (test->compare != SC_COMPARE_NONE)
        compare(test, result, judged);
}

static int open_run(struct sc_lane *lane, struct sc_setup *setup, const struct sc_judge_test *test,
                    struct sc_err *err)
{
    const struct sc_judge_work *work = lane->work;
    const struct sc_setup_change change = {
        .build = work->task->has_build ? work->store.path : NULL, .pin = lane->pin, .test = test};
    return sc_setup_open(setup, &work->task->run, &change, work->host, err);
}

/* The cells a test runs in: those of all tests, or for one that has arguments or limits of its own, others.
 */
static int setup_for(struct sc_lane *lane, const struct sc_judge_test *test, struct sc_setup **ret_setup,
                     struct sc_err *err)
{
    bool special = test->has_limits || test->args.n > 0;
    *ret_setup = special ? &lane->special : &lane->run;
    if (!special)
        return lane->run.works ? 0 : open_run(lane, &lane->run, NULL, err);
    sc_setup_close(&lane->special);
    return open_run(lane, &lane->special, test, err);
}

/* This test's cell, and as many more as there are tests to begin. */
static unsigned cells_ahead(struct sc_judge_work *work)
{
    size_t begun = atomic_load(&work->next), all = work->task->n_tests;
    return begun < all && all - begun >= AHEAD ? AHEAD : 1;
}

static int run_test(struct sc_lane *lane, const struct sc_judge_test *test, const struct loaded *input,
                    struct sc_judged *judged, struct sc_err *err)
{
    struct sc_setup *setup;
    int r = setup_for(lane, test, &setup, err);
    if (r == 0)
        r = sc_works_ready(setup->works, setup == &lane->run ? cells_ahead(lane->work) : 1, err);
    if (r < 0)
        return r;
    const struct sc_run_input run_input = {.stdin_data = input->data, .stdin_len = input->len};
    struct sc_callbacks callbacks = sc_judge_cell_callbacks(lane->work, &run_input);
    struct sc_result result;
    sc_result_init(&result, setup->plan->limits.stdout, setup->plan->limits.stderr);
    r = sc_cell_run(setup->works, &callbacks, 0, &result, err);
    if (r == 0)
        judge_result(lane, test, input, &result, judged);
    sc_result_fini(&result);
    return r;
}

static void test_one(struct sc_lane *lane, size_t i)
{
    struct sc_judge_work *work = lane->work;
    const struct sc_judge_test *test = &work->task->tests[i];
    struct sc_judged *judged = &work->report->tests[i];
    struct loaded input;
    struct sc_err err = {0};
    int r = load(&input, &test->input, SC_SPEC_STDIN_MAX, &err);
    if (r == 0)
        r = run_test(lane, test, &input, judged, &err);
    if (r < 0)
        judge_failed(judged, &err);
    sc_buf_fini(&input.buf);
    if (judged->verdict != SC_VERDICT_ACCEPTED && work->task->stop_on_first_failure)
        atomic_store(&work->stopped, true);
    if (!work->callbacks->tested)
        return;
    pthread_mutex_lock(&work->lock);
    work->callbacks->tested(work->callbacks->userdata, i, judged);
    pthread_mutex_unlock(&work->lock);
}

/* ---- the lane ---- */

void sc_lane_init(struct sc_lane *lane, struct sc_judge_work *work)
{
    *lane = (struct sc_lane){.work = work};
}

int sc_lane_open(struct sc_lane *lane, struct sc_err *err)
{
    int r = open_run(lane, &lane->run, NULL, err);
    if (r < 0)
        return sc_err_wrap(err, r, "run");
    r = lane->work->task->has_checker ? open_checker(lane, err) : 0;
    return r < 0 ? sc_err_wrap(err, r, "checker") : 0;
}

void sc_lane_work(struct sc_lane *lane)
{
    struct sc_judge_work *work = lane->work;
    while (!atomic_load(&work->stopped) && !sc_judge_cancelled(work)) {
        size_t i = atomic_fetch_add(&work->next, 1);
        if (i >= work->task->n_tests)
            return;
        test_one(lane, i);
    }
}

void sc_lane_fini(struct sc_lane *lane)
{
    sc_setup_close(&lane->run);
    sc_setup_close(&lane->special);
    sc_setup_close(&lane->checker);
}
