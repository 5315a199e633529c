/* The library as it goes into cells forks nobody without sealing the child. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <unistd.h>

#include "zygote.h"

static void never(const struct sc_fork_birth *birth)
{
    (void)birth;
    _exit(1);
}

static void plain_is_refused(void **state)
{
    (void)state;
    const struct zygote_life life = {.child = never};
    struct zygote zygote = zygote_start(&life);
    struct fork_parts parts;
    char text[8];
    zygote_order(&zygote, 1, SC_FORK_PLAIN, &parts);
    struct sc_fork_answer answer = zygote_answer(&zygote);
    assert_int_equal(answer.code, -EPERM);
    assert_int_equal(answer.pid, 0);
    read_to_end(parts.out, text, sizeof text);
    assert_string_equal(text, "");
    zygote_parts_close(&parts);
    assert_int_equal(zygote_stop(&zygote), 0);
    assert_int_equal(sc_fork_version(), SC_FORK_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(plain_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
