#include "net/tls.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "net/authority.h"
#include "net/roots.h"
#include "net/rules.h"

#define ROOTS_MAX (4 * 1024 * 1024)
#define CHAIN_MAX (64 * 1024) /* of an upstream's certificates */

/* One of the two. */
struct end {
    SSL *ssl;
    bool is_done; /* its handshake */
};

struct sc_tls {
    const char *name;
    struct end client, upstream;
    const char *trouble; /* what one of our callbacks did not like */
};

static SSL_CTX *of_cell, *of_upstream;
static struct sc_authority *authority;

/* ---- the cell's side ---- */

/* When the hello has been read: whom it is for decides which certificate is shown. */
static int on_hello(SSL *ssl, void *unused)
{
    struct sc_tls *tls = SSL_get_app_data(ssl);
    const char *said = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    char name[SC_NET_NAME_MAX + 1];
    (void)unused;
    if (!said || !sc_net_name_clean(said, strlen(said), name) || strcmp(name, tls->name) != 0) {
        tls->trouble = said ? "the name in it is not the one that was looked up"
                            : "it names nobody, where requests are looked into";
        return 0;
    }
    X509 *leaf = sc_authority_leaf(authority, name);
    return leaf && SSL_use_certificate(ssl, leaf) == 1 &&
           SSL_use_PrivateKey(ssl, sc_authority_leaf_key(authority)) == 1;
}

