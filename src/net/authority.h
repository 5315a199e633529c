/* A certificate authority made for one cell, which nobody else trusts, and what it says about names. Its keys
 * never leave this process. */
#ifndef SC_NET_AUTHORITY_H
#define SC_NET_AUTHORITY_H

#include <stddef.h>

struct x509_st;
struct evp_pkey_st;
struct sc_authority;

/* 0, -ENOMEM, or -EIO: the library has no key for us. */
int sc_authority_make(struct sc_authority **ret_authority);
/* NULL is fine. */
void sc_authority_free(struct sc_authority *authority);
/* Its own certificate in PEM, with an end. 0, or -EMSGSIZE. */
int sc_authority_pem(const struct sc_authority *authority, char *ret_pem, size_t size);
/* The certificate of a clean name, made when it is first asked for; NULL when memory ran out. Borrowed, until
 * another is asked for. */
struct x509_st *sc_authority_leaf(struct sc_authority *authority, const char *name);
/* The key of all of them. Borrowed. */
struct evp_pkey_st *sc_authority_leaf_key(const struct sc_authority *authority);

#endif
