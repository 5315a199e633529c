/* Sessions through the public header and the shared object alone. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "fixture.h"

static struct snapcell_spec *spec;
static struct snapcell_session *session;

static int begin(void **state)
{
    (void)state;
    return snapcell_spec_new(&spec, error);
}

static int end(void **state)
{
    (void)state;
    snapcell_session_free(session);
    session = NULL;
    snapcell_spec_free(spec);
    spec = NULL;
    return 0;
}

static void open_or_skip(const struct snapcell_session_options *options)
{
    int r = snapcell_spec_set(spec, "wall", "20s", error);
    if (r == 0)
        r = snapcell_session_new(spec, host, options, &session, error);
    need(r, end);
}

/* Runs Python and compares status and stdout. */
static void expect(const char *code, uint64_t wall_ms, const char *status, const char *output)
{
    const struct snapcell_code run = {
        .language = "python", .code = code, .code_len = strlen(code), .wall_ms = wall_ms};
    struct snapcell_result *result = NULL;
    if (snapcell_session_run(session, &run, NULL, &result, error) < 0)
        fail_msg("%s", snapcell_error_message(error));
    assert_string_equal(snapcell_result_status(result), status);
    assert_string_equal(snapcell_result_stdout(result, NULL), output);
    snapcell_result_free(result);
}

/* The whole way: files and kinds of contexts stay, variables do not; what lies on disk is told and removed.
 */
static void pause_and_resume(void **state)
{
    (void)state;
    char store[] = "/tmp/snapcell-pause-XXXXXX", *json = NULL, command[64];
    assert_non_null(mkdtemp(store));
    setenv("SNAPCELL_STORE", store, 1);
    open_or_skip(NULL);
    expect("x = 6; open('kept', 'w').write('here')", 0, "ok", "");
    assert_int_equal(snapcell_session_pause(session, "..", error), -EINVAL);
    expect("print(x)", 0, "ok", "6\n");
    if (snapcell_session_pause(session, "one", error) < 0)
        fail_msg("%s", snapcell_error_message(error));
    assert_int_equal(snapcell_session_pause(session, "one", error), -ESHUTDOWN);
    snapcell_session_free(session);
    session = NULL;
    assert_int_equal(snapcell_session_resume("two", host, NULL, &session, error), -ENOENT);
    if (snapcell_session_resume("one", host, NULL, &session, error) < 0)
        fail_msg("%s", snapcell_error_message(error));
    expect("print(open('kept').read(), 'x' in globals())", 0, "ok", "here False\n");
    assert_int_equal(snapcell_paused_remove("one", error), -EBUSY);
    assert_int_equal(snapcell_paused_json(&json, error), 0);
    assert_non_null(strstr(json, "\"one\""));
    snapcell_string_free(json);
    snapcell_session_free(session);
    session = NULL;
    assert_int_equal(snapcell_paused_remove("one", error), 0);
    assert_int_equal(snapcell_paused_remove("one", error), -ENOENT);
    snprintf(command, sizeof command, "rm -r %s", store);
    assert_int_equal(system(command), 0);
    unsetenv("SNAPCELL_STORE");
}

