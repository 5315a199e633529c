/* The judge through the public header and the shared object alone. */

#include "fixture.h"

static struct snapcell_judgement *judge_or_skip(const char *task,
                                                const struct snapcell_judge_callbacks *callbacks)
{
    struct snapcell_judgement *judgement = NULL;
    int r = snapcell_judge(task, strlen(task), host, callbacks, &judgement, error);
    need(r, NULL);
    return judgement;
}

static void refused(const char *task, const char *field)
{
    struct snapcell_judgement *judgement = NULL;
    assert_int_equal(snapcell_judge(task, strlen(task), host, NULL, &judgement, error), -EINVAL);
    assert_null(judgement);
    assert_int_equal(snapcell_error_kind(error), SNAPCELL_ERROR_USAGE);
    assert_string_equal(snapcell_error_field(error), field);
}

static void bad_tasks(void **state)
{
    (void)state;
    refused("{", "request");
    refused("{\"tests\":[{}]}", "run");
    refused("{\"run\":{\"command\":[\"true\"],\"cgroup_parent\":\"/elsewhere\"},\"tests\":[{}]}",
            "cgroup-parent");
    snapcell_judgement_free(NULL);
}

struct heard {
    unsigned tests, accepted, asked;
};

static void on_test(void *userdata, size_t test, const char *verdict)
{
    struct heard *heard = userdata;
    assert_true(test < 3);
    heard->tests++;
    heard->accepted += !strcmp(verdict, "accepted");
}

static int ask(void *userdata)
{
    ((struct heard *)userdata)->asked++;
    return 0;
}

static void a_judgement(void **state)
{
    (void)state;
    static const char task[] = "{\"build\":{\"language\":\"bash\",\"code\":\"printf '#!/bin/sh\\\\ncat' > "
                               "run; chmod +x run\",\"outputs\":[\"run\"]},"
                               "\"run\":{\"command\":[\"/build/run\"]},\"jobs\":2,"
                               "\"tests\":[{\"stdin\":\"a\",\"expected\":\"a\"},{\"stdin\":\"a\","
                               "\"expected\":\"b\"},{\"expected\":\"\"}]}";
    struct heard heard = {0};
    const struct snapcell_judge_callbacks callbacks = {&heard, on_test, ask};
    struct snapcell_judgement *judgement = judge_or_skip(task, &callbacks);
    assert_int_equal(heard.tests, 3);
    assert_int_equal(heard.accepted, 2);
    assert_true(heard.asked > 0);
    assert_string_equal(snapcell_judgement_verdict(judgement), "wrong_answer");
    assert_int_equal(snapcell_judgement_tests(judgement), 3);
    assert_string_equal(snapcell_judgement_test_verdict(judgement, 0), "accepted");
    assert_string_equal(snapcell_judgement_test_verdict(judgement, 1), "wrong_answer");
    assert_string_equal(snapcell_judgement_test_verdict(judgement, 2), "accepted");
    assert_true(snapcell_judgement_test_cpu_ns(judgement, 0) > 0);
    assert_null(snapcell_judgement_test_verdict(judgement, 3));
    assert_int_equal(snapcell_judgement_test_cpu_ns(judgement, 3), 0);
    char *text = snapcell_judgement_json(judgement);
    assert_non_null(strstr(text, "\"verdict\": \"wrong_answer\""));
    snapcell_string_free(text);
    snapcell_judgement_free(judgement);
}

static int at_once(void *userdata)
{
    (void)userdata;
    return 1;
}

static void a_cancelled_judgement(void **state)
{
    (void)state;
    static const char task[] =
        "{\"run\":{\"command\":[\"sleep\",\"60\"],\"limits\":{\"wall_ms\":60000}},\"tests\":[{},{}]}";
    const struct snapcell_judge_callbacks callbacks = {NULL, NULL, at_once};
    struct snapcell_judgement *judgement = judge_or_skip(task, &callbacks);
    assert_string_equal(snapcell_judgement_verdict(judgement), "skipped");
    snapcell_judgement_free(judgement);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_tasks),
        cmocka_unit_test(a_judgement),
        cmocka_unit_test(a_cancelled_judgement),
    };
    return cmocka_run_group_tests(tests, probe, leave);
}
