/* A cell's own authority: whoever trusts it trusts its names, and nobody else does. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "net/authority.h"
#include "net/note.h"
#include "net/roots.h"

static struct sc_authority *made(void)
{
    struct sc_authority *authority;
    assert_int_equal(sc_authority_make(&authority), 0);
    return authority;
}

static X509 *own_certificate(const struct sc_authority *authority)
{
    char pem[SC_NET_AUTHORITY_MAX];
    assert_int_equal(sc_authority_pem(authority, pem, sizeof pem), 0);
    BIO *memory = BIO_new_mem_buf(pem, -1);
    X509 *own = PEM_read_bio_X509(memory, NULL, NULL, NULL);
    BIO_free(memory);
    assert_non_null(own);
    return own;
}

/* As the strictest of programs look at it. */
static int verdict(const struct sc_authority *trusted, X509 *leaf, const char *name)
{
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    X509 *own = own_certificate(trusted);
    X509_STORE_add_cert(store, own);
    X509_STORE_CTX_init(context, store, leaf, NULL);
    X509_VERIFY_PARAM *how = X509_STORE_CTX_get0_param(context);
    X509_VERIFY_PARAM_set_flags(how, X509_V_FLAG_X509_STRICT);
    X509_VERIFY_PARAM_set1_host(how, name, 0);
    X509_STORE_CTX_set_purpose(context, X509_PURPOSE_SSL_SERVER);
    X509_verify_cert(context);
    int error = X509_STORE_CTX_get_error(context);
    X509_STORE_CTX_free(context);
    X509_STORE_free(store);
    X509_free(own);
    return error;
}

static void test_names(void **state)
{
    (void)state;
    struct sc_authority *one = made(), *other = made();
    char long_name[SC_NET_NAME_MAX + 1];
    memset(long_name, 'a', sizeof long_name);
    for (size_t i = 60; i < sizeof long_name - 1; i += 61)
        long_name[i] = '.';
    long_name[sizeof long_name - 1] = '\0';
    const char *const names[] = {"a.example", "with_line.a.example", long_name};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        X509 *leaf = sc_authority_leaf(one, names[i]);
        assert_non_null(leaf);
        assert_int_equal(X509_check_private_key(leaf, sc_authority_leaf_key(one)), 1);
        assert_int_equal(verdict(one, leaf, names[i]), X509_V_OK);
        assert_int_equal(verdict(one, leaf, "b.example"), X509_V_ERR_HOSTNAME_MISMATCH);
        assert_int_not_equal(verdict(other, leaf, names[i]), X509_V_OK);
    }
    sc_authority_free(one);
    sc_authority_free(other);
}

static int verdict_of(X509_STORE *store, X509 *leaf)
{
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    X509_STORE_CTX_init(context, store, leaf, NULL);
    X509_verify_cert(context);
    int error = X509_STORE_CTX_get_error(context);
    X509_STORE_CTX_free(context);
    return error;
}

/* Certificates that are read when they are asked for: in a bundle of two, with what is none between them. */
static void test_roots(void **state)
{
    (void)state;
    char text[3 * SC_NET_AUTHORITY_MAX] = "";
    static const char none[] = "words\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    struct sc_authority *one = made(), *two = made(), *other = made();
    X509_STORE *store = X509_STORE_new();
    assert_int_equal(sc_roots_add(store, "words", 5), -EINVAL);
    assert_int_equal(sc_authority_pem(one, text, SC_NET_AUTHORITY_MAX), 0);
    memcpy(text + strlen(text), none, sizeof none);
    assert_int_equal(sc_authority_pem(two, text + strlen(text), SC_NET_AUTHORITY_MAX), 0);
    assert_int_equal(sc_roots_add(store, text, strlen(text)), 0);
    assert_int_equal(verdict_of(store, sc_authority_leaf(other, "a.example")),
                     X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
    assert_int_equal(verdict_of(store, sc_authority_leaf(two, "a.example")), X509_V_OK);
    assert_int_equal(verdict_of(store, sc_authority_leaf(one, "a.example")), X509_V_OK);
    X509_STORE_free(store);
    sc_authority_free(one);
    sc_authority_free(two);
    sc_authority_free(other);
}

static void test_leaves_are_kept(void **state)
{
    (void)state;
    struct sc_authority *one = made();
    X509 *first = sc_authority_leaf(one, "a.example");
    char name[32];
    assert_ptr_equal(sc_authority_leaf(one, "a.example"), first);
    X509_up_ref(first);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "n%d.example", i);
        assert_int_equal(verdict(one, sc_authority_leaf(one, name), name), X509_V_OK);
    }
    /* Others took its place: it is made anew, with another number. */
    X509 *again = sc_authority_leaf(one, "a.example");
    assert_int_not_equal(ASN1_INTEGER_cmp(X509_get0_serialNumber(first), X509_get0_serialNumber(again)), 0);
    X509_free(first);
    sc_authority_free(one);
}

static void test_room(void **state)
{
    (void)state;
    char small[100];
    struct sc_authority *one = made();
    assert_int_equal(sc_authority_pem(one, small, sizeof small), -EMSGSIZE);
    sc_authority_free(one);
    sc_authority_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_roots),
        cmocka_unit_test(test_leaves_are_kept),
        cmocka_unit_test(test_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
