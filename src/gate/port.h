/* Requests to a port that a program in a session listens on. */
#ifndef SC_GATE_PORT_H
#define SC_GATE_PORT_H

#include "gate/parts.h"

/* Which port of whose loopback, asked by whom for what. */
struct port_way {
    const char *session;
    const char *access; /* the session's secret; NULL: the tenant of the connection asks */
    unsigned port;
    const char *method;
    const char *target; /* path and query as they go into the first line: not decoded, from a slash on */
};
/* Passes the request on and answers with what comes from there: for any front whose route has BODY_STREAM and
 * has identified its client. `way` is borrowed during the call. Fields that are between the client and us
 * stay here, and so do keys, tokens and cookies. */
void port_pass(struct request *request, const struct port_way *way);
/* What a problem of kind "port" says when the program is not there. */
#define PORT_CLOSED "nobody listens there, or it was closed without an answer"

/* port_tunnel.c: of a request whose program agreed to another protocol. NULL: no memory. */
struct port_tunnel;
struct port_tunnel *port_tunnel_new(struct request *request);
/* Answers with 101; more headers may follow. False: no memory. */
bool port_tunnel_answer(struct port_tunnel *tunnel);
/* Bytes for the client. */
void port_tunnel_say(struct port_tunnel *tunnel, const void *data, size_t len);
/* The program takes more. */
void port_tunnel_room(struct port_tunnel *tunnel);
/* The program has said all: what waits still goes out. */
void port_tunnel_end(struct port_tunnel *tunnel);
void port_tunnel_cut(struct port_tunnel *tunnel);
/* Of a request that is over. */
void port_tunnel_free(struct port_tunnel *tunnel);

#endif
