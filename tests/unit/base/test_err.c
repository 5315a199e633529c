/* base/err.h: set once at the root, wrapped on the way up, never longer than its fields. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"

static void sets(void **state)
{
    (void)state;
    struct sc_err err = {0};
    assert_int_equal(sc_err_set(&err, SC_ERR_HOST, -ENOSYS, "no %s here", "landlock"), -ENOSYS);
    assert_int_equal(err.kind, SC_ERR_HOST);
    assert_int_equal(err.code, -ENOSYS);
    assert_string_equal(err.message, "no landlock here");
    assert_string_equal(err.field, "");
}

static void names_the_field(void **state)
{
    (void)state;
    struct sc_err err = {0};
    assert_int_equal(sc_err_usage(&err, "limits.wall_ms", "%s: %d", "limits.wall_ms", 5), -EINVAL);
    assert_int_equal(err.kind, SC_ERR_USAGE);
    assert_string_equal(err.field, "limits.wall_ms");
    assert_string_equal(err.message, "limits.wall_ms: 5");
    assert_int_equal(sc_err_usage(&err, NULL, "odd"), -EINVAL);
    assert_string_equal(err.field, "");
    /* A later error leaves no field of an earlier one behind. */
    sc_err_usage(&err, "wall", "x");
    sc_err_set(&err, SC_ERR_SANDBOX, -EIO, "y");
    assert_string_equal(err.field, "");
}

static void tells_the_system_error(void **state)
{
    (void)state;
    struct sc_err err = {0};
    assert_int_equal(sc_err_sys(&err, -ENOENT, "open %s", "/x"), -ENOENT);
    assert_int_equal(err.kind, SC_ERR_SANDBOX);
    assert_string_equal(err.message, "open /x: No such file or directory");
}

static void wraps(void **state)
{
    (void)state;
    struct sc_err err = {0};
    sc_err_usage(&err, "root", "not a folder");
    assert_int_equal(sc_err_wrap(&err, -EINVAL, "plan of %s", "cell"), -EINVAL);
    assert_string_equal(err.message, "plan of cell: not a folder");
    assert_int_equal(err.kind, SC_ERR_USAGE);
    assert_string_equal(err.field, "root");
    sc_err_clear(&err);
    assert_int_equal(err.kind, SC_ERR_NONE);
    assert_string_equal(err.message, "");
    sc_err_wrap(&err, -EIO, "outer");
    assert_int_equal(err.kind, SC_ERR_SANDBOX);
}

static void cuts_long_texts(void **state)
{
    (void)state;
    char text[3000];
    memset(text, 'm', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct sc_err err = {0};
    sc_err_usage(&err, text, "%s", text);
    assert_int_equal(strlen(err.message), SC_ERR_MESSAGE_MAX - 1);
    assert_int_equal(strlen(err.field), SC_ERR_FIELD_MAX - 1);
    sc_err_wrap(&err, -EIO, "%s", text);
    assert_int_equal(strlen(err.message), SC_ERR_MESSAGE_MAX - 1);
    sc_err_sys(&err, -EIO, "%s", text);
    assert_int_equal(strlen(err.message), SC_ERR_MESSAGE_MAX - 1);
}

static void works_without_an_object(void **state)
{
    (void)state;
    assert_int_equal(sc_err_set(NULL, SC_ERR_HOST, -EPERM, "x"), -EPERM);
    assert_int_equal(sc_err_usage(NULL, "f", "x"), -EINVAL);
    assert_int_equal(sc_err_sys(NULL, -EIO, "x"), -EIO);
    assert_int_equal(sc_err_wrap(NULL, -EIO, "x"), -EIO);
    sc_err_clear(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets),  cmocka_unit_test(names_the_field), cmocka_unit_test(tells_the_system_error),
        cmocka_unit_test(wraps), cmocka_unit_test(cuts_long_texts), cmocka_unit_test(works_without_an_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
