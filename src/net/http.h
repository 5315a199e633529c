/* Every HTTP/1 request of a connection, looked at as its bytes come: all must be for the name that was looked
 * up. What servers read differently (two lengths, strange chunks, bare carriage returns) is refused, so that
 * no request hides in another's body. */
#ifndef SC_NET_HTTP_H
#define SC_NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "net/peek.h"

enum sc_http_state {
    SC_HTTP_HEAD,
    SC_HTTP_LINE, /* the first line of a connection, which tells whether it is HTTP/1 at all */
    SC_HTTP_BODY,
    SC_HTTP_CHUNK_SIZE,
    SC_HTTP_CHUNK,
    SC_HTTP_CHUNK_END,
    SC_HTTP_TRAILER,
    SC_HTTP_ASKED,    /* another protocol was asked for: what the server says to it decides */
    SC_HTTP_UPGRADED, /* a WebSocket, or no HTTP/1: not looked at any more */
};

/* *ret_credential, NULL before: the rule whose credential the request gets; borrowed. */
typedef int sc_http_judge(void *userdata, const struct sc_net_request *request,
                          const struct sc_net_rule **ret_credential);

struct sc_http {
    const char *name; /* borrowed */
    enum sc_http_state state;
    uint64_t left; /* bytes of the body, or of the chunk */
    uint64_t requests;
    bool websocket;                 /* is what was asked for */
    bool said_name;                 /* of the last head; false: it has no Host */
    char seen[SC_NET_NAME_MAX + 1]; /* whom the last head is for */
    unsigned spelled;               /* in LINE: how much of "http/" the last bytes are; 5: it was there */
    /* Strict: what may go on is put to `out`, a head only when it is whole and `judge` allows it. NULL: not
     * so. */
    sc_http_judge *judge;
    void *userdata;
    struct sc_buf *out;
    size_t used; /* of `head`, or of a line's bytes so far */
    uint8_t head[SC_PEEK_MAX];
};

void sc_http_init(struct sc_http *http, const char *name);
/* It may be another protocol, which then passes. */
void sc_http_init_doubtful(struct sc_http *http, const char *name);
/* Nothing but requests that all servers read the same way, each of which `judge` is asked about: 0, or what
 * sc_http_feed shall return. */
void sc_http_init_strict(struct sc_http *http, const char *name, sc_http_judge *judge, void *userdata);
/* The next bytes of a strict one; what may go on of them and of those before is added to `out`. As
 * sc_http_feed, or what `judge` returned, or -ENOMEM or -EMSGSIZE of `out`. */
int sc_http_feed_strict(struct sc_http *http, const uint8_t *data, size_t len, struct sc_buf *out);
/* The next bytes. 0: they may go on; -EPERM: a request for somebody else (`seen`); -EPROTO: it cannot be told
 * whom one is for, or where it ends. Afterwards the connection is to be ended, and these bytes are not to go
 * on. */
int sc_http_feed(struct sc_http *http, const uint8_t *data, size_t len);
/* In ASKED: the beginning of the server's answer. 1: settled; 0: more is needed; -EPROTO: it agreed to what
 * is not looked into. */
int sc_http_answered(struct sc_http *http, const uint8_t *data, size_t len);

#endif
