/* Results: what is kept, what is counted, the exit statuses, and the JSON object byte for byte. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "result/result.h"
#include "spec/spec.h"

static struct sc_result result;

static int begin(void **state)
{
    (void)state;
    sc_result_init(&result, 4096, 4096);
    return 0;
}

static int end(void **state)
{
    (void)state;
    sc_result_fini(&result);
    return 0;
}

/* The object as jansson reads it: strict about UTF-8 and duplicates, so it judges what was written. */
static json_t *object_of(const struct sc_result *r)
{
    char *text = sc_result_to_json(r, 0);
    assert_non_null(text);
    json_error_t error;
    json_t *object = NULL;
    if (sc_json_load(text, strlen(text), JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &object, &error) < 0)
        fail_msg("%s in %s", error.text, text);
    free(text);
    return object;
}

static void a_fresh_result(void **state)
{
    (void)state;
    char *text = sc_result_to_json(&result, 0);
    assert_string_equal(
        text,
        "{\"status\": \"ok\", \"exit_code\": null, \"signal\": null, \"signal_name\": null, \"message\": "
        "\"\", "
        "\"stdout\": \"\", \"stderr\": \"\", \"stdout_truncated\": false, \"stderr_truncated\": false, "
        "\"usage\": {\"wall_ms\": 0.0, \"start_ms\": 0.0, \"queue_ms\": 0.0, \"cpu_user_ms\": 0.0, "
        "\"cpu_system_ms\": 0.0, \"cpu_ms\": 0.0, \"memory_peak_bytes\": null, \"rss_peak_bytes\": null, "
        "\"tasks_peak\": null, \"stdout_bytes\": 0, \"stderr_bytes\": 0, \"disk_bytes\": 0, \"disk_inodes\": "
        "0}, "
        "\"limits_hit\": [], \"degraded\": [], \"denials\": [], \"artifacts\": [], \"skipped\": [], "
        "\"backend\": \"native\", \"start\": {\"kind\": \"cold\"}}");
    free(text);
}

static void fill(struct sc_result *r)
{
    r->status = SC_STATUS_PROCESS_LIMIT;
    r->exit_code = 3;
    r->signal = 0;
    snprintf(r->message, sizeof r->message, "the program failed after it had reached the limit of 8 tasks");
    assert_int_equal(sc_buf_add(&r->out.kept, "h\xC3\xA4\0\n", 5), 0);
    assert_int_equal(sc_buf_add(&r->err.kept, "bad \xFF\xFE", 6), 0);
    r->err.truncated = true;
    r->usage = (struct sc_usage){.wall_ns = 12345678,
                                 .start_ns = 1500,
                                 .queue_ns = 1000000,
                                 .cpu_user_ns = 1500000,
                                 .cpu_system_ns = 500000,
                                 .memory_peak_bytes = 4096,
                                 .rss_peak_bytes = 8192,
                                 .tasks_peak = 8,
                                 .stdout_bytes = 5,
                                 .stderr_bytes = 600,
                                 .disk_bytes = 7,
                                 .disk_inodes = 2};
    r->limits_hit = SC_HIT_TASKS | SC_HIT_FILE_SIZE;
    r->degraded = SC_DEGRADE_CPUS | SC_DEGRADE_APPARMOR;
    r->agent_shares_uid = true;
    sc_result_deny(r, "seccomp", "socket", "family 17", "sockets", "no packet sockets here");
    sc_result_deny(r, "seccomp", "socket", "family 17", "sockets", "no packet sockets here");
    assert_int_equal(sc_result_add_artifact(r, "plots/a.png", "/out/a.png", 99), 0);
    assert_int_equal(sc_result_add_artifact(r, "b\xFF", NULL, 0), 0);
    assert_int_equal(sc_result_add_skip(r, "link", "symlink"), 0);
    assert_int_equal(sc_result_add_skip(r, "\xFE", "not a regular file"), 0);
}

