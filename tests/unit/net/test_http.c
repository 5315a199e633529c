/* Requests one after another: where each ends, and whom it is for. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "net/http.h"

#define OURS "Host: a.example\r\n"

static const struct {
    const char *text;
    int result;
    unsigned requests;
} ROWS[] = {
    {"GET / HTTP/1.1\r\n" OURS "\r\n", 0, 1},
    {"GET / HTTP/1.1\r\n" OURS "\r\nGET /2 HTTP/1.1\r\n" OURS "\r\n", 0, 2},
    {"GET / HTTP/1.1\r\n" OURS "\r\nGET /2 HTTP/1.1\r\nHost: b.example\r\n\r\n", -EPERM, 1},
    {"GET / HTTP/1.1\r\n" OURS "\r\nGET /2 HTTP/1.1\r\nHost: b.exam", 0, 1},
    {"GET / HTTP/1.0\r\n\r\n", 0, 1},
    /* Bodies are not requests, whatever stands in them; what follows them is. */
    {"POST / HTTP/1.1\r\n" OURS "Content-Length: 23\r\n\r\nGET / HTTP/1.1\r\nHost: b\nGET / HTTP/1.1\r\n" OURS
     "\r\n",
     0, 2},
    {"POST / HTTP/1.1\r\n" OURS "Content-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\nHost: b.example\r\n\r\n",
     -EPERM, 1},
    {"POST / HTTP/1.1\r\n" OURS "Transfer-Encoding: chunked\r\n\r\n5\r\nGET "
     "/\r\n1a;x=y\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nT: 1\r\n\r\n"
     "GET / HTTP/1.1\r\n" OURS "\r\n",
     0, 2},
    {"POST / HTTP/1.1\r\n" OURS
     "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: b.example\r\n\r\n",
     -EPERM, 1},
    {"POST / HTTP/1.1\r\n" OURS "Content-Length: 0\r\n\r\nGET / HTTP/1.1\r\nHost: b.example\r\n\r\n", -EPERM,
     1},
    /* What servers read differently. */
    {"POST / HTTP/1.1\r\n" OURS "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", -EPROTO, 0},
    {"POST / HTTP/1.1\r\n" OURS "Content-Length: 3\r\nContent-Length: 3\r\n\r\n", -EPROTO, 0},
    {"POST / HTTP/1.1\r\n" OURS "Content-Length: +3\r\n\r\n", -EPROTO, 0},
    {"POST / HTTP/1.1\r\n" OURS "Content-Length: 0x3\r\n\r\n", -EPROTO, 0},
    {"POST / HTTP/1.1\r\n" OURS "Content-Length: 3, 3\r\n\r\n", -EPROTO, 0},
    {"POST / HTTP/1.1\r\n" OURS "Content-Length: 99999999999999999999\r\n\r\n", -EPROTO, 0},
    {"POST / HTTP/1.1\r\n" OURS "Content-Length:\r\n\r\n", -EPROTO, 0},
    {"POST / HTTP/1.1\r\n" OURS "Transfer-Encoding: gzip, chunked\r\n\r\n", -EPROTO, 0},
    {"POST / HTTP/1.1\r\n" OURS "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n", -EPROTO,
     0},
    {"POST / HTTP/1.1\r\n" OURS "Transfer-Encoding: chunked\r\n\r\n5\nGET /", -EPROTO, 1},
    {"POST / HTTP/1.1\r\n" OURS "Transfer-Encoding: chunked\r\n\r\n 5\r\nGET /", -EPROTO, 1},
    {"POST / HTTP/1.1\r\n" OURS "Transfer-Encoding: chunked\r\n\r\n5 \r\nGET /", -EPROTO, 1},
    {"POST / HTTP/1.1\r\n" OURS "Transfer-Encoding: chunked\r\n\r\n1000000000000000\r\n", -EPROTO, 1},
    {"POST / HTTP/1.1\r\n" OURS "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", -EPROTO, 1},
    {"POST / HTTP/1.1\r\n" OURS "Transfer-Encoding: chunked\r\n\r\n\r\n", -EPROTO, 1},
    {"POST / HTTP/1.1\r\n" OURS "Content-Length: 5\r\nTransfer-Encoding : chunked\r\n\r\n", -EPROTO, 0},
    {"POST / HTTP/1.1\r\n" OURS "Content-Length: 5\r\n\vTransfer-Encoding: chunked\r\n\r\n", -EPROTO, 0},
    {"POST / HTTP/1.1\r\n" OURS "Transfer-Encoding: \vchunked\r\n\r\n", -EPROTO, 0},
    {"POST / HTTP/1.0\r\n" OURS "Transfer-Encoding: chunked\r\n\r\n", -EPROTO, 0},
    {"GET / HTTP/1.1\r\n" OURS "\r\nget / HTTP/1.1\r\nHost: b.example\r\n\r\n", -EPERM, 1},
    {"GET / HTTP/1.1\r\n" OURS "\r\nGET http://b.example/ HTTP/1.1\r\n\r\n", -EPERM, 1},
    {"GET / HTTP/1.1\r\n" OURS "\r\nCONNECT b.example:80 HTTP/1.1\r\n\r\n", -EPROTO, 1},
    {"GET /a b HTTP/1.1\r\n" OURS "\r\n", -EPROTO, 0},
    {"GET\t/ HTTP/1.1\r\n" OURS "\r\n", -EPROTO, 0},
    {"GET / HTTP/2.0\r\n" OURS "\r\n", -EPROTO, 0},
    {"PRI * HTTP/2.0\r\n\r\n", -EPROTO, 0},
    {"GET /\r\n\r\n", -EPROTO, 0},
    {"GET / HTTP/1.1\r\n" OURS "\r\nnot http\r\n\r\n", -EPROTO, 1},
    {"GET / HTTP/1.1\r\n" OURS "\r\n\r\n\r\nGET / HTTP/1.1\r\n" OURS "\r\n", 0, 2},
    /* Other protocols. */
    {"GET / HTTP/1.1\r\n" OURS "Upgrade: websocket\r\n\r\n", 0, 1},
    {"GET / HTTP/1.1\r\n" OURS "Upgrade: websocket\r\n\r\nx", -EPROTO, 1},
    {"GET / HTTP/1.1\r\n" OURS "\r\nGET / HTTP/1.1\r\n" OURS "Upgrade: websocket\r\n\r\n", -EPROTO, 2},
    {"POST / HTTP/1.1\r\n" OURS "Upgrade: websocket\r\nContent-Length: 1\r\n\r\n", -EPROTO, 1},
};

