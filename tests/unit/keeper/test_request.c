/* keeper/request.h: every request with all its fields, and what is refused by its path. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail_alloc.h"
#include "keeper/request.h"

static struct sc_keeper_request request;
static struct sc_err err;

static int read_text(const char *text)
{
    sc_keeper_request_fini(&request);
    sc_err_clear(&err);
    return sc_keeper_request_read(&request, text, strlen(text), &err);
}

static void well(const char *text)
{
    if (read_text(text) < 0)
        fail_msg("%s: %s", text, err.message);
}

static void refused(const char *text, const char *field, const char *words)
{
    if (read_text(text) != -EINVAL || err.kind != SC_ERR_USAGE || strcmp(err.field, field) ||
        !strstr(err.message, words))
        fail_msg("%s: %d, field %s: %s", text, err.code, err.field, err.message);
}

static int done(void **state)
{
    (void)state;
    sc_keeper_request_fini(&request);
    return 0;
}

static void sessions(void **state)
{
    (void)state;
    well("{\"request\": \"session.start\", \"name\": \"a-1_.B\", \"idle_ms\": 1000, \"total_ms\": 2500.5, "
         "\"spec\": {\"limits\": {\"memory_bytes\": 67108864}, \"env\": {\"A\": \"b\"}}}");
    assert_int_equal(request.verb, SC_KEEPER_SESSION_START);
    assert_int_equal(request.needs, 0);
    assert_string_equal(request.name, "a-1_.B");
    assert_int_equal(request.idle_ns, SC_NS_PER_S);
    assert_int_equal(request.total_ns, 2500500000);
    assert_int_equal(request.spec.limits.memory, 67108864);
    assert_string_equal(request.spec.env.v[0], "A=b");
    well("{\"request\": \"session.start\", \"name\": null}");
    assert_null(request.name);
    assert_int_equal(request.idle_ns, 0);
    well("{\"request\": \"session.end\", \"session\": \"x\"}");
    well("{\"request\": \"snapshot.end\", \"snapshot\": \"x\"}");
    well("{\"request\": \"snapshot.start\", \"snapshot\": \"x\", \"copies\": 64, \"forkable\": true}");
    assert_string_equal(request.session, "x");
}

static void single_runs(void **state)
{
    (void)state;
    well("{\"request\": \"once\", \"output\": \"reply\", \"spec\": {\"language\": \"node\", \"mode\": "
         "\"rich\", "
         "\"code\": \"1\", \"env\": {\"A\": \"1\"}, \"limits\": {\"memory_bytes\": 200000000}}}");
    assert_int_equal(request.verb, SC_KEEPER_ONCE);
    assert_true(request.whole);
    assert_string_equal(request.spec.env.v[0], "A=1");
    refused("{\"request\": \"once\"}", "spec.mode", "rich, restricted");
    refused("{\"request\": \"once\", \"spec\": {\"mode\": \"rich\"}}", "spec.code", "missing");
    refused("{\"request\": \"once\", \"spec\": {\"mode\": \"rich\", \"code\": \"1\", \"out\": [{\"glob\": "
            "\"x\"}]}}",
            "spec.out", "not allowed");
    refused(
        "{\"request\": \"once\", \"spec\": {\"mode\": \"rich\", \"code\": \"1\", \"program\": \"/bin/sh\"}}",
        "spec", "code");
    refused("{\"request\": \"once\", \"session\": \"x\", \"spec\": {}}", "session", "unknown field");
}

static void runs(void **state)
{
    (void)state;
    well("{\"request\": \"run\", \"session\": \"x\", \"language\": \"python\", \"code\": \"1\"}");
    assert_int_equal(request.spec.mode, SC_MODE_RICH);
    assert_true(request.spec.limits.wall == SC_UNSET && request.spec.limits.cpu == SC_UNSET);
    assert_true(request.spec.limits.stdout == SC_UNSET && request.spec.limits.stderr == SC_UNSET);
    assert_false(request.whole);
    well("{\"request\": \"run\", \"session\": \"x\", \"language\": \"python\", \"code\": \"1\", \"context\": "
         "\"c\", "
         "\"mode\": \"restricted\", \"stdin_b64\": \"AP8=\", \"output\": \"reply\", \"limits\": "
         "{\"wall_ms\": 20, "
         "\"cpu_ms\": 10, \"stdout_bytes\": 5, \"stderr_bytes\": 6}}");
    assert_int_equal(request.spec.mode, SC_MODE_RESTRICTED);
    assert_int_equal(request.spec.limits.wall, 20 * SC_NS_PER_MS);
    assert_int_equal(request.spec.limits.stderr, 6);
    assert_int_equal(request.spec.stdin_len, 2);
    assert_true(request.whole);
    well(
        "{\"request\": \"run\", \"session\": \"x\", \"language\": \"python\", \"code\": \"1\", \"validate\": "
        "{\"rules\": [\"strict\"]}}");
    assert_true(request.spec.validate.on);
    refused("{\"request\": \"run\", \"session\": \"x\", \"code\": \"1\"}", "language", "python, node, bash");
    refused("{\"request\": \"run\", \"session\": \"x\", \"language\": \"python\"}", "code", "missing");
    refused("{\"request\": \"run\", \"session\": \"x\", \"language\": \"python\", \"code\": \"1\", \"mode\": "
            "\"plain\"}",
            "mode", "rich, restricted");
    refused("{\"request\": \"run\", \"session\": \"x\", \"language\": \"node\", \"code\": \"1\", \"mode\": "
            "\"restricted\"}",
            "mode", "python");
    refused(
        "{\"request\": \"run\", \"session\": \"x\", \"language\": \"python\", \"code\": \"1\", \"limits\": "
        "{\"tasks\": 5}}",
        "limits.tasks", "whole session");
    refused(
        "{\"request\": \"run\", \"session\": \"x\", \"language\": \"python\", \"code\": \"1\", \"limits\": "
        "{\"wall_ms\": 0}}",
        "limits.wall_ms", "allowed");
    refused("{\"request\": \"run\", \"session\": \"x\", \"language\": \"python\", \"code\": \"1\", "
            "\"limits\": 5}",
            "limits", "an object");
    refused(
        "{\"request\": \"run\", \"session\": \"x\", \"language\": \"python\", \"code\": \"1\", \"program\": "
        "\"/bin/sh\"}",
        "program", "unknown field");
    refused("{\"request\": \"run\", \"session\": \"x\", \"output\": \"both\"}", "output", "stream, reply");
}

static void commands(void **state)
{
    (void)state;
    well("{\"request\": \"command\", \"session\": \"x\", \"command\": [\"a\", \"b\"], \"env\": {\"A\": "
         "\"1\"}, "
         "\"cwd\": \"/tmp\", \"pty\": true, \"rows\": 10, \"cols\": 20, \"limits\": {\"wall_ms\": 100}}");
    assert_int_equal(request.verb, SC_KEEPER_COMMAND);
    assert_true(request.needs & SC_KEEPER_TAKES_INPUT);
    assert_true(request.pty && !request.background);
    assert_int_equal(request.rows, 10);
    assert_int_equal(request.cols, 20);
    assert_string_equal(request.spec.args.v[1], "b");
    well("{\"request\": \"exec\", \"session\": \"x\", \"command\": [\"a\"], \"stdin\": \"in\"}");
    assert_int_equal(request.spec.stdin_len, 2);
    well("{\"request\": \"process.signal\", \"session\": \"x\", \"process\": 7, \"signal\": \"TERM\", "
         "\"whom\": "
         "\"group\"}");
    assert_int_equal(request.signal, SIGTERM);
    assert_int_equal(request.whom, SC_SIGNAL_GROUP);
    assert_int_equal(request.process, 7);
    refused("{\"request\": \"exec\", \"session\": \"x\", \"command\": []}", "command", "empty");
    refused(
        "{\"request\": \"command\", \"session\": \"x\", \"command\": [\"a\"], \"limits\": {\"cpu_ms\": 100}}",
        "limits.cpu_ms", "wall_ms, stdout_bytes");
    refused(
        "{\"request\": \"command\", \"session\": \"x\", \"command\": [\"a\"], \"pty\": true, \"background\": "
        "true}",
        "pty", "no terminal");
    refused("{\"request\": \"command\", \"session\": \"x\", \"command\": [\"a\"], \"rows\": 70000}", "rows",
            "0 to 10000");
    refused("{\"request\": \"process.signal\", \"session\": \"x\", \"process\": 7}", "signal", "missing");
    refused("{\"request\": \"process.signal\", \"session\": \"x\", \"signal\": \"TERM\"}", "process",
            "missing");
    refused("{\"request\": \"process.signal\", \"session\": \"x\", \"process\": -1, \"signal\": \"TERM\"}",
            "process", "allowed");
    refused("{\"request\": \"process.signal\", \"session\": \"x\", \"process\": 1, \"signal\": \"RTMIN\"}",
            "signal", "signal's name");
}

static void files(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum sc_file_kind kind;
        bool input;
    } rows[] = {
        {"\"file.read\", \"path\": \"a\", \"offset\": 5, \"length\": 6", SC_FILE_READ, false},
        {"\"file.write\", \"path\": \"a\", \"mode\": \"0600\"", SC_FILE_WRITE, true},
        {"\"file.append\", \"path\": \"a\"", SC_FILE_APPEND, true},
        {"\"file.list\", \"path\": \".\"", SC_FILE_LIST, false},
        {"\"file.stat\", \"path\": \"a\"", SC_FILE_STAT, false},
        {"\"file.mkdir\", \"path\": \"a\", \"parents\": true", SC_FILE_MKDIR, false},
        {"\"file.rename\", \"path\": \"a\", \"to\": \"b\"", SC_FILE_RENAME, false},
        {"\"file.remove\", \"path\": \"a\", \"recursive\": true", SC_FILE_REMOVE, false},
        {"\"file.chmod\", \"path\": \"a\", \"mode\": \"755\"", SC_FILE_CHMOD, false},
        {"\"file.watch\", \"path\": \"a\"", SC_FILE_WATCH, false},
        {"\"file.tar_in\", \"path\": \"a\"", SC_FILE_TAR_IN, true},
        {"\"file.tar_out\", \"path\": \"a\"", SC_FILE_TAR_OUT, false},
        {"\"port\", \"port\": 8080", SC_FILE_PORT, true},
    };
    assert_int_equal(sizeof rows / sizeof *rows, SC_FILE_KINDS);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[200];
        snprintf(text, sizeof text, "{\"request\": %s, \"session\": \"x\"}", rows[i].text);
        well(text);
        assert_int_equal(request.verb, SC_KEEPER_FILE);
        assert_int_equal(request.file, rows[i].kind);
        assert_int_equal(!!(request.needs & SC_KEEPER_TAKES_INPUT), rows[i].input);
        assert_true(request.needs & SC_KEEPER_NEEDS_SESSION);
    }
    refused("{\"request\": \"file.read\", \"session\": \"x\"}", "path", "missing");
    refused("{\"request\": \"file.read\", \"session\": \"x\", \"path\": \"a\\u0000b\"}", "path", "NUL");
    refused("{\"request\": \"file.read\", \"session\": \"x\", \"path\": \"\"}", "path", "empty");
    refused("{\"request\": \"file.read\", \"session\": \"x\", \"path\": \"a\", \"offset\": -1}", "offset",
            "allowed");
    refused("{\"request\": \"port\", \"session\": \"x\"}", "port", "missing");
    refused("{\"request\": \"port\", \"session\": \"x\", \"port\": 0}", "port", "allowed 1 to 65535");
    refused("{\"request\": \"port\", \"session\": \"x\", \"port\": 65536}", "port", "allowed 1 to 65535");
    refused("{\"request\": \"port\", \"session\": \"x\", \"path\": \"1\"}", "path", "unknown");
    refused("{\"request\": \"file.rename\", \"session\": \"x\", \"path\": \"a\"}", "to", "missing");
    refused("{\"request\": \"file.chmod\", \"session\": \"x\", \"path\": \"a\"}", "mode", "missing");
    refused("{\"request\": \"file.chmod\", \"session\": \"x\", \"path\": \"a\", \"mode\": \"4755\"}", "mode",
            "octal");
    refused("{\"request\": \"file.chmod\", \"session\": \"x\", \"path\": \"a\", \"mode\": 493}", "mode",
            "a string");
    refused("{\"request\": \"file.stat\", \"session\": \"x\", \"path\": \"a\", \"recursive\": true}",
            "recursive", "unknown field");
}

static void names_and_forms(void **state)
{
    (void)state;
    char long_name[80];
    memset(long_name, 'n', sizeof long_name);
    long_name[65] = '\0';
    assert_false(sc_keeper_name_ok(long_name));
    long_name[64] = '\0';
    assert_true(sc_keeper_name_ok(long_name));
    assert_false(sc_keeper_name_ok(""));
    assert_false(sc_keeper_name_ok("a b"));
    assert_false(sc_keeper_name_ok("a/b"));
    refused("", "request", "not JSON");
    refused("{\"request\": \"run\", \"request\": \"run\"}", "request", "not JSON");
    refused("[]", "request", "an object");
    refused("{}", "request", "missing");
    refused("{\"request\": null}", "request", "a string");
    refused("{\"request\": \"sesion.list\"}", "request", "did you mean session.list");
    refused("{\"request\": \"session.list\", \"session\": \"x\"}", "session", "unknown field");
    refused("{\"request\": \"snapshot.end\"}", "snapshot", "is missing");
    refused("{\"request\": \"snapshot.info\", \"session\": \"x\"}", "session", "unknown field");
    refused("{\"request\": \"snapshot.start\", \"snapshot\": \"x\", \"copies\": 65}", "copies", "1 to 64");
    refused("{\"request\": \"session.info\", \"sesion\": \"x\"}", "sesion", "did you mean session");
    refused("{\"request\": \"session.info\", \"session\": \"a b\"}", "session", "letters");
    refused("{\"request\": \"session.info\", \"session\": 7}", "session", "a string");
    refused("{\"request\": \"session.start\", \"idle_ms\": 999}", "idle_ms", "1000 to 86400000");
    refused("{\"request\": \"session.start\", \"total_ms\": 604800001}", "total_ms", "1000 to 604800000");
    refused("{\"request\": \"session.start\", \"spec\": {\"no\": 1}}", "spec.no", "unknown field");
    refused("{\"request\": \"session.start\", \"spec\": []}", "spec", "an object");
}

static int read_step(void *context)
{
    const char *text = context;
    struct sc_keeper_request one;
    struct sc_err why = {0};
    int r = sc_keeper_request_read(&one, text, strlen(text), &why);
    if (r == -ENOMEM)
        assert_int_equal(why.kind, SC_ERR_SANDBOX);
    sc_keeper_request_fini(&one);
    return r;
}

static void every_allocation_fails_once(void **state)
{
    (void)state;
    if (!fail_alloc_works())
        skip();
    fail_alloc_each(read_step,
                    (void *)"{\"request\": \"run\", \"session\": \"x\", \"language\": \"python\", \"code\": "
                            "\"1\", \"context\": \"c\", \"output\": \"reply\", \"stdin\": \"in\", "
                            "\"limits\": {\"wall_ms\": 20}}");
    fail_alloc_each(read_step, (void *)"{\"request\": \"session.start\", \"name\": \"n\", \"idle_ms\": 1000, "
                                       "\"spec\": {\"env\": {\"A\": \"b\"}}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(sessions, done),     cmocka_unit_test_teardown(single_runs, done),
        cmocka_unit_test_teardown(runs, done),         cmocka_unit_test_teardown(commands, done),
        cmocka_unit_test_teardown(files, done),        cmocka_unit_test_teardown(names_and_forms, done),
        cmocka_unit_test(every_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
