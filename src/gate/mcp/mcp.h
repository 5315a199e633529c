/* A server of the Model Context Protocol for one client, without a transport: messages go in and out as JSON,
 * work goes to the keeper as its own requests (docs/keeper.md). It never waits; whoever owns it carries bytes
 * both ways. Revisions 2024-11-05 to 2025-11-25.
 *
 *     client ── message ──▶ sc_mcp_take ── ask ──▶ keeper
 *            ◀── send ──                  ◀── sc_mcp_output, sc_mcp_reply
 *
 * One session of the keeper's stands behind a client. It is made by the first tool that needs it, and made
 * anew when its time was over. The client's bytes are hostile; so is all that comes out of the cell.
 */
#ifndef SC_GATE_MCP_MCP_H
#define SC_GATE_MCP_MCP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct sc_mcp;

#define SC_MCP_MESSAGE_MAX (32u << 20) /* bytes of one message of the client's */

/* What is around it. The functions must not call back into the engine. */
struct sc_mcp_around {
    void *userdata;
    /* A message for the client. `about`: the id of the client's request that it belongs to, or NULL. */
    void (*send)(void *userdata, const json_t *message, const json_t *about);
    /* A request for the keeper (its reference is taken), with all of its input. 0 and a number that is not 0,
     * under which output and reply come; negative errno. */
    int (*ask)(void *userdata, json_t *request, const void *input, size_t len, uint32_t *ret_call,
               struct sc_err *err);
    /* Ends what was asked for; its reply still comes. */
    void (*cancel)(void *userdata, uint32_t call);
    /* The client has cancelled its request `about`: it will have no answer. NULL where that is no matter. */
    void (*dropped)(void *userdata, const json_t *about);
};

struct sc_mcp_options {
    json_t *spec;             /* of the session, as in a request "session.start"; borrowed */
    double idle_ms, total_ms; /* of the session; 0: as the keeper has it */
    unsigned deadline_ms;     /* how long it may wait for its turn; 0: as long as it takes */
};

int sc_mcp_new(const struct sc_mcp_around *around, const struct sc_mcp_options *options,
               struct sc_mcp **ret_mcp, struct sc_err *err);
/* The client is gone: cancels what it asked for and asks for the session's end. Nothing is sent any more. */
void sc_mcp_end(struct sc_mcp *mcp);
void sc_mcp_free(struct sc_mcp *mcp);

/* One message of the client's. What is wrong with it is answered. */
void sc_mcp_take(struct sc_mcp *mcp, const char *text, size_t len);
/* The same in two steps, for who looks at it in between. -EINVAL: no JSON, -EMSGSIZE: over the maxima,
 * -ENOMEM; each with its story. */
int sc_mcp_read(const char *text, size_t len, json_t **ret_message, struct sc_err *err);
void sc_mcp_take_read(struct sc_mcp *mcp, const json_t *message);
/* A message that was longer than SC_MCP_MESSAGE_MAX and was not kept. */
void sc_mcp_take_oversized(struct sc_mcp *mcp);

enum sc_mcp_kind { SC_MCP_NO_MESSAGE, SC_MCP_REQUEST, SC_MCP_NOTIFICATION, SC_MCP_ANSWER };
/* What one message is. Of a request *ret_id is its id, borrowed. */
enum sc_mcp_kind sc_mcp_kind(const json_t *message, const json_t **ret_id);
/* A refusal as JSON-RPC has it, for a message that reached no engine. `code` is one of its numbers. */
json_t *sc_mcp_refusal(int code, const char *message);

/* The revision that "initialize" agreed on, or NULL before. */
const char *sc_mcp_revision(const struct sc_mcp *mcp);
bool sc_mcp_knows_revision(const char *revision);
/* Does this client send batches? */
bool sc_mcp_takes_batches(const struct sc_mcp *mcp);
/* No request of the client's is under way. */
bool sc_mcp_is_idle(const struct sc_mcp *mcp);

/* From the keeper: output of a call by stream (keeper/wire.h), and its end, {"ok": …} or {"error": …}. NULL:
 * the keeper is gone. */
void sc_mcp_output(struct sc_mcp *mcp, uint32_t call, int stream, const void *data, size_t len);
void sc_mcp_reply(struct sc_mcp *mcp, uint32_t call, const json_t *reply);

/* When sc_mcp_tick is due (UINT64_MAX: never); it tells progress. */
uint64_t sc_mcp_next_ns(const struct sc_mcp *mcp);
void sc_mcp_tick(struct sc_mcp *mcp);

#endif
