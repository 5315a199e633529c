/* Whom upstreams are trusted by: certificates that are read when one of them is asked for. A system has some
 * hundred and fifty, and reading one takes the library half a millisecond. */
#ifndef SC_NET_ROOTS_H
#define SC_NET_ROOTS_H

#include <stddef.h>

struct x509_store_st;

/* `text` is PEM, and needed no longer. One store in a process. 0, -ENOMEM, or -EINVAL: there is no
 * certificate in it. */
int sc_roots_add(struct x509_store_st *store, const char *text, size_t len);

#endif
