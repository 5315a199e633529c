/* The living checker in a real cell: its line of checks, its deaths, and that nothing is left of it. */
#include "../cell/fixture.h"

#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "snap/checker_parts.h"

static struct sc_spec place;
static struct sc_checker *checker;
static struct sc_err err;
static struct traces before;

static int begin_checker(void **state)
{
    (void)state;
    (void)the_host();
    err = (struct sc_err){0};
    before = traces_of_now();
    sc_spec_init(&place);
    if (*to_accept())
        assert_int_equal(sc_spec_add(&place, "allow-degraded", to_accept(), &err), 0);
    if (sc_checker_open(the_host(), &place, &checker, &err) < 0)
        fail_msg("%s", err.message);
    return 0;
}

static int end_checker(void **state)
{
    (void)state;
    sc_checker_close(checker);
    checker = NULL;
    sc_spec_fini(&place);
    assert_same_traces(&before);
    return 0;
}

static const char *rule_of(const struct sc_check_report *report, size_t i)
{
    return json_string_value(json_object_get(json_array_get(report->findings, i), "rule"));
}

static struct sc_check_report check(enum sc_lang lang, const char *source, const struct sc_validate *validate,
                                    bool syntax)
{
    static const struct sc_validate standard = {.on = true};
    struct sc_check_report report = {0};
    const struct sc_check_request request = {
        .lang = lang,
        .source = source,
        .len = strlen(source),
        .validate = validate ? validate : &standard,
        .syntax = syntax,
    };
    if (sc_checker_check_now(checker, &request, &report, &err) < 0)
        fail_msg("%s", err.message);
    return report;
}

static void expect_rule(enum sc_lang lang, const char *source, const char *rule)
{
    struct sc_check_report report = check(lang, source, NULL, false);
    assert_int_equal(report.allowed, rule == NULL);
    assert_int_equal(json_array_size(report.findings), rule != NULL);
    if (rule)
        assert_string_equal(rule_of(&report, 0), rule);
    sc_check_report_fini(&report);
}

static void reads_one_after_another(void **state)
{
    (void)state;
    expect_rule(SC_LANG_PYTHON, "import subprocess", "process-start");
    expect_rule(SC_LANG_PYTHON, "print(1)", NULL);
    expect_rule(SC_LANG_NODE, "eval('1')", "dynamic-execution");
    expect_rule(SC_LANG_BASH, "curl x", "network");
    expect_rule(SC_LANG_PYTHON, "", NULL);
}

static void says_what_blocks(void **state)
{
    (void)state;
    char *modules[] = {"subprocess", NULL};
    const struct sc_validate lists = {.on = true, .deny_modules = {modules, 1}};
    struct sc_check_report report = check(SC_LANG_PYTHON, "x = 1\n\nimport subprocess\n", &lists, true);
    assert_string_equal(report.message, "Blocked: subprocess (line 3)");
    assert_string_equal(report.syntax_error, "");
    sc_check_report_fini(&report);
    report = check(SC_LANG_PYTHON, "x = 1\nif x\n", &lists, true);
    assert_string_equal(report.message, "");
    assert_string_equal(report.syntax_error, "Syntax error: expected ':' (line 2)");
    assert_false(report.allowed);
    assert_int_equal(json_array_size(report.findings), 0);
    sc_check_report_fini(&report);
}

static void wrong_rules_are_the_callers(void **state)
{
    (void)state;
    char *names[] = {"nonsense", NULL};
    const struct sc_validate wrong = {.on = true, .rules = {names, 1}};
    const struct sc_check_request request = {
        .lang = SC_LANG_PYTHON, .source = "1", .len = 1, .validate = &wrong};
    struct sc_check_report report = {0};
    assert_true(sc_checker_check_now(checker, &request, &report, &err) < 0);
    assert_int_equal(err.kind, SC_ERR_USAGE);
    assert_string_equal(err.field, "rules");
    names[0] = "./missing.scm";
    assert_true(sc_checker_check_now(checker, &request, &report, &err) < 0);
    assert_int_equal(err.kind, SC_ERR_USAGE);
    expect_rule(SC_LANG_PYTHON, "import subprocess", "process-start");
}

/* ---- its deaths ---- */

static void take_rule(void *userdata, const struct sc_check_report *report, const struct sc_err *error)
{
    char *rule = userdata;
    snprintf(rule, 32, "%s",
             error                               ? "error"
             : json_array_size(report->findings) ? rule_of(report, 0)
                                                 : "none");
}

