#include "check/source.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "check/pool.h"

static const struct sc_finding NUL_BYTE = {
    .rule = "nul-byte",
    .severity = SC_SEVERITY_ERROR,
    .message = "The source holds a NUL byte, at which interpreters stop or read on as they please.",
    .advice = "Take it out.",
};
static const struct sc_finding INVALID_UTF8 = {
    .rule = "invalid-utf8",
    .severity = SC_SEVERITY_ERROR,
    .message = "The source is not UTF-8.",
    .advice = "Save it as UTF-8.",
};
static const struct sc_finding ENCODING_COOKIE = {
    .rule = "encoding-cookie",
    .severity = SC_SEVERITY_ERROR,
    .message = "An encoding cookie makes the interpreter read other text than stands here.",
    .advice = "Save the file as UTF-8 and take the cookie out.",
};

static void found(struct sc_findings *findings, const struct sc_finding *what, size_t at)
{
    struct sc_finding finding = *what;
    finding.at = (uint32_t)at;
    sc_findings_add(findings, &finding);
}

/* Python and JavaScript end a line at CR, LF and CRLF alike; to bash a CR is a character like any other. */
static void copy_lines(struct sc_source *source, const char *bytes, size_t len, bool cr_ends_line)
{
    source->text = sc_check_realloc(NULL, len + 1, 1);
    source->len = 0;
    for (size_t i = 0; i < len; i++) {
        char byte = bytes[i];
        if (byte == '\r' && cr_ends_line) {
            if (i + 1 < len && bytes[i + 1] == '\n')
                continue;
            byte = '\n';
        }
        source->text[source->len++] = byte;
    }
    source->text[source->len] = '\0';
}

/* NUL bytes become blanks: all that stands behind them is still to be read. */
static void replace_nul(struct sc_source *source, struct sc_findings *findings)
{
    char *at = memchr(source->text, '\0', source->len);
    if (!at)
        return;
    found(findings, &NUL_BYTE, (size_t)(at - source->text));
    for (; at; at = memchr(at, '\0', source->len - (size_t)(at - source->text)))
        *at = ' ';
}

/* Bytes of the valid character that starts at `text`, or 0. */
static size_t character_at(const char *text, size_t len)
{
    unsigned char lead = (unsigned char)text[0];
    size_t bytes = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    return bytes <= len && sc_utf8_valid(text, bytes) ? bytes : 0;
}

static void replace_invalid(struct sc_source *source, struct sc_findings *findings, bool is_error)
{
    if (sc_utf8_valid(source->text, source->len))
        return;
    struct sc_finding finding = INVALID_UTF8;
    if (!is_error)
        finding.severity = SC_SEVERITY_NOTE;
    bool told = false;
    for (size_t i = 0; i < source->len;) {
        size_t bytes = character_at(source->text + i, source->len - i);
        if (!bytes) {
            if (!told)
                found(findings, &finding, i);
            told = true;
            source->text[i] = '?';
            bytes = 1;
        }
        i += bytes;
    }
}

/* Is it UTF-8 under one of its names, or a part of it? As CPython compares: case and "_" do not matter. */
static bool is_utf8_name(const char *name, size_t len)
{
    static const char *const names[] = {"utf-8",    "utf8", "utf-8-sig", "ascii",
                                        "us-ascii", "646",  "u8",        "cp65001"};
    char room[16];
    if (len >= sizeof room)
        return false;
    for (size_t i = 0; i < len; i++)
        room[i] = name[i] == '_' ? '-' : (char)tolower((unsigned char)name[i]);
    room[len] = '\0';
    if (!strncmp(room, "utf-8-", 6)) /* "utf-8-unix", as an editor writes it */
        return true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(room, names[i]))
            return true;
    return false;
}

static bool is_cookie_character(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
}

/* PEP 263: ^[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+) */
static bool cookie_in(const char *line, size_t len, const char **ret_name, size_t *ret_len)
{
    size_t i = 0;
    while (i < len && (line[i] == ' ' || line[i] == '\t' || line[i] == '\f'))
        i++;
    if (i == len || line[i] != '#')
        return false;
    for (; i + 7 <= len; i++) {
        if (memcmp(line + i, "coding", 6) != 0 || (line[i + 6] != ':' && line[i + 6] != '='))
            continue;
        size_t from = i + 7;
        while (from < len && (line[from] == ' ' || line[from] == '\t'))
            from++;
        size_t to = from;
        while (to < len && is_cookie_character(line[to]))
            to++;
        if (to > from) {
            *ret_name = line + from;
            *ret_len = to - from;
            return true;
        }
    }
    return false;
}

static bool is_blank(const char *line, size_t len)
{
    for (size_t i = 0; i < len && line[i] != '#'; i++)
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\f')
            return false;
    return true;
}

/* In the first two lines; the second counts only behind a first that holds no code. */
static void find_cookie(const struct sc_source *source, struct sc_findings *findings)
{
    const char *line = source->text, *end = source->text + source->len;
    for (int i = 0; i < 2 && line < end; i++) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t len = stop ? (size_t)(stop - line) : (size_t)(end - line), name_len;
        const char *name;
        if (cookie_in(line, len, &name, &name_len)) {
            if (!is_utf8_name(name, name_len))
                found(findings, &ENCODING_COOKIE, (size_t)(name - source->text));
            return;
        }
        if (!is_blank(line, len) || !stop)
            return;
        line = stop + 1;
    }
}

void sc_source_read(struct sc_source *source, enum sc_grammar grammar, const char *bytes, size_t len,
                    struct sc_findings *findings)
{
    bool marked = len >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3) && grammar != SC_GRAMMAR_BASH;
    if (marked) {
        bytes += 3;
        len -= 3;
    }
    copy_lines(source, bytes, len, grammar != SC_GRAMMAR_BASH);
    replace_nul(source, findings);
    /* Before bytes are replaced: a cookie tells what they mean. */
    if (grammar == SC_GRAMMAR_PYTHON)
        find_cookie(source, findings);
    /* Bash passes bytes on; the others refuse or replace them. */
    replace_invalid(source, findings, grammar != SC_GRAMMAR_BASH);
}

void sc_source_fini(struct sc_source *source)
{
    free(source->text);
    *source = (struct sc_source){0};
}