/* No secret is stored: it is given again, or the session stays where it is. */
static void secrets_are_given_again(void **state)
{
    (void)state;
    char store[] = "/tmp/snapcell-pause-XXXXXX", path[64], option[80], command[160];
    assert_non_null(mkdtemp(store));
    setenv("SNAPCELL_STORE", store, 1);
    snprintf(path, sizeof path, "%s/secret", store);
    snprintf(option, sizeof option, "TOKEN=%s", path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("hush-4711\n", file);
    fclose(file);
    assert_int_equal(snapcell_spec_add(spec, "secret", "TOKEN", error), -EINVAL);
    assert_int_equal(snapcell_spec_add(spec, "secret", option, error), 0);
    open_or_skip(NULL);
    static const char tells[] = "import os; print(os.environ['TOKEN'])";
    expect(tells, 0, "ok", "hush-4711\n");
    if (snapcell_session_pause(session, "s", error) < 0)
        fail_msg("%s", snapcell_error_message(error));
    snapcell_session_free(session);
    session = NULL;
    snprintf(command, sizeof command, "rm %s; ! grep -rq hush-4711 %s", path, store);
    assert_int_equal(system(command), 0);
    const struct snapcell_session_options again = {.secrets = spec};
    assert_int_equal(snapcell_session_resume("s", host, NULL, &session, error), -EINVAL);
    assert_non_null(strstr(snapcell_error_message(error), "TOKEN"));
    if (snapcell_session_resume("s", host, &again, &session, error) < 0)
        fail_msg("%s", snapcell_error_message(error));
    expect(tells, 0, "ok", "hush-4711\n");
    snapcell_session_free(session);
    session = NULL;
    assert_int_equal(snapcell_paused_remove("s", error), 0);
    snprintf(command, sizeof command, "rm -r %s", store);
    assert_int_equal(system(command), 0);
    unsetenv("SNAPCELL_STORE");
}

static void state_is_kept(void **state)
{
    (void)state;
    open_or_skip(NULL);
    expect("x = 6", 0, "ok", "");
    expect("print(x * 7)", 0, "ok", "42\n");
    expect("while True: pass", 200, "timeout", "");
    expect("print(x)", 0, "ok", "6\n");
    char *json = snapcell_session_json(session);
    assert_non_null(strstr(json, "\"python\""));
    snapcell_string_free(json);
    assert_int_equal(snapcell_session_restart(session, "python", error), 0);
    expect("print('x' in globals())", 0, "ok", "False\n");
    assert_int_equal(snapcell_session_restart(session, "other", error), -ENOENT);
}

static void take_piece(void *userdata, int stream, const void *data, size_t len)
{
    size_t used = strlen(userdata);
    (void)stream;
    snprintf((char *)userdata + used, 100 - used, "%.*s", (int)len, (const char *)data);
}

static void commands(void **state)
{
    (void)state;
    char live[100] = "";
    const struct snapcell_callbacks callbacks = {.userdata = live, .output = take_piece};
    const struct snapcell_command command = {
        .argv = (const char *const[]){"sh", "-c", "cat; echo $A; pwd; exit 4", NULL},
        .env = (const char *const[]){"A=b", NULL},
        .cwd = "/tmp",
        .stdin_data = "in;",
        .stdin_len = 3,
    };
    struct snapcell_result *result = NULL;
    open_or_skip(NULL);
    if (snapcell_session_exec(session, &command, &callbacks, &result, error) < 0)
        fail_msg("%s", snapcell_error_message(error));
    assert_int_equal(snapcell_result_exit_code(result), 4);
    assert_string_equal(snapcell_result_stdout(result, NULL), "in;b\n/tmp\n");
    assert_string_equal(live, "in;b\n/tmp\n");
    snapcell_result_free(result);
}

static void refused(int r, int code, const char *field)
{
    assert_int_equal(r, code);
    assert_int_equal(snapcell_error_kind(error), SNAPCELL_ERROR_USAGE);
    assert_string_equal(snapcell_error_field(error), field);
}

static void files(void **state)
{
    (void)state;
    static char large[3 << 20];
    char *data = NULL, *json = NULL;
    size_t len = 0;
    open_or_skip(NULL);
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (char)(i * 7 + i / 1000);
    assert_int_equal(snapcell_session_mkdir(session, "a/b", error), 0);
    assert_int_equal(snapcell_session_write_file(session, "a/b/large", large, sizeof large, 0600, error), 0);
    assert_int_equal(snapcell_session_read_file(session, "a/b/large", sizeof large, &data, &len, error), 0);
    assert_int_equal(len, sizeof large);
    assert_memory_equal(data, large, len);
    snapcell_string_free(data);
    assert_int_equal(snapcell_session_write_file(session, "empty", "", 0, 0, error), 0);
    assert_int_equal(snapcell_session_read_file(session, "empty", 10, &data, &len, error), 0);
    assert_int_equal(len, 0);
    snapcell_string_free(data);
    expect("import os; print(os.stat('a/b/large').st_size, oct(os.stat('empty').st_mode & 0o777))", 0, "ok",
           "3145728 0o644\n");
    assert_int_equal(snapcell_session_rename(session, "a/b/large", "a/moved", error), 0);
    assert_int_equal(snapcell_session_list(session, "a", &json, error), 0);
    assert_non_null(strstr(json, "\"moved\""));
    assert_non_null(strstr(json, "\"folder\""));
    snapcell_string_free(json);

    data = json = NULL;
    refused(snapcell_session_read_file(session, "a/moved", 100, &data, &len, error), -EFBIG, "");
    refused(snapcell_session_read_file(session, "none", 100, &data, &len, error), -ENOENT, "path");
    refused(snapcell_session_read_file(session, "a", 100, &data, &len, error), -EISDIR, "path");
    refused(snapcell_session_write_file(session, "/etc/x", "x", 1, 0, error), -EROFS, "path");
    refused(snapcell_session_remove(session, "a", 0, error), -ENOTEMPTY, "path");
    refused(snapcell_session_list(session, "none", &json, error), -ENOENT, "path");
    assert_null(data);
    assert_null(json);
    assert_int_equal(snapcell_session_remove(session, "a", 1, error), 0);
    refused(snapcell_session_remove(session, "a", 1, error), -ENOENT, "path");
}

static atomic_bool is_printed;

static void note_output(void *userdata, int stream, const void *data, size_t len)
{
    (void)userdata;
    (void)stream;
    (void)data;
    (void)len;
    is_printed = true;
}

static void *interrupt(void *unused)
{
    (void)unused;
    while (!is_printed)
        sched_yield();
    assert_int_equal(snapcell_session_interrupt(session), 0);
    return NULL;
}

static void another_thread_interrupts(void **state)
{
    (void)state;
    static const char text[] = "x = 5\nprint('on', flush=True)\nimport time\ntime.sleep(60)";
    const struct snapcell_code code = {.language = "python", .code = text, .code_len = strlen(text)};
    const struct snapcell_callbacks callbacks = {.output = note_output};
    struct snapcell_result *result = NULL;
    pthread_t thread;
    open_or_skip(NULL);
    assert_int_equal(snapcell_session_interrupt(session), 0); /* of nothing: forgotten */
    expect("1", 0, "ok", "");
    assert_int_equal(pthread_create(&thread, NULL, interrupt, NULL), 0);
    assert_int_equal(snapcell_session_run(session, &code, &callbacks, &result, error), 0);
    pthread_join(thread, NULL);
    assert_string_equal(snapcell_result_status(result), "cancelled");
    snapcell_result_free(result);
    expect("print(x)", 0, "ok", "5\n");
}

static void what_is_refused(void **state)
{
    (void)state;
    const struct snapcell_session_options options = {.idle_ms = 1};
    struct snapcell_code code = {.language = "cobol", .code = "", .code_len = 0};
    struct snapcell_result *result = NULL;
    refused(snapcell_session_new(spec, host, &options, &session, error), -EINVAL, "idle");
    assert_int_equal(snapcell_spec_set_code(spec, "1", 1, error), 0);
    refused(snapcell_session_new(spec, host, NULL, &session, error), -EINVAL, "program");
    end(NULL);
    begin(NULL);
    open_or_skip(NULL);
    refused(snapcell_session_run(session, &code, NULL, &result, error), -EINVAL, "language");
    code.language = "python";
    code.mode = "loose";
    refused(snapcell_session_run(session, &code, NULL, &result, error), -EINVAL, "mode");
    code.mode = NULL;
    code.wall_ms = 1;
    refused(snapcell_session_run(session, &code, NULL, &result, error), -EINVAL, "wall");
    assert_int_equal(snapcell_session_end(session, error), 0);
    code.wall_ms = 0;
    refused(snapcell_session_run(session, &code, NULL, &result, error), -ESHUTDOWN, "");
    refused(snapcell_session_mkdir(session, "x", error), -ESHUTDOWN, "");
    assert_non_null(strstr(snapcell_error_message(error), "ended"));
    assert_null(result);
    snapcell_session_free(NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(state_is_kept),
        TEST(commands),
        TEST(files),
        TEST(another_thread_interrupts),
        TEST(pause_and_resume),
        TEST(secrets_are_given_again),
        TEST(what_is_refused),
    };
    return cmocka_run_group_tests(tests, probe, leave);
}
