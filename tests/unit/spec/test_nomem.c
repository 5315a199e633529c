/* Every allocation of the spec's functions fails in turn: a clean error, nothing leaked, nothing half done.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fail_alloc.h"
#include "spec/spec.h"

static const char REQUEST[] =
    "{\"language\":\"python\",\"code\":\"print(1)\",\"args\":[\"a\",\"b\"],\"env\":{\"A\":\"1\",\"B\":\"2\"},"
    "\"cwd\":\"sub\",\"stdin_b64\":\"AP8=\",\"files\":[{\"path\":\"a\",\"content\":\"x\"},"
    "{\"path\":\"b\",\"content_b64\":\"/w==\"},{\"path\":\"c\",\"host\":\"/etc/passwd\"}],"
    "\"dirs\":[{\"host\":\"/usr\",\"path\":\"/data\",\"read_only_mount\":true}],\"out\":[{\"glob\":\"r\"}],"
    "\"limits\":{\"wall_ms\":1500.25,\"memory_bytes\":67108864},\"allow_degraded\":[\"cpu\"],\"pin\":\"0\","
    "\"cgroup_parent\":\"/snapcell\",\"root\":\"/usr\","
    "\"validate\":{\"rules\":[\"default\"],\"deny_modules\":[\"os\"],\"deny_calls\":["
    "\"eval\"]}}";

/* The error of a failed allocation says so, and blames nobody's request. */
static int judged(int r, const struct sc_err *err)
{
    if (r == -ENOMEM) {
        assert_int_equal(err->kind, SC_ERR_SANDBOX);
        assert_int_equal(err->code, -ENOMEM);
        assert_non_null(strstr(err->message, "out of memory"));
    }
    return r;
}

static char *parsed_text;

static int parse_step(void *context)
{
    (void)context;
    struct sc_spec spec;
    struct sc_err err = {0};
    sc_spec_init(&spec);
    int r = sc_spec_from_json(&spec, REQUEST, sizeof REQUEST - 1, &err);
    if (r == 0) {
        assert_int_equal(spec.n_files, 3);
        /* Every byte has come through: a JSON library that lost one would show here. */
        char *text = sc_spec_to_json(&spec);
        if (text)
            assert_string_equal(text, parsed_text);
        free(text);
    }
    sc_spec_fini(&spec);
    return judged(r, &err);
}

static int bad_request_step(void *context)
{
    (void)context;
    static const char text[] = "{\"files\":[{\"path\":\"a\",\"content\":\"x\"}],\"stdin_b64\":\"!\"}";
    struct sc_spec spec;
    struct sc_err err = {0};
    sc_spec_init(&spec);
    int r = sc_spec_from_json(&spec, text, sizeof text - 1, &err);
    sc_spec_fini(&spec);
    /* Refused, or out of memory before that could be seen. */
    return r == -EINVAL ? 0 : judged(r, &err);
}

static const char *const SETTINGS[][2] = {{"wall", "2s"},        {"cwd", "a"},           {"cwd", "b"},
                                          {"root", "/r"},        {"pin", "0"},           {"venv", "/v"},
                                          {"interpreter", "/i"}, {"cgroup-parent", "/c"}};
static const char *const ADDITIONS[][2] = {{"file", "a/b"},
                                           {"file", "a:b\\:c"},
                                           {"dir", "."},
                                           {"dir", "/usr:ro"},
                                           {"dir", "x:y"},
                                           {"out", "*.png"},
                                           {"out", "a:b"},
                                           {"env", "A=1"},
                                           {"env", "A=2"},
                                           {"env", "B=1"},
                                           {"allow-degraded", "cpu,io"}};
#define COUNT(list) (sizeof(list) / sizeof *(list))

static int set_step(void *context)
{
    (void)context;
    struct sc_spec spec;
    struct sc_err err = {0};
    int r = 0;
    sc_spec_init(&spec);
    for (size_t i = 0; i < COUNT(SETTINGS) && r == 0; i++)
        r = sc_spec_set(&spec, SETTINGS[i][0], SETTINGS[i][1], &err);
    for (size_t i = 0; i < COUNT(ADDITIONS) && r == 0; i++)
        r = sc_spec_add(&spec, ADDITIONS[i][0], ADDITIONS[i][1], &err);
    if (r == 0)
        r = sc_spec_set_code(&spec, "x", 1, &err);
    if (r == 0)
        r = sc_spec_set_stdin(&spec, "x", 1, &err);
    if (r == 0)
        r = sc_spec_set_program(&spec, "x", &err);
    if (r == 0)
        r = sc_spec_set_args(&spec, (const char *const[]){"a", "b", NULL}, &err);
    if (r == 0)
        r = sc_spec_set_command(&spec, (const char *const[]){"a", NULL}, &err);
    if (r == 0) {
        assert_int_equal(spec.n_files + spec.n_dirs + spec.n_outs, 7);
        assert_int_equal(spec.env.n, 2);
        assert_string_equal(spec.cwd, "b");
    }
    sc_spec_fini(&spec);
    return judged(r, &err);
}

