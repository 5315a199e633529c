/* What a runner says, taken as from a stranger: every line that is not exactly the protocol ends the talk. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snap/runner.h"

#define ID "0123456789abcdef"
#define READY "{\"op\":\"ready\",\"protocol\":1,\"language\":\"python\",\"version\":\"3.11.2\"}\n"
#define RESULT(status, rest) "{\"op\":\"result\",\"id\":\"" ID "\",\"status\":\"" status "\"," rest "}\n"
#define GOOD                                                                                                 \
    RESULT("ok", "\"exit_code\":0,\"value\":{\"text/"                                                        \
                 "plain\":\"42\"},\"locals\":{\"x\":\"1\"},\"error\":null")

static struct sc_runner_reader reader;
static unsigned readies, displays, results, loads, load_errors;
static struct sc_runner_result last; /* holds references of its own */

static void on_ready(void *userdata)
{
    (void)userdata;
    readies++;
}

static void on_display(void *userdata, json_t *forms)
{
    (void)userdata;
    assert_non_null(json_object_get(forms, "text/plain"));
    displays++;
}

static void forget_last(void)
{
    json_decref(last.value);
    json_decref(last.locals);
    json_decref(last.error);
    memset(&last, 0, sizeof last);
}

static void on_result(void *userdata, const struct sc_runner_result *result)
{
    (void)userdata;
    forget_last();
    last = *result;
    json_incref(last.value);
    json_incref(last.locals);
    json_incref(last.error);
    results++;
}

static void on_loaded(void *userdata, json_t *error)
{
    (void)userdata;
    loads++;
    load_errors += error != NULL;
}

static int say_bytes(const char *text, size_t len)
{
    static const struct sc_runner_events events = {on_ready, on_display, on_result, on_loaded};
    return sc_runner_read(&reader, text, len, &events, NULL);
}

static int say(const char *text)
{
    return say_bytes(text, strlen(text));
}

static int begin(void **state)
{
    (void)state;
    sc_runner_init(&reader);
    readies = displays = results = loads = load_errors = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    sc_runner_fini(&reader);
    forget_last();
    return 0;
}

static void begin_run(void)
{
    assert_int_equal(say(READY), 0);
    sc_runner_begin(&reader, ID);
}

static void refused(const char *line, const char *trouble)
{
    int r = say(line);
    if (r != -EPROTO || !strstr(reader.trouble, trouble))
        fail_msg("%.200s: %d, \"%s\" instead of \"%s\"", line, r, reader.trouble, trouble);
    assert_int_equal(say("x"), -EPROTO); /* for good */
}

static void a_run(void **state)
{
    (void)state;
    assert_int_equal(say(READY), 0);
    assert_int_equal(readies, 1);
    sc_runner_begin(&reader, ID);
    assert_int_equal(say("{\"op\":\"display\",\"id\":\"" ID "\",\"data\":{\"text/plain\":\"a\","
                         "\"application/json\":[1,{}],\"image/png\":\"AA==\"}}\n" GOOD),
                     0);
    assert_int_equal(displays, 1);
    assert_int_equal(results, 1);
    assert_int_equal(last.status, SC_RUNNER_OK);
    assert_string_equal(json_string_value(json_object_get(last.value, "text/plain")), "42");
    assert_null(last.error);
}

static void any_pieces(void **state)
{
    (void)state;
    static const char ready[] = READY, good[] = GOOD;
    for (size_t i = 0; i < strlen(ready); i++)
        assert_int_equal(say_bytes(ready + i, 1), 0);
    sc_runner_begin(&reader, ID);
    for (size_t i = 0; i < strlen(good); i++)
        assert_int_equal(say_bytes(good + i, 1), 0);
    assert_int_equal(readies, 1);
    assert_int_equal(results, 1);
}

static void an_error(void **state)
{
    (void)state;
    begin_run();
    assert_int_equal(
        say(RESULT("error", "\"exit_code\":1,\"locals\":{},\"value\":null,\"more\":7,\"error\":{"
                            "\"name\":\"E\",\"message\":\"m\\u0000\",\"traceback\":\"t\",\"line\":"
                            "3,\"forged\":{}}")),
        0);
    assert_int_equal(last.status, SC_RUNNER_ERROR);
    assert_int_equal(json_integer_value(json_object_get(last.error, "line")), 3);
    assert_int_equal(json_string_length(json_object_get(last.error, "message")), 2);
    assert_null(json_object_get(last.error, "forged"));
    assert_null(last.value);
}

/* Numbers beyond 64 bits are no crime: Python has them. */
static void large_numbers(void **state)
{
    (void)state;
    begin_run();
    assert_int_equal(
        say(RESULT("ok", "\"exit_code\":0,\"locals\":{},\"error\":null,\"value\":{\"text/plain\":\"\","
                         "\"application/json\":1180591620717411303424}")),
        0);
    assert_int_equal(results, 1);
    assert_true(json_is_real(json_object_get(last.value, "application/json")));
}

