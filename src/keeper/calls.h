/* The client's side of the keeper's socket for many requests at once: it never waits. One that asks one thing
 * after another is keeper/client.h. */
#ifndef SC_KEEPER_CALLS_H
#define SC_KEEPER_CALLS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct sc_keeper_calls;

/* Called from sc_keeper_calls_step only. They may ask and cancel, and must not close. */
struct sc_keeper_calls_events {
    void *userdata;
    void (*output)(void *userdata, uint32_t call, int stream, const void *data, size_t len);
    /* Once for each call, the last: {"ok": …} or {"error": …}; NULL: the keeper went away before. */
    void (*reply)(void *userdata, uint32_t call, const json_t *reply);
};

/* Takes `sock`, a connection that was greeted (sc_keeper_client_release), also when it fails. */
int sc_keeper_calls_open(int sock, const struct sc_keeper_calls_events *events,
                         struct sc_keeper_calls **ret_calls, struct sc_err *err);
void sc_keeper_calls_close(struct sc_keeper_calls *calls); /* nothing is called back any more */
/* For poll: what is wanted of the descriptor. */
int sc_keeper_calls_fd(const struct sc_keeper_calls *calls);
short sc_keeper_calls_poll(const struct sc_keeper_calls *calls);
/* Does what can be done without waiting. Negative errno: the keeper is gone; every call has been answered. */
int sc_keeper_calls_step(struct sc_keeper_calls *calls, struct sc_err *err);

/* Takes `request` (its reference); `input` is copied, and is all of the request's input; NULL: it takes none.
 * A number that is not 0. -EMSGSIZE: it is larger than the keeper takes; -EAGAIN: too many are under way. */
int sc_keeper_calls_ask(struct sc_keeper_calls *calls, json_t *request, const void *input, size_t len,
                        uint32_t *ret_call, struct sc_err *err);
void sc_keeper_calls_cancel(struct sc_keeper_calls *calls, uint32_t call);

#endif