/* Who names protocols must name HTTP/1. */
static int on_protocols(SSL *ssl, const unsigned char **ret, unsigned char *ret_len,
                        const unsigned char *offered, unsigned len, void *unused)
{
    static const unsigned char ours[] = "\x08http/1.1";
    struct sc_tls *tls = SSL_get_app_data(ssl);
    unsigned char *chosen;
    (void)unused;
    if (SSL_select_next_proto(&chosen, ret_len, ours, sizeof ours - 1, offered, len) !=
        OPENSSL_NPN_NEGOTIATED) {
        tls->trouble = "it does not offer HTTP/1, and nothing else is looked into";
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    *ret = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* ---- what both have ---- */

static SSL_CTX *new_context(const SSL_METHOD *method)
{
    SSL_CTX *context = SSL_CTX_new(method);
    if (!context)
        return NULL;
    if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
        SSL_CTX_free(context);
        return NULL;
    }
    /* Each connection stands for itself: nothing of one is remembered for the next. */
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_max_cert_list(context, CHAIN_MAX);
    return context;
}

static int prepare(void)
{
    static const unsigned char http1[] = "\x08http/1.1";
    /* Its sockets are written to as files are. */
    if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
        return -errno;
    if (OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1)
        return -EIO;
    of_cell = new_context(TLS_server_method());
    of_upstream = new_context(TLS_client_method());
    if (!of_cell || !of_upstream || SSL_CTX_set_num_tickets(of_cell, 0) != 1 ||
        SSL_CTX_set_alpn_protos(of_upstream, http1, sizeof http1 - 1) != 0)
        return -ENOMEM;
    SSL_CTX_set_cert_cb(of_cell, on_hello, NULL);
    SSL_CTX_set_alpn_select_cb(of_cell, on_protocols, NULL);
    SSL_CTX_set_verify(of_upstream, SSL_VERIFY_PEER, NULL);
    return 0;
}

static int read_roots(int fd)
{
    struct stat st;
    char *text = NULL;
    int r = fstat(fd, &st) < 0 ? -errno : st.st_size <= 0 || st.st_size > ROOTS_MAX ? -EINVAL : 0;
    if (r == 0 && !(text = malloc((size_t)st.st_size)))
        r = -ENOMEM;
    if (r == 0 && pread(fd, text, (size_t)st.st_size, 0) != st.st_size)
        r = -EIO;
    if (r == 0)
        r = sc_roots_add(SSL_CTX_get_cert_store(of_upstream), text, (size_t)st.st_size);
    free(text);
    return r;
}

static int trust(int roots)
{
    int r = read_roots(roots);
    close(roots);
    return r;
}

static int certify(char ret_pem[SC_NET_AUTHORITY_MAX])
{
    int r = sc_authority_make(&authority);
    return r == 0 ? sc_authority_pem(authority, ret_pem, SC_NET_AUTHORITY_MAX) : r;
}

/* ---- one connection ---- */

static void close_tls(struct sc_tls *tls)
{
    if (!tls)
        return;
    SSL_free(tls->client.ssl);
    SSL_free(tls->upstream.ssl);
    free(tls);
}

static int open_tls(const char *name, int client, int upstream, struct sc_tls **ret_tls)
{
    struct sc_tls *tls = calloc(1, sizeof *tls);
    if (!tls)
        return -ENOMEM;
    tls->name = name;
    tls->client.ssl = SSL_new(of_cell);
    tls->upstream.ssl = SSL_new(of_upstream);
    if (!tls->client.ssl || !tls->upstream.ssl || SSL_set_fd(tls->client.ssl, client) != 1 ||
        SSL_set_fd(tls->upstream.ssl, upstream) != 1 ||
        SSL_set_tlsext_host_name(tls->upstream.ssl, name) != 1 ||
        SSL_set1_host(tls->upstream.ssl, name) != 1) {
        close_tls(tls);
        return -ENOMEM;
    }
    SSL_set_hostflags(tls->upstream.ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    SSL_set_app_data(tls->client.ssl, tls);
    SSL_set_accept_state(tls->client.ssl);
    SSL_set_connect_state(tls->upstream.ssl);
    *ret_tls = tls;
    return 0;
}

/* 1, 0, or -EPROTO: the library's own word is in its queue. */
static int shake_end(struct end *end)
{
    if (end->is_done)
        return 1;
    ERR_clear_error();
    int n = SSL_do_handshake(end->ssl), error = SSL_get_error(end->ssl, n);
    end->is_done = n == 1;
    return n == 1 ? 1 : error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? 0 : -EPROTO;
}

static const char *library_says(void)
{
    const char *text = ERR_reason_error_string(ERR_peek_last_error());
    return text ? text : "it was closed";
}

static int client_failed(const struct sc_tls *tls, struct sc_tls_trouble *ret_trouble)
{
    ret_trouble->rule = tls->trouble ? "tls_sni" : "tls";
    snprintf(ret_trouble->reason, sizeof ret_trouble->reason, "%s%s",
             tls->trouble ? "" : "no TLS with the program: ", tls->trouble ? tls->trouble : library_says());
    return -EPROTO;
}

static int upstream_failed(const struct sc_tls *tls, struct sc_tls_trouble *ret_trouble)
{
    long verdict = SSL_get_verify_result(tls->upstream.ssl);
    bool bad = verdict != X509_V_OK;
    ret_trouble->rule = "tls_upstream";
    snprintf(ret_trouble->reason, sizeof ret_trouble->reason, "%s%s",
             bad ? "the upstream's certificate is refused: " : "no TLS with the upstream: ",
             bad ? X509_verify_cert_error_string(verdict) : library_says());
    return -EPROTO;
}

/* What it chose without being offered it is not what we can look into. */
static bool speaks_http1(const struct sc_tls *tls)
{
    const unsigned char *chosen;
    unsigned len;
    SSL_get0_alpn_selected(tls->upstream.ssl, &chosen, &len);
    return len == 0 || (len == 8 && !memcmp(chosen, "http/1.1", 8));
}

static int shake(struct sc_tls *tls, struct sc_tls_trouble *ret_trouble)
{
    int client = shake_end(&tls->client);
    if (client < 0)
        return client_failed(tls, ret_trouble);
    int upstream = shake_end(&tls->upstream);
    if (upstream < 0 || (upstream == 1 && !speaks_http1(tls)))
        return upstream_failed(tls, ret_trouble);
    return client && upstream;
}

/* ---- bytes ---- */

/* As recv and send say it. An end of the stream without a word of goodbye is an end, and is passed on as such
 * an end (`finish`). */
static ssize_t result_of(SSL *ssl, int n)
{
    if (n > 0)
        return n;
    int saved = errno, error = SSL_get_error(ssl, n);
    if (error == SSL_ERROR_ZERO_RETURN)
        return 0;
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
        errno = EAGAIN;
    else if (error == SSL_ERROR_SSL && ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
        return 0;
    else
        errno = error == SSL_ERROR_SYSCALL && saved ? saved : EPROTO;
    return -1;
}

static ssize_t take(void *from, void *data, size_t len)
{
    SSL *ssl = from;
    ERR_clear_error();
    errno = 0;
    return result_of(ssl, SSL_read(ssl, data, (int)len));
}

static ssize_t give(void *to, const void *data, size_t len)
{
    SSL *ssl = to;
    ERR_clear_error();
    errno = 0;
    ssize_t n = result_of(ssl, SSL_write(ssl, data, (int)len));
    if (n == 0) { /* it is over, and takes no more */
        errno = EPIPE;
        return -1;
    }
    return n;
}

/* A goodbye only where there was one: who cut an answer short must not make it look whole. */
static int finish(void *from, void *to)
{
    SSL *ssl = to;
    if (SSL_get_shutdown(from) & SSL_RECEIVED_SHUTDOWN) {
        ERR_clear_error();
        (void)SSL_shutdown(ssl); /* where there is no room for it, the end alone has to do */
    }
    return shutdown(SSL_get_fd(ssl), SHUT_WR);
}

static void carry(struct sc_tls *tls, struct sc_flow *flow, bool out)
{
    static const struct sc_flow_calls calls = {take, give, finish};
    flow->calls = &calls;
    flow->from = out ? tls->client.ssl : tls->upstream.ssl;
    flow->to = out ? tls->upstream.ssl : tls->client.ssl;
}

static const struct sc_tls_calls calls = {prepare, certify, trust, open_tls, close_tls, shake, carry};
const struct sc_tls_calls *const sc_net_tls = &calls;