static const char FILLED[] =
    "{\"status\": \"process_limit\", \"exit_code\": 3, \"signal\": null, \"signal_name\": null, "
    "\"message\": \"the program failed after it had reached the limit of 8 tasks\", "
    "\"stdout\": \"h\xC3\xA4\\u0000\\n\", \"stderr\": \"bad \xEF\xBF\xBD\xEF\xBF\xBD\", "
    "\"stderr_b64\": \"YmFkIP/+\", \"stdout_truncated\": false, \"stderr_truncated\": true, "
    "\"usage\": {\"wall_ms\": 12.345678, \"start_ms\": 0.0015, \"queue_ms\": 1.0, \"cpu_user_ms\": 1.5, "
    "\"cpu_system_ms\": 0.5, \"cpu_ms\": 2.0, \"memory_peak_bytes\": 4096, \"rss_peak_bytes\": 8192, "
    "\"tasks_peak\": 8, \"stdout_bytes\": 5, \"stderr_bytes\": 600, \"disk_bytes\": 7, \"disk_inodes\": 2}, "
    "\"limits_hit\": [\"tasks\", \"file_size\"], \"degraded\": [\"cpus\", \"apparmor\"], "
    "\"agent_shares_uid\": true, "
    "\"denials\": [{\"layer\": \"seccomp\", \"action\": \"socket\", \"resource\": \"family 17\", \"rule\": "
    "\"sockets\", "
    "\"count\": 2, \"hint\": \"no packet sockets here\"}], "
    "\"artifacts\": [{\"path\": \"plots/a.png\", \"size\": 99, \"saved\": \"/out/a.png\"}, "
    "{\"path\": \"b\xEF\xBF\xBD\", \"path_b64\": \"Yv8=\", \"size\": 0, \"saved\": null}], "
    "\"skipped\": [{\"path\": \"link\", \"why\": \"symlink\"}, "
    "{\"path\": \"\xEF\xBF\xBD\", \"path_b64\": \"/g==\", \"why\": \"not a regular file\"}], "
    "\"backend\": \"native\", \"start\": {\"kind\": \"cold\"}}";

static void a_full_result(void **state)
{
    (void)state;
    fill(&result);
    char *text = sc_result_to_json(&result, 0);
    assert_string_equal(text, FILLED);
    free(text);
    text = sc_result_to_json(&result, 2);
    assert_non_null(strstr(text, "{\n  \"status\": \"process_limit\",\n"));
    free(text);
}

static json_t *value_of(const char *text)
{
    json_error_t error;
    json_t *value = NULL;
    assert_int_equal(sc_json_load(text, strlen(text), JSON_DECODE_ANY, &value, &error), 0);
    return value;
}

/* The written object has every member of `part`, with an equal value. */
static void assert_holds(const struct sc_result *r, const char *part)
{
    json_t *object = object_of(r), *wanted = value_of(part), *value;
    const char *name;
    json_object_foreach(wanted, name, value)
    {
        json_t *got = json_object_get(object, name);
        if (!json_equal(got, value)) {
            char *text = sc_json_dump(got, JSON_ENCODE_ANY);
            fail_msg("%s is %s; expected %s", name, text ? text : "missing", part);
        }
    }
    json_decref(object);
    json_decref(wanted);
}

static void fill_inside(struct sc_result *r, enum sc_mode mode)
{
    r->mode = mode;
    r->inside.present = true;
    r->inside.value =
        value_of("{\"text/plain\": \"0.30000000000000004\", \"application/json\": 0.30000000000000004}");
    r->inside.locals = value_of("{\"x\": \"[0, 1]\"}");
    r->inside.displays = value_of("[{\"text/plain\": \"shown\"}]");
}

static const char ERROR[] = "{\"name\": \"NameError\", \"message\": \"name 'open' is not defined\", "
                            "\"traceback\": \"T\", \"line\": 1}";

static void a_rich_result(void **state)
{
    (void)state;
    fill_inside(&result, SC_MODE_RICH);
    assert_holds(&result, "{\"locals\": {\"x\": \"[0, 1]\"}, \"displays\": [{\"text/plain\": \"shown\"}], "
                          "\"error\": null, \"context_lost\": false, "
                          "\"said_from_inside\": [\"value\", \"locals\", \"displays\", \"error\"]}");
    /* Numbers of the program's keep all their digits, ours have no noise. */
    result.usage.wall_ns = 12345678;
    char *text = sc_result_to_json(&result, 0);
    assert_non_null(strstr(text, "\"application/json\": 0.30000000000000004"));
    assert_non_null(strstr(text, "\"wall_ms\": 12.345678,"));
    assert_non_null(strstr(text, "\"start\": {\"kind\": \"cold\"}, \"value\": {"));
    free(text);
    result.start = SC_START_WARM;
    result.parked_ns = 1500 * 1000;
    text = sc_result_to_json(&result, 0);
    assert_non_null(strstr(text, "\"start\": {\"kind\": \"warm\", \"parked_ms\": 1.5}"));
    free(text);
    text = sc_result_to_json(&result, 2);
    assert_non_null(strstr(text, "  },\n  \"value\": {\n    \"text/plain\""));
    free(text);
    result.context_lost = true;
    result.inside.error = value_of(ERROR);
    json_t *object = object_of(&result);
    assert_string_equal(json_string_value(json_object_get(json_object_get(object, "error"), "name")),
                        "NameError");
    assert_true(json_is_true(json_object_get(object, "context_lost")));
    assert_null(json_object_get(object, "success"));
    json_decref(object);
}

