/* The public library through its public header and its shared object alone: what an embedding program sees.
 */
#include <stdio.h>
#include <unistd.h>

#include "fixture.h"

static struct snapcell_spec *spec;

static int begin(void **state)
{
    (void)state;
    return snapcell_spec_new(&spec, error);
}

static int end(void **state)
{
    (void)state;
    snapcell_spec_free(spec);
    spec = NULL;
    return 0;
}

static void refused(int r, const char *field, const char *part)
{
    assert_int_equal(r, -EINVAL);
    assert_int_equal(snapcell_error_kind(error), SNAPCELL_ERROR_USAGE);
    assert_string_equal(snapcell_error_field(error), field);
    if (!strstr(snapcell_error_message(error), part))
        fail_msg("\"%s\" not in \"%s\"", part, snapcell_error_message(error));
}

static void errors(void **state)
{
    (void)state;
    refused(snapcell_spec_set(spec, "wall", "1ms", error), "wall", "1ms: allowed 10ms to 24h");
    assert_int_equal(snapcell_spec_set(spec, "wall", "1s", error), 0);
    assert_int_equal(snapcell_error_kind(error), SNAPCELL_ERROR_NONE);
    assert_string_equal(snapcell_error_message(error), "");
    assert_string_equal(snapcell_error_field(error), "");
    assert_int_equal(snapcell_spec_set(spec, "wall", "x", NULL), -EINVAL);
    assert_int_equal(snapcell_error_kind(NULL), SNAPCELL_ERROR_NONE);
    assert_string_equal(snapcell_error_message(NULL), "");
    snapcell_error_free(NULL);
    snapcell_host_free(NULL);
    snapcell_spec_free(NULL);
    snapcell_plan_free(NULL);
    snapcell_result_free(NULL);
    snapcell_string_free(NULL);
}

static void specs_from_json(void **state)
{
    (void)state;
    struct snapcell_spec *other = NULL;
    static const char good[] = "{\"code\":\"1\",\"language\":\"python\"}", bad[] = "{\"cod\":\"1\"}";
    assert_int_equal(snapcell_spec_from_json(good, strlen(good), &other, error), 0);
    snapcell_spec_free(other);
    other = NULL;
    refused(snapcell_spec_from_json(bad, strlen(bad), &other, error), "cod", "did you mean code?");
    assert_null(other);
}

static struct snapcell_plan *plan_or_skip(void)
{
    struct snapcell_plan *plan = NULL;
    int r = snapcell_plan_new(spec, host, &plan, error);
    need(r, end);
    return plan;
}
#define COMMAND(...) snapcell_spec_set_command(spec, (const char *const[]){__VA_ARGS__, NULL}, error)

static void the_last_call_counts(void **state)
{
    (void)state;
    assert_int_equal(snapcell_spec_set_code(spec, "exit 1", 6, error), 0);
    assert_int_equal(snapcell_spec_set_program(spec, "/no/such/program", error), 0);
    assert_int_equal(COMMAND("true"), 0);
    struct snapcell_plan *plan = plan_or_skip();
    snapcell_plan_free(plan);
    refused(snapcell_spec_set_args(spec, (const char *const[]){"x", NULL}, error), "args",
            "a command is given");
    assert_int_equal(snapcell_spec_set(spec, "language", "bash", error), 0);
    assert_int_equal(snapcell_spec_set_code(spec, "exit 1", 6, error), 0);
    assert_int_equal(snapcell_spec_set_args(spec, (const char *const[]){"x", NULL}, error), 0);
    plan = plan_or_skip();
    snapcell_plan_free(plan);
    assert_int_equal(snapcell_spec_set_program(spec, "/no/such/program", error), 0);
    plan = NULL;
    refused(snapcell_plan_new(spec, host, &plan, error), "program", "/no/such/program: No such file");
    assert_null(plan);
}

static void plans_are_compared(void **state)
{
    (void)state;
    assert_int_equal(COMMAND("true"), 0);
    struct snapcell_plan *a = plan_or_skip(), *b = plan_or_skip();
    assert_int_equal(snapcell_plan_equal(a, b), 1);
    char *text = snapcell_plan_text(a), *again = snapcell_plan_text(b), *json = snapcell_plan_json(a);
    assert_string_equal(text, again);
    assert_int_equal(json[0], '{');
    snapcell_string_free(text);
    snapcell_string_free(again);
    snapcell_string_free(json);
    snapcell_plan_free(b);
    /* The spec is the caller's as it was: limits that were derived are so again. */
    assert_int_equal(snapcell_spec_set(spec, "memory", "64M", error), 0);
    b = plan_or_skip();
    assert_int_equal(snapcell_plan_equal(a, b), 0);
    snapcell_plan_free(b);
    assert_int_equal(snapcell_spec_set(spec, "memory", "512M", error), 0);
    assert_int_equal(snapcell_spec_set_stdin(spec, "x", 1, error), 0);
    b = plan_or_skip();
    assert_int_equal(snapcell_plan_equal(a, b), 0);
    snapcell_plan_free(b);
    snapcell_plan_free(a);
}

