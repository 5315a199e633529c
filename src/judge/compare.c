/* Comparing a program's output with what is expected. Both are bytes; a line ends with a newline, blanks are
 * space, tab, carriage return, vertical tab and form feed. */
#include <string.h>

#include "base/num.h"
#include "judge/parts.h"

struct text {
    const char *at, *end;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* The next line without its newline; false at the end. */
static bool take_line(struct text *text, struct text *ret_line)
{
    if (text->at == text->end)
        return false;
    const char *newline = memchr(text->at, '\n', (size_t)(text->end - text->at));
    *ret_line = (struct text){text->at, newline ? newline : text->end};
    text->at = newline ? newline + 1 : text->end;
    return true;
}

static void trim_line(struct text *line)
{
    while (line->end > line->at && is_blank(line->end[-1]))
        line->end--;
}

/* Blank lines at the end, and the last newline. */
static void trim_end(struct text *text)
{
    while (text->end > text->at && (text->end[-1] == '\n' || is_blank(text->end[-1])))
        text->end--;
}

static bool same_bytes(struct text a, struct text b)
{
    size_t len = (size_t)(a.end - a.at);
    return len == (size_t)(b.end - b.at) && (len == 0 || !memcmp(a.at, b.at, len));
}

static bool same_trimmed(struct text got, struct text expected)
{
    trim_end(&got);
    trim_end(&expected);
    for (;;) {
        struct text a, b;
        bool more = take_line(&got, &a);
        if (more != take_line(&expected, &b))
            return false;
        if (!more)
            return true;
        trim_line(&a);
        trim_line(&b);
        if (!same_bytes(a, b))
            return false;
    }
}

static void skip_blanks(struct text *text)
{
    while (text->at < text->end && (*text->at == '\n' || is_blank(*text->at)))
        text->at++;
}

static bool take_word(struct text *text, struct text *ret_word)
{
    skip_blanks(text);
    ret_word->at = text->at;
    while (text->at < text->end && *text->at != '\n' && !is_blank(*text->at))
        text->at++;
    ret_word->end = text->at;
    return ret_word->at < ret_word->end;
}

static bool same_words(struct text got, struct text expected)
{
    for (;;) {
        struct text a, b;
        bool more = take_word(&got, &a);
        if (more != take_word(&expected, &b))
            return false;
        if (!more)
            return true;
        if (!same_bytes(a, b))
            return false;
    }
}

/* The line of the first byte that differs, as `compare` sees it. */
static size_t first_difference(enum sc_compare compare, struct text got, struct text expected)
{
    for (size_t line = 1;; line++) {
        struct text a = {got.at, got.at}, b = {expected.at, expected.at};
        bool more = take_line(&got, &a), other = take_line(&expected, &b);
        if (compare == SC_COMPARE_TRIMMED) {
            trim_line(&a);
            trim_line(&b);
        }
        if (!same_bytes(a, b) || !more || !other)
            return line;
    }
}

enum sc_verdict sc_judge_compare(enum sc_compare compare, const char *got, size_t got_len,
                                 const char *expected, size_t expected_len, size_t *ret_line)
{
    const struct text a = {got, got + got_len}, b = {expected, expected + expected_len};
    if (compare == SC_COMPARE_EXACT ? same_bytes(a, b) : same_trimmed(a, b))
        return SC_VERDICT_ACCEPTED;
    *ret_line = first_difference(compare, a, b);
    return same_words(a, b) ? SC_VERDICT_PRESENTATION_ERROR : SC_VERDICT_WRONG_ANSWER;
}