/* A runner that never came to say anything leaves empty members, not missing ones. */
static void a_rich_result_without_words(void **state)
{
    (void)state;
    result.mode = SC_MODE_RICH;
    assert_holds(&result, "{\"value\": null, \"locals\": {}, \"displays\": [], \"error\": null}");
}

static void restricted_results(void **state)
{
    (void)state;
    fill_inside(&result, SC_MODE_RESTRICTED);
    assert_int_equal(sc_buf_add(&result.out.kept, "285\n", 4), 0);
    assert_holds(&result, "{\"stdout\": \"285\\n\", \"locals\": {\"x\": \"[0, 1]\"}, \"success\": true, "
                          "\"error\": null, \"error_info\": null, "
                          "\"said_from_inside\": [\"value\", \"locals\", \"displays\", \"error_info\"]}");
    result.status = SC_STATUS_ERROR;
    result.inside.error = value_of(ERROR);
    assert_holds(
        &result,
        "{\"success\": false, \"error\": \"name 'open' is not defined\", \"error_info\": {\"name\": "
        "\"NameError\", \"message\": \"name 'open' is not defined\", \"traceback\": \"T\", \"line\": "
        "1}, \"said_from_inside\": [\"value\", \"locals\", \"displays\", \"error_info\", \"error\"]}");
    result.status = SC_STATUS_SYNTAX_ERROR;
    assert_holds(&result, "{\"success\": false, \"error\": \"Syntax error: name 'open' is not defined\"}");
}

/* What ended the run is told from outside, whatever was said inside. */
static void restricted_ends(void **state)
{
    (void)state;
    static const struct {
        enum sc_status status;
        uint64_t passed_ns;
        const char *message, *error;
    } rows[] = {
        {SC_STATUS_TIMEOUT, 2000000000, "m", "Execution timed out after 2.0s"},
        {SC_STATUS_TIMEOUT, 250000000, "m", "Execution timed out after 0.25s"},
        {SC_STATUS_TIMEOUT, 1001000000, "m", "Execution timed out after 1.001s"},
        {SC_STATUS_TIMEOUT, 0, "m", "m"},
        {SC_STATUS_CPU_TIMEOUT, 1500000000, "m", "Execution timed out after 1.5s of processor time"},
        {SC_STATUS_BLOCKED, 0, "Blocked: subprocess (line 3)", "Blocked: subprocess (line 3)"},
        {SC_STATUS_OUT_OF_MEMORY, 0, "the cell ran out of memory", "the cell ran out of memory"},
        {SC_STATUS_CANCELLED, 0, "", "cancelled"},
    };
    result.mode = SC_MODE_RESTRICTED;
    result.inside.error = value_of(ERROR);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        result.status = rows[i].status;
        result.passed_ns = rows[i].passed_ns;
        snprintf(result.message, sizeof result.message, "%s", rows[i].message);
        json_t *object = object_of(&result);
        assert_string_equal(json_string_value(json_object_get(object, "error")), rows[i].error);
        assert_true(json_is_false(json_object_get(object, "success")));
        assert_int_equal(json_array_size(json_object_get(object, "said_from_inside")), 4);
        json_decref(object);
    }
}

static void findings(void **state)
{
    (void)state;
    result.findings = value_of("[]");
    assert_holds(&result, "{\"allowed\": true, \"findings\": []}");
    json_decref(result.findings);
    result.findings = value_of("[{\"rule\": \"subprocess\", \"line\": 3}]");
    assert_holds(&result, "{\"allowed\": false, \"findings\": [{\"rule\": \"subprocess\", \"line\": 3}]}");
    json_t *object = object_of(&result);
    assert_null(json_object_get(object, "value"));
    assert_null(json_object_get(object, "said_from_inside"));
    json_decref(object);
}

