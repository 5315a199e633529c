/* One request in a session that is made for it and ended behind it: what the keeper has no single request
 * for. */
#ifndef SC_GATE_VISIT_H
#define SC_GATE_VISIT_H

#include "gate/parts.h"

/* Makes a session of `spec` (taken), then calls `go` with its name in request->visit; whatever becomes of the
 * request, the session is ended when the request is over. */
void visit_begin(struct request *request, json_t *spec, void (*go)(struct request *request));
/* The keeper's message that makes such a session of `spec` (taken), with what `turn` says of its turn. */
json_t *visit_message(json_t *spec, const json_t *turn);
/* Does the keeper's error say that such a session is not there any more? Then its cell died as it was made:
 * ours to answer for, as the client named no session. */
bool visit_is_gone(const json_t *error);
#define VISIT_GONE "the cell ended before the program began in it; snapcell doctor tells what this host lacks"
/* Ends one. */
void visit_forget(struct gate *gate, const char *token, const char *session);
/* Ends the request's, if there is one. */
void visit_end(struct request *request);

#endif
