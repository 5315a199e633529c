/* HTTPS that is looked into: one connection's two ends of TLS, with the program in the cell and with the
 * upstream. Only the program that is linked with tls.c has it; docs/egress.md says when a cell gets that one.
 *
 * Both handshakes must be done before a byte goes on. The program must ask for the name that was looked up
 * (SNI), the upstream's certificate must be that name's and trusted, and both speak HTTP/1. */
#ifndef SC_NET_TLS_H
#define SC_NET_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "net/flow.h"
#include "net/note.h"

struct sc_tls;

/* Why a handshake failed, for the record. `rule` is static. */
struct sc_tls_trouble {
    const char *rule;
    char reason[96];
};

struct sc_tls_calls {
    /* Before the process is sealed: all that the library might want files for. 0 or negative errno. */
    int (*prepare)(void);
    /* After that: makes the cell's authority, whose certificate *ret_pem becomes. 0 or negative errno. */
    int (*certify)(char ret_pem[SC_NET_AUTHORITY_MAX]);
    /* Whom upstreams are trusted by: a descriptor with PEM, taken. 0 or negative errno. */
    int (*trust)(int roots);
    /* For a connection whose two sockets these are; `name` is borrowed until it is closed. 0 or -ENOMEM. */
    int (*open)(const char *name, int client, int upstream, struct sc_tls **ret_tls);
    /* NULL is fine. The sockets stay. */
    void (*close)(struct sc_tls *tls);
    /* As far as it goes now. 1: both are done; 0: a socket is waited for; -EPROTO with *ret_trouble. */
    int (*shake)(struct sc_tls *tls, struct sc_tls_trouble *ret_trouble);
    /* Makes a flow one of this connection's. */
    void (*carry)(struct sc_tls *tls, struct sc_flow *flow, bool out);
};

/* NULL in the program without TLS. */
extern const struct sc_tls_calls *const sc_net_tls;

#endif
