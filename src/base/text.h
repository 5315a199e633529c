/* Text from outside: UTF-8, base64, and showing it in one line of a message. */
#ifndef SC_BASE_TEXT_H
#define SC_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Strict UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF. NUL bytes are valid. */
bool sc_utf8_valid(const void *data, size_t len);
/* Adds `data` with U+FFFD in the place of each maximal invalid sequence (Unicode 15, 3.9, "substitution of
 * maximal subparts"; the same as Python's errors="replace"). 0, -ENOMEM, -EMSGSIZE. */
int sc_utf8_replace(struct sc_buf *buf, const void *data, size_t len);

/* Base64 with padding, RFC 4648 section 4. */
int sc_b64_encode(struct sc_buf *buf, const void *data, size_t len);
/* Canonical form only: -EINVAL for white space, missing padding, stray bits. */
int sc_b64_decode(struct sc_buf *buf, const char *text, size_t len);

/* For messages: `text` with control characters and invalid bytes as \xNN, so that it stays one line and moves
 * no terminal; cut with "..." where it does not fit. `size` at least 16. Returns ret_text. */
const char *sc_text_show(char *ret_text, size_t size, const char *text, size_t len);

/* The word of the NULL-ended list that `word` is most likely a slip of, or NULL. */
const char *sc_text_nearest(const char *word, const char *const *words);

#endif
