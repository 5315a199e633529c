/* Which requests are of one shape, and which need a cell of their own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "snap/shape.h"

static struct sc_spec spec;
static struct sc_err err;
static const struct sc_recipe NO_RECIPE;

static void set(const char *option, const char *value)
{
    if (sc_spec_set(&spec, option, value, &err) < 0)
        fail_msg("%s", err.message);
}

static void add(const char *option, const char *value)
{
    if (sc_spec_add(&spec, option, value, &err) < 0)
        fail_msg("%s", err.message);
}

static int begin(void **state)
{
    (void)state;
    sc_spec_init(&spec);
    set("language", "python");
    set("mode", "rich");
    return sc_spec_set_code(&spec, "print(1)", 8, &err);
}

static int end(void **state)
{
    (void)state;
    sc_spec_fini(&spec);
    return 0;
}

static char *key(void)
{
    struct sc_spec shape;
    if (sc_spec_check(&spec, 0, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(sc_shape_of(&spec, &NO_RECIPE, &shape), 0);
    char *text = sc_shape_key(&shape, &NO_RECIPE);
    sc_spec_fini(&shape);
    assert_non_null(text);
    return text;
}

/* `same`: whether the spec as it is now has the shape that `before` is the key of. */
static void expect(char *before, bool same)
{
    char *now = key();
    assert_int_equal(!strcmp(before, now), same);
    free(before);
    free(now);
}

static void what_belongs_to_one_request(void **state)
{
    (void)state;
    char *before = key();
    assert_int_equal(sc_spec_set_code(&spec, "a secret", 8, &err), 0);
    assert_int_equal(sc_spec_set_stdin(&spec, "another", 7, &err), 0);
    add("env", "TOKEN=secret");
    add("file", "/etc/hostname:name");
    set("wall", "3s");
    set("cpu", "2s");
    set("stdout", "1K");
    set("stderr", "2K");
    set("validate", "report");
    assert_null(strstr(before, "print"));
    assert_null(sc_shape_misfit(&spec));
    char *now = key();
    assert_null(strstr(now, "secret"));
    free(now);
    expect(before, true);
}

static void what_belongs_to_the_cell(void **state)
{
    (void)state;
    static const char *const options[][2] = {
        {"memory", "128M"}, {"tasks", "7"},      {"open-files", "64"},   {"disk", "3M"},   {"cpus", "0.5"},
        {"cwd", "/tmp"},    {"overflow", "end"}, {"mode", "restricted"}, {"root", "/usr"},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        char *before = key();
        sc_spec_fini(&spec); /* what the check derived goes, too */
        begin(state);
        set(options[i][0], options[i][1]);
        expect(before, false);
    }
    sc_spec_fini(&spec);
    begin(state);
    char *before = key();
    set("language", "bash");
    expect(before, false);
}

/* The cell has one or none; what may be reached, and with which credential, is the request's. */
static void a_network(void **state)
{
    (void)state;
    static const char rules[] = "{\"rules\": [{\"allow\": \"example.org:80\", \"credential\": "
                                "{\"header\": \"X-Key\", \"value\": \"secret\"}}]}";
    char *without = key();
    json_t *value = json_loads(rules, 0, NULL);
    assert_int_equal(sc_net_from_json(&spec.net, value, "network", &err), 0);
    json_decref(value);
    assert_null(sc_shape_misfit(&spec));
    char *before = key();
    assert_null(strstr(before, "secret"));
    assert_null(strstr(before, "example"));
    expect(without, false);
    sc_net_fini(&spec.net);
    spec.net = (struct sc_net){0};
    add("allow", "example.net");
    expect(before, true);
}

/* Without a group to count in, a process has its limit of processor time from its start. */
static void processor_time_of_each_process(void **state)
{
    (void)state;
    add("allow-degraded", "cpu");
    set("cpu", "3s");
    char *before = key();
    set("cpu", "2s");
    expect(before, false);
}

static void another_folder_at_the_same_path(void **state)
{
    (void)state;
    char folder[] = "/tmp/shape-XXXXXX", other[64];
    assert_non_null(mkdtemp(folder));
    struct sc_spec shape = spec;
    shape.root = folder;
    char *before = sc_shape_key(&shape, &NO_RECIPE), *same = sc_shape_key(&shape, &NO_RECIPE);
    assert_string_equal(before, same);
    snprintf(other, sizeof other, "%s.old", folder);
    assert_int_equal(rename(folder, other), 0);
    char *gone = sc_shape_key(&shape, &NO_RECIPE);
    assert_string_not_equal(before, gone);
    rmdir(other);
    free(before);
    free(same);
    free(gone);
}

