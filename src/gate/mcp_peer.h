/* One client of /mcp between its requests: the engine, what the keeper was asked for it, its streams. It is
 * found by its Mcp-Session-Id, by the tenant that made it and nobody else, and is gone, with its cell, when
 * the client says so, when it has been silent for MCP_PEER_IDLE_NS, or when the gate ends. */
#ifndef SC_GATE_MCP_PEER_H
#define SC_GATE_MCP_PEER_H

#include "gate/mcp/mcp.h"
#include "gate/mcp_log.h"
#include "gate/parts.h"

#define MCP_PEERS_MAX 1024         /* of one gate */
#define MCP_PEERS_OF_TENANT_MAX 64 /* of one tenant there */
#define MCP_PEER_IDLE_NS (3600 * SC_NS_PER_S)
#define MCP_PEER_ID 33 /* 128 random bits as text */

struct mcp_call;

struct mcp_peer {
    TAILQ_ENTRY(mcp_peer) entry;
    struct gate *gate;
    char id[MCP_PEER_ID];
    struct mcp_tenant *tenant;
    char token[TOKEN_MAX]; /* of its last request */
    struct sc_mcp *engine;
    TAILQ_HEAD(, mcp_call) calls;
    uint32_t last_call;
    struct mcp_log log;
    struct mcp_stream *general; /* what belongs to no request */
    struct mcp_stream *current; /* of the message that the engine is looking at, or NULL */
    bool is_ending;
    uint64_t since_ns; /* of its last request's beginning or end */
};

/* While it has peers. */
struct mcp_tenant {
    TAILQ_ENTRY(mcp_tenant) entry;
    char name[TOKEN_MAX];
    unsigned n;   /* peers */
    size_t bytes; /* of all their streams */
};

/* All of a gate's; made with the first of them. */
struct mcp_front {
    TAILQ_HEAD(, mcp_peer) peers;
    TAILQ_HEAD(, mcp_tenant) tenants;
    unsigned n;      /* peers */
    uint64_t due_ns; /* when the next of them has something to tell */
};

/* A new one, for whom the request comes from. -EAGAIN: there are too many; else a story. */
int mcp_peer_new(struct request *request, const struct sc_mcp_options *options, struct mcp_peer **ret_peer,
                 struct sc_err *err);
/* The request's, or NULL: it is none of its tenant's. Sets its clock back. */
struct mcp_peer *mcp_peer_find(struct request *request, const char *id);
/* It and its cell end; whoever reads a stream of its is told by the stream's end. */
void mcp_peer_end(struct mcp_peer *peer);
/* Hands a message to the engine; what it says about none of the client's requests goes to `stream`. */
void mcp_peer_take(struct mcp_peer *peer, const json_t *message, struct mcp_stream *stream);
void mcp_peer_free(struct mcp_peer *peer);

/* ---- mcp_front.c ---- */
/* NULL when memory ran out. */
struct mcp_front *mcp_front_of(struct gate *gate);
/* One more peer of the tenant's, which leaves it with its end. -EAGAIN: that would be too many. */
int mcp_tenant_join(struct mcp_front *front, const char *name, struct mcp_tenant **ret_tenant,
                    struct sc_err *err);
void mcp_tenant_leave(struct mcp_front *front, struct mcp_tenant *tenant);
/* Something happened that may have given the peer something to tell at a time. */
void mcp_note_due(struct mcp_peer *peer);

/* ---- mcp_read.c: who reads a stream ---- */
/* The request is answered by the events of this stream. */
void mcp_read_begin(struct request *request, struct mcp_stream *stream, struct mcp_peer *peer, bool primes);
/* The request waits for the answers of this stream, and has them as one JSON text. */
void mcp_read_whole(struct request *request, struct mcp_stream *stream, struct mcp_peer *peer);
/* There may be something new. The stream may be gone afterwards. */
void mcp_read_on(struct mcp_stream *stream);
/* Ends what its reader has of it. */
void mcp_read_end(struct mcp_stream *stream);

/* ---- mcp_http.c ---- */
#define MCP_NO_SESSION (-32001)
/* Answers with an error as JSON-RPC has it, which clients of this protocol read. */
void mcp_refuse(struct request *request, unsigned status, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- mcp_headers.c ---- */
/* What `Accept` takes; several of them add up. */
void mcp_accept_read(const char *accept, bool *json, bool *events);

#endif
