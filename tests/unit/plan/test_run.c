/* Argument list, environment and working folder of the program. */
#include "fixture.h"

#include <limits.h>
#include <unistd.h>

static struct sc_host host;

static int before(void **state)
{
    (void)state;
    host = made_up_server();
    return 0;
}

static void expect_argv(const struct sc_plan *plan, const char *const *argv)
{
    size_t n = 0;
    for (; argv[n]; n++)
        assert_true(n < plan->argv.n);
    assert_int_equal(plan->argv.n, n);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(plan->argv.v[i], argv[i]);
    assert_null(plan->argv.v[n]);
}

static void code(void **state)
{
    (void)state;
    struct sc_spec spec;
    fill_spec(&spec, "print(1)", NULL);
    assert_int_equal(sc_spec_set_args(&spec, (const char *const[]){"-x", "", "two words", NULL}, NULL), 0);
    struct sc_plan *plan = plan_of(&spec, &host);
    expect_argv(plan,
                (const char *const[]){"/usr/bin/python3", "/home/user/main.py", "-x", "", "two words", NULL});
    assert_string_equal(plan->cwd, "/home/user");
    sc_plan_free(plan);
    sc_spec_fini(&spec);
}

/* A command is taken as it is: nothing is looked up out here. */
static void command(void **state)
{
    (void)state;
    struct sc_spec spec;
    fill_command(&spec, (const char *const[]){"no-such-command", "--", "-c", NULL}, NULL);
    struct sc_plan *plan = plan_of(&spec, &host);
    expect_argv(plan, (const char *const[]){"no-such-command", "--", "-c", NULL});
    sc_plan_free(plan);
    sc_spec_fini(&spec);
}

static void program(void **state)
{
    (void)state;
    static const struct {
        const char *name, *head, *interpreter;
    } cases[] = {{"a.py", "", "/usr/bin/python3"},
                 {"b.js", "", "/usr/bin/node"},
                 {"c.sh", "", "/bin/bash"},
                 {"tool", "#!/usr/bin/env strange\n", NULL}};
    char *tree = make_tree();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sc_spec spec;
        char path[PATH_MAX], inside[PATH_MAX];
        put_file(tree, cases[i].name, cases[i].head, 0755);
        snprintf(path, sizeof path, "%s/%s", tree, cases[i].name);
        snprintf(inside, sizeof inside, "/home/user/%s", cases[i].name);
        sc_spec_init(&spec);
        assert_int_equal(sc_spec_set_program(&spec, path, NULL), 0);
        struct sc_plan *plan = plan_of(&spec, &host);
        size_t at = 0;
        if (cases[i].interpreter) {
            assert_non_null(strrchr(plan->argv.v[0], '/'));
            assert_string_equal(strrchr(plan->argv.v[0], '/'), strrchr(cases[i].interpreter, '/'));
            at = 1;
        }
        assert_string_equal(plan->argv.v[at], inside);
        assert_int_equal(plan->argv.n, at + 1);
        sc_plan_free(plan);
        sc_spec_fini(&spec);
    }
    remove_tree(tree);
}

static void environment(void **state)
{
    (void)state;
    struct sc_spec spec;
    setenv("SECRET_OF_THE_CALLER", "x", 1);
    fill_spec(&spec, "print(1)", "env", "PATH=/opt/bin", "env", "EMPTY=", "env", "TWO=a=b", "env",
              "OMP_NUM_THREADS=7", NULL);
    struct sc_plan *plan = plan_of(&spec, &host);
    assert_string_equal(env_of(plan, "HOME"), "/home/user");
    assert_string_equal(env_of(plan, "USER"), "user");
    assert_string_equal(env_of(plan, "LANG"), "C.UTF-8");
    assert_string_equal(env_of(plan, "PYTHONUNBUFFERED"), "1");
    assert_string_equal(env_of(plan, "PATH"), "/opt/bin");
    assert_string_equal(env_of(plan, "EMPTY"), "");
    assert_string_equal(env_of(plan, "TWO"), "a=b");
    assert_string_equal(env_of(plan, "OMP_NUM_THREADS"), "7");
    assert_string_equal(env_of(plan, "MKL_NUM_THREADS"), "1");
    assert_null(env_of(plan, "SECRET_OF_THE_CALLER"));
    for (size_t i = 0; i < plan->env.n; i++) /* each name once */
        for (size_t j = 0; j < i; j++)
            assert_true(strncmp(plan->env.v[i], plan->env.v[j], strcspn(plan->env.v[i], "=") + 1));
    sc_plan_free(plan);
    sc_spec_fini(&spec);
}

static void working_folder(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"/tmp", "/tmp"}, {"sub/folder", "/home/user/sub/folder"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sc_spec spec;
        fill_spec(&spec, "print(1)", "cwd", cases[i][0], NULL);
        struct sc_plan *plan = plan_of(&spec, &host);
        assert_string_equal(plan->cwd, cases[i][1]);
        sc_plan_free(plan);
        sc_spec_fini(&spec);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(code, before),           cmocka_unit_test_setup(command, before),
        cmocka_unit_test_setup(program, before),        cmocka_unit_test_setup(environment, before),
        cmocka_unit_test_setup(working_folder, before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
