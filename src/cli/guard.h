/* Makes bytes from a cell harmless for a terminal: they may colour, move and re-program it, answer into the
 * caller's shell, or hide text. UTF-8 is kept; what a terminal would obey is shown instead. */
#ifndef SC_CLI_GUARD_H
#define SC_CLI_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct sc_cli_guard {
    uint8_t held[4]; /* a UTF-8 sequence that has not ended yet */
    size_t n_held;
    size_t wanted; /* its whole length */
    bool after_cr;
};

/* Adds the shown form of `data` to `out`: \n, \t and text as they are; \r and \r\n as a new line; other
 * control bytes as ^X, C1 and direction controls as <U+009B>, bytes that are not UTF-8 as \x9b. A sequence
 * that is cut at the end is held for the next call. 0 or negative errno. */
int sc_cli_guard_add(struct sc_cli_guard *guard, const void *data, size_t len, struct sc_buf *out);
/* Shows what is still held. */
int sc_cli_guard_end(struct sc_cli_guard *guard, struct sc_buf *out);

#endif
