/* Texts of replies. */
#ifndef SC_KEEPER_REPLY_H
#define SC_KEEPER_REPLY_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Sets `name` to `data` as text, and where that is not UTF-8 also `name`_b64 to its exact bytes. 0 or
 * -ENOMEM. */
int sc_keeper_put_bytes(json_t *object, const char *name, const void *data, size_t len);

/* Heap texts, NULL when memory ran out. {"ok": TEXT}, where TEXT is JSON: */
char *sc_keeper_reply_ok(const char *text);
/* The same of a value, whose reference is taken: */
char *sc_keeper_reply_value(json_t *value);
/* {"error": {"kind", "field", "message"}}. Kinds: docs/keeper.md. */
char *sc_keeper_reply_error(const char *kind, const char *field, const char *message);
/* The same with "retry_after_ms". */
char *sc_keeper_reply_later(const char *kind, const char *message, uint64_t retry_ms);
char *sc_keeper_reply_err(const struct sc_err *err);
/* The same where it is about a session's present state: -EBUSY, -EOPNOTSUPP (it cannot be forked) and -ENOENT
 * have kinds of their own. */
char *sc_keeper_reply_refusal(const struct sc_err *err);
/* What the cell's own files answered: kind "file", with the errno's name as "code". `object` is said from
 * inside. */
char *sc_keeper_reply_file_error(int code, const char *object);

#endif
