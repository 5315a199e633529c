/* Words, texts and signs of a policy line, and how the parser complains. */
#ifndef SC_PLAN_FILTER_TOKEN_H
#define SC_PLAN_FILTER_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum sc_filter_token_kind { SC_TOKEN_END, SC_TOKEN_WORD, SC_TOKEN_TEXT, SC_TOKEN_SIGN };

struct sc_filter_reader {
    const char *file;
    unsigned line;
    struct sc_err *err;
    const char *at; /* rest of the statement */
    enum sc_filter_token_kind kind;
    char token[160];
};

/* "file:line: …" into the reader's error; returns -EINVAL. */
int sc_filter_bad(struct sc_filter_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reads the next token into kind and token. 0 or -EINVAL. */
int sc_filter_advance(struct sc_filter_reader *r);
/* Whether the current token is this word or sign. */
bool sc_filter_token_is(const struct sc_filter_reader *r, const char *text);
/* The current token for a message. */
const char *sc_filter_token_name(const struct sc_filter_reader *r);
/* Takes "A|0x10|B", whose bits must lie in `within`. */
int sc_filter_take_value(struct sc_filter_reader *r, uint64_t within, uint64_t *ret_value);
/* Cuts the reason off `line`, at the first '#' outside of a text. Returns it, or NULL when there is none or
 * an empty one. */
const char *sc_filter_cut_reason(char *line);

#endif
