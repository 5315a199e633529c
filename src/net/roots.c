#include "net/roots.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#define ROOTS_MAX 2000

/* A certificate as it stands in the file; `der` NULL: it is in the store by now. */
static struct root {
    unsigned char *der;
    long len;
} roots[ROOTS_MAX];
static size_t n_roots;

/* It moves into the store; NULL: it cannot be read. */
static X509 *enter(X509_STORE *store, struct root *root)
{
    const unsigned char *at = root->der;
    X509 *certificate = d2i_X509(NULL, &at, root->len);
    if (certificate && X509_STORE_add_cert(store, certificate) != 1) {
        X509_free(certificate);
        certificate = NULL;
    }
    OPENSSL_free(root->der);
    root->der = NULL;
    return certificate;
}

/* Those in which the name stands as it is written; names that are the same in other letters or another
 * encoding are met when all are read. */
static X509 *find(X509_STORE *store, const X509_NAME *name, bool all)
{
    const unsigned char *text;
    size_t len;
    X509 *found = NULL;
    if (X509_NAME_get0_der(name, &text, &len) != 1)
        return NULL;
    for (size_t i = 0; i < n_roots; i++) { /* all of them: there may be two of one name */
        if (!roots[i].der || (!all && !memmem(roots[i].der, (size_t)roots[i].len, text, len)))
            continue;
        X509 *certificate = enter(store, &roots[i]);
        if (certificate && !found && X509_NAME_cmp(X509_get_subject_name(certificate), name) == 0)
            found = certificate; /* the store has it, too */
        else
            X509_free(certificate);
    }
    return found;
}

/* The library asks when the store itself has none of this name. */
static int on_subject(X509_LOOKUP *lookup, X509_LOOKUP_TYPE type, const X509_NAME *name, X509_OBJECT *ret)
{
    X509_STORE *store = X509_LOOKUP_get_store(lookup);
    if (type != X509_LU_X509)
        return 0;
    X509 *found = find(store, name, false);
    if (!found)
        found = find(store, name, true);
    ERR_clear_error();
    if (!found)
        return 0;
    int set = X509_OBJECT_set1_X509(ret, found);
    X509_free(found);
    return set;
}

static int add_lookup(X509_STORE *store)
{
    X509_LOOKUP_METHOD *method = X509_LOOKUP_meth_new("kept certificates");
    if (!method || X509_LOOKUP_meth_set_get_by_subject(method, on_subject) != 1 ||
        !X509_STORE_add_lookup(store, method)) {
        X509_LOOKUP_meth_free(method);
        return -ENOMEM;
    }
    return 0;
}

int sc_roots_add(X509_STORE *store, const char *text, size_t len)
{
    BIO *memory = BIO_new_mem_buf(text, (int)len);
    char *name, *header;
    struct root root;
    if (!memory)
        return -ENOMEM;
    while (n_roots < ROOTS_MAX && PEM_read_bio(memory, &name, &header, &root.der, &root.len) == 1) {
        if (!strcmp(name, PEM_STRING_X509))
            roots[n_roots++] = root;
        else
            OPENSSL_free(root.der);
        OPENSSL_free(name);
        OPENSSL_free(header);
    }
    BIO_free(memory);
    ERR_clear_error();
    return n_roots ? add_lookup(store) : -EINVAL;
}