static void step_until(const char *answer)
{
    while (!*answer) {
        struct pollfd poll_fd = {sc_checker_fd(checker), POLLIN, 0};
        uint64_t next = sc_checker_next_ns(checker), now = sc_now_ns();
        int wait_ms = next == UINT64_MAX ? -1 : next <= now ? 0 : (int)((next - now) / 1000000 + 1);
        (void)poll(&poll_fd, 1, wait_ms);
        assert_int_equal(sc_checker_step(checker, &err), 0);
    }
}

static void queue(const char *source, char answer[32])
{
    static const struct sc_validate standard = {.on = true};
    const struct sc_check_request request = {
        .lang = SC_LANG_PYTHON, .source = source, .len = strlen(source), .validate = &standard};
    answer[0] = '\0';
    assert_int_equal(sc_checker_check(checker, &request, take_rule, answer, &err), 0);
}

/* Takes the program long enough for a signal to meet it. */
static void queue_long(char answer[32])
{
    static const char line[] = "value = compute(1, 'text', [2, 3])\n";
    struct sc_buf source;
    sc_buf_init(&source, 4 * SC_MIB);
    while (source.len < 2 * SC_MIB)
        assert_int_equal(sc_buf_add_str(&source, line), 0);
    queue((const char *)source.data, answer);
    sc_buf_fini(&source);
}

/* Dies of the first: that one is unreadable, the next has a new cell. */
static void a_program_that_dies_is_started_anew(void **state)
{
    (void)state;
    char first[32], second[32];
    expect_rule(SC_LANG_PYTHON, "1", NULL);
    queue_long(first);
    queue("import socket", second);
    assert_int_equal(sc_checker_step(checker, &err), 0); /* begins the first */
    assert_int_equal(sc_live_signal(checker->live, checker->program.op, SIGKILL, SC_SIGNAL_TREE), 0);
    step_until(first);
    assert_string_equal(first, "unreadable");
    step_until(second);
    assert_string_equal(second, "network");
    expect_rule(SC_LANG_PYTHON, "import socket", "network");
}

static void one_that_hangs_is_given_up(void **state)
{
    (void)state;
    char first[32], second[32];
    expect_rule(SC_LANG_PYTHON, "1", NULL);
    uint64_t began = sc_now_ns();
    queue_long(first);
    queue("import socket", second);
    assert_int_equal(sc_checker_step(checker, &err), 0);
    assert_int_equal(sc_live_signal(checker->live, checker->program.op, SIGSTOP, SC_SIGNAL_TREE), 0);
    step_until(first);
    assert_string_equal(first, "unreadable");
    assert_true(sc_now_ns() - began >= SC_CHECK_WALL_NS);
    step_until(second);
    assert_string_equal(second, "network");
}

static void closing_forgets_what_waits(void **state)
{
    (void)state;
    static char first[32], second[32];
    queue("import socket", first);
    assert_int_equal(sc_checker_step(checker, &err), 0);
    queue("import socket", second);
}

/* ---- what it says is hostile ---- */

static struct sc_check_job job_with(const char *reply)
{
    struct sc_check_job job = {0};
    uint32_t size = (uint32_t)strlen(reply);
    sc_buf_init(&job.reply, SC_REPLY_MAX);
    assert_int_equal(sc_buf_add(&job.reply, &size, sizeof size), 0);
    assert_int_equal(sc_buf_add(&job.reply, reply, size), 0);
    sc_check_take_reply(&job);
    return job;
}

static void drop(struct sc_check_job *job)
{
    sc_check_report_fini(&job->report);
    sc_buf_fini(&job->reply);
}

static void replies_are_taken_as_hostile(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "x",
                                      "[]",
                                      "{}",
                                      "{\"findings\": 1}",
                                      "{\"findings\": [1]}",
                                      "{\"findings\": {}}",
                                      "{\"findings\": [], \"findings\": 1}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct sc_check_job job = job_with(bad[i]);
        assert_true(job.answered);
        assert_int_equal(job.err.kind, SC_ERR_SANDBOX);
        drop(&job);
    }
    struct sc_check_job job =
        job_with("{\"findings\": [{\"rule\": \"\\u001b[2J\", \"severity\": 1, \"line\": -5, "
                 "\"column\": \"x\", \"snippet\": [], \"more\": \"x\"}]}");
    assert_int_equal(job.err.kind, SC_ERR_NONE);
    const json_t *finding = json_array_get(job.report.findings, 0);
    assert_string_equal(rule_of(&job.report, 0), "\\x1b[2J");
    assert_int_equal(json_integer_value(json_object_get(finding, "line")), 1);
    assert_int_equal(json_object_size(finding), 3);
    sc_check_conclude(&job);
    assert_false(job.report.allowed); /* one without a severity counts in full */
    drop(&job);
}

