#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/help.h"
#include "cli/options.h"
#include "spec/spec.h"
#include "unit.h"

#define ARGV(...)                                                                                            \
    (char *[])                                                                                               \
    {                                                                                                        \
        __VA_ARGS__, NULL                                                                                    \
    }

static void parse(struct sc_cli_args *args, const char *verb, char **argv)
{
    struct sc_err err = {0};
    int r = sc_cli_args_parse(args, sc_cli_verb_by_name(verb), argv, &err);
    if (r < 0)
        fail_msg("%s", err.message);
}

static void refuse(const char *verb, char **argv, const char *message)
{
    struct sc_cli_args args;
    struct sc_err err = {0};
    assert_true(sc_cli_args_parse(&args, sc_cli_verb_by_name(verb), argv, &err) < 0);
    assert_int_equal(err.kind, SC_ERR_USAGE);
    assert_string_equal(err.message, message);
}

static void options_end_at_the_operand(void **state)
{
    (void)state;
    struct sc_cli_args args;
    parse(&args, "run", ARGV("--wall", "2s", "--json", "a.py", "--memory", "1", "--", "x"));
    assert_int_equal(args.n_given, 1);
    assert_string_equal(args.given[0].name, "wall");
    assert_string_equal(args.given[0].value, "2s");
    assert_int_equal(args.flags, SC_FLAG_JSON);
    assert_int_equal(args.n_operands, 5);
    assert_string_equal(args.operands[0], "a.py");
    assert_string_equal(args.operands[3], "--");
    assert_false(args.dashes);
    sc_cli_args_fini(&args);
}

static void dashes_start_a_command(void **state)
{
    (void)state;
    struct sc_cli_args args;
    parse(&args, "run", ARGV("--open-files=64", "--", "--python"));
    assert_true(args.dashes);
    assert_int_equal(args.n_operands, 1);
    assert_string_equal(args.operands[0], "--python");
    assert_string_equal(args.given[0].name, "open-files");
    sc_cli_args_fini(&args);
}

/* Where no program's words follow, options may stand anywhere before "--". */
static void operands_of_the_judge_come_last(void **state)
{
    (void)state;
    struct sc_cli_args args;
    parse(&args, "judge", ARGV("a.json", "--json", "b.json", "--jobs", "2", "--", "--json"));
    assert_int_equal(args.flags, SC_FLAG_JSON);
    assert_string_equal(args.texts[SC_TEXT_JOBS], "2");
    assert_true(args.dashes);
    assert_int_equal(args.n_operands, 3);
    assert_string_equal(args.operands[0], "--json");
    assert_string_equal(args.operands[1], "a.json");
    assert_string_equal(args.operands[2], "b.json");
    sc_cli_args_fini(&args);
    refuse("judge", ARGV("a.json", "--wall", "2s"),
           "--wall: no such option of judge; `snapcell help judge` lists them");
}

static void a_lone_dash_is_an_operand(void **state)
{
    (void)state;
    struct sc_cli_args args;
    parse(&args, "run", ARGV("--python", "-", "--json"));
    assert_int_equal(args.n_operands, 2);
    assert_int_equal(args.given[0].kind, SC_OPTION_LANGUAGE);
    sc_cli_args_fini(&args);
}

static void values(void **state)
{
    (void)state;
    struct sc_cli_args args;
    /* A value may look like an option; the last of a text counts; "=" may stand in a value. */
    parse(&args, "run", ARGV("-c", "--json", "--code=a=b", "--env", "A=1", "--env", "B=2", "-v"));
    assert_string_equal(args.texts[SC_TEXT_CODE], "a=b");
    assert_int_equal(args.n_given, 2);
    assert_string_equal(args.given[1].value, "B=2");
    assert_int_equal(args.flags, SC_FLAG_VERBOSE);
    sc_cli_args_fini(&args);
}

static void unknown_options(void **state)
{
    (void)state;
    refuse("run", ARGV("--memroy", "1"), "--memroy: no such option of run; did you mean --memory?");
    refuse("run", ARGV("--xyzzyplugh"),
           "--xyzzyplugh: no such option of run; `snapcell help run` lists them");
    refuse("run", ARGV("-q"), "-q: no such option of run; `snapcell help run` lists them");
    refuse("run", ARGV("-cq"), "-cq: no such option of run; `snapcell help run` lists them");
    refuse("doctor", ARGV("--memory", "1"),
           "--memory: no such option of doctor; `snapcell help doctor` lists them");
    refuse("run", ARGV("--\xff\x1b"), "--\\xff\\x1b: no such option of run; `snapcell help run` lists them");
}

