/* base/buf.h and base/strv.h: maxima, ownership, and every allocation failing in turn. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/strv.h"
#include "fail_alloc.h"

static void keeps_its_maximum(void **state)
{
    (void)state;
    struct sc_buf buf;
    sc_buf_init(&buf, 5);
    assert_int_equal(sc_buf_add(&buf, "abc", 3), 0);
    assert_int_equal(sc_buf_add(&buf, "abc", 3), -EMSGSIZE);
    assert_string_equal((char *)buf.data, "abc");
    assert_int_equal(sc_buf_add_str(&buf, "de"), 0);
    assert_string_equal((char *)buf.data, "abcde");
    assert_int_equal(sc_buf_add(&buf, "", 0), 0);
    assert_int_equal(sc_buf_printf(&buf, "%d", 1), -EMSGSIZE);
    assert_null(sc_buf_reserve(&buf, 1));
    assert_int_equal(buf.len, 5);
    sc_buf_fini(&buf);
    assert_null(buf.data);
    sc_buf_fini(&buf);
}

static void grows(void **state)
{
    (void)state;
    struct sc_buf buf;
    sc_buf_init(&buf, 1 << 20);
    for (int i = 0; i < 50000; i++)
        assert_int_equal(sc_buf_printf(&buf, "%c", 'a' + i % 26), 0);
    for (int i = 0; i < 50000; i++)
        assert_int_equal(buf.data[i], 'a' + i % 26);
    assert_int_equal(buf.data[50000], '\0');
    sc_buf_fini(&buf);
}

static void reserves_and_takes(void **state)
{
    (void)state;
    struct sc_buf buf;
    sc_buf_init(&buf, 100);
    uint8_t *to = sc_buf_reserve(&buf, 10);
    assert_non_null(to);
    memcpy(to, "1234567890", 10);
    sc_buf_took(&buf, 4);
    assert_string_equal((char *)buf.data, "1234");
    assert_null(sc_buf_reserve(&buf, 97));
    assert_non_null(sc_buf_reserve(&buf, 96));
    sc_buf_fini(&buf);
}

static void steals(void **state)
{
    (void)state;
    struct sc_buf buf;
    size_t len = 99;
    sc_buf_init(&buf, 100);
    char *text = sc_buf_steal(&buf, &len);
    assert_string_equal(text, "");
    assert_int_equal(len, 0);
    free(text);
    assert_int_equal(sc_buf_add(&buf, "a\0b", 3), 0);
    text = sc_buf_steal(&buf, &len);
    assert_memory_equal(text, "a\0b", 4);
    assert_int_equal(len, 3);
    assert_int_equal(buf.len, 0);
    assert_null(buf.data);
    assert_int_equal(sc_buf_add_str(&buf, "again"), 0);
    free(text);
    text = sc_buf_steal(&buf, NULL);
    assert_string_equal(text, "again");
    free(text);
    sc_buf_fini(&buf);
}

static void reads_files(void **state)
{
    (void)state;
    char path[] = "/tmp/snapcell-test-buf-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    char block[40000];
    memset(block, 'z', sizeof block);
    assert_int_equal(write(fd, block, sizeof block), sizeof block);
    close(fd);
    struct sc_buf buf;
    sc_buf_init(&buf, sizeof block);
    assert_int_equal(sc_buf_read_file(&buf, AT_FDCWD, path), 0);
    assert_int_equal(buf.len, sizeof block);
    assert_memory_equal(buf.data, block, sizeof block);
    sc_buf_fini(&buf);
    sc_buf_init(&buf, sizeof block - 1);
    assert_int_equal(sc_buf_read_file(&buf, AT_FDCWD, path), -EMSGSIZE);
    sc_buf_fini(&buf);
    unlink(path);
    sc_buf_init(&buf, 10);
    assert_int_equal(sc_buf_read_file(&buf, AT_FDCWD, path), -ENOENT);
    assert_int_equal(sc_buf_read_file(&buf, AT_FDCWD, "/"), -EISDIR);
    sc_buf_fini(&buf);
}

static int buf_step(void *context)
{
    (void)context;
    struct sc_buf buf;
    sc_buf_init(&buf, 100000);
    int r = sc_buf_add_str(&buf, "start");
    for (int i = 0; i < 5 && r == 0; i++)
        r = sc_buf_printf(&buf, "%0*d", 200 << i, i);
    char *text = r == 0 ? sc_buf_steal(&buf, NULL) : NULL;
    if (r == 0)
        assert_int_equal(strlen(text), 5 + 200 + 400 + 800 + 1600 + 3200);
    free(text);
    sc_buf_fini(&buf);
    return r;
}

static void buf_without_memory(void **state)
{
    (void)state;
    assert_true(fail_alloc_each(buf_step, NULL) > 5);
}

static void lists(void **state)
{
    (void)state;
    struct sc_strv list = {0};
    assert_int_equal(sc_strv_add(&list, "one"), 0);
    assert_int_equal(sc_strv_printf(&list, "%s-%d", "two", 2), 0);
    assert_int_equal(list.n, 2);
    assert_string_equal(list.v[0], "one");
    assert_string_equal(list.v[1], "two-2");
    assert_null(list.v[2]);
    sc_strv_fini(&list);
    assert_null(list.v);
    assert_int_equal(list.n, 0);
    sc_strv_fini(&list);
}

static void environments(void **state)
{
    (void)state;
    struct sc_strv env = {0};
    assert_int_equal(sc_strv_set_env(&env, "PATH", "/bin"), 0);
    assert_int_equal(sc_strv_set_env(&env, "PATHS", "x"), 0);
    assert_int_equal(sc_strv_set_env(&env, "PAT", "y"), 0);
    assert_int_equal(sc_strv_set_env(&env, "PATH", "/usr/bin=1"), 0);
    assert_int_equal(env.n, 3);
    assert_string_equal(env.v[0], "PATH=/usr/bin=1");
    assert_string_equal(env.v[1], "PATHS=x");
    assert_string_equal(env.v[2], "PAT=y");
    assert_null(env.v[3]);
    sc_strv_fini(&env);
}

static int strv_step(void *context)
{
    (void)context;
    struct sc_strv list = {0};
    int r = sc_strv_add(&list, "A=1");
    if (r == 0)
        r = sc_strv_printf(&list, "B=%d", 2);
    if (r == 0)
        r = sc_strv_set_env(&list, "A", "3");
    if (r == 0)
        r = sc_strv_set_env(&list, "C", "4");
    for (size_t i = 0; i < list.n; i++)
        assert_non_null(list.v[i]);
    if (list.v)
        assert_null(list.v[list.n]);
    sc_strv_fini(&list);
    return r;
}

static void strv_without_memory(void **state)
{
    (void)state;
    assert_true(fail_alloc_each(strv_step, NULL) >= 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_its_maximum),
        cmocka_unit_test(grows),
        cmocka_unit_test(reserves_and_takes),
        cmocka_unit_test(steals),
        cmocka_unit_test(reads_files),
        cmocka_unit_test(buf_without_memory),
        cmocka_unit_test(lists),
        cmocka_unit_test(environments),
        cmocka_unit_test(strv_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
