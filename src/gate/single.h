/* Single runs, by their spec: which of the keeper's requests they are. */
#ifndef SC_GATE_SINGLE_H
#define SC_GATE_SINGLE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

/* Code in a language with runners becomes rich where the spec does not say otherwise: that is what waits
 * warm, and what tells values. *ret_plain: it is a program as it is, for which the keeper has no single
 * request. 0 or a usage error: code or command, one of the two. */
int single_kind(json_t *spec, bool *ret_plain, struct sc_err *err);
/* A plain one becomes two: what stays in `spec` describes a session, and *ret_message (the caller's) is the
 * `exec` in it, to which the session is to be added. 0, a usage error, or -ENOMEM. */
int single_split(json_t *spec, json_t **ret_message, struct sc_err *err);

#endif
