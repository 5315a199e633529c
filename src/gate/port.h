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

#endif
