/* What the first bytes of a connection say whom they are for. They are a stranger's. */
#ifndef SC_NET_PEEK_H
#define SC_NET_PEEK_H

#include <stddef.h>
#include <stdint.h>

#include "spec/network.h"

/* More than this is not waited for. */
#define SC_PEEK_MAX (16 * 1024)

enum sc_peek {
    SC_PEEK_MORE,   /* not enough bytes yet */
    SC_PEEK_OTHER,  /* neither TLS nor HTTP/1, or it names nobody */
    SC_PEEK_NAME,   /* *ret_name is who it is for, clean as sc_net_name_clean leaves it */
    SC_PEEK_BROKEN, /* TLS or HTTP/1, but what stands where the name should be is none */
};

/* `ret_name` has room for SC_NET_NAME_MAX + 1. A name in brackets or an address is BROKEN. */
enum sc_peek sc_peek(const uint8_t *data, size_t len, char *ret_name);
/* Does it begin as HTTP/1 does? */
bool sc_peek_is_http(const uint8_t *data, size_t len);
/* Text without the end of a line, so that it cannot be told whether it is HTTP/1. It may go on and be looked
 * at as it goes (http.h): other protocols are not kept waiting. */
bool sc_peek_tells_later(const uint8_t *data, size_t len);
/* May it stand in a line of text? */
bool sc_peek_is_text(uint8_t byte);
/* Its parts. */
enum sc_peek sc_peek_tls(const uint8_t *data, size_t len, char *ret_name);
enum sc_peek sc_peek_http(const uint8_t *data, size_t len, char *ret_name);
/* The same of what is known to be a request's head; OTHER: it names nobody. */
enum sc_peek sc_peek_head(const uint8_t *data, size_t len, char *ret_name);

#endif