static void signals(void **state)
{
    (void)state;
    static const struct {
        int number;
        const char *name;
    } rows[] = {{SIGKILL, "SIGKILL"}, {SIGSEGV, "SIGSEGV"}, {SIGSYS, "SIGSYS"}, {SIGXFSZ, "SIGXFSZ"}};
    result.status = SC_STATUS_SIGNALED;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        result.signal = rows[i].number;
        json_t *object = object_of(&result);
        assert_int_equal(json_integer_value(json_object_get(object, "signal")), rows[i].number);
        assert_string_equal(json_string_value(json_object_get(object, "signal_name")), rows[i].name);
        assert_true(json_is_null(json_object_get(object, "exit_code")));
        json_decref(object);
    }
    for (int number = 1; number < 66; number++) {
        result.signal = number;
        json_t *object = object_of(&result);
        assert_int_equal(strncmp(json_string_value(json_object_get(object, "signal_name")), "SIG", 3), 0);
        json_decref(object);
    }
    result.signal = SIGRTMIN + 3;
    json_t *object = object_of(&result);
    assert_string_equal(json_string_value(json_object_get(object, "signal_name")), "SIGRTMIN+3");
    json_decref(object);
}

static void assert_exit(enum sc_status status, int exit_code, int signal, int expected)
{
    result.status = status;
    result.exit_code = exit_code;
    result.signal = signal;
    if (sc_result_exit_status(&result) != expected)
        fail_msg("%s, exit %d, signal %d: %d, expected %d", SC_STATUS_NAMES[status], exit_code, signal,
                 sc_result_exit_status(&result), expected);
}

static void exit_statuses(void **state)
{
    (void)state;
    assert_exit(SC_STATUS_OK, 0, 0, 0);
    assert_exit(SC_STATUS_ERROR, 1, 0, 1);
    assert_exit(SC_STATUS_ERROR, 42, 0, 42);
    assert_exit(SC_STATUS_ERROR, 255, 0, 255);
    assert_exit(SC_STATUS_SYNTAX_ERROR, 2, 0, 2);
    assert_exit(SC_STATUS_SIGNALED, -1, SIGSEGV, 139);
    assert_exit(SC_STATUS_SIGNALED, -1, SIGKILL, 137);
    assert_exit(SC_STATUS_TIMEOUT, -1, SIGKILL, 124);
    assert_exit(SC_STATUS_CPU_TIMEOUT, -1, SIGKILL, 124);
    assert_exit(SC_STATUS_OUT_OF_MEMORY, -1, SIGKILL, 137);
    assert_exit(SC_STATUS_OUT_OF_MEMORY, 1, 0, 137);
    assert_exit(SC_STATUS_OUTPUT_LIMIT, -1, SIGKILL, 137);
    assert_exit(SC_STATUS_DISK_LIMIT, -1, SIGKILL, 137);
    assert_exit(SC_STATUS_DISK_LIMIT, 1, 0, 1);
    assert_exit(SC_STATUS_PROCESS_LIMIT, -1, SIGKILL, 137);
    assert_exit(SC_STATUS_PROCESS_LIMIT, 254, 0, 254);
    assert_exit(SC_STATUS_PROCESS_LIMIT, 0, 0, 137);
    assert_exit(SC_STATUS_BLOCKED, -1, 0, 126);
    assert_exit(SC_STATUS_CANCELLED, -1, SIGKILL, 130);
    assert_exit(SC_STATUS_SANDBOX_ERROR, -1, 0, 125);
    /* Only `ok` is 0. */
    for (int status = SC_STATUS_OK + 1; status <= SC_STATUS_SANDBOX_ERROR; status++)
        for (int code = -1; code <= 0; code++) {
            result.status = (enum sc_status)status;
            result.exit_code = code;
            result.signal = 0;
            assert_int_not_equal(sc_result_exit_status(&result), 0);
        }
}

static void names_are_whole(void **state)
{
    (void)state;
    for (int status = SC_STATUS_OK; status <= SC_STATUS_SANDBOX_ERROR; status++)
        assert_non_null(SC_STATUS_NAMES[status]);
    assert_null(SC_STATUS_NAMES[SC_STATUS_SANDBOX_ERROR + 1]);
    size_t n = 0;
    while (SC_HIT_NAMES[n])
        n++;
    assert_int_equal(1u << (n - 1), SC_HIT_FILE_SIZE);
    assert_string_equal(SC_HIT_NAMES[3], "tasks");
    /* Each is the stem of a limit's JSON field. */
    for (size_t i = 0; i < n; i++) {
        bool found = false;
        for (const struct sc_limit_row *row = SC_LIMIT_ROWS; row->option; row++)
            found = found || !strncmp(row->json, SC_HIT_NAMES[i], strlen(SC_HIT_NAMES[i]));
        assert_true(found);
    }
}

static void denials_are_counted(void **state)
{
    (void)state;
    sc_result_deny(&result, "seccomp", "unshare", "user", "namespaces", NULL);
    sc_result_deny(&result, "seccomp", "unshare", "mnt", "namespaces", "x");
    sc_result_deny(&result, "seccomp", "unshare", "user", "namespaces", "another hint");
    assert_int_equal(result.n_denials, 2);
    assert_int_equal(result.denials[0].count, 2);
    assert_string_equal(result.denials[0].hint, "");
    assert_int_equal(result.denials[1].count, 1);
}

