/* A request's head, read so that every server must read it the same way. For connections whose rules are
 * about requests. */
#ifndef SC_NET_HTTP_STRICT_H
#define SC_NET_HTTP_STRICT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "spec/network.h"

/* A whole head with the empty line at its end, which sc_http_feed has found to be one. What it asks for
 * points into it. -EPROTO: it has lines that end without CR, control characters, a target that is no plain
 * path (dot segments, escapes of what decides where it leads), or fields that make servers do something else
 * than its first line says. */
int sc_http_strict(const uint8_t *head, size_t len, struct sc_net_request *ret_request);
/* Adds such a head, with the rule's credential in place of fields of that name where there is a rule. 0,
 * -ENOMEM or -EMSGSIZE. */
int sc_http_write_head(struct sc_buf *out, const uint8_t *head, size_t len, const struct sc_net_rule *rule);

#endif
