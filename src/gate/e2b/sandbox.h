/* What making and copying sandboxes have in common. */
#ifndef SC_GATE_E2B_SANDBOX_H
#define SC_GATE_E2B_SANDBOX_H

#include "gate/e2b/e2b.h"

/* call->state of those that answer with a sandbox. */
struct given {
    char *template_id;
    unsigned status; /* of the answer */
    json_int_t timeout_ms;
    json_t *all; /* of several: what was made by now */
    size_t at;
};
void given_free(struct request *request);

/* The sandbox that the path names. False: it was answered. */
bool sandbox_named(struct request *request);
/* Of one of ours; else it was answered. */
bool sandbox_is_ours(struct request *request, const struct e2b_said *said);
/* Asks for its secret, and answers with what a client may work with. */
void sandbox_give(struct request *request);
json_t *sandbox_object(const struct request *request, const char *template_id, const char *id,
                       const char *secret);
/* One that is paused goes on, for given->timeout_ms; then as sandbox_give. */
void sandbox_resume(struct request *request);
/* There is no template of the name in call->body: is it a snapshot's? `error` is told when not. */
void sandbox_from_snapshot(struct request *request, const json_t *error);

#endif
