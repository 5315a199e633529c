/* snap/recipe.h: what a template's file says, what a build is named after, and what a request keeps. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "fail_alloc.h"
#include "snap/recipe.h"
#include "snap/shelf.h"

static char place[64];

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

/* A folder of the test's own, with templates and store in it. */
static int begin(void **state)
{
    char path[100];
    (void)state;
    snprintf(place, sizeof place, "/tmp/recipe-XXXXXX");
    if (!mkdtemp(place))
        return -1;
    snprintf(path, sizeof path, "%s/templates", place);
    setenv("SNAPCELL_TEMPLATES", path, 1);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/store", place);
    return setenv("SNAPCELL_STORE", path, 1);
}

static int end(void **state)
{
    (void)state;
    return nftw(place, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *path_of(const char *name)
{
    static char path[4][200];
    static unsigned n;
    char *at = path[n++ % 4];
    snprintf(at, sizeof path[0], "%s/%s", place, name);
    return at;
}

static void write_text(const char *name, const char *text)
{
    int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(sc_write_all(fd, text, strlen(text)), 0);
    close(fd);
}

static int read_text(struct sc_recipe *recipe, const char *text, struct sc_err *err)
{
    sc_recipe_init(recipe);
    return sc_recipe_from_json(recipe, "x", path_of("templates/x.json"), text, strlen(text), err);
}

static const char WHOLE[] =
    "{\"name\":\"x\",\"description\":\"d\",\"root\":{\"kind\":\"packages\",\"packages\":[\"a1\",\"b+\"],"
    "\"suite\":"
    "\"sid\"},\"language\":\"python\",\"prelude\":{\"imports\":[\"a\",\"b.c\"],\"files\":[{\"path\":\"p\","
    "\"content\":\"c\"},{\"path\":\"q\",\"host\":\"/h\"}],\"code\":\"1\"},\"environment\":{\"A\":\"1\"},"
    "\"limits\":{"
    "\"wall_ms\":2000,\"tasks\":128},\"network\":{\"mode\":\"none\"},\"requirements\":\"r.txt\",\"package_"
    "json\":"
    "\"/p.json\",\"pool\":{\"idle\":1,\"maximum\":2,\"recycle_runs\":3,\"recycle_ms\":4}}";

static void every_field(void **state)
{
    struct sc_recipe recipe;
    struct sc_err err = {0};
    (void)state;
    assert_int_equal(read_text(&recipe, WHOLE, &err), 0);
    assert_int_equal(recipe.root, SC_RECIPE_PACKAGES);
    assert_int_equal(recipe.packages.n, 2);
    assert_string_equal(recipe.suite, "sid");
    assert_int_equal(recipe.defaults.lang, SC_LANG_PYTHON);
    assert_int_equal(recipe.defaults.n_files, 2);
    assert_string_equal(recipe.defaults.files[1].host, "/h");
    assert_string_equal(recipe.requirements, path_of("templates/r.txt"));
    assert_string_equal(recipe.package_json, "/p.json");
    assert_int_equal(recipe.pool.recycle_runs, 3);
    assert_true(recipe.pool.recycle_ns == 4 * SC_NS_PER_MS);
    assert_true(sc_recipe_is_built(&recipe));
    json_t *told = sc_recipe_to_json(&recipe),
           *wall = json_object_get(json_object_get(told, "limits"), "tasks");
    assert_int_equal(json_integer_value(wall), 128); /* a standard value that was said is told */
    assert_string_equal(json_string_value(json_object_get(json_object_get(told, "root"), "suite")), "sid");
    json_decref(told);
    sc_recipe_fini(&recipe);
}

static const struct {
    const char *text, *field, *said;
} REFUSED[] = {
    {"{\"nmae\":\"x\"}", "nmae", "did you mean name?"},
    {"{\"name\":\"y\"}", "name", "must be the file's own name"},
    {"[]", "request", "is an array, must be an object"},
    {"{\"root\":{}}", "root", "field kind is missing"},
    {"{\"root\":{\"kind\":\"x\"}}", "root.kind", "allowed: host, directory, image, packages"},
    {"{\"root\":{\"kind\":\"image\"}}", "root", "field from is missing"},
    {"{\"root\":{\"kind\":\"image\",\"from\":\"a\",\"suite\":\"s\"}}", "root.suite",
     "not allowed with kind image"},
    {"{\"root\":{\"kind\":\"packages\",\"packages\":[]}}", "root", "at least one package"},
    {"{\"root\":{\"kind\":\"packages\",\"packages\":[\"-x\"]}}", "root.packages[0]",
     "name of a Debian package"},
    {"{\"root\":{\"kind\":\"packages\",\"packages\":[\"a,b\"]}}", "root.packages[0]",
     "name of a Debian package"},
    {"{\"root\":{\"kind\":\"packages\",\"packages\":[\"aa\"],\"suite\":\"-x\"}}", "root.suite",
     "Debian suite"},
    {"{\"root\":{\"kind\":\"directory\",\"path\":\"\"}}", "root.path", "must be the path"},
    {"{\"prelude\":{\"imports\":[\"--x\"]}}", "prelude.imports[0]", "name of a module"},
    {"{\"prelude\":{\"imports\":[\"a b\"]}}", "prelude.imports[0]", "name of a module"},
    {"{\"prelude\":{\"code\":1}}", "prelude.code", "must be a string"},
    {"{\"prelude\":{\"files\":[{\"path\":\"../x\",\"content\":\"\"}]}}", "prelude.files[0].path", ""},
    {"{\"environment\":{\"A=\":\"\"}}", "environment.A=", ""},
    {"{\"limits\":{\"tasks\":0}}", "limits.tasks", "allowed 1 to 32768"},
    {"{\"network\":{\"mode\":\"all\"}}", "network.mode", "allowed: none, rules, open"},
    {"{\"pool\":{\"idle\":3,\"maximum\":2}}", "pool", "at most maximum, 2"},
    {"{\"pool\":{\"idle\":1.5}}", "pool.idle", "must be a whole number"},
    {"{\"pool\":{\"recycle_ms\":-1}}", "pool.recycle_ms", "allowed 0 to"},
    {"{\"language\":\"cobol\"}", "language", "allowed"},
    {"{", "request", "not JSON"},
};

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) {
        struct sc_recipe recipe;
        struct sc_err err = {0};
        assert_true(read_text(&recipe, REFUSED[i].text, &err) < 0);
        assert_int_equal(err.kind, SC_ERR_USAGE);
        assert_string_equal(err.field, REFUSED[i].field);
        assert_non_null(strstr(err.message, REFUSED[i].said));
        sc_recipe_fini(&recipe);
    }
}