static void test_rows(void **state)
{
    (void)state;
    struct sc_http *http = malloc(sizeof *http);
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        const uint8_t *text = (const uint8_t *)ROWS[i].text;
        size_t len = strlen(ROWS[i].text);
        for (size_t piece = 1; piece <= len; piece += piece < 4 ? 1 : len) {
            int r = 0;
            sc_http_init(http, "a.example");
            for (size_t at = 0; at < len && r == 0; at += piece)
                r = sc_http_feed(http, text + at, len - at < piece ? len - at : piece);
            if (r != ROWS[i].result || http->requests != ROWS[i].requests)
                fail_msg("row %zu by %zu: %d, %u requests: %s", i, piece, r, (unsigned)http->requests,
                         ROWS[i].text);
        }
    }
    free(http);
}

/* What may be another protocol goes on as it comes; what turns out to be a request is looked at. */
static void test_doubtful(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int result;
        enum sc_http_state after;
    } rows[] = {{"hello", 0, SC_HTTP_LINE},
                {"hello\n", 0, SC_HTTP_UPGRADED},
                {"a\001 / HTTP/1.1\n", 0, SC_HTTP_UPGRADED},
                {"get / HTTP/1.1\r\n" OURS "\r\n", 0, SC_HTTP_HEAD},
                {"\r\nget / hhttp/1.1\n", 0, SC_HTTP_HEAD},
                {"get / HTTP/1.1\r\nHost: b.example\r\n\r\n", -EPERM, SC_HTTP_HEAD},
                {"get / http/1.1\r\n" OURS "\r\n", -EPROTO, SC_HTTP_HEAD}};
    struct sc_http *http = malloc(sizeof *http);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int r = 0;
        sc_http_init_doubtful(http, "a.example");
        for (const char *at = rows[i].text; *at && r == 0; at++)
            r = sc_http_feed(http, (const uint8_t *)at, 1);
        if (r != rows[i].result || http->state != rows[i].after)
            fail_msg("row %zu: %d, state %d", i, r, http->state);
    }
    for (int ends = 0; ends < 2; ends++) { /* a method that is longer than any head may be */
        sc_http_init_doubtful(http, "a.example");
        for (size_t i = 0; i < 2 * SC_PEEK_MAX; i++)
            assert_int_equal(sc_http_feed(http, (const uint8_t *)"x", 1), 0);
        const char *end = ends ? " / HTTP/1.1\n" : " / and so on\n";
        assert_int_equal(sc_http_feed(http, (const uint8_t *)end, strlen(end)), ends ? -EPROTO : 0);
    }
    free(http);
}