static void exit_codes(void **state)
{
    (void)state;
    static const struct {
        const char *said;
        int code;
    } cases[] = {{"3", 3}, {"-1", 255}, {"256", 0}, {"130", 130}};
    assert_int_equal(say(READY), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char line[300];
        snprintf(line, sizeof line, RESULT("exit", "\"exit_code\":%s,\"locals\":{}"), cases[i].said);
        sc_runner_begin(&reader, ID);
        assert_int_equal(say(line), 0);
        assert_int_equal(last.exit_code, cases[i].code);
    }
}

struct hostile {
    const char *line, *trouble;
};

static void wrong_lines(void **state)
{
    (void)state;
    static const struct hostile lines[] = {
        {"\n", "no JSON"},
        {"nonsense\n", "no JSON"},
        {"{\"op\":\"result\"\n", "no JSON"},
        {"\xff\xfe\n", "no JSON"},
        {"[]\n", "no JSON object"},
        {"{}\n", "not under way"},
        {READY, "twice"},
        {"{\"op\":\"result\",\"id\":\"ffffffffffffffff\",\"status\":\"ok\"}\n", "not under way"},
        {"{\"op\":\"result\",\"id\":7,\"status\":\"ok\"}\n", "not under way"},
        {"{\"op\":\"result\",\"id\":\"" ID "\\u0000\",\"status\":\"ok\"}\n", "not under way"},
        {"{\"op\":\"spawn\",\"id\":\"" ID "\"}\n", "kind"},
        {"{\"op\":[],\"id\":\"" ID "\"}\n", "kind"},
        {RESULT("fine", "\"exit_code\":0,\"locals\":{}"), "status"},
        {RESULT("ok", "\"exit_code\":\"0\",\"locals\":{}"), "exit code"},
        {RESULT("ok", "\"exit_code\":1e300,\"locals\":{}"), "exit code"},
        {RESULT("ok", "\"locals\":{}"), "exit code"},
        {RESULT("ok", "\"exit_code\":0"), "locals are no object"},
        {RESULT("ok", "\"exit_code\":0,\"locals\":[]"), "locals are no object"},
        {RESULT("ok", "\"exit_code\":0,\"locals\":{\"x\":1}"), "no text"},
        {RESULT("ok", "\"exit_code\":0,\"locals\":{},\"value\":7"), "no object"},
        {RESULT("ok", "\"exit_code\":0,\"locals\":{},\"value\":{}"), "text/plain"},
        {RESULT("ok", "\"exit_code\":0,\"locals\":{},\"value\":{\"text/plain\":{}}"), "no text"},
        {RESULT("ok", "\"exit_code\":0,\"locals\":{},\"value\":{\"text/plain\":\"\",\"a/b/c\":\"\"}"),
         "media type"},
        {RESULT("ok", "\"exit_code\":0,\"locals\":{},\"value\":{\"text/plain\":\"\",\"text/<b>\":\"\"}"),
         "media type"},
        {RESULT("error", "\"exit_code\":1,\"locals\":{},\"error\":\"E\""), "wrong form"},
        {RESULT("error", "\"exit_code\":1,\"locals\":{},\"error\":{\"name\":\"E\"}"), "texts"},
        {RESULT("error", "\"exit_code\":1,\"locals\":{},\"error\":{\"name\":\"E\",\"message\":\"\","
                         "\"traceback\":\"\",\"line\":\"3\"}"),
         "wrong form"},
        {"{\"op\":\"display\",\"id\":\"" ID "\"}\n", "no object"},
        {"{\"op\":\"display\",\"id\":\"" ID "\",\"data\":{\"text/plain\":[\"a\"]}}\n", "no text"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        begin(NULL);
        begin_run();
        refused(lines[i].line, lines[i].trouble);
        assert_int_equal(results, 0);
        sc_runner_fini(&reader);
    }
}

static void out_of_turn(void **state)
{
    (void)state;
    refused("{\"op\":\"ready\",\"protocol\":2}\n", "version");
    sc_runner_fini(&reader);
    begin(NULL);
    refused(GOOD, "not under way"); /* before ready */
    sc_runner_fini(&reader);
    begin(NULL);
    assert_int_equal(say(READY), 0);
    refused(GOOD, "while nothing ran");
    sc_runner_fini(&reader);
    begin(NULL);
    begin_run();
    refused(GOOD GOOD, "while nothing ran"); /* a second result of one run */
    assert_int_equal(results, 1);
}

/* `n` times `piece`, between `head` and `tail`. */
static int say_many(const char *head, const char *piece, size_t n, const char *tail)
{
    size_t step = strlen(piece), len = strlen(head);
    char *text = malloc(len + n * step + strlen(tail) + 1);
    assert_non_null(text);
    memcpy(text, head, len);
    for (size_t i = 0; i < n; i++, len += step)
        memcpy(text + len, piece, step);
    memcpy(text + len, tail, strlen(tail) + 1);
    int r = say(text);
    free(text);
    return r;
}

static void too_much(void **state)
{
    (void)state;
    begin_run();
    assert_int_equal(say_many("", "x", SC_RUNNER_LINE_MAX + 1, ""), -EPROTO);
    assert_non_null(strstr(reader.trouble, "16 MiB"));
    sc_runner_fini(&reader);

    begin(NULL); /* small text, large memory */
    begin_run();
    assert_int_equal(say_many("[", "[],", SC_RUNNER_VALUES_MAX, "1]\n"), -EPROTO);
    assert_non_null(strstr(reader.trouble, "values"));
    sc_runner_fini(&reader);

    begin(NULL); /* one number */
    begin_run();
    assert_int_equal(say_many("{\"op\":", "9", 5000, "}\n"), -EPROTO);
    assert_non_null(strstr(reader.trouble, "digits"));
    sc_runner_fini(&reader);

    begin(NULL); /* depth */
    begin_run();
    assert_int_equal(say_many("", "[", 100000, "\n"), -EPROTO);
    sc_runner_fini(&reader);

    begin(NULL);
    begin_run();
    assert_int_equal(say_many("", "{\"op\":\"display\",\"id\":\"" ID "\",\"data\":{\"text/plain\":\"\"}}\n",
                              SC_RUNNER_DISPLAYS_MAX + 1, ""),
                     -EPROTO);
    assert_non_null(strstr(reader.trouble, "displays"));
    assert_int_equal(displays, SC_RUNNER_DISPLAYS_MAX);
    sc_runner_fini(&reader);

    begin(NULL); /* all lines of one run together; of the next run it starts anew */
    begin_run();
    assert_int_equal(say_many("{\"op\":\"display\",\"id\":\"" ID "\",\"data\":{\"text/plain\":\"", "x",
                              8u << 20, "\"}}\n"),
                     0);
    assert_int_equal(say_many("{\"op\":\"display\",\"id\":\"" ID "\",\"data\":{\"text/plain\":\"", "x",
                              8u << 20, "\"}}\n"),
                     0);
    assert_int_equal(say_many("", "x", 8u << 20, ""), -EPROTO);
    assert_non_null(strstr(reader.trouble, "24 MiB"));
}

#define LOADED "{\"op\":\"prelude\",\"status\":\"ok\",\"error\":null}\n"
#define NOT_LOADED                                                                                           \
    "{\"op\":\"prelude\",\"status\":\"error\",\"error\":{\"name\":\"E\",\"message\":\"m\",\"traceback\":"    \
    "\"t\",\"line\":null}}\n"

static void a_prelude(void **state)
{
    (void)state;
    assert_int_equal(say(READY), 0);
    sc_runner_begin_prelude(&reader);
    assert_int_equal(say(LOADED), 0);
    assert_int_equal(loads, 1);
    sc_runner_begin_prelude(&reader);
    assert_int_equal(say(NOT_LOADED), 0);
    assert_int_equal(loads, 2);
    assert_int_equal(load_errors, 1);
    refused(LOADED, "it spoke while nothing ran");
}

static void a_prelude_that_is_none(void **state)
{
    static const char *const lines[][2] = {
        {"{\"op\":\"prelude\",\"status\":\"well\",\"error\":null}\n", "a status that does not exist"},
        {"{\"op\":\"prelude\",\"status\":\"error\",\"error\":null}\n", "does not fit the status"},
        {"{\"op\":\"prelude\",\"status\":\"ok\",\"error\":{\"name\":\"E\",\"message\":\"m\",\"traceback\":"
         "\"t\"}}\n",
         "does not fit the status"},
        {"{\"op\":\"prelude\",\"status\":\"error\",\"error\":5}\n", "an error of the wrong form"},
        {GOOD, "it spoke of a run that is not under way"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        end(state);
        begin(state);
        assert_int_equal(say(READY), 0);
        sc_runner_begin_prelude(&reader);
        refused(lines[i][0], lines[i][1]);
        assert_int_equal(loads, 0);
    }
}

static void long_texts(void **state)
{
    (void)state;
    begin_run();
    assert_int_equal(say_many("{\"op\":\"result\",\"id\":\"" ID "\",\"status\":\"error\",\"exit_code\":1,"
                              "\"locals\":{},\"error\":{\"name\":\"E\",\"message\":\"",
                              "é", 60000, "\",\"traceback\":\"\",\"line\":null}}\n"),
                     0);
    const json_t *message = json_object_get(last.error, "message");
    assert_true(json_string_length(message) <= 64 * 1024);
    assert_true(json_string_length(message) > 64 * 1024 - 8);
    assert_memory_equal(json_string_value(message) + json_string_length(message) - 5, "é…", 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_run, begin, end),
        cmocka_unit_test_setup_teardown(any_pieces, begin, end),
        cmocka_unit_test_setup_teardown(an_error, begin, end),
        cmocka_unit_test_setup_teardown(large_numbers, begin, end),
        cmocka_unit_test_setup_teardown(exit_codes, begin, end),
        cmocka_unit_test(wrong_lines),
        cmocka_unit_test_setup_teardown(out_of_turn, begin, end),
        cmocka_unit_test_setup_teardown(too_much, begin, end),
        cmocka_unit_test_setup_teardown(long_texts, begin, end),
        cmocka_unit_test_setup_teardown(a_prelude, begin, end),
        cmocka_unit_test_setup_teardown(a_prelude_that_is_none, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
