#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Length of the well-formed sequence at `s`, or of the maximal ill-formed one with *ret_valid false. The
 * second byte's narrower ranges are what keeps out overlong forms, surrogates and values above U+10FFFF. */
static size_t utf8_step(const uint8_t *s, size_t len, bool *ret_valid)
{
    uint8_t lead = s[0], low = 0x80, high = 0xBF;
    size_t need;
    *ret_valid = true;
    if (lead < 0x80)
        return 1;
    if (lead >= 0xC2 && lead <= 0xDF)
        need = 2;
    else if ((lead & 0xF0) == 0xE0)
        need = 3;
    else if (lead >= 0xF0 && lead <= 0xF4)
        need = 4;
    else {
        *ret_valid = false;
        return 1;
    }
    if (lead == 0xE0)
        low = 0xA0;
    else if (lead == 0xED)
        high = 0x9F;
    else if (lead == 0xF0)
        low = 0x90;
    else if (lead == 0xF4)
        high = 0x8F;
    for (size_t i = 1; i < need; i++) {
        if (i >= len || s[i] < low || s[i] > high) {
            *ret_valid = false;
            return i;
        }
        low = 0x80;
        high = 0xBF;
    }
    return need;
}

bool sc_utf8_valid(const void *data, size_t len)
{
    const uint8_t *s = data;
    bool valid;
    for (size_t i = 0; i < len;) {
        i += utf8_step(s + i, len - i, &valid);
        if (!valid)
            return false;
    }
    return true;
}

int sc_utf8_replace(struct sc_buf *buf, const void *data, size_t len)
{
    const uint8_t *s = data;
    size_t start = 0, i = 0;
    int r;
    while (i < len) {
        bool valid;
        size_t step = utf8_step(s + i, len - i, &valid);
        if (!valid) {
            r = sc_buf_add(buf, s + start, i - start);
            if (r == 0)
                r = sc_buf_add(buf, "\xEF\xBF\xBD", 3);
            if (r < 0)
                return r;
            start = i + step;
        }
        i += step;
    }
    return start < len ? sc_buf_add(buf, s + start, len - start) : 0;
}

static const char B64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int sc_b64_encode(struct sc_buf *buf, const void *data, size_t len)
{
    const uint8_t *s = data;
    if (len > SIZE_MAX / 4 * 3 - 3 || (len + 2) / 3 * 4 > buf->max - buf->len)
        return -EMSGSIZE;
    size_t total = (len + 2) / 3 * 4;
    char *to = (char *)sc_buf_reserve(buf, total);
    if (!to)
        return -ENOMEM;
    for (size_t i = 0; i < len; i += 3) {
        size_t n = len - i;
        uint32_t bits = (uint32_t)s[i] << 16 | (n > 1 ? (uint32_t)s[i + 1] << 8 : 0) | (n > 2 ? s[i + 2] : 0);
        *to++ = B64[bits >> 18];
        *to++ = B64[bits >> 12 & 63];
        *to++ = n > 1 ? B64[bits >> 6 & 63] : '=';
        *to++ = n > 2 ? B64[bits & 63] : '=';
    }
    sc_buf_took(buf, total);
    return 0;
}

static int b64_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Four characters into one to three bytes; the count, or -EINVAL. Padding only where `last`. */
static int b64_group(const char *text, bool last, uint8_t ret_bytes[3])
{
    int n = 3;
    if (last && text[3] == '=')
        n = text[2] == '=' ? 1 : 2;
    uint32_t bits = 0;
    for (int i = 0; i < 4; i++) {
        int value = i <= n ? b64_value(text[i]) : 0;
        if (value < 0)
            return -EINVAL;
        bits = bits << 6 | (uint32_t)value;
    }
    if ((n == 1 && bits & 0xFFFF) || (n == 2 && bits & 0xFF))
        return -EINVAL;
    ret_bytes[0] = (uint8_t)(bits >> 16);
    ret_bytes[1] = (uint8_t)(bits >> 8);
    ret_bytes[2] = (uint8_t)bits;
    return n;
}

int sc_b64_decode(struct sc_buf *buf, const char *text, size_t len)
{
    if (len % 4)
        return -EINVAL;
    size_t before = buf->len;
    for (size_t i = 0; i < len; i += 4) {
        uint8_t bytes[3];
        int n = b64_group(text + i, i + 4 == len, bytes);
        int r = n < 0 ? n : sc_buf_add(buf, bytes, (size_t)n);
        if (r < 0) {
            buf->len = before;
            if (buf->data)
                buf->data[before] = '\0';
            return r;
        }
    }
    return 0;
}

/* C0 and C1 controls and DEL: what could move a terminal's cursor. */
static bool is_control(const uint8_t *s, size_t step)
{
    return s[0] < 0x20 || s[0] == 0x7F || (step == 2 && s[0] == 0xC2 && s[1] < 0xA0);
}

const char *sc_text_show(char *ret_text, size_t size, const char *text, size_t len)
{
    const uint8_t *s = (const uint8_t *)text;
    size_t out = 0, cut = 0; /* cut: the last place that leaves room for the dots */
    for (size_t i = 0; i < len;) {
        bool valid;
        size_t step = utf8_step(s + i, len - i, &valid);
        bool escape = !valid || is_control(s + i, step);
        if (out + (escape ? step * 4 : step) >= size) {
            memcpy(ret_text + cut, "...", 3);
            out = cut + 3;
            break;
        }
        for (size_t k = 0; k < step; k++)
            if (escape)
                out += (size_t)snprintf(ret_text + out, 5, "\\x%02x", s[i + k]);
            else
                ret_text[out++] = text[i + k];
        i += step;
        if (out + 4 <= size)
            cut = out;
    }
    ret_text[out] = '\0';
    return ret_text;
}

#define WORD_MAX 40

/* Insertions, deletions, changes and swaps of neighbours between two words of at most WORD_MAX letters. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t rows[3][WORD_MAX + 1];
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t *row = rows[i % 3], *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t best = up[j - 1] + (a[i - 1] != b[j - 1]);
            if (up[j] + 1 < best)
                best = up[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && up2[j - 2] + 1 < best)
                best = up2[j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[a_len % 3][b_len];
}

const char *sc_text_nearest(const char *word, const char *const *words)
{
    size_t len = strlen(word);
    const char *nearest = NULL;
    /* More than a third of the letters wrong is another word. */
    size_t best = len / 3 + 1;
    if (len < 2 || len > WORD_MAX)
        return NULL;
    for (; *words; words++) {
        size_t n = strlen(*words);
        size_t d = n <= WORD_MAX ? distance(word, len, *words, n) : WORD_MAX;
        if (d < best) {
            best = d;
            nearest = *words;
        }
    }
    return nearest;
}