static void a_built_in_one_names_no_file(void **state)
{
    static const char *const texts[] = {
        "{\"requirements\":\"/etc/passwd\"}", "{\"root\":{\"kind\":\"directory\",\"path\":\"/srv\"}}",
        "{\"prelude\":{\"files\":[{\"path\":\"a\",\"host\":\"/etc/passwd\"}]}}"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct sc_recipe recipe;
        struct sc_err err = {0};
        sc_recipe_init(&recipe);
        assert_true(sc_recipe_from_json(&recipe, "x", NULL, texts[i], strlen(texts[i]), &err) < 0);
        assert_non_null(strstr(err.message, "names no file of the host"));
        sc_recipe_fini(&recipe);
    }
}

static void built_in_ones_are_whole(void **state)
{
    (void)state;
    for (const struct sc_recipe_text *text = SC_RECIPES; text->name; text++) {
        struct sc_recipe recipe;
        struct sc_err err = {0};
        assert_int_equal(sc_recipe_load(text->name, &recipe, &err), 0);
        assert_null(recipe.file);
        assert_non_null(recipe.description);
        assert_false(sc_recipe_is_built(&recipe));
        sc_recipe_fini(&recipe);
    }
}

static void a_users_own_takes_its_place(void **state)
{
    struct sc_recipe recipe;
    struct sc_strv names = {0};
    (void)state;
    write_text("templates/python.json", "{\"description\":\"mine\"}");
    write_text("templates/a.json", "{}");
    write_text("templates/No Name.json", "{}");
    write_text("templates/text", "");
    assert_int_equal(sc_recipe_load("python", &recipe, NULL), 0);
    assert_string_equal(recipe.description, "mine");
    sc_recipe_fini(&recipe);
    assert_int_equal(sc_recipe_names(&names, NULL), 0);
    assert_int_equal(names.n, 7);
    assert_string_equal(names.v[0], "a");
    assert_string_equal(names.v[5], "python");
    sc_strv_fini(&names);
    static const char *const bad[] = {"", "../a", "A", ".a", "-a", "a/b", "none"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sc_err err = {0};
        assert_true(sc_recipe_load(bad[i], &recipe, &err) < 0);
        assert_string_equal(err.field, "template");
    }
}

static void a_preludes_file_is_from_its_folder(void **state)
{
    static const char text[] = "{\"prelude\":{\"files\":[{\"path\":\"a\",\"host\":\"h\"}]}}";
    struct sc_recipe recipe;
    (void)state;
    assert_int_equal(read_text(&recipe, text, NULL), 0);
    assert_string_equal(recipe.defaults.files[0].host, path_of("templates/h"));
    sc_recipe_fini(&recipe);
}

/* ---- the hash ---- */

