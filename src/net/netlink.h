/* Netlink messages as bytes. */
#ifndef SC_NET_NETLINK_H
#define SC_NET_NETLINK_H

#include <stdint.h>

#include "base/buf.h"

struct sc_nl {
    struct sc_buf *buf;
    size_t message; /* where the open message begins */
    uint32_t seq;   /* of the last message begun */
    int failed;     /* 0, or the first error; everything after it is left out */
};

void sc_nl_begin(struct sc_nl *nl, uint16_t type, uint16_t flags, const void *header, size_t len);
void sc_nl_end(struct sc_nl *nl);
void sc_nl_put(struct sc_nl *nl, uint16_t type, const void *data, size_t len);
void sc_nl_put_text(struct sc_nl *nl, uint16_t type, const char *text);
void sc_nl_put_be32(struct sc_nl *nl, uint16_t type, uint32_t value);
/* Returns what sc_nl_close takes. */
size_t sc_nl_open(struct sc_nl *nl, uint16_t type);
void sc_nl_close(struct sc_nl *nl, size_t at);

/* Sends what is in `data`, and waits for the answer to message `seq`. 0, or the negative errno of the first
 * message that failed. */
int sc_nl_ask(int sock, const void *data, size_t len, uint32_t seq);

#endif
