/* The plan in words: JSON that parses, text that says the same, equal plans equal, and no limit left out. */
#include "fixture.h"

#include <limits.h>

static struct sc_host host;

static int before(void **state)
{
    (void)state;
    host = made_up_server();
    return 0;
}

static json_t *json_of(const struct sc_plan *plan)
{
    char *text = sc_plan_to_json(plan);
    json_error_t error;
    assert_non_null(text);
    json_t *value = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!value)
        fail_msg("%s: %s", error.text, text);
    free(text);
    return value;
}

static void json_holds_everything(void **state)
{
    (void)state;
    struct sc_spec spec;
    fill_spec(&spec, "print(1)", "wall", "2500ms", "io-write", "2M", "out", "*.png:/tmp/pictures", "pin", "1",
              NULL);
    struct sc_plan *plan = plan_of(&spec, &host);
    json_t *value = json_of(plan);
    const json_t *limits = json_object_get(value, "limits");
    size_t n = 0;
    for (const struct sc_limit_row *row = SC_LIMIT_ROWS; row->option; row++, n++)
        if (!json_object_get(limits, row->option))
            fail_msg("limit %s is not told", row->option);
    assert_int_equal(json_object_size(limits), n);
    assert_string_equal(json_string_value(json_object_get(limits, "wall")), "2500ms");
    assert_true(json_is_null(json_object_get(limits, "io-read")));
    assert_int_equal(json_array_size(json_object_get(value, "template")), plan->n_mounts);
    assert_int_equal(json_array_size(json_object_get(value, "fresh")), plan->n_fresh);
    assert_int_equal(json_object_size(json_object_get(value, "covered")), plan->n_masks);
    assert_int_equal(json_array_size(json_object_get(value, "cgroup")), plan->n_cgroup);
    assert_int_equal(json_object_size(json_object_get(value, "rlimits")), plan->n_rlimits);
    assert_int_equal(json_object_size(json_object_get(json_object_get(value, "landlock"), "rules")),
                     plan->n_locks);
    assert_int_equal(json_array_size(json_object_get(value, "argv")), plan->argv.n);
    assert_int_equal(json_array_size(json_object_get(value, "env")), plan->env.n);
    assert_string_equal(json_string_value(json_object_get(value, "pin")), "1");
    const json_t *in = json_array_get(json_object_get(value, "put_in"), 0);
    assert_string_equal(json_string_value(json_object_get(in, "path")), "main.py");
    assert_int_equal(json_integer_value(json_object_get(in, "bytes")), 8);
    const json_t *out = json_array_get(json_object_get(value, "taken_out"), 0);
    assert_string_equal(json_string_value(json_object_get(out, "glob")), "*.png");
    json_decref(value);
    sc_plan_free(plan);
    sc_spec_fini(&spec);
}

/* Every plan of a few very different ones is whole in both forms. */
static void all_kinds(void **state)
{
    (void)state;
    struct sc_host hosts[] = {made_up_server(), made_up_v1_server(), made_up_laptop(),
                              made_up_bare_laptop("none")};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
        for (int pty = 0; pty < 2; pty++) {
            struct sc_spec spec;
            fill_spec(&spec, "print(1)", "allow-degraded", "memory,cpu,cpus,landlock", NULL);
            spec.pty = pty;
            hosts[i].landlock_abi = pty ? 0 : 7;
            struct sc_plan *plan = plan_of(&spec, &hosts[i]);
            json_t *value = json_of(plan);
            assert_true(json_is_boolean(json_object_get(value, "terminal")));
            size_t degraded = 0;
            for (unsigned bit = 0; SC_DEGRADE_NAMES[bit]; bit++)
                degraded += plan->degraded >> bit & 1;
            assert_int_equal(json_array_size(json_object_get(value, "degraded")), degraded);
            json_decref(value);
            char *text = sc_plan_to_text(plan);
            assert_non_null(text);
            assert_non_null(strstr(text, "\n  wall: 5s\n"));
            assert_non_null(strstr(text, pty ? "\nterminal: yes\n" : "\nterminal: no\n"));
            free(text);
            sc_plan_free(plan);
            sc_spec_fini(&spec);
        }
}

static void equal_plans_print_equal(void **state)
{
    (void)state;
    char *texts[3][2];
    for (int i = 0; i < 3; i++) {
        struct sc_spec spec;
        fill_spec(&spec, "print(1)", "tasks", i == 2 ? "9" : "8", NULL);
        struct sc_plan *plan = plan_of(&spec, &host);
        texts[i][0] = sc_plan_to_text(plan);
        texts[i][1] = sc_plan_to_json(plan);
        sc_plan_free(plan);
        sc_spec_fini(&spec);
    }
    for (int form = 0; form < 2; form++) {
        assert_string_equal(texts[0][form], texts[1][form]);
        assert_string_not_equal(texts[0][form], texts[2][form]);
    }
    for (int i = 0; i < 3; i++) {
        free(texts[i][0]);
        free(texts[i][1]);
    }
}

/* Names of a stranger's root: bytes that are no UTF-8, newlines, terminal escapes. None is lost, none moves a
 * terminal. */
static void odd_names(void **state)
{
    (void)state;
    struct sc_spec spec;
    char *root = make_tree();
    put_folder(root, "usr");
    put_folder(root, "latin-\xe9");
    put_folder(root, "esc-\033[2J");
    put_folder(root, "line\nwall: 1h");
    fill_spec(&spec, "print(1)", "root", root, NULL);
    assert_int_equal(sc_spec_set_args(&spec, (const char *const[]){"a\033]0;title\a", NULL}, NULL), 0);
    struct sc_plan *plan = plan_of(&spec, &host);
    json_t *value = json_of(plan);
    const json_t *mounts = json_object_get(value, "template");
    assert_int_equal(json_array_size(mounts), plan->n_mounts);
    size_t i, found = 0;
    json_t *mount;
    json_array_foreach(mounts, i, mount)
    {
        const char *path = json_string_value(json_object_get(mount, "path"));
        assert_non_null(path);
        found += !strcmp(path, "/latin-\\xe9");
    }
    assert_int_equal(found, 1);
    json_decref(value);
    char *text = sc_plan_to_text(plan);
    assert_null(strchr(text, '\033'));
    assert_null(strchr(text, '\a'));
    assert_null(strstr(text, "\nwall: 1h"));
    assert_non_null(strstr(text, "line\\x0awall: 1h"));
    free(text);
    sc_plan_free(plan);
    sc_spec_fini(&spec);
    remove_tree(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(json_holds_everything, before),
        cmocka_unit_test_setup(all_kinds, before),
        cmocka_unit_test_setup(equal_plans_print_equal, before),
        cmocka_unit_test_setup(odd_names, before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