static const char *hash_of(const char *text)
{
    static char hash[2][SC_SHA256_TEXT];
    static unsigned n;
    struct sc_recipe recipe;
    struct sc_err err = {0};
    char *at = hash[n++ % 2];
    assert_int_equal(read_text(&recipe, text, &err), 0);
    assert_int_equal(sc_recipe_hash(&recipe, at, &err), 0);
    sc_recipe_fini(&recipe);
    return at;
}

#define PACKAGES(list, rest) "{\"root\":{\"kind\":\"packages\",\"packages\":[" list "]}" rest "}"

static void only_what_is_built_counts(void **state)
{
    (void)state;
    const char *plain = hash_of(PACKAGES("\"aa\",\"bb\"", ""));
    assert_string_equal(
        plain, hash_of(PACKAGES("\"aa\",\"bb\"", ",\"description\":\"x\",\"limits\":{\"tasks\":3}")));
    assert_string_equal(plain, hash_of(PACKAGES("\"aa\",\"bb\"", ",\"prelude\":{\"imports\":[\"x\"]}")));
    assert_string_not_equal(plain, hash_of(PACKAGES("\"aa\"", "")));
    plain = hash_of(PACKAGES("\"aab\",\"cc\"", ""));
    assert_string_not_equal(plain, hash_of(PACKAGES("\"aa\",\"bcc\"", "")));
}

static void the_content_of_its_files_counts(void **state)
{
    static const char text[] = "{\"requirements\":\"r.txt\"}";
    char before[SC_SHA256_TEXT];
    (void)state;
    write_text("templates/r.txt", "./w.whl\n");
    write_text("templates/w.whl", "one");
    snprintf(before, sizeof before, "%s", hash_of(text));
    assert_string_equal(before, hash_of(text));
    write_text("templates/r.txt", "# a comment\n\n  ./w.whl   # another\n");
    assert_string_equal(before, hash_of(text));
    write_text("templates/w.whl", "two");
    assert_string_not_equal(before, hash_of(text));
    write_text("templates/w.whl", "one");
    write_text("templates/r.txt", "./w.whl\nsix\n");
    assert_string_not_equal(before, hash_of(text));
    struct sc_recipe recipe;
    struct sc_err err = {0};
    char hash[SC_SHA256_TEXT];
    assert_int_equal(unlink(path_of("templates/w.whl")), 0);
    assert_int_equal(read_text(&recipe, text, NULL), 0);
    assert_true(sc_recipe_hash(&recipe, hash, &err) < 0);
    assert_int_equal(err.kind, SC_ERR_USAGE);
    sc_recipe_fini(&recipe);
}

/* ---- requirements ---- */

static unsigned wheels;

static int count_wheel(void *userdata, const char *path, struct sc_err *err)
{
    (void)userdata, (void)err;
    wheels++;
    return strstr(path, ".whl") ? 0 : -EINVAL;
}

static int requirements(const char *text, struct sc_buf *out)
{
    struct sc_err err = {0};
    write_text("r.txt", text);
    sc_buf_init(out, 4096);
    wheels = 0;
    int r = sc_recipe_requirements(path_of("r.txt"), out, count_wheel, NULL, &err);
    if (r < 0) {
        assert_int_equal(err.kind, SC_ERR_USAGE);
        assert_string_equal(err.field, "requirements");
        sc_buf_fini(out);
    }
    return r;
}

static void requirements_that_are_taken(void **state)
{
    struct sc_buf out;
    (void)state;
    assert_int_equal(
        requirements("six>=1.0,<2 ; python_version > '3'\r\n--index-url https://a/b\n a.whl#x\n"
                     "/abs/b.whl # c\nx == 1 \\\n --hash=sha256:00\n--pre\n\n#only\nnumpy[extra]",
                     &out),
        0);
    assert_string_equal((char *)out.data,
                        "six>=1.0,<2 ; python_version > '3'\n--index-url https://a/b\na.whl#x\n./b.whl\n"
                        "x == 1  --hash=sha256:00\n--pre\nnumpy[extra]\n");
    assert_int_equal(wheels, 1);
    sc_buf_fini(&out);
    assert_int_equal(requirements("", &out), 0);
    assert_int_equal(out.len, 0);
    sc_buf_fini(&out);
}

static void requirements_that_are_refused(void **state)
{
    static const char *const lines[] = {"-e .",
                                        "-e.",
                                        "--editable=.",
                                        "-r x",
                                        "-rx",
                                        "-c x",
                                        "./x",
                                        "x/",
                                        "../x",
                                        ".",
                                        "a @ b",
                                        "https://x/y.whl",
                                        "git+ssh://x",
                                        "file:x",
                                        "six -e .",
                                        "six\t-r x",
                                        "si\\\nx -e .",
                                        "-\\\ne .",
                                        "$HOME",
                                        "${X}",
                                        "--no-binary=:all:",
                                        "--only-binary",
                                        "--config-settings",
                                        "six\x0b-e .",
                                        "s\xc3\xafx",
                                        "-f x",
                                        "./a b.whl"};
    struct sc_buf out;
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_true(requirements(lines[i], &out) < 0);
}

