/* One direction of a connection: bytes from one socket to another. */
#ifndef SC_NET_FLOW_H
#define SC_NET_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/* In place of those of a socket, with their answers. */
struct sc_flow_calls {
    ssize_t (*take)(void *from, void *data, size_t len);     /* recv */
    ssize_t (*give)(void *to, const void *data, size_t len); /* send */
    int (*finish)(void *from, void *to);                     /* shutdown: nothing more goes to `to` */
};

struct sc_flow {
    const struct sc_flow_calls *calls; /* NULL: its ends are sockets */
    void *from, *to;                   /* theirs */
    int pipe[2];                       /* for splicing, once much has come; -1: not yet */
    size_t in_pipe;
    uint8_t *rest; /* what was read and could not be written yet */
    size_t rest_len, rest_done;
    unsigned full_reads;
    /* Sees all bytes before they go on; NULL: nobody does. A negative answer ends the flow with it. */
    int (*check)(void *userdata, const uint8_t *data, size_t len);
    /* In its place: what goes on instead of these bytes is added to ret_out. */
    int (*rewrite)(void *userdata, const uint8_t *data, size_t len, struct sc_buf *ret_out);
    void *userdata;
    bool ended;  /* nothing more comes */
    bool passed; /* and the other side was told so */
};

#define SC_FLOW_NONE ((struct sc_flow){.pipe = {-1, -1}})
#define SC_FLOW_CHUNK (64 * 1024)

enum sc_flow_state {
    SC_FLOW_WAITS, /* for a socket */
    SC_FLOW_MORE,  /* `most` bytes were moved; there may be more */
    SC_FLOW_OVER,  /* its end was passed on */
};

/* Moves what can be moved now, at most `most` bytes more into the flow; *ret_moved: those. An sc_flow_state,
 * or negative errno of a socket that broke. */
int sc_flow_move(struct sc_flow *flow, int from, int to, size_t most, size_t *ret_moved);
void sc_flow_fini(struct sc_flow *flow);

#endif
