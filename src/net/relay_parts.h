/* Connections out of the cell: what the files of src/net/relay*.c share. */
#ifndef SC_NET_RELAY_PARTS_H
#define SC_NET_RELAY_PARTS_H

#include "net/egress.h"
#include "net/flow.h"
#include "net/http.h"
#include "net/tls.h"

struct sc_connection {
    struct sc_source client, upstream; /* the client's first: epoll's pointer is this one's, too */
    struct sc_egress *egress;
    struct sc_dial *dial;
    struct sc_known_name *name; /* NULL: an address only */
    struct sc_addr addr;        /* asked for; then connected to */
    uint16_t port;
    int record; /* its index, or -1 */
    bool looked_at, again, throttled;
    struct sc_tls *tls; /* with which it is looked into; NULL: it has none, or there is no upstream yet */
    bool wants_tls, is_settled; /* its rules need that; both handshakes are done */
    uint64_t settle_until_ns;
    struct sc_http *http; /* what the cell says is HTTP/1: each request is looked at */
    struct sc_flow flows[2];
    struct sc_charged charged;
    bool requests_only;   /* its rules are about requests */
    struct sc_spent said; /* why the last one was refused */
    char asked[96];
    struct sc_connection *after;
};

/* relay.c: ends it, by a reset or in order. Its memory stays until no event of this round can mean it. */
void sc_relay_end(struct sc_connection *c, bool by_reset);
/* Ends it and records why. `name` may be one of the connection's. */
void sc_relay_refuse(struct sc_connection *c, const char *name, const char *rule, const char *reason);

/* relay_requests.c: from here on only requests go out, and only those that a rule allows. 0 or -ENOMEM. */
int sc_relay_follow_requests(struct sc_connection *c);
/* Ends it for what sc_http_feed said of the last one. */
void sc_relay_refuse_request(struct sc_connection *c, int why);
/* Both of its sockets are there: TLS with both, where its rules need it. 1: bytes may go on; 0: not yet; -1:
 * it is gone. */
int sc_relay_settle(struct sc_connection *c);
/* Ends it when that takes too long. Milliseconds until then, or -1. */
int sc_relay_settle_clock(struct sc_connection *c, uint64_t now_ns);

#endif