static void too_many_findings_are_refused(void **state)
{
    (void)state;
    json_t *list = json_array();
    for (int i = 0; i < 202; i++)
        json_array_append_new(list, json_object());
    json_t *object = json_pack("{s:o}", "findings", list);
    char *text = json_dumps(object, 0);
    struct sc_check_job job = job_with(text);
    assert_int_equal(job.err.kind, SC_ERR_SANDBOX);
    drop(&job);
    free(text);
    json_decref(object);
}

static void an_interpreters_words(void **state)
{
    (void)state;
    static const struct {
        enum sc_lang lang;
        const char *words, *says;
    } rows[] = {
        {SC_LANG_PYTHON, "3 invalid syntax\n", "Syntax error: invalid syntax (line 3)"},
        {SC_LANG_PYTHON, "0 source code string cannot contain null bytes\n",
         "Syntax error: source code string cannot contain null bytes"},
        {SC_LANG_PYTHON, "Traceback (most recent call last):\n", ""},
        {SC_LANG_PYTHON, "1 \x1b[2J\n2 more", "Syntax error: \\x1b[2J (line 1)"},
        {SC_LANG_NODE, "[stdin]:2\nlet a\n    ^\nSyntaxError: Unexpected token '}'\n",
         "Syntax error: Unexpected token '}' (line 2)"},
        {SC_LANG_NODE, "[stdin]:1\nSyntaxError: Cannot use import statement outside a module\n", ""},
        {SC_LANG_NODE, "node: bad option\n", ""},
        {SC_LANG_BASH, "bash: line 3: syntax error near unexpected token `)'\nbash: line 3: `)'\n",
         "Syntax error: syntax error near unexpected token `)' (line 3)"},
        {SC_LANG_BASH, "line 99999999999999999999", "Syntax error:  (line 18446744073709551615)"},
        {SC_LANG_BASH, "", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char says[512];
        sc_check_syntax_words(rows[i].lang, rows[i].words, strlen(rows[i].words), says);
        assert_string_equal(says, rows[i].says);
    }
}

/* A 200-line file in a living checker, the message to it included; bench/ has the figure. */
static void is_quick(void **state)
{
    (void)state;
    char source[16384] = "";
    for (int i = 0; i < 200; i++) {
        size_t used = strlen(source);
        snprintf(source + used, sizeof source - used, "value_%d = compute(value_%d, 'text', [2, %d])\n", i,
                 i - 1, i);
    }
    expect_rule(SC_LANG_PYTHON, source, NULL);
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 200; i++) {
        uint64_t began = sc_now_ns();
        expect_rule(SC_LANG_PYTHON, source, NULL);
        uint64_t took = sc_now_ns() - began;
        best = took < best ? took : best;
    }
    print_message("200 lines: %.3f ms at best\n", (double)best / 1e6);
    assert_true(best < 20 * 1000 * 1000);
}

int main(void)
{
    static const struct CMUnitTest checker_tests[] = {
        cmocka_unit_test_setup_teardown(reads_one_after_another, begin_checker, end_checker),
        cmocka_unit_test_setup_teardown(says_what_blocks, begin_checker, end_checker),
        cmocka_unit_test_setup_teardown(wrong_rules_are_the_callers, begin_checker, end_checker),
        cmocka_unit_test_setup_teardown(a_program_that_dies_is_started_anew, begin_checker, end_checker),
        cmocka_unit_test_setup_teardown(one_that_hangs_is_given_up, begin_checker, end_checker),
        cmocka_unit_test_setup_teardown(closing_forgets_what_waits, begin_checker, end_checker),
        cmocka_unit_test_setup_teardown(is_quick, begin_checker, end_checker),
        cmocka_unit_test(replies_are_taken_as_hostile),
        cmocka_unit_test(too_many_findings_are_refused),
        cmocka_unit_test(an_interpreters_words),
    };
    return RUN_AS_BOTH(checker_tests);
}
