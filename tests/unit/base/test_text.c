/* base/text.h: UTF-8 against a simple reference, base64, one-line showing, nearest word. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* A decoder written from the definition: code point by arithmetic, then the rules. Length, or 0. */
static size_t reference_length(const uint8_t *s, size_t len)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t need = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
    if (need == 0 || need > len)
        return 0;
    uint32_t point = need == 1 ? s[0] : s[0] & (0x7Fu >> need);
    for (size_t i = 1; i < need; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        point = point << 6 | (s[i] & 0x3F);
    }
    if (point < least[need] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF))
        return 0;
    return need;
}

/* Whether some well-formed sequence starts with these bytes: every continuation is tried. */
static bool is_prefix(const uint8_t *s, size_t n)
{
    uint8_t trial[4];
    memcpy(trial, s, n);
    size_t need = s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
    if (n >= need)
        return false;
    for (uint32_t rest = 0; rest < 1u << 6 * (need - n); rest++) {
        for (size_t i = n; i < need; i++)
            trial[i] = (uint8_t)(0x80 | (rest >> 6 * (need - 1 - i) & 0x3F));
        if (reference_length(trial, need))
            return true;
    }
    return false;
}

static void reference_replace(struct sc_buf *out, const uint8_t *s, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t n = reference_length(s + i, len - i);
        if (n) {
            sc_buf_add(out, s + i, n);
            i += n;
            continue;
        }
        /* The longest prefix of a well-formed sequence, at least one byte. */
        size_t bad = 1;
        while (i + bad < len && bad < 3 && is_prefix(s + i, bad + 1))
            bad++;
        sc_buf_add_str(out, "\xEF\xBF\xBD");
        i += bad;
    }
}

static void compare_with_reference(const uint8_t *data, size_t len)
{
    struct sc_buf ours, theirs;
    sc_buf_init(&ours, 1 << 16);
    sc_buf_init(&theirs, 1 << 16);
    assert_int_equal(sc_utf8_replace(&ours, data, len), 0);
    reference_replace(&theirs, data, len);
    assert_int_equal(ours.len, theirs.len);
    if (ours.len)
        assert_memory_equal(ours.data, theirs.data, ours.len);
    assert_true(sc_utf8_valid(ours.data, ours.len));
    bool valid = ours.len == len && (!len || !memcmp(ours.data, data, len));
    assert_int_equal(sc_utf8_valid(data, len), valid);
    sc_buf_fini(&ours);
    sc_buf_fini(&theirs);
}

static void every_short_string(void **state)
{
    (void)state;
    /* The bytes at which the rules change, in all strings of up to three. */
    static const uint8_t edge[] = {0x00, 'a',  0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2,
                                   0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF};
    for (size_t a = 0; a < sizeof edge; a++)
        for (size_t b = 0; b < sizeof edge; b++)
            for (size_t c = 0; c < sizeof edge; c++) {
                uint8_t s[] = {edge[a], edge[b], edge[c]};
                compare_with_reference(s, 1);
                compare_with_reference(s, 2);
                compare_with_reference(s, 3);
            }
    compare_with_reference(NULL, 0);
}

static void random_strings(void **state)
{
    (void)state;
    static const uint8_t favoured[] = {0xE0, 0xED, 0xF0, 0xF4, 0x80, 0x9F, 0xA0, 0xBF};
    srandom(20240607);
    for (int round = 0; round < 4000; round++) {
        uint8_t s[40];
        size_t len = (size_t)random() % sizeof s;
        for (size_t i = 0; i < len; i++)
            s[i] = random() % 2 ? (uint8_t)random() : favoured[(size_t)random() % sizeof favoured];
        compare_with_reference(s, len);
    }
}

static void known_replacements(void **state)
{
    (void)state;
    /* The examples of the Unicode standard, table 3-8 and following. */
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA"},
        {"\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA"},
        {"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA\uFFFD\uFFFDB"},
        {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", "\uFFFD\uFFFD\uFFFD\uFFFDA"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sc_buf buf;
        sc_buf_init(&buf, 256);
        assert_int_equal(sc_utf8_replace(&buf, rows[i].in, strlen(rows[i].in)), 0);
        assert_string_equal((char *)buf.data, rows[i].out);
        sc_buf_fini(&buf);
    }
}

static void replace_keeps_the_maximum(void **state)
{
    (void)state;
    struct sc_buf buf;
    sc_buf_init(&buf, 4);
    assert_int_equal(sc_utf8_replace(&buf, "a\xFF", 2), 0);
    sc_buf_fini(&buf);
    sc_buf_init(&buf, 3);
    assert_int_equal(sc_utf8_replace(&buf, "a\xFF", 2), -EMSGSIZE);
    sc_buf_fini(&buf);
    sc_buf_init(&buf, 1);
    assert_int_equal(sc_utf8_replace(&buf, "ab", 2), -EMSGSIZE);
    sc_buf_fini(&buf);
}

