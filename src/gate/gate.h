/* The gate: the process that speaks to HTTP clients. It has no privilege, makes no cells, opens no file and
 * no connection: what it has are the listeners and the door it was given. docs/http.md tells what it speaks.
 */
#ifndef SC_GATE_GATE_H
#define SC_GATE_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SC_GATE_LISTENERS_MAX 4
#define SC_GATE_HOSTS_MAX 16
#define SC_GATE_CLIENTS_STANDARD 4096
#define SC_GATE_CLIENTS_MOST 65536

struct sc_gate_listener {
    int fd;         /* listening; the gate's from then on */
    bool tcp;       /* then a key is always needed, and Host is checked */
    bool e2b_debug; /* of E2B's clients in debug mode: no key, one sandbox, nothing else */
};

struct sc_gate_options {
    struct sc_gate_listener listeners[SC_GATE_LISTENERS_MAX];
    size_t n_listeners;
    int door;   /* to the keeper: docs/keeper.md, "Gates" */
    int orders; /* readable: take no new requests, and end when the last is answered */
    const char
        *hosts[SC_GATE_HOSTS_MAX]; /* names that a request on TCP may give as its Host, beside loopback's */
    size_t n_hosts;
    const char *e2b_key;        /* whose the sandbox of debug mode is; or NULL */
    struct json_t *e2b_accepts; /* what sandboxes made by E2B's protocol may go without: names; or NULL */
    unsigned clients;           /* connections at once, of each listener */
};

/* Serves until `orders` is readable and the last request is answered. Errors have a story. One at a time in a
 * process. */
int sc_gate_serve(const struct sc_gate_options *options, struct sc_err *err);

/* The OpenAPI 3.1 document: heap text, or NULL when memory ran out. */
char *sc_gate_openapi(void);

#endif
