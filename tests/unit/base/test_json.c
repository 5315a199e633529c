/* base/json.h: what jansson says, and never a byte less when memory runs out. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "fail_alloc.h"

static const char TEXT[] =
    "{\"a-key-that-is-longer-than-a-small-buffer\": [1, 2.5, -3, 123456789012, \"h\xC3\xA4\\u0000\"], "
    "\"n\": null, \"deep\": {\"x\": {\"y\": [[[true, false]]]}}, \"number\": 1234567890123456}";

static void reads_and_writes(void **state)
{
    (void)state;
    json_error_t error;
    json_t *value = NULL;
    assert_int_equal(sc_json_load(TEXT, sizeof TEXT - 1, JSON_ALLOW_NUL, &value, &error), 0);
    char *text = sc_json_dump(value, 0), *plain = json_dumps(value, 0);
    assert_string_equal(text, plain);
    assert_string_equal(text, TEXT);
    free(text);
    free(plain);
    json_decref(value);
    assert_null(sc_json_dump(NULL, 0));
}

static void refuses_as_jansson_does(void **state)
{
    (void)state;
    static const char *const bad[] = {"",      "{",    "[1,]",       "{\"a\":1,\"a\":2}", "[1] x",
                                      "\"x\"", "[01]", "[\"\xFF\"]", "[\"\\u0000\"]",     "[1e999]",
                                      "nul",   "[\"a", "[\"\n\"]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_error_t ours, theirs;
        json_t *value = (json_t *)&ours;
        assert_int_equal(sc_json_load(bad[i], strlen(bad[i]), JSON_REJECT_DUPLICATES, &value, &ours),
                         -EINVAL);
        assert_ptr_equal(value, (json_t *)&ours);
        assert_null(json_loadb(bad[i], strlen(bad[i]), JSON_REJECT_DUPLICATES, &theirs));
        assert_string_equal(ours.text, theirs.text);
        assert_int_equal(ours.line, theirs.line);
        assert_int_equal(ours.column, theirs.column);
    }
}

static void a_stale_errno_is_no_failure(void **state)
{
    (void)state;
    json_error_t error;
    json_t *value = NULL;
    errno = ENOMEM;
    assert_int_equal(sc_json_load("[1]", 3, 0, &value, &error), 0);
    json_decref(value);
    errno = ENOMEM;
    assert_int_equal(sc_json_load("[", 1, 0, &value, &error), -EINVAL);
}

static int step(void *context)
{
    (void)context;
    json_error_t error;
    json_t *value = NULL;
    int r = sc_json_load(TEXT, sizeof TEXT - 1, JSON_ALLOW_NUL, &value, &error);
    char *text = r == 0 ? sc_json_dump(value, 0) : NULL;
    json_decref(r == 0 ? value : NULL);
    if (text)
        assert_string_equal(text, TEXT);
    else if (r == 0)
        r = -ENOMEM;
    free(text);
    return r;
}

static void without_memory(void **state)
{
    (void)state;
    assert_true(fail_alloc_each(step, NULL) > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_and_writes),
        cmocka_unit_test(refuses_as_jansson_does),
        cmocka_unit_test(a_stale_errno_is_no_failure),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
