#include "net/authority.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "spec/network.h"

#define LEAVES_MAX 64        /* then the oldest goes */
#define BEFORE_S (24 * 3600) /* clocks differ */
#define AFTER_S (390 * 24 * 3600L)
#define SERIAL_BYTES 16

struct leaf {
    char name[SC_NET_NAME_MAX + 1];
    X509 *certificate; /* NULL: none */
};

struct sc_authority {
    EVP_PKEY *key, *leaf_key;
    X509 *certificate;
    struct leaf leaves[LEAVES_MAX];
    size_t next; /* the place of the next leaf */
};

struct extension {
    int nid;
    const char *value;
};

static int add_extensions(X509 *certificate, X509 *issuer, const struct extension *list, size_t n)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    for (size_t i = 0; i < n; i++) {
        X509_EXTENSION *one = X509V3_EXT_conf_nid(NULL, &context, list[i].nid, list[i].value);
        int added = one ? X509_add_ext(certificate, one, -1) : 0;
        X509_EXTENSION_free(one);
        if (!added)
            return -ENOMEM;
    }
    return 0;
}

/* A positive number that nobody can guess. */
static int set_serial(X509 *certificate)
{
    unsigned char bytes[SERIAL_BYTES];
    if (RAND_bytes(bytes, sizeof bytes) != 1)
        return -EIO;
    bytes[0] = (bytes[0] & 0x7f) | 0x40;
    BIGNUM *number = BN_bin2bn(bytes, sizeof bytes, NULL);
    int set = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != NULL;
    BN_free(number);
    return set ? 0 : -ENOMEM;
}

static int set_subject(X509 *certificate, const char *common_name)
{
    X509_NAME *subject = X509_get_subject_name(certificate);
    const unsigned char house[] = "Snapcell", *text = (const unsigned char *)common_name;
    return subject && X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_ASC, house, -1, -1, 0) &&
                   X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, text, -1, -1, 0)
               ? 0
               : -ENOMEM;
}

/* All but what sets an authority and its leaves apart. `issuer` NULL: it is its own. */
static X509 *certify(EVP_PKEY *key, const char *common_name, X509 *issuer, EVP_PKEY *issuer_key,
                     const struct extension *extensions, size_t n_extensions)
{
    X509 *made = X509_new();
    int r = made ? set_serial(made) : -ENOMEM;
    if (r == 0)
        r = set_subject(made, common_name);
    if (r == 0 &&
        !(X509_set_version(made, X509_VERSION_3) && X509_gmtime_adj(X509_getm_notBefore(made), -BEFORE_S) &&
          X509_gmtime_adj(X509_getm_notAfter(made), AFTER_S) && X509_set_pubkey(made, key) &&
          X509_set_issuer_name(made, X509_get_subject_name(issuer ? issuer : made))))
        r = -ENOMEM;
    if (r == 0)
        r = add_extensions(made, issuer ? issuer : made, extensions, n_extensions);
    if (r == 0 && X509_sign(made, issuer_key, EVP_sha256()) > 0)
        return made;
    X509_free(made);
    return NULL;
}

static X509 *certify_itself(EVP_PKEY *key)
{
    static const struct extension extensions[] = {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                                                  {NID_key_usage, "critical,keyCertSign,cRLSign"},
                                                  {NID_subject_key_identifier, "hash"}};
    unsigned char bytes[4];
    char name[64];
    if (RAND_bytes(bytes, sizeof bytes) != 1)
        return NULL;
    snprintf(name, sizeof name, "for one cell, %02x%02x%02x%02x", bytes[0], bytes[1], bytes[2], bytes[3]);
    return certify(key, name, NULL, key, extensions, sizeof extensions / sizeof extensions[0]);
}

static X509 *certify_name(struct sc_authority *authority, const char *name)
{
    char names[sizeof "DNS:" + SC_NET_NAME_MAX];
    const struct extension extensions[] = {{NID_basic_constraints, "critical,CA:FALSE"},
                                           {NID_key_usage, "critical,digitalSignature"},
                                           {NID_ext_key_usage, "serverAuth"},
                                           {NID_subject_key_identifier, "hash"},
                                           {NID_authority_key_identifier, "keyid:always"},
                                           {NID_subject_alt_name, names}};
    snprintf(names, sizeof names, "DNS:%s", name);
    /* A common name has 64 characters at most; what counts is the other one. */
    return certify(authority->leaf_key, strlen(name) <= 64 ? name : "a name", authority->certificate,
                   authority->key, extensions, sizeof extensions / sizeof extensions[0]);
}

int sc_authority_make(struct sc_authority **ret_authority)
{
    struct sc_authority *made = calloc(1, sizeof *made);
    if (!made)
        return -ENOMEM;
    made->key = EVP_EC_gen("P-256");
    made->leaf_key = EVP_EC_gen("P-256");
    made->certificate = made->key && made->leaf_key ? certify_itself(made->key) : NULL;
    if (!made->certificate) {
        sc_authority_free(made);
        return -EIO;
    }
    *ret_authority = made;
    return 0;
}

void sc_authority_free(struct sc_authority *authority)
{
    if (!authority)
        return;
    for (size_t i = 0; i < LEAVES_MAX; i++)
        X509_free(authority->leaves[i].certificate);
    X509_free(authority->certificate);
    EVP_PKEY_free(authority->key);
    EVP_PKEY_free(authority->leaf_key);
    free(authority);
}

int sc_authority_pem(const struct sc_authority *authority, char *ret_pem, size_t size)
{
    BIO *memory = BIO_new(BIO_s_mem());
    char *text = NULL;
    long len =
        memory && PEM_write_bio_X509(memory, authority->certificate) ? BIO_get_mem_data(memory, &text) : 0;
    int r = len > 0 && (size_t)len < size ? 0 : -EMSGSIZE;
    if (r == 0) {
        memcpy(ret_pem, text, (size_t)len);
        ret_pem[len] = '\0';
    }
    BIO_free(memory);
    return r;
}

X509 *sc_authority_leaf(struct sc_authority *authority, const char *name)
{
    for (size_t i = 0; i < LEAVES_MAX; i++)
        if (authority->leaves[i].certificate && !strcmp(authority->leaves[i].name, name))
            return authority->leaves[i].certificate;
    X509 *made = strlen(name) <= SC_NET_NAME_MAX ? certify_name(authority, name) : NULL;
    if (!made)
        return NULL;
    struct leaf *leaf = &authority->leaves[authority->next];
    authority->next = (authority->next + 1) % LEAVES_MAX;
    X509_free(leaf->certificate);
    leaf->certificate = made;
    snprintf(leaf->name, sizeof leaf->name, "%s", name);
    return made;
}

EVP_PKEY *sc_authority_leaf_key(const struct sc_authority *authority)
{
    return authority->leaf_key;
}
