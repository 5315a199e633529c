/* What must be true of a request whose fields have been read (keeper/request.c): what it needs is there, and
 * fits. */
#ifndef SC_KEEPER_REQUEST_CHECK_H
#define SC_KEEPER_REQUEST_CHECK_H

#include <jansson.h>

#include "keeper/request.h"

/* Each returns 0, or -EINVAL with a story of kind USAGE that names the field. */
int sc_keeper_request_check(const struct sc_keeper_request *request, struct sc_err *err);
/* `limits` as given: only some are a run's or a command's own, the others are the whole session's. NULL is
 * fine. */
int sc_keeper_request_check_limits(const json_t *limits, bool command, struct sc_err *err);

#endif