static void long_denials_are_cut(void **state)
{
    (void)state;
    char text[400];
    memset(text, 'r', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < 3; i++)
        sc_result_deny(&result, text, text, text, text, text);
    assert_int_equal(result.n_denials, 1);
    assert_int_equal(result.denials[0].count, 3);
    assert_int_equal(strlen(result.denials[0].resource), sizeof result.denials[0].resource - 1);
    /* A cut in the middle of a character is still UTF-8 in the JSON. */
    memset(text, 0, sizeof text);
    for (int i = 0; i < 199; i++)
        memcpy(text + 2 * i, "\xC3\xA4", 2);
    sc_result_deny(&result, "a", text, text, text, text);
    json_decref(object_of(&result));
}

static void denials_cannot_flood(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        char resource[32];
        snprintf(resource, sizeof resource, "number %d", i);
        sc_result_deny(&result, "seccomp", "x", resource, "r", NULL);
        sc_result_deny(&result, "seccomp", "x", "number 5", "r", NULL);
    }
    assert_int_equal(result.n_denials, SC_DENIALS_MAX);
    const struct sc_denial *last = &result.denials[SC_DENIALS_MAX - 1];
    assert_string_equal(last->layer, "result");
    assert_string_equal(last->action, "more");
    uint64_t sum = 0;
    for (size_t i = 0; i < result.n_denials; i++)
        sum += result.denials[i].count;
    assert_int_equal(sum, 2000);
}

/* Any bytes as output: the text is their replacement, the exact bytes are there when and only when it
 * differs. */
static void any_bytes(void **state)
{
    (void)state;
    srandom(17);
    for (int round = 0; round < 1500; round++) {
        struct sc_result r;
        struct sc_buf text, b64;
        uint8_t bytes[64];
        size_t len = (size_t)random() % sizeof bytes;
        for (size_t i = 0; i < len; i++)
            bytes[i] = random() % 3 ? (uint8_t)random() : (uint8_t)("\0\n\"\\\x7F\xE2\x82\xAC"[random() % 8]);
        sc_result_init(&r, sizeof bytes, 1);
        assert_int_equal(sc_buf_add(&r.out.kept, bytes, len), 0);
        json_t *object = object_of(&r);
        const json_t *out = json_object_get(object, "stdout"), *exact = json_object_get(object, "stdout_b64");
        sc_buf_init(&text, 1000);
        sc_buf_init(&b64, 1000);
        assert_int_equal(sc_utf8_replace(&text, bytes, len), 0);
        assert_int_equal(json_string_length(out), text.len);
        if (text.len)
            assert_memory_equal(json_string_value(out), text.data, text.len);
        assert_int_equal(exact == NULL, sc_utf8_valid(bytes, len));
        if (exact) {
            assert_int_equal(sc_b64_decode(&b64, json_string_value(exact), json_string_length(exact)), 0);
            assert_int_equal(b64.len, len);
            assert_memory_equal(b64.data, bytes, len);
        }
        sc_buf_fini(&text);
        sc_buf_fini(&b64);
        json_decref(object);
        sc_result_fini(&r);
    }
}

static void large_figures(void **state)
{
    (void)state;
    result.usage.wall_ns = 86400000000001;
    result.usage.memory_peak_bytes = UINT64_MAX;
    json_t *object = object_of(&result), *usage = json_object_get(object, "usage");
    assert_true(json_integer_value(json_object_get(usage, "memory_peak_bytes")) == INT64_MAX);
    assert_true(json_real_value(json_object_get(usage, "wall_ms")) == 86400000.000001);
    json_decref(object);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

static void ends_twice(void **state)
{
    (void)state;
    fill(&result);
    sc_result_fini(&result);
    sc_result_fini(&result);
    sc_result_fini(NULL);
    assert_int_equal(result.n_artifacts, 0);
    assert_int_equal(result.exit_code, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_fresh_result),
        TEST(a_full_result),
        TEST(signals),
        TEST(exit_statuses),
        TEST(names_are_whole),
        TEST(denials_are_counted),
        TEST(long_denials_are_cut),
        TEST(denials_cannot_flood),
        TEST(any_bytes),
        TEST(large_figures),
        TEST(ends_twice),
        TEST(a_rich_result),
        TEST(a_rich_result_without_words),
        TEST(restricted_results),
        TEST(restricted_ends),
        TEST(findings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