static void bad_values(void **state)
{
    (void)state;
    refuse("run", ARGV("--json=1"), "json: 1: takes no value");
    refuse("run", ARGV("--tasks"), "tasks: needs a value: 1 to 32768");
    refuse("run", ARGV("--cwd"), "cwd: needs a value: DIR");
    refuse("run", ARGV("-c"), "code: needs a value: CODE");
    refuse("run", ARGV("--cwd", "\xff"), "cwd: \\xff: must be UTF-8");
}

/* A verb that names a thing first: its options stand behind it, and only its own limits are among them. */
static void options_behind_the_first_operand(void **state)
{
    struct sc_cli_args args;
    struct sc_err err = {0};
    const char *id = NULL;
    char *argv[] = {"work", "--wall", "2s", "--", "ls", "--json", NULL};
    char *bare[] = {"--", "work", NULL}, *wrong[] = {"work", "--memory", "1G", NULL};
    const struct sc_cli_verb *exec = sc_cli_verb_by_name("session exec");
    (void)state;
    assert_int_equal(sc_cli_args_parse(&args, exec, argv, &err), 0);
    assert_int_equal(sc_cli_args_shift(&args, &id, &err), 0);
    assert_string_equal(id, "work");
    assert_int_equal(args.n_given, 1);
    assert_true(args.dashes);
    assert_int_equal(args.n_operands, 2);
    assert_string_equal(args.operands[1], "--json");
    sc_cli_args_fini(&args);
    id = NULL;
    assert_int_equal(sc_cli_args_parse(&args, exec, bare, &err), 0);
    assert_int_equal(sc_cli_args_shift(&args, &id, &err), 0);
    assert_null(id);
    assert_int_equal(args.n_operands, 1);
    sc_cli_args_fini(&args);
    assert_int_equal(sc_cli_args_parse(&args, exec, wrong, &err), 0);
    assert_int_equal(sc_cli_args_shift(&args, &id, &err), -EINVAL);
    assert_non_null(strstr(err.message, "--memory: no such option of session exec"));
}

static void seen(void *userdata, const struct sc_cli_option *option)
{
    struct sc_buf *out = userdata;
    assert_true(sc_cli_is_option(option->name));
    assert_non_null(option->help);
    sc_buf_printf(out, "--%s\n", option->name);
}

/* Every limit is an option, and help tells of every option. */
static void tables_are_whole(void **state)
{
    (void)state;
    struct sc_buf names, help;
    sc_buf_init(&names, 65536);
    sc_buf_init(&help, 65536);
    sc_cli_options_each(SC_CLI_RUN, seen, &names);
    sc_cli_help_verb(sc_cli_verb_by_name("run"), &help);
    for (const struct sc_limit_row *row = SC_LIMIT_ROWS; row->option; row++) {
        char line[64];
        snprintf(line, sizeof line, "--%s\n", row->option);
        assert_non_null(strstr((char *)names.data, line));
        snprintf(line, sizeof line, " --%s ", row->option);
        assert_non_null(strstr((char *)help.data, line));
    }
    sc_buf_fini(&names);
    sc_buf_fini(&help);
}

/* A bit that two verbs share gives each the other's options. */
static void verbs_have_bits_of_their_own(void **state)
{
    (void)state;
    for (const struct sc_cli_verb *a = SC_CLI_VERBS; a->name; a++) {
        assert_true(a->bit && !((uint64_t)a->bit & ((uint64_t)a->bit - 1)));
        for (const struct sc_cli_verb *b = SC_CLI_VERBS; b < a; b++)
            if (a->bit != SC_CLI_VERSION) /* with help, which has no option of its own either */
                assert_true(a->bit != b->bit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_end_at_the_operand),
        cmocka_unit_test(dashes_start_a_command),
        cmocka_unit_test(operands_of_the_judge_come_last),
        cmocka_unit_test(a_lone_dash_is_an_operand),
        cmocka_unit_test(values),
        cmocka_unit_test(options_behind_the_first_operand),
        cmocka_unit_test(unknown_options),
        cmocka_unit_test(bad_values),
        cmocka_unit_test(tables_are_whole),
        cmocka_unit_test(verbs_have_bits_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
