/* JSON text → task. Tests are read last, whatever their place in the text: they start from the limits of
 * `run`. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/judge.h"
#include "spec/json_read.h"

static int no_memory(struct sc_err *err)
{
    return sc_err_sys(err, -ENOMEM, "the judge's task");
}

/* ---- scalars ---- */

static int read_count(unsigned *into, const json_t *value, const char *path, unsigned min, unsigned max,
                      struct sc_err *err)
{
    if (!json_is_integer(value))
        return sc_json_wrong_type(path, value, "a whole number", err);
    json_int_t number = json_integer_value(value);
    if (number < (json_int_t)min || number > (json_int_t)max)
        return sc_err_usage(err, path, "%s: %lld: allowed %u to %u", path, (long long)number, min, max);
    *into = (unsigned)number;
    return 0;
}

static int read_word(enum sc_compare *into, const json_t *value, const char *path, struct sc_err *err)
{
    static const char *const names[] = {[SC_COMPARE_NONE] = "none",
                                        [SC_COMPARE_EXACT] = "exact",
                                        [SC_COMPARE_TRIMMED] = "trimmed",
                                        [SC_COMPARE_CHECKER] = "checker"};
    const char *text = sc_json_text(value, path, err);
    if (!text)
        return -EINVAL;
    for (size_t i = SC_COMPARE_NONE; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], text)) {
            *into = (enum sc_compare)i;
            return 0;
        }
    return sc_err_usage(err, path, "%s: \"%s\": allowed are none, exact, trimmed, checker", path, text);
}

static int read_path(char **into, const json_t *value, const char *path, struct sc_err *err)
{
    const char *text = sc_json_text(value, path, err);
    if (!text)
        return -EINVAL;
    size_t len = strlen(text);
    if (len == 0 || len > SC_SPEC_PATH_MAX)
        return sc_err_usage(err, path, "%s: %zu bytes: a path on the host has 1 to %d", path, len,
                            SC_SPEC_PATH_MAX);
    *into = strdup(text);
    return *into ? 0 : no_memory(err);
}

/* ---- one test ---- */

static int test_name(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_judge_test *test = into;
    const char *text = sc_json_text(value, path, err);
    if (!text)
        return -EINVAL;
    if (!*text || strlen(text) > SC_SPEC_NAME_MAX)
        return sc_err_usage(err, path, "%s: a name has 1 to %d bytes", path, SC_SPEC_NAME_MAX);
    free(test->name);
    test->name = strdup(text);
    return test->name ? 0 : no_memory(err);
}

static int test_stdin(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_judge_bytes *input = &((struct sc_judge_test *)into)->input;
    return sc_json_read_bytes(&input->data, &input->len, value, false, path, err);
}

static int test_stdin_b64(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_judge_bytes *input = &((struct sc_judge_test *)into)->input;
    return sc_json_read_bytes(&input->data, &input->len, value, true, path, err);
}

static int test_stdin_file(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_path(&((struct sc_judge_test *)into)->input.file, value, path, err);
}

static int test_expected(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_judge_bytes *expected = &((struct sc_judge_test *)into)->expected;
    return sc_json_read_bytes(&expected->data, &expected->len, value, false, path, err);
}

static int test_expected_b64(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_judge_bytes *expected = &((struct sc_judge_test *)into)->expected;
    return sc_json_read_bytes(&expected->data, &expected->len, value, true, path, err);
}

static int test_expected_file(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_path(&((struct sc_judge_test *)into)->expected.file, value, path, err);
}

static int test_arg(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_strv *args = into;
    const char *text = sc_json_text(value, path, err);
    if (!text)
        return -EINVAL;
    if (strlen(text) >= SC_SPEC_ARG_BYTES_MAX || args->n >= SC_SPEC_ARGS_MAX)
        return sc_err_usage(err, path, "%s: at most %d arguments of %d bytes are allowed", path,
                            SC_SPEC_ARGS_MAX, SC_SPEC_ARG_BYTES_MAX - 1);
    return sc_strv_add(args, text) < 0 ? no_memory(err) : 0;
}

static int test_args(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_json_read_list(&((struct sc_judge_test *)into)->args, value, path, test_arg, err);
}

static int test_limits(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_judge_test *test = into;
    test->has_limits = true;
    return sc_spec_read_limits(&test->limits, value, path, err);
}

static int test_compare(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_word(&((struct sc_judge_test *)into)->compare, value, path, err);
}

static const struct sc_json_field TEST[] = {
    {"name", test_name},
    {"stdin", test_stdin},
    {"stdin_b64", test_stdin_b64},
    {"stdin_file", test_stdin_file},
    {"args", test_args},
    {"limits", test_limits},
    {"expected", test_expected},
    {"expected_b64", test_expected_b64},
    {"expected_file", test_expected_file},
    {"compare", test_compare},
    {NULL},
};

/* A test that does not say how its output is compared: as the task says, else by what there is. */
static enum sc_compare usual_compare(const struct sc_judge_task *task, const struct sc_judge_test *test)
{
    if (task->compare != SC_COMPARE_UNSAID)
        return task->compare;
    if (task->has_checker)
        return SC_COMPARE_CHECKER;
    return test->expected.data || test->expected.file ? SC_COMPARE_EXACT : SC_COMPARE_NONE;
}

