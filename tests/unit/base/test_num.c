/* base/num.h: parsers take the whole text or refuse it; formatting and parsing are inverse. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

struct row {
    const char *text;
    int r;
    uint64_t value;
};

static void run(int (*parse)(const char *, uint64_t *), const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t value = 4711;
        int r = parse(rows[i].text, &value);
        if (r != rows[i].r)
            fail_msg("\"%s\": %d, expected %d", rows[i].text, r, rows[i].r);
        uint64_t expected = rows[i].r == 0 ? rows[i].value : 4711;
        if (value != expected)
            fail_msg("\"%s\": %" PRIu64 ", expected %" PRIu64, rows[i].text, value, expected);
    }
}
#define RUN(parse, rows) run(parse, rows, sizeof(rows) / sizeof *(rows))

static void whole_numbers(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"0", 0, 0},
        {"007", 0, 7},
        {"18446744073709551615", 0, UINT64_MAX},
        {"18446744073709551616", -ERANGE, 0},
        {"99999999999999999999999", -ERANGE, 0},
        {"", -EINVAL, 0},
        {"-1", -EINVAL, 0},
        {"+1", -EINVAL, 0},
        {" 1", -EINVAL, 0},
        {"1 ", -EINVAL, 0},
        {"0x10", -EINVAL, 0},
        {"1.0", -EINVAL, 0},
        {"\xD9\xA1", -EINVAL, 0}, /* an Arabic digit */
    };
    RUN(sc_parse_u64, rows);
}

static void durations(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"1", 0, 1000000000},
        {"1.5s", 0, 1500000000},
        {"200ms", 0, 200000000},
        {"0.5ms", 0, 500000},
        {"3us", 0, 3000},
        {"7ns", 0, 7},
        {"2m", 0, 120000000000},
        {"1h", 0, 3600000000000},
        {"24h", 0, 86400000000000},
        {"0.1", 0, 100000000},
        {"0.123456789", 0, 123456789},
        {"0.1234567891", -EINVAL, 0},
        {"1.", -EINVAL, 0},
        {".5", -EINVAL, 0},
        {"1.5.5", -EINVAL, 0},
        {"", -EINVAL, 0},
        {"s", -EINVAL, 0},
        {"-1s", -EINVAL, 0},
        {"1 s", -EINVAL, 0},
        {"1S", -EINVAL, 0},
        {"1e3", -EINVAL, 0},
        {"inf", -EINVAL, 0},
        {"nan", -EINVAL, 0},
        {"99999999999999999999", -ERANGE, 0},
        {"18446744074", -ERANGE, 0},
        {"18446744073.709551615", 0, UINT64_MAX},
        {"18446744073.709551616", -ERANGE, 0},
    };
    RUN(sc_parse_duration, rows);
}

static void sizes(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"65536", 0, 65536},
        {"64K", 0, 65536},
        {"64k", 0, 65536},
        {"64KB", 0, 65536},
        {"64KiB", 0, 65536},
        {"512M", 0, 512ull << 20},
        {"1.5G", 0, 3ull << 29},
        {"2T", 0, 2ull << 40},
        {"2TiB", 0, 2ull << 40},
        {"1.999999999T", 0, 2199023254452},
        {"0B", 0, 0},
        {"1Q", -EINVAL, 0},
        {"1KK", -EINVAL, 0},
        {"K", -EINVAL, 0},
        {"16777216T", -ERANGE, 0},
        {"16777215T", 0, 16777215ull << 40},
    };
    RUN(sc_parse_bytes, rows);
}

static void thousandths(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"1", 0, 1000},
        {"0.5", 0, 500},
        {"2.25", 0, 2250},
        {"0.0019", 0, 1},
        {"0", 0, 0},
        {"1k", -EINVAL, 0},
        {"", -EINVAL, 0},
        {"18446744073709551", 0, 18446744073709551000ull},
        {"18446744073709552", -ERANGE, 0},
    };
    RUN(sc_parse_milli, rows);
}

/* Values of every magnitude, and round ones. */
static uint64_t some_value(void)
{
    uint64_t bits = (uint64_t)random() << 33 ^ (uint64_t)random() << 11 ^ (uint64_t)random();
    uint64_t value = bits >> (random() % 64);
    static const uint64_t round[] = {1000,          1000000, 1000000000, 60000000000,
                                     3600000000000, 1024,    1 << 20,    1 << 30};
    return random() % 2 ? value : value % 10000 * round[(size_t)random() % 8];
}

static void round_trips(void **state)
{
    (void)state;
    srandom(11);
    for (int i = 0; i < 20000; i++) {
        char text[32];
        uint64_t value = some_value(), back = 0;
        sc_format_duration(value, text, sizeof text);
        assert_int_equal(sc_parse_duration(text, &back), 0);
        assert_int_equal(back, value);
        sc_format_bytes(value, text, sizeof text);
        assert_int_equal(sc_parse_bytes(text, &back), 0);
        assert_int_equal(back, value);
        sc_format_milli(value, text, sizeof text);
        assert_int_equal(sc_parse_milli(text, &back), 0);
        assert_int_equal(back, value);
    }
}

static void extremes_fit(void **state)
{
    (void)state;
    char text[32];
    sc_format_duration(UINT64_MAX, text, sizeof text);
    assert_string_equal(text, "18446744073709551615ns");
    sc_format_bytes(UINT64_MAX, text, sizeof text);
    assert_string_equal(text, "18446744073709551615B");
    sc_format_milli(UINT64_MAX, text, sizeof text);
    assert_string_equal(text, "18446744073709551.615");
    sc_format_duration(0, text, sizeof text);
    assert_string_equal(text, "0ns");
    sc_format_duration(90000000000, text, sizeof text);
    assert_string_equal(text, "90s");
}

static void least_and_largest(void **state)
{
    (void)state;
    assert_int_equal(sc_min_u64(1, UINT64_MAX), 1);
    assert_int_equal(sc_max_u64(1, UINT64_MAX), UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers),     cmocka_unit_test(durations),   cmocka_unit_test(sizes),
        cmocka_unit_test(thousandths),       cmocka_unit_test(round_trips), cmocka_unit_test(extremes_fit),
        cmocka_unit_test(least_and_largest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
