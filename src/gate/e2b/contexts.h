/* Contexts of the interpreter. */
#ifndef SC_GATE_E2B_CONTEXTS_H
#define SC_GATE_E2B_CONTEXTS_H

#include "gate/e2b/e2b.h"

/* Their name of a language as ours, of static storage; NULL: not served. */
const char *contexts_language(const char *theirs);
/* One that was removed stays in the keeper's list until its interpreter is dead. */
bool contexts_is_gone(struct request *request, const json_t *context);

#endif
