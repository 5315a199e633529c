#include "plan/filter_token.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/filter_rules.h"

int sc_filter_bad(struct sc_filter_reader *r, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return sc_err_set(r->err, SC_ERR_USAGE, -EINVAL, "%s:%u: %s", r->file, r->line, text);
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

static int cut_token(struct sc_filter_reader *r, enum sc_filter_token_kind kind, size_t len, size_t skip)
{
    if (len >= sizeof r->token)
        return sc_filter_bad(r, "'%.40s…' is too long: at most %zu bytes", r->at, sizeof r->token - 1);
    r->kind = kind;
    memcpy(r->token, r->at, len);
    r->token[len] = '\0';
    r->at += len + skip;
    return 0;
}

int sc_filter_advance(struct sc_filter_reader *r)
{
    size_t len = 0;

    r->at += strspn(r->at, " \t");
    if (*r->at == '\0')
        return cut_token(r, SC_TOKEN_END, 0, 0);
    if (*r->at == '"') {
        const char *end = strchr(++r->at, '"');
        if (!end)
            return sc_filter_bad(r, "a '\"' is missing at the end of the text");
        return cut_token(r, SC_TOKEN_TEXT, (size_t)(end - r->at), 1);
    }
    while (is_word(r->at[len]))
        len++;
    if (len)
        return cut_token(r, SC_TOKEN_WORD, len, 0);
    return cut_token(r, SC_TOKEN_SIGN, (*r->at == '=' || *r->at == '!') && r->at[1] == '=' ? 2 : 1, 0);
}

bool sc_filter_token_is(const struct sc_filter_reader *r, const char *text)
{
    return (r->kind == SC_TOKEN_WORD || r->kind == SC_TOKEN_SIGN) && strcmp(r->token, text) == 0;
}

const char *sc_filter_token_name(const struct sc_filter_reader *r)
{
    return r->kind == SC_TOKEN_END ? "the end of the line" : r->token;
}

static int take_item(struct sc_filter_reader *r, uint64_t *ret_value)
{
    char *end;

    if (r->kind != SC_TOKEN_WORD)
        return sc_filter_bad(r, "%s where a number or a constant is expected", sc_filter_token_name(r));
    if (r->token[0] >= '0' && r->token[0] <= '9') {
        errno = 0;
        *ret_value = strtoull(r->token, &end, 0);
        if (errno || *end)
            return sc_filter_bad(r, "'%s' is no number: decimal, 0x… or 0… up to 64 bits", r->token);
    } else if (sc_filter_constant(r->token, ret_value) < 0) {
        return sc_filter_bad(r, "'%s' is no constant: those of src/plan/filter_consts.c are allowed",
                             r->token);
    }
    return sc_filter_advance(r);
}

int sc_filter_take_value(struct sc_filter_reader *r, uint64_t within, uint64_t *ret_value)
{
    uint64_t value = 0, item;
    char first[sizeof r->token];
    int result;

    snprintf(first, sizeof first, "%s", r->token);
    for (;;) {
        result = take_item(r, &item);
        if (result < 0)
            return result;
        value |= item;
        if (!sc_filter_token_is(r, "|"))
            break;
        result = sc_filter_advance(r);
        if (result < 0)
            return result;
    }
    if (value & ~within)
        return sc_filter_bad(r, "'%s' (0x%llx in all) has bits outside of 0x%llx and could never match",
                             first, (unsigned long long)value, (unsigned long long)within);
    *ret_value = value;
    return 0;
}

const char *sc_filter_cut_reason(char *line)
{
    bool text = false;
    char *c = line;

    for (; *c && (*c != '#' || text); c++)
        if (*c == '"')
            text = !text;
    if (*c == '\0')
        return NULL;
    *c++ = '\0';
    c += strspn(c, " \t\r");
    return *c ? c : NULL;
}