/* ---- strict ---- */

static int allow_repos(void *userdata, const struct sc_net_request *request,
                       const struct sc_net_rule **ret_credential)
{
    (void)ret_credential;
    unsigned *asked = userdata;
    ++*asked;
    return sc_net_pattern_fits("GET /repos/*", request) || sc_net_pattern_fits("POST /x", request) ? 0
                                                                                                   : -EACCES;
}

#define HOST "Host: a.example\r\n"
#define CHUNKED "POST /x HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n"
/* What goes on is all of the text, unless it says otherwise. */
static const struct {
    const char *text;
    int result;
    const char *goes_on; /* NULL: all of it, or of a refused one nothing */
} STRICT[] = {
    {"GET /repos/1 HTTP/1.1\r\n" HOST "\r\n", 0, NULL},
    {"GET /repos/1?a=%2e%2e/x HTTP/1.1\r\n" HOST "\r\n", 0, NULL},
    {"GET /repos/a HTTP/1.0\r\n" HOST "\r\nGET /repos/b HTTP/1.1\r\n" HOST "\r\n", 0, NULL},
    {"\r\nGET /repos/ HTTP/1.1\r\n" HOST "\r\n", 0, "GET /repos/ HTTP/1.1\r\n" HOST "\r\n"},
    {"POST /x HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nGET /", 0, NULL},
    {CHUNKED "\r\n5\r\nGET /\r\n0\r\n\r\n", 0, NULL},
    {"GET /repos/1 HTTP/1.1\r\n" HOST, 0, ""},
    /* What no rule allows: nothing of it goes on, what was before does. */
    {"GET /admin HTTP/1.1\r\n" HOST "\r\n", -EACCES, NULL},
    {"DELETE /repos/1 HTTP/1.1\r\n" HOST "\r\n", -EACCES, NULL},
    {"GET /repos/1 HTTP/1.1\r\n" HOST "\r\nGET /admin HTTP/1.1\r\n" HOST "\r\n", -EACCES,
     "GET /repos/1 HTTP/1.1\r\n" HOST "\r\n"},
    {"POST /x HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nabGET /admin HTTP/1.1\r\n" HOST "\r\n", -EACCES,
     "POST /x HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nab"},
    /* Paths that might lead elsewhere. */
    {"GET /repos/../admin HTTP/1.1\r\n" HOST "\r\n", -EPROTO, NULL},
    {"GET /repos/..;/admin HTTP/1.1\r\n" HOST "\r\n", -EPROTO, NULL},
    {"GET /repos/%2e%2E/admin HTTP/1.1\r\n" HOST "\r\n", -EPROTO, NULL},
    {"GET /repos/.. HTTP/1.1\r\n" HOST "\r\n", -EPROTO, NULL},
    {"GET /repos/..%3b/admin HTTP/1.1\r\n" HOST "\r\n", -EPROTO, NULL},
    {"GET /repos\\..\\admin HTTP/1.1\r\n" HOST "\r\n", -EPROTO, NULL},
    {"GET /repos/%252e/ HTTP/1.1\r\n" HOST "\r\n", -EPROTO, NULL},
    {"GET /repos/1#/admin HTTP/1.1\r\n" HOST "\r\n", -EPROTO, NULL},
    {"GET http://a.example/repos/1 HTTP/1.1\r\n" HOST "\r\n", -EPROTO, NULL},
    {"OPTIONS * HTTP/1.1\r\n" HOST "\r\n", -EPROTO, NULL},
    {"TRACE /repos/1 HTTP/1.1\r\n" HOST "\r\n", -EPROTO, NULL},
    {"get /repos/1 HTTP/1.1\r\n" HOST "\r\n", -EPROTO, NULL},
    /* Heads that are read differently. */
    {"GET /repos/1 HTTP/1.1\n" HOST "\r\n", -EPROTO, NULL},
    {"GET /repos/1 HTTP/1.1\r\nHost: a.example\n\r\n", -EPROTO, NULL},
    {"GET /repos/1 HTTP/1.1\r\n" HOST "\n", -EPROTO, NULL},
    {"GET /repos/1 HTTP/1.1\r\n" HOST "A: b\rC: d\r\n\r\n", -EPROTO, NULL},
    {"GET /repos/1 HTTP/1.1\r\n" HOST " folded\r\n\r\n", -EPROTO, NULL},
    {"GET /repos/1 HTTP/1.1\r\n" HOST "A: \x01\r\n\r\n", -EPROTO, NULL},
    {"GET /repos/1 HTTP/1.1\r\n\r\n", -EPROTO, NULL},
    {"GET /repos/1 HTTP/1.1\r\n" HOST HOST "\r\n", -EPROTO, NULL},
    {"GET /repos/1\r\n" HOST "\r\n", -EPROTO, NULL},
    {"\x16\x03\x01", -EPROTO, NULL},
    {"SSH-2.0-x\r\n", -EPROTO, NULL},
    {"GET /repos/1 HTTP/1.1\r\n" HOST "X-HTTP-Method-Override: DELETE\r\n\r\n", -EPROTO, NULL},
    {"GET /repos/1 HTTP/1.1\r\n" HOST "x_original_url: /admin\r\n\r\n", -EPROTO, NULL},
    {"GET /repos/1 HTTP/1.1\r\n" HOST "Upgrade: websocket\r\n\r\n", -EPROTO, NULL},
    {"POST /x HTTP/1.1\r\n" HOST "Content_Length: 5\r\n\r\n", -EPROTO, NULL},
    {CHUNKED "Content-Length: 3\r\n\r\n", -EPROTO, NULL},
    {"POST /x HTTP/1.1\r\n" HOST "Transfer-Encoding : chunked\r\n\r\n", -EPROTO, NULL},
    {CHUNKED "\r\n1;a=b\r\nx\r\n0\r\n\r\n", -EPROTO, CHUNKED "\r\n1;a=b\r"},
    {CHUNKED "\r\n0\r\nA: b\r\n\r\n", -EPROTO, CHUNKED "\r\n0\r\nA: b\r"},
};