static void base64_vectors(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"", ""},
                                          {"f", "Zg=="},
                                          {"fo", "Zm8="},
                                          {"foo", "Zm9v"},
                                          {"foob", "Zm9vYg=="},
                                          {"fooba", "Zm9vYmE="},
                                          {"foobar", "Zm9vYmFy"},
                                          {"\xFB\xFF\xBF", "+/+/"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sc_buf buf;
        sc_buf_init(&buf, 100);
        assert_int_equal(sc_b64_encode(&buf, rows[i][0], strlen(rows[i][0])), 0);
        assert_string_equal((char *)buf.data, rows[i][1]);
        buf.len = 0;
        assert_int_equal(sc_b64_decode(&buf, rows[i][1], strlen(rows[i][1])), 0);
        assert_int_equal(buf.len, strlen(rows[i][0]));
        assert_memory_equal(buf.data, rows[i][0], buf.len);
        sc_buf_fini(&buf);
    }
}

static void base64_refusals(void **state)
{
    (void)state;
    static const char *const bad[] = {"Z",        "Zg",   "Zg=",  "Zg==Zg==", "Zh==",
                                      "Zm9=",     "Z===", "====", "Zm9v\n",   "Zm 9v",
                                      "Zm9v====", "Zm-_", "=Zg=", "Zg=v",     "\xC3\xA4=="};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sc_buf buf;
        sc_buf_init(&buf, 100);
        assert_int_equal(sc_buf_add_str(&buf, "before"), 0);
        assert_int_equal(sc_b64_decode(&buf, bad[i], strlen(bad[i])), -EINVAL);
        assert_string_equal((char *)buf.data, "before");
        sc_buf_fini(&buf);
    }
    struct sc_buf small;
    sc_buf_init(&small, 3);
    assert_int_equal(sc_b64_encode(&small, "f", 1), -EMSGSIZE);
    assert_int_equal(sc_b64_decode(&small, "Zm9vYg==", 8), -EMSGSIZE);
    assert_int_equal(small.len, 0);
    sc_buf_fini(&small);
}

static void base64_round_trips(void **state)
{
    (void)state;
    srandom(7);
    for (size_t len = 0; len < 200; len++) {
        uint8_t data[200];
        for (size_t i = 0; i < len; i++)
            data[i] = (uint8_t)random();
        struct sc_buf text, back;
        sc_buf_init(&text, 1000);
        sc_buf_init(&back, 1000);
        assert_int_equal(sc_b64_encode(&text, data, len), 0);
        assert_int_equal(sc_b64_decode(&back, (const char *)text.data, text.len), 0);
        assert_int_equal(back.len, len);
        if (len)
            assert_memory_equal(back.data, data, len);
        sc_buf_fini(&text);
        sc_buf_fini(&back);
    }
}

static void showing(void **state)
{
    (void)state;
    char text[24];
    assert_string_equal(sc_text_show(text, sizeof text, "plain", 5), "plain");
    assert_string_equal(sc_text_show(text, sizeof text, "a\nb\x1b[1m", 7), "a\\x0ab\\x1b[1m");
    assert_string_equal(sc_text_show(text, sizeof text, "\xC3\xA4\xFF\x7F", 4), "\xC3\xA4\\xff\\x7f");
    assert_string_equal(sc_text_show(text, sizeof text, "\xC2\x85", 2), "\\xc2\\x85");
    assert_string_equal(sc_text_show(text, sizeof text, "a\0b", 3), "a\\x00b");
    assert_string_equal(sc_text_show(text, sizeof text, "", 0), "");
    assert_string_equal(sc_text_show(text, sizeof text, "12345678901234567890123", 23),
                        "12345678901234567890123");
    assert_string_equal(sc_text_show(text, sizeof text, "123456789012345678901234", 24),
                        "12345678901234567890...");
}

static void showing_never_overruns(void **state)
{
    (void)state;
    srandom(3);
    for (int round = 0; round < 3000; round++) {
        char text[80], data[100];
        size_t size = 16 + (size_t)random() % 64, len = (size_t)random() % sizeof data;
        for (size_t i = 0; i < len; i++)
            data[i] = (char)random();
        memset(text, 'x', sizeof text);
        sc_text_show(text, size, data, len);
        size_t shown = strnlen(text, sizeof text);
        assert_true(shown < size);
        assert_true(sc_utf8_valid(text, shown));
        for (size_t i = shown + 1; i < sizeof text; i++)
            if (i >= size)
                assert_int_equal(text[i], 'x');
    }
}

static void nearest(void **state)
{
    (void)state;
    static const char *const words[] = {"memory", "wall", "cpu", "cpus", "open-files", NULL};
    assert_string_equal(sc_text_nearest("memroy", words), "memory");
    assert_string_equal(sc_text_nearest("memor", words), "memory");
    assert_string_equal(sc_text_nearest("openfiles", words), "open-files");
    assert_string_equal(sc_text_nearest("walll", words), "wall");
    assert_null(sc_text_nearest("banana", words));
    assert_null(sc_text_nearest("x", words));
    assert_null(sc_text_nearest("", words));
    assert_null(sc_text_nearest("a-word-that-is-much-longer-than-any-option-here", words));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_short_string),     cmocka_unit_test(random_strings),
        cmocka_unit_test(known_replacements),     cmocka_unit_test(replace_keeps_the_maximum),
        cmocka_unit_test(base64_vectors),         cmocka_unit_test(base64_refusals),
        cmocka_unit_test(base64_round_trips),     cmocka_unit_test(showing),
        cmocka_unit_test(showing_never_overruns), cmocka_unit_test(nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
