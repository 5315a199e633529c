/* Every allocation of the plan's functions fails in turn: a clean error, nothing leaked, nothing half said.
 */
#include "fixture.h"

#include <errno.h>

#include "fail_alloc.h"

struct planned {
    struct sc_host host;
    struct sc_spec spec;
    struct sc_plan *plan; /* for the printers */
    char *text, *json;
};

static int make_step(void *context)
{
    const struct planned *p = context;
    struct sc_err err = {0};
    struct sc_plan *plan = NULL;
    int r = sc_plan_make(&p->spec, &p->host, &plan, &err);
    if (r < 0) {
        assert_null(plan);
        assert_int_equal(err.code, r);
        assert_int_equal(err.kind, SC_ERR_SANDBOX);
    } else {
        assert_int_equal(plan->n_mounts, p->plan->n_mounts);
        assert_int_equal(plan->env.n, p->plan->env.n);
    }
    sc_plan_free(plan);
    return r;
}

static int json_step(void *context)
{
    const struct planned *p = context;
    char *json = sc_plan_to_json(p->plan);
    if (json)
        assert_string_equal(json, p->json);
    int r = json ? 0 : -ENOMEM;
    free(json);
    return r;
}

static int text_step(void *context)
{
    const struct planned *p = context;
    char *text = sc_plan_to_text(p->plan);
    if (text)
        assert_string_equal(text, p->text);
    int r = text ? 0 : -ENOMEM;
    free(text);
    return r;
}

static void need_fail_alloc(void)
{
    if (!fail_alloc_works())
        skip(); /* a sanitizer owns malloc */
}

static void each(int (*step)(void *))
{
    need_fail_alloc();
    struct planned p = {.host = made_up_server()};
    char *tree = make_tree(), option[4096];
    snprintf(option, sizeof option, "%s:/data:ro", tree);
    fill_spec(&p.spec, "print(1)", "dir", option, "env", "A=1", "io-read", "1M", "pin", "0", "out", "*:/tmp",
              NULL);
    p.plan = plan_of(&p.spec, &p.host);
    p.text = sc_plan_to_text(p.plan);
    p.json = sc_plan_to_json(p.plan);
    assert_true(fail_alloc_each(step, &p) > 50);
    free(p.text);
    free(p.json);
    sc_plan_free(p.plan);
    sc_spec_fini(&p.spec);
    remove_tree(tree);
}

static void making(void **state)
{
    (void)state;
    each(make_step);
}

static void printing_json(void **state)
{
    (void)state;
    each(json_step);
}

static void printing_text(void **state)
{
    (void)state;
    each(text_step);
}

static int root_step(void *context)
{
    return make_step(context);
}

/* The same over somebody's root, whose names are listed. */
static void making_from_a_root(void **state)
{
    (void)state;
    need_fail_alloc();
    struct planned p = {.host = made_up_laptop()};
    char *root = make_tree();
    put_folder(root, "usr");
    put_folder(root, "etc");
    put_file(root, "etc/motd", "hello\n", 0644);
    put_link(root, "bin", "usr/bin");
    fill_spec(&p.spec, "print(1)", "root", root, NULL);
    p.plan = plan_of(&p.spec, &p.host);
    assert_true(fail_alloc_each(root_step, &p) > 50);
    sc_plan_free(p.plan);
    sc_spec_fini(&p.spec);
    remove_tree(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(making),
        cmocka_unit_test(printing_json),
        cmocka_unit_test(printing_text),
        cmocka_unit_test(making_from_a_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
