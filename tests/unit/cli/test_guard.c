#include <string.h>

#include "cli/guard.h"
#include "unit.h"

/* What `data` becomes, given in pieces of `piece` bytes. */
static void check_pieces(const void *data, size_t len, const char *shown, size_t piece)
{
    struct sc_cli_guard guard = {0};
    struct sc_buf out;
    sc_buf_init(&out, 4096);
    for (size_t at = 0; at < len; at += piece) {
        size_t n = len - at < piece ? len - at : piece;
        assert_int_equal(sc_cli_guard_add(&guard, (const char *)data + at, n, &out), 0);
    }
    assert_int_equal(sc_cli_guard_end(&guard, &out), 0);
    assert_string_equal(out.data ? (const char *)out.data : "", shown);
    sc_buf_fini(&out);
}

static void check_bytes(const void *data, size_t len, const char *shown)
{
    for (size_t piece = 1; piece <= len; piece++)
        check_pieces(data, len, shown, piece);
}

static void check(const char *text, const char *shown)
{
    check_bytes(text, strlen(text), shown);
}

static void text_stays(void **state)
{
    (void)state;
    check("plain\ttext\n", "plain\ttext\n");
    check("größer ≤ 漢字 😀\n", "größer ≤ 漢字 😀\n");
    check("\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"); /* U+10FFFF */
}

static void controls_are_shown(void **state)
{
    (void)state;
    check("\x1b[31mred\x1b]0;title\a", "^[[31mred^[]0;title^G");
    check_bytes("a\0b\x7f", 4, "a^@b^?");
    check("\b\b\v\f", "^H^H^K^L");
}

static void returns_become_lines(void **state)
{
    (void)state;
    check("10%\r20%\r\ndone\n", "10%\n20%\ndone\n");
    check("\r\r\n\n", "\n\n\n");
    check("\r\xc3\xa4\n", "\n\xc3\xa4\n"); /* the new line is not swallowed behind other text */
}

static void c1_and_direction_are_shown(void **state)
{
    (void)state;
    check("\xc2\x9b\x33\x31m", "<U+009B>31m");
    check("\xc2\x80\xc2\x9f\xc2\xa0", "<U+0080><U+009F>\xc2\xa0");
    check("a\xe2\x80\xae"
          "b\xe2\x81\xa6",
          "a<U+202E>b<U+2066>");
}

static void bad_utf8_is_shown(void **state)
{
    (void)state;
    check("\x9b"
          "31m",
          "\\x9b31m");
    check("\xc3", "\\xc3");
    check("\xc3(", "\\xc3(");
    check("\xe2\x82\x1b", "\\xe2\\x82^[");
    check("\xc0\x9b", "\\xc0\\x9b");          /* overlong */
    check("\xe0\x82\x9b", "\\xe0\\x82\\x9b"); /* overlong C1 */
    check("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* surrogate */
    check("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
    check("\xff\xfe", "\\xff\\xfe");
    check("\xf0\x9f\x98\xc2\x9b", "\\xf0\\x9f\\x98<U+009B>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_stays),           cmocka_unit_test(controls_are_shown),
        cmocka_unit_test(returns_become_lines), cmocka_unit_test(c1_and_direction_are_shown),
        cmocka_unit_test(bad_utf8_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