/* ---- defaults ---- */

static void a_request_counts_more(void **state)
{
    static const char request[] = "{\"template\":\"t\",\"code\":\"1\",\"limits\":{\"tasks\":128},\"env\":{"
                                  "\"A\":\"request\"},\"files\":[{"
                                  "\"path\":\"p\",\"content\":\"request\"}]}";
    struct sc_spec spec;
    struct sc_err err = {0};
    (void)state;
    write_text("templates/t.json", "{\"language\":\"bash\",\"limits\":{\"tasks\":5,\"wall_ms\":1500},"
                                   "\"environment\":{\"A\":\"t\",\"AB\":"
                                   "\"t\"},\"prelude\":{\"files\":[{\"path\":\"p\",\"content\":\"t\"},{"
                                   "\"path\":\"q\",\"content\":\"t\"}]}}");
    sc_spec_init(&spec);
    assert_int_equal(sc_spec_from_json(&spec, request, sizeof request - 1, &err), 0);
    assert_true(sc_spec_check(&spec, 0, &err) < 0); /* nobody may forget it */
    assert_string_equal(err.field, "template");
    for (int i = 0; i < 2; i++) { /* the second time changes nothing */
        assert_int_equal(sc_recipe_apply(&spec, &err), 0);
        assert_int_equal(spec.lang, SC_LANG_BASH);
        assert_true(spec.limits.tasks == 128 && spec.limits.wall == 1500 * SC_NS_PER_MS);
        assert_int_equal(spec.env.n, 2);
        assert_string_equal(spec.env.v[0], "A=request");
        assert_string_equal(spec.env.v[1], "AB=t");
        assert_int_equal(spec.n_files, 2);
        assert_string_equal(spec.files[0].data, "request");
        assert_string_equal(spec.files[1].data, "t");
    }
    assert_int_equal(sc_spec_check(&spec, 0, &err), 0);
    sc_spec_fini(&spec);
}

static void the_name_and_what_was_said_survive_the_way(void **state)
{
    struct sc_spec spec, back;
    (void)state;
    sc_spec_init(&spec);
    sc_spec_init(&back);
    assert_int_equal(sc_spec_set(&spec, "template", "t", NULL), 0);
    assert_int_equal(sc_spec_set(&spec, "tasks", "128", NULL), 0);
    char *text = sc_spec_to_json(&spec);
    assert_non_null(text);
    assert_int_equal(sc_spec_from_json(&back, text, strlen(text), NULL), 0);
    assert_string_equal(back.template, "t");
    assert_int_equal(back.limits_given, spec.limits_given);
    assert_int_equal(__builtin_popcount(back.limits_given), 1);
    free(text);
    sc_spec_fini(&back);
    sc_spec_fini(&spec);
}

static void what_is_not_built_is_refused(void **state)
{
    struct sc_spec spec;
    struct sc_err err = {0};
    (void)state;
    write_text("templates/t.json", "{\"package_json\":\"p\"}");
    sc_spec_init(&spec);
    assert_int_equal(sc_spec_set(&spec, "template", "t", NULL), 0);
    assert_true(sc_recipe_apply(&spec, &err) < 0);
    assert_string_equal(err.field, "template");
    assert_non_null(strstr(err.message, "snapcell template build t"));
    sc_spec_fini(&spec);
}

/* ---- memory ---- */

static int whole_step(void *context)
{
    struct sc_recipe recipe;
    struct sc_err err = {0};
    (void)context;
    int r = read_text(&recipe, WHOLE, &err);
    if (r == 0) {
        json_t *told = sc_recipe_to_json(&recipe);
        if (told)
            assert_int_equal(json_object_size(told), 10);
        r = told ? 0 : -ENOMEM;
        json_decref(told);
    } else {
        assert_int_equal(err.kind, SC_ERR_SANDBOX);
    }
    sc_recipe_fini(&recipe);
    return r;
}

static void every_allocation_fails(void **state)
{
    (void)state;
    assert_true(fail_alloc_each(whole_step, NULL) > 60);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(every_field),
        TEST(what_is_wrong_is_named),
        TEST(a_built_in_one_names_no_file),
        TEST(built_in_ones_are_whole),
        TEST(a_users_own_takes_its_place),
        TEST(a_preludes_file_is_from_its_folder),
        TEST(only_what_is_built_counts),
        TEST(the_content_of_its_files_counts),
        TEST(requirements_that_are_taken),
        TEST(requirements_that_are_refused),
        TEST(a_request_counts_more),
        TEST(the_name_and_what_was_said_survive_the_way),
        TEST(what_is_not_built_is_refused),
        TEST(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