static int read_test(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_judge_task *task = into;
    if (task->n_tests >= SC_JUDGE_TESTS_MAX)
        return sc_err_usage(err, path, "%s: more than the %d tests allowed", path, SC_JUDGE_TESTS_MAX);
    struct sc_judge_test *grown = reallocarray(task->tests, task->n_tests + 1, sizeof *grown);
    if (!grown)
        return no_memory(err);
    task->tests = grown;
    struct sc_judge_test *test = &grown[task->n_tests++];
    *test = (struct sc_judge_test){.limits = task->run.limits};
    int r = sc_json_read_object(test, value, path, TEST, err);
    if (r < 0)
        return r;
    if (!test->name && asprintf(&test->name, "%zu", task->n_tests) < 0) {
        test->name = NULL;
        return no_memory(err);
    }
    if (test->input.data && test->input.file)
        return sc_err_usage(err, path, "%s: only one of stdin, stdin_b64 and stdin_file is allowed", path);
    if (test->expected.data && test->expected.file)
        return sc_err_usage(err, path, "%s: only one of expected, expected_b64 and expected_file is allowed",
                            path);
    if (test->compare == SC_COMPARE_UNSAID)
        test->compare = usual_compare(task, test);
    return 0;
}

/* ---- the task ---- */

struct reading {
    struct sc_judge_task *task;
    const json_t *tests; /* for later */
};

static int read_output(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_spec_read_output(into, value, path, err);
}

/* The members of `object` but one; NULL when memory ran out, which json_copy does not always tell. */
static json_t *without(const json_t *object, const char *left_out)
{
    json_t *copy = json_object(), *value;
    const char *name;
    json_object_foreach((json_t *)object, name, value)
    {
        if (!strcmp(name, left_out) || json_object_set_nocheck(copy, name, value) == 0)
            continue;
        json_decref(copy);
        return NULL;
    }
    return copy;
}

/* A request, and beside it what its outputs are. */
static int read_build(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_judge_task *task = ((struct reading *)into)->task;
    if (!json_is_object(value))
        return sc_json_wrong_type(path, value, "an object", err);
    json_t *request = without(value, "outputs");
    if (!request)
        return no_memory(err);
    task->has_build = true;
    int r = sc_spec_read(&task->build, request, path, err);
    json_decref(request);
    if (r == 0 && task->build.n_outs)
        r = sc_err_usage(err, "build.out", "build.out: not allowed here: outputs names what is taken");
    const json_t *outputs = json_object_get(value, "outputs");
    if (r == 0 && outputs && !json_is_null(outputs))
        r = sc_json_read_list(&task->build, outputs, "build.outputs", read_output, err);
    return r;
}

static int read_run(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_judge_task *task = ((struct reading *)into)->task;
    task->has_run = true;
    return sc_spec_read(&task->run, value, path, err);
}

static int read_checker(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_judge_task *task = ((struct reading *)into)->task;
    task->has_checker = true;
    return sc_spec_read(&task->checker, value, path, err);
}

static int keep_tests(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    (void)path;
    (void)err;
    ((struct reading *)into)->tests = value;
    return 0;
}

static int read_compare(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_word(&((struct reading *)into)->task->compare, value, path, err);
}

static int read_stop(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_json_read_bool(&((struct reading *)into)->task->stop_on_first_failure, value, path, err);
}

static int read_pin(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_judge_task *task = ((struct reading *)into)->task;
    if (json_is_boolean(value))
        return sc_json_read_bool(&task->pin_each, value, path, err);
    if (!json_is_string(value))
        return sc_json_wrong_type(path, value, "true, false or a list of processors", err);
    const char *text = sc_json_text(value, path, err);
    return text ? sc_spec_set(&task->run, "pin", text, err) : -EINVAL;
}

static int read_jobs(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_count(&((struct reading *)into)->task->jobs, value, path, 1, SC_JUDGE_JOBS_MAX, err);
}

static int read_shown(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_count(&((struct reading *)into)->task->shown_bytes, value, path, 0, SC_JUDGE_SHOWN_MAX, err);
}

static const struct sc_json_field TASK[] = {
    {"build", read_build},
    {"run", read_run},
    {"tests", keep_tests},
    {"checker", read_checker},
    {"compare", read_compare},
    {"stop_on_first_failure", read_stop},
    {"pin", read_pin},
    {"jobs", read_jobs},
    {"output_bytes", read_shown},
    {NULL},
};

int sc_judge_task_read(struct sc_judge_task *task, const json_t *object, struct sc_err *err)
{
    struct reading reading = {.task = task};
    int r = sc_json_read_object(&reading, object, "", TASK, err);
    return r == 0 && reading.tests ? sc_json_read_list(task, reading.tests, "tests", read_test, err) : r;
}

int sc_judge_task_from_json(struct sc_judge_task *task, const char *text, size_t len, struct sc_err *err)
{
    if (len > SC_SPEC_JSON_MAX)
        return sc_err_usage(err, "request", "request: %zu bytes: at most %llu are allowed", len,
                            SC_SPEC_JSON_MAX);
    json_error_t error;
    json_t *request = NULL;
    int r = sc_json_load(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &request, &error);
    if (r < 0)
        return r == -ENOMEM ? no_memory(err) : sc_json_parse_error(&error, err);
    r = sc_judge_task_read(task, request, err);
    json_decref(request);
    return r;
}
