/* Readers of single values of a request that spec/json_read.h has none for. */
#ifndef SC_KEEPER_FIELDS_H
#define SC_KEEPER_FIELDS_H

#include <stdint.h>

#include "spec/json_read.h"

/* Into the char * at `into`, which is freed first: at most `max` bytes, no NUL among them. */
int sc_field_text(void *into, const json_t *value, const char *path, size_t max, struct sc_err *err);
int sc_field_u64(uint64_t *ret_number, const json_t *value, const char *path, uint64_t max,
                 struct sc_err *err);
sc_json_reader sc_field_bool; /* a bool */
sc_json_reader sc_field_mode; /* a uint32_t: permission bits as octal text */

#endif