static void test_strict(void **state)
{
    (void)state;
    static struct sc_http http;
    for (size_t i = 0; i < sizeof STRICT / sizeof STRICT[0]; i++) {
        const uint8_t *text = (const uint8_t *)STRICT[i].text;
        size_t len = strlen(STRICT[i].text);
        const char *wanted = STRICT[i].goes_on ? STRICT[i].goes_on : STRICT[i].result ? "" : STRICT[i].text;
        for (size_t piece = 1; piece <= len; piece += piece < 4 ? 1 : len) {
            struct sc_buf out;
            unsigned asked = 0;
            int r = 0;
            sc_buf_init(&out, 4096);
            sc_http_init_strict(&http, "a.example", allow_repos, &asked);
            for (size_t at = 0; at < len && r == 0; at += piece)
                r = sc_http_feed_strict(&http, text + at, len - at < piece ? len - at : piece, &out);
            if (r != STRICT[i].result || strcmp(out.data ? (char *)out.data : "", wanted) != 0)
                fail_msg("row %zu by %zu: %d, goes on: %s", i, piece, r, out.data ? (char *)out.data : "");
            sc_buf_fini(&out);
        }
    }
}

static int give_key(void *userdata, const struct sc_net_request *request,
                    const struct sc_net_rule **ret_credential)
{
    if (request->method_len == 3)
        *ret_credential = userdata;
    return 0;
}