static void groups_are_where_the_host_was_probed(void **state)
{
    (void)state;
    struct snapcell_plan *plan = NULL;
    assert_int_equal(COMMAND("true"), 0);
    assert_int_equal(snapcell_spec_set(spec, "cgroup-parent", "/somewhere/else", error), 0);
    refused(snapcell_plan_new(spec, host, &plan, error), "cgroup-parent", "/somewhere/else");
}

static void the_host_as_json(void **state)
{
    (void)state;
    char *json = snapcell_host_json(host);
    assert_non_null(json);
    assert_int_equal(json[0], '{');
    snapcell_string_free(json);
}

struct seen {
    size_t bytes[3];
    int artifacts;
    char content[32];
};

static void on_output(void *userdata, int stream, const void *data, size_t len)
{
    (void)data;
    assert_true(stream == 1 || stream == 2);
    ((struct seen *)userdata)->bytes[stream] += len;
}

static int on_artifact(void *userdata, const char *path, int fd, uint64_t size)
{
    struct seen *seen = userdata;
    assert_string_equal(path, "made.txt");
    assert_int_equal(size, 5);
    assert_int_equal(read(fd, seen->content, sizeof seen->content - 1), 5);
    seen->artifacts++;
    return 0;
}

static void a_run(void **state)
{
    (void)state;
    static const char code[] =
        "read line; printf 'got %s\\0end' \"$line\"; echo oops >&2; printf bytes > made.txt; exit 3";
    assert_int_equal(snapcell_spec_set(spec, "language", "bash", error), 0);
    assert_int_equal(snapcell_spec_set_code(spec, code, strlen(code), error), 0);
    assert_int_equal(snapcell_spec_set_stdin(spec, "hello\n", 6, error), 0);
    assert_int_equal(snapcell_spec_add(spec, "out", "made.txt", error), 0);
    struct snapcell_plan *plan = plan_or_skip();
    if (snapcell_plan_ready(plan, 1, error) < 0)
        fail_msg("%s", snapcell_error_message(error));
    for (int i = 0; i < 2; i++) {
        struct seen seen = {0};
        struct snapcell_callbacks callbacks = {
            .userdata = &seen, .output = on_output, .artifact = on_artifact};
        struct snapcell_result *result = NULL;
        size_t len = 0;
        if (snapcell_run(plan, &callbacks, &result, error) < 0)
            fail_msg("%s", snapcell_error_message(error));
        if (strcmp(snapcell_result_status(result), "error"))
            fail_msg("%s: %s", snapcell_result_status(result), snapcell_result_message(result));
        assert_int_equal(snapcell_result_exit_code(result), 3);
        assert_int_equal(snapcell_result_signal(result), 0);
        assert_memory_equal(snapcell_result_stdout(result, &len), "got hello\0end", 13);
        assert_int_equal(len, 13);
        assert_string_equal(snapcell_result_stderr(result, NULL), "oops\n");
        assert_int_equal(seen.bytes[1], 13);
        assert_int_equal(seen.bytes[2], 5);
        assert_int_equal(seen.artifacts, 1);
        assert_string_equal(seen.content, "bytes");
        assert_true(snapcell_result_wall_ns(result) > 0);
        assert_true(snapcell_result_start_ns(result) > 0);
        char *json = snapcell_result_json(result);
        assert_non_null(strstr(json, "\"exit_code\": 3"));
        snapcell_string_free(json);
        snapcell_result_free(result);
    }
    snapcell_plan_free(plan);
}

static int cancel(void *userdata)
{
    (void)userdata;
    return 1;
}

static void a_cancelled_run(void **state)
{
    (void)state;
    assert_int_equal(COMMAND("sleep", "60"), 0);
    assert_int_equal(snapcell_spec_set(spec, "wall", "60s", error), 0);
    struct snapcell_plan *plan = plan_or_skip();
    struct snapcell_callbacks callbacks = {.cancelled = cancel};
    struct snapcell_result *result = NULL;
    if (snapcell_run(plan, &callbacks, &result, error) < 0)
        fail_msg("%s", snapcell_error_message(error));
    assert_string_equal(snapcell_result_status(result), "cancelled");
    assert_string_equal(snapcell_result_stdout(result, NULL), "");
    snapcell_result_free(result);
    /* And without any callback at all. */
    snapcell_plan_free(plan);
    assert_int_equal(COMMAND("true"), 0);
    plan = plan_or_skip();
    if (snapcell_run(plan, NULL, &result, error) < 0)
        fail_msg("%s", snapcell_error_message(error));
    assert_string_equal(snapcell_result_status(result), "ok");
    snapcell_result_free(result);
    snapcell_plan_free(plan);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(errors),
        TEST(specs_from_json),
        TEST(the_last_call_counts),
        TEST(plans_are_compared),
        TEST(groups_are_where_the_host_was_probed),
        TEST(the_host_as_json),
        TEST(a_run),
        TEST(a_cancelled_run),
    };
    return cmocka_run_group_tests(tests, probe, leave);
}