/* A setter that fails leaves what was there. */
static int keep_step(void *context)
{
    struct sc_spec *spec = context;
    struct sc_err err = {0};
    int r = sc_spec_set(spec, "cwd", "same", &err);
    assert_string_equal(spec->cwd, "same");
    if (r == 0)
        r = sc_spec_set_args(spec, (const char *const[]){"a", NULL}, &err);
    assert_int_equal(spec->args.n, 1);
    assert_string_equal(spec->args.v[0], "a");
    if (r == 0)
        r = sc_spec_add(spec, "env", "A=1", &err);
    assert_int_equal(spec->env.n, 1);
    assert_string_equal(spec->env.v[0], "A=1");
    return judged(r, &err);
}

static int write_step(void *context)
{
    char *text = sc_spec_to_json(context);
    if (text)
        assert_string_equal(text, parsed_text);
    int r = text ? 0 : -ENOMEM;
    free(text);
    return r;
}

static int copy_step(void *context)
{
    struct sc_spec copy;
    int r = sc_spec_copy(context, &copy);
    if (r == 0) {
        assert_int_equal(copy.n_files, 3);
        sc_spec_fini(&copy);
    }
    return r;
}

static int check_step(void *context)
{
    struct sc_spec copy;
    struct sc_err err = {0};
    int r = sc_spec_copy(context, &copy);
    if (r < 0)
        return r;
    r = sc_spec_check(&copy, 8ull << 30, &err);
    sc_spec_fini(&copy);
    return judged(r, &err);
}

static int remember(void **state)
{
    (void)state;
    struct sc_spec spec;
    sc_spec_init(&spec);
    assert_int_equal(sc_spec_from_json(&spec, REQUEST, sizeof REQUEST - 1, NULL), 0);
    parsed_text = sc_spec_to_json(&spec);
    sc_spec_fini(&spec);
    return parsed_text ? 0 : -1;
}

static int forget(void **state)
{
    (void)state;
    free(parsed_text);
    return 0;
}

static void parsing(void **state)
{
    (void)state;
    assert_true(fail_alloc_each(parse_step, NULL) > 60);
}

static void parsing_a_bad_request(void **state)
{
    (void)state;
    assert_true(fail_alloc_each(bad_request_step, NULL) > 10);
}

static void setters(void **state)
{
    (void)state;
    assert_true(fail_alloc_each(set_step, NULL) > 50);
}

static void setters_keep_what_was_there(void **state)
{
    (void)state;
    struct sc_spec spec;
    sc_spec_init(&spec);
    assert_int_equal(sc_spec_set(&spec, "cwd", "same", NULL), 0);
    assert_int_equal(sc_spec_set_args(&spec, (const char *const[]){"a", NULL}, NULL), 0);
    assert_int_equal(sc_spec_add(&spec, "env", "A=1", NULL), 0);
    fail_alloc_each(keep_step, &spec);
    sc_spec_fini(&spec);
}

static void with_a_spec(int (*step)(void *context))
{
    struct sc_spec spec;
    sc_spec_init(&spec);
    assert_int_equal(sc_spec_from_json(&spec, REQUEST, sizeof REQUEST - 1, NULL), 0);
    fail_alloc_each(step, &spec);
    sc_spec_fini(&spec);
}

static void writing(void **state)
{
    (void)state;
    with_a_spec(write_step);
}

static void copying(void **state)
{
    (void)state;
    with_a_spec(copy_step);
}

static void checking(void **state)
{
    (void)state;
    with_a_spec(check_step);
}

int main(void)
{
    if (!fail_alloc_works()) {
        print_message("skipped: a sanitizer owns malloc\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parsing),  cmocka_unit_test(parsing_a_bad_request),
        cmocka_unit_test(setters),  cmocka_unit_test(setters_keep_what_was_there),
        cmocka_unit_test(writing),  cmocka_unit_test(copying),
        cmocka_unit_test(checking),
    };
    return cmocka_run_group_tests(tests, remember, forget);
}