/* One's own field of that name goes, in every spelling; requests without a credential stay as they are. */
static void test_credential(void **state)
{
    (void)state;
    static struct sc_http http;
    char field[] = "X-Key", secret[] = "s3cret";
    struct sc_net_rule rule = {.allow = true, .secret_field = field, .secret = secret};
    static const char text[] =
        "GET /a HTTP/1.1\r\n" HOST "x-key: mine\r\nX_KEY: mine\r\nX-Key2: kept\r\nConnection: close\r\n\r\n"
        "POST /x HTTP/1.1\r\n" HOST "X-Key: mine\r\nContent-Length: 1\r\n\r\nz"
        "GET /b HTTP/1.1\r\n" HOST "\r\n",
                      wanted[] = "GET /a HTTP/1.1\r\n" HOST
                                 "X-Key2: kept\r\nConnection: close\r\nX-Key: s3cret\r\n\r\n"
                                 "POST /x HTTP/1.1\r\n" HOST "X-Key: mine\r\nContent-Length: 1\r\n\r\nz"
                                 "GET /b HTTP/1.1\r\n" HOST "X-Key: s3cret\r\n\r\n",
                      thrown[] = "GET /a HTTP/1.1\r\n" HOST "Connection: close, x-key\r\n\r\n";
    struct sc_buf out;
    sc_buf_init(&out, 4096);
    sc_http_init_strict(&http, "a.example", give_key, &rule);
    assert_int_equal(sc_http_feed_strict(&http, (const uint8_t *)text, sizeof text - 1, &out), 0);
    assert_string_equal((char *)out.data, wanted);
    sc_buf_fini(&out);
    sc_http_init_strict(&http, "a.example", give_key, &rule);
    assert_int_equal(sc_http_feed_strict(&http, (const uint8_t *)thrown, sizeof thrown - 1, &out), -EPROTO);
    assert_int_equal(out.len, 0);
}

static void test_strict_is_for_the_name(void **state)
{
    (void)state;
    static struct sc_http http;
    static const char text[] = "GET /repos/1 HTTP/1.1\r\nHost: b.example\r\n\r\n";
    struct sc_buf out;
    unsigned asked = 0;
    sc_buf_init(&out, 4096);
    sc_http_init_strict(&http, "a.example", allow_repos, &asked);
    assert_int_equal(sc_http_feed_strict(&http, (const uint8_t *)text, sizeof text - 1, &out), -EPERM);
    assert_int_equal(asked, 0);
    assert_int_equal(out.len, 0);
}

static void test_long_head(void **state)
{
    (void)state;
    struct sc_http *http = malloc(sizeof *http);
    int r;
    sc_http_init(http, "a.example");
    assert_int_equal(sc_http_feed(http, (const uint8_t *)"GET / HTTP/1.1\r\nA: ", 19), 0);
    for (size_t i = 19; (r = sc_http_feed(http, (const uint8_t *)"x", 1)) == 0; i++)
        assert_true(i < SC_PEEK_MAX);
    assert_int_equal(r, -EPROTO);
    free(http);
}

static int ask_and_hear(const char *protocol, const char *answer, enum sc_http_state *ret_state)
{
    struct sc_http *http = malloc(sizeof *http);
    char text[200] = "GET / HTTP/1.1\r\n" OURS "Upgrade: ";
    strncat(text, protocol, 50);
    strncat(text, "\r\n\r\n", 5);
    sc_http_init(http, "a.example");
    assert_int_equal(sc_http_feed(http, (const uint8_t *)text, strlen(text)), 0);
    assert_int_equal(http->state, SC_HTTP_ASKED);
    int r = sc_http_answered(http, (const uint8_t *)answer, strlen(answer));
    *ret_state = http->state;
    free(http);
    return r;
}

static void test_upgrades(void **state)
{
    (void)state;
    enum sc_http_state now;
    assert_int_equal(ask_and_hear("websocket", "HTTP/1.1 101 Switching", &now), 1);
    assert_int_equal(now, SC_HTTP_UPGRADED);
    assert_int_equal(ask_and_hear("websocket", "HTTP/1.1 200 OK", &now), 1);
    assert_int_equal(now, SC_HTTP_HEAD);
    assert_int_equal(ask_and_hear("h2c", "HTTP/1.1 404 Not", &now), 1);
    assert_int_equal(now, SC_HTTP_HEAD);
    assert_int_equal(ask_and_hear("h2c", "HTTP/1.1 101 Switching", &now), -EPROTO);
    assert_int_equal(ask_and_hear("websocket", "HTTP/1.1", &now), 0);
    assert_int_equal(now, SC_HTTP_ASKED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_strict),
                                       cmocka_unit_test(test_credential),
                                       cmocka_unit_test(test_strict_is_for_the_name),
                                       cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_doubtful),
                                       cmocka_unit_test(test_long_head),
                                       cmocka_unit_test(test_upgrades)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
