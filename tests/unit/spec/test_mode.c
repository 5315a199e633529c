/* The check of modes, of `validate`, and of what a session's request may hold. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "spec/spec.h"

static struct sc_spec spec;
static struct sc_err err;

static int begin(void **state)
{
    (void)state;
    sc_spec_init(&spec);
    return 0;
}

static int end(void **state)
{
    (void)state;
    sc_spec_fini(&spec);
    return 0;
}

static void start_over(const char *request)
{
    sc_spec_fini(&spec);
    sc_err_clear(&err);
    if (sc_spec_from_json(&spec, request, strlen(request), &err) < 0)
        fail_msg("%s: %s", request, err.message);
}

static void passes(void)
{
    if (sc_spec_check(&spec, 0, &err) < 0)
        fail_msg("%s", err.message);
}

static void refused(const char *field, const char *part)
{
    sc_err_clear(&err);
    if (sc_spec_check(&spec, 0, &err) != -EINVAL)
        fail_msg("taken, expected %s: %s", field, part);
    assert_int_equal(err.kind, SC_ERR_USAGE);
    if (strcmp(err.field, field) || !strstr(err.message, part))
        fail_msg("[%s] %s; expected [%s] %s", err.field, err.message, field, part);
}

static void modes_need_source_of_their_languages(void **state)
{
    (void)state;
    static const char *const good[] = {
        "{\"mode\":\"rich\",\"code\":\"1\",\"language\":\"python\"}",
        "{\"mode\":\"rich\",\"code\":\"1\",\"language\":\"node\"}",
        "{\"mode\":\"rich\",\"code\":\"1\",\"language\":\"bash\",\"stdin\":\"x\"}",
        "{\"mode\":\"restricted\",\"code\":\"1\",\"language\":\"python\"}",
        "{\"mode\":\"plain\",\"command\":[\"ls\"],\"pty\":true,\"profile\":\"compute\"}",
    };
    static const char *const bad[][3] = {
        {"{\"mode\":\"rich\",\"command\":[\"ls\"]}", "mode", "rich: allowed with program or code"},
        {"{\"mode\":\"rich\",\"code\":\"1\",\"language\":\"java\"}", "mode",
         "rich: allowed with language python, node or bash, not java"},
        {"{\"mode\":\"restricted\",\"code\":\"1\",\"language\":\"node\"}", "mode",
         "restricted: allowed with language python, not node"},
        {"{\"mode\":\"rich\",\"code\":\"1\",\"language\":\"python\",\"args\":[\"a\"]}", "args",
         "code in mode rich has no arguments"},
        {"{\"mode\":\"rich\",\"code\":\"1\",\"language\":\"python\",\"pty\":true}", "pty",
         "allowed in mode plain"},
        {"{\"mode\":\"rich\",\"code\":\"1\",\"language\":\"python\",\"profile\":\"compute\"}", "profile",
         "this mode starts several: allowed default"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        start_over(good[i]);
        passes();
        passes();
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        start_over(bad[i][0]);
        refused(bad[i][1], bad[i][2]);
    }
}

static void only_source_can_be_read(void **state)
{
    (void)state;
    start_over("{\"validate\":true,\"code\":\"1\",\"language\":\"bash\",\"profile\":\"compute\"}");
    passes();
    start_over("{\"validate\":true,\"command\":[\"ls\"]}");
    refused("validate", "block: allowed with program or code");
    start_over("{\"validate\":{\"on_finding\":\"report\"},\"code\":\"1\",\"language\":\"java\"}");
    refused("validate", "report: allowed with language python, node or bash, not java");
}

static void rule_files_are_there(void **state)
{
    (void)state;
    start_over("{\"validate\":{\"rules\":[\"/nowhere/r.scm\"]},\"code\":\"1\",\"language\":\"python\"}");
    refused("rules", "/nowhere/r.scm: No such file");
    start_over(
        "{\"validate\":{\"rules\":[\"strict\",\"/etc/passwd\"]},\"code\":\"1\",\"language\":\"python\"}");
    passes();
    start_over("{\"validate\":{\"rules\":[\"/etc/\"]},\"code\":\"1\",\"language\":\"python\"}");
    refused("rules", "not a regular file");
}

static void values_set_by_hand(void **state)
{
    (void)state;
    start_over("{\"code\":\"1\",\"language\":\"python\",\"validate\":true}");
    for (int i = 0; i <= SC_SPEC_DENIED_MAX; i++)
        assert_int_equal(sc_strv_add(&spec.validate.deny_calls, "eval"), 0);
    refused("deny-call", "1025 entries: at most 1024");
    sc_strv_fini(&spec.validate.deny_calls);
    assert_int_equal(sc_strv_add(&spec.validate.deny_modules, "a\nb"), 0);
    refused("deny-module", "no blanks");
    sc_strv_fini(&spec.validate.deny_modules);
    spec.validate.on_finding = (enum sc_on_finding)9;
    refused("validate", "9: no such value");
    spec.validate.on_finding = SC_FINDING_BLOCK;
    spec.mode = (enum sc_mode)9;
    refused("mode", "9: no such value");
}

static void by_option(void **state)
{
    (void)state;
    assert_int_equal(sc_spec_set(&spec, "mode", "rich", &err), 0);
    assert_int_equal(spec.mode, SC_MODE_RICH);
    assert_int_equal(sc_spec_set(&spec, "mode", "poor", &err), -EINVAL);
    assert_non_null(strstr(err.message, "poor: allowed: plain, rich, restricted"));
    assert_int_equal(sc_spec_set(&spec, "validate", "report", &err), 0);
    assert_true(spec.validate.on);
    assert_int_equal(spec.validate.on_finding, SC_FINDING_REPORT);
    assert_int_equal(sc_spec_set(&spec, "validate", "yes", &err), -EINVAL);
    assert_non_null(strstr(err.message, "yes: allowed: off, block, report"));
    assert_int_equal(sc_spec_set(&spec, "validate", "off", &err), 0);
    assert_false(spec.validate.on);
    /* A list turns it on. */
    assert_int_equal(sc_spec_add(&spec, "rules", "strict", &err), 0);
    assert_int_equal(sc_spec_add(&spec, "deny-module", "os", &err), 0);
    assert_int_equal(sc_spec_add(&spec, "deny-call", "eval", &err), 0);
    assert_true(spec.validate.on);
    assert_int_equal(spec.validate.on_finding, SC_FINDING_BLOCK);
    assert_int_equal(sc_spec_add(&spec, "rules", "", &err), -EINVAL);
    assert_string_equal(err.field, "rules");
}