static void variables(void **state)
{
    (void)state;
    static const char *const at_start[] = {
        "PYTHONHASHSEED=0",
        "LD_PRELOAD=x",
        "MALLOC_ARENA_MAX=1",
        "NODE_OPTIONS=x",
        "OMP_NUM_THREADS=1",
        "OPENBLAS_NUM_THREADS=1",
        "LANG=C",
        "LC_ALL=C",
        "TZ=UTC",
        "BASH_ENV=x",
        "HOME=/",
        "TMPDIR=/x",
        "__snapcell_id=x",
    };
    static const char *const any_time[] = {"TOKEN=x", "PATH=/bin", "A=", "LD=1", "TZX=1", "PYTHO=1"};
    static const char *const not_in_bash[] = {"UID=1",      "IFS=x",       "a.b=1", "1a=1",
                                              "a[$(id)]=1", "SHELLOPTS=x", "PS4=x"};
    for (size_t i = 0; i < sizeof at_start / sizeof at_start[0]; i++)
        assert_false(sc_shape_env_fits(at_start[i], SC_LANG_PYTHON));
    for (size_t i = 0; i < sizeof any_time / sizeof any_time[0]; i++) {
        assert_true(sc_shape_env_fits(any_time[i], SC_LANG_NODE));
        assert_true(sc_shape_env_fits(any_time[i], SC_LANG_BASH));
    }
    for (size_t i = 0; i < sizeof not_in_bash / sizeof not_in_bash[0]; i++) {
        assert_true(sc_shape_env_fits(not_in_bash[i], SC_LANG_PYTHON));
        assert_false(sc_shape_env_fits(not_in_bash[i], SC_LANG_BASH));
    }
}

static char *key_of(const struct sc_recipe *recipe)
{
    struct sc_spec shape;
    assert_int_equal(sc_shape_of(&spec, recipe, &shape), 0);
    char *text = sc_shape_key(&shape, recipe);
    sc_spec_fini(&shape);
    return text;
}

/* A template's variables and files are in the cell, whatever the request replaces of them. */
static void what_a_template_says(void **state)
{
    static const char text[] = "{\"environment\": {\"MPLCONFIGDIR\": \"/tmp/m\", \"STYLE\": \"wide\"},"
                               " \"prelude\": {\"files\": [{\"path\": \"a\", \"content\": \"x\"}],"
                               " \"imports\": [\"json\"]}}";
    static const char *const given[] = {NULL, "STYLE=narrow", "OTHER=1", "MPLCONFIGDIR=/own"};
    struct sc_recipe recipe;
    char *first = NULL;
    sc_recipe_init(&recipe);
    assert_int_equal(sc_recipe_from_json(&recipe, "ours", "/t/ours.json", text, strlen(text), &err), 0);
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        end(state);
        begin(state);
        set("template", "ours");
        if (given[i])
            add("env", given[i]);
        assert_int_equal(sc_recipe_apply_to(&recipe, &spec, &err), 0);
        assert_int_equal(sc_shape_own_env(&spec), given[i] ? 1 : 0);
        assert_int_equal(sc_shape_own_files(&spec), 0);
        assert_true(!sc_shape_misfit(&spec) == (i < 3));
        char *now = key_of(&recipe);
        if (first)
            assert_string_equal(first, now);
        else
            first = strdup(now);
        free(now);
    }
    assert_int_equal(sc_strv_add(&recipe.imports, "csv"), 0);
    char *now = key_of(&recipe);
    assert_string_not_equal(first, now);
    free(now);
    free(first);
    sc_recipe_fini(&recipe);
}

static void misfits(void **state)
{
    (void)state;
    assert_null(sc_shape_misfit(&spec));
    add("env", "PYTHONHASHSEED=0");
    assert_non_null(sc_shape_misfit(&spec));
    sc_spec_fini(&spec);
    begin(state);
    add("dir", "/etc:etc");
    assert_string_equal(sc_shape_misfit(&spec), "folders");
    sc_spec_fini(&spec);
    begin(state);
    set("mode", "plain");
    assert_string_equal(sc_shape_misfit(&spec), "mode plain");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_belongs_to_one_request),
        TEST(what_belongs_to_the_cell),
        TEST(a_network),
        TEST(processor_time_of_each_process),
        TEST(another_folder_at_the_same_path),
        TEST(variables),
        TEST(what_a_template_says),
        TEST(misfits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
