/* Requests to a port that a program in a session listens on. */
#ifndef SC_GATE_PORT_H
#define SC_GATE_PORT_H

#include "gate/parts.h"

/* Passes the request on to `port` of the session's loopback and answers with what comes from there: for any
 * front whose route has BODY_STREAM and has identified its client. `target` is the path with its query as it
 * goes into the request's first line; it begins with a slash and is not decoded. Fields that are between the
 * client and us stay here, and so do keys and cookies. */
void port_pass(struct request *request, const char *session, unsigned port, const char *method,
               const char *target);

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