static void copies_hold_all_of_it(void **state)
{
    (void)state;
    struct sc_spec copy;
    start_over(
        "{\"code\":\"1\",\"language\":\"python\",\"mode\":\"rich\",\"validate\":{\"rules\":[\"strict\"],"
        "\"on_finding\":\"report\",\"deny_modules\":[\"os\"],\"deny_calls\":[\"eval\"]}}");
    spec.session = true;
    assert_int_equal(sc_spec_copy(&spec, &copy), 0);
    char *a = sc_spec_to_json(&spec), *b = sc_spec_to_json(&copy);
    assert_string_equal(a, b);
    assert_non_null(strstr(a, "deny_calls"));
    assert_true(copy.session);
    free(a);
    free(b);
    sc_spec_fini(&copy);
}

static void session(const char *request)
{
    start_over(request);
    spec.session = true;
}

static void sessions_run_nothing_by_themselves(void **state)
{
    (void)state;
    session(
        "{\"limits\":{\"wall_ms\":1000},\"files\":[{\"path\":\"a\",\"content\":\"x\"}],\"env\":{\"A\":\"1\"},"
        "\"validate\":{\"rules\":[\"strict\"]}}");
    passes();
    assert_true(spec.limits.cpu != SC_DERIVED);
    passes();
    session("{\"code\":\"1\",\"language\":\"python\"}");
    refused("program", "a session runs nothing by itself");
    session("{\"command\":[\"ls\"]}");
    refused("program", "a session runs nothing by itself");
    session("{\"args\":[\"a\"]}");
    refused("args", "a: not allowed: a session runs nothing by itself");
    session("{\"stdin\":\"\"}");
    refused("stdin", "each run of a session has its own");
    session("{}");
    spec.stdin_fd = 0;
    refused("stdin", "each run of a session has its own");
    session("{\"out\":[{\"glob\":\"*\"}]}");
    refused("out", "files are read from the session");
    session("{\"pty\":true}");
    refused("pty", "each command of a session asks for its own");
    session("{\"mode\":\"rich\"}");
    refused("mode", "each run of a session has its own");
    session("{\"profile\":\"compute\"}");
    refused("profile", "a session starts several: allowed default");
    session("{\"validate\":{\"rules\":[\"/nowhere/r.scm\"]}}");
    refused("rules", "No such file");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(modes_need_source_of_their_languages),
        TEST(only_source_can_be_read),
        TEST(rule_files_are_there),
        TEST(values_set_by_hand),
        TEST(by_option),
        TEST(copies_hold_all_of_it),
        TEST(sessions_run_nothing_by_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
