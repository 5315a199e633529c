/* Reading and writing JSON with jansson, and no lost bytes when memory runs out.
 *
 * jansson 2.14 ignores some failed allocations: json_loads may give a value with a byte missing from a string
 * or a number, json_dumps a text without a key. Use these two in their place. */
#ifndef SC_BASE_JSON_H
#define SC_BASE_JSON_H

#include <jansson.h>
#include <stddef.h>

/* An upper bound of the values that a text holds, before any of them is made: each costs a hundred times the
 * bytes that ask for it. SIZE_MAX: something is so long between two of its marks that only to read it, as a
 * number, would hold us up. */
size_t sc_json_count(const char *text, size_t len);
/* Text → value (the caller's reference). 0; -EINVAL: not JSON, *ret_error says where; -ENOMEM. */
int sc_json_load(const char *text, size_t len, size_t flags, json_t **ret_value, json_error_t *ret_error);
/* Value → heap text, or NULL when memory ran out or `value` is NULL. */
char *sc_json_dump(const json_t *value, size_t flags);

#endif
