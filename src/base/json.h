/* Reading and writing JSON with jansson, and no lost bytes when memory runs out.
 *
 * jansson 2.14 ignores some failed allocations: json_loads may give a value with a byte missing from a string
 * or a number, json_dumps a text without a key. Use these two in their place. */
#ifndef SC_BASE_JSON_H
#define SC_BASE_JSON_H

#include <jansson.h>
#include <stddef.h>

/* Text → value (the caller's reference). 0; -EINVAL: not JSON, *ret_error says where; -ENOMEM. */
int sc_json_load(const char *text, size_t len, size_t flags, json_t **ret_value, json_error_t *ret_error);
/* Value → heap text, or NULL when memory ran out or `value` is NULL. */
char *sc_json_dump(const json_t *value, size_t flags);

#endif
