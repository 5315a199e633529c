#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "net/peek.h"

static void expect(const char *text, size_t len, enum sc_peek what, const char *name)
{
    char found[SC_NET_NAME_MAX + 1] = "";
    enum sc_peek got = sc_peek((const uint8_t *)text, len, found);
    if (got != what || (name && strcmp(found, name) != 0))
        fail_msg("%.80s: %d (%s), not %d", text, got, found, what);
}

#define HTTP(text, what, name) expect(text, sizeof(text) - 1, what, name)

static void test_http(void **state)
{
    (void)state;
    HTTP("GET / HTTP/1.1\r\nHost: Example.org\r\n\r\n", SC_PEEK_NAME, "example.org");
    HTTP("POST /a HTTP/1.1\r\nA: b\r\nhOsT:example.org:8080 \r\nC: d\r\n\r\nbody", SC_PEEK_NAME,
         "example.org");
    HTTP("GET / HTTP/1.1\nHost: example.org\n\n", SC_PEEK_NAME, "example.org");
    HTTP("GET http://example.org:80/x HTTP/1.1\r\nHost: example.org\r\n\r\n", SC_PEEK_NAME, "example.org");
    HTTP("GET / HTTP/1.0\r\n\r\n", SC_PEEK_OTHER, NULL);
    HTTP("SSH-2.0-x\r\n", SC_PEEK_OTHER, NULL);
    HTTP("\0\1\2", SC_PEEK_OTHER, NULL);
    HTTP("GE", SC_PEEK_MORE, NULL);
    /* Some servers take empty lines before a request, and any word for a method. */
    HTTP("\r\n\nGET / HTTP/1.1\r\nHost: b.example\r\n\r\n", SC_PEEK_NAME, "b.example");
    HTTP("get / HTTP/1.1\r\nHost: b.example\r\n\r\n", SC_PEEK_NAME, "b.example");
    HTTP("G_1!\t/ http/1.1\r\nHost: b.example\r\n\r\n", SC_PEEK_BROKEN, NULL);
    HTTP("a1 LOGIN x y\r\n", SC_PEEK_OTHER, NULL);
    HTTP("PURGE / HTTP/1.1\r\nHost: b.example\r\n\r\n", SC_PEEK_NAME, "b.example");
    HTTP("GET /\r\n\r\n", SC_PEEK_OTHER, NULL); /* which http.h refuses */
    HTTP("EHLO a.example\r\n", SC_PEEK_OTHER, NULL);
    HTTP("EHLO a.exam", SC_PEEK_MORE, NULL);
    HTTP("get", SC_PEEK_MORE, NULL);
    HTTP("\r\n", SC_PEEK_MORE, NULL);
    /* Without Host the target tells. */
    HTTP("GET http://b.example/ HTTP/1.0\r\n\r\n", SC_PEEK_NAME, "b.example");
    HTTP("CONNECT b.example:443 HTTP/1.0\r\n\r\n", SC_PEEK_BROKEN, NULL);
    HTTP("GET / HTTP/1.1\r\nHost: exam", SC_PEEK_MORE, NULL);
    HTTP("GET / HTTP/1.1\r\nHost: example.org\r\n", SC_PEEK_MORE, NULL);
    /* Read differently by different servers, or for two. */
    HTTP("GET / HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\n\r\n", SC_PEEK_BROKEN, NULL);
    HTTP("GET / HTTP/1.1\r\nHost : a.example\r\n\r\n", SC_PEEK_BROKEN, NULL);
    HTTP("GET / HTTP/1.1\r\nHost: a.example\r\nA : b\r\n\r\n", SC_PEEK_BROKEN, NULL);
    HTTP("GET / HTTP/1.1\r\nHost: a.example\r\n\vHost: b.example\r\n\r\n", SC_PEEK_BROKEN, NULL);
    HTTP("GET / HTTP/1.1\r\nHost: a.example\r\nno field\r\n\r\n", SC_PEEK_BROKEN, NULL);
    HTTP("GET / HTTP/1.1\r\nHost: a.example\r\n b\r\n\r\n", SC_PEEK_BROKEN, NULL);
    HTTP("GET / HTTP/1.1\r\nHost: a.example, b.example\r\n\r\n", SC_PEEK_BROKEN, NULL);
    HTTP("GET / HTTP/1.1\r\nHost: a.example\0.b\r\n\r\n", SC_PEEK_BROKEN, NULL);
    HTTP("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", SC_PEEK_BROKEN, NULL);
    HTTP("GET / HTTP/1.1\r\nHost: a.example:80x\r\n\r\n", SC_PEEK_BROKEN, NULL);
    HTTP("GET / HTTP/1.1\r\nHost:\r\n\r\n", SC_PEEK_BROKEN, NULL);
    HTTP("GET http://b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", SC_PEEK_BROKEN, NULL);
    HTTP("CONNECT b.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n", SC_PEEK_BROKEN, NULL);
    HTTP("GET / HTTP/1.1\r\nX: \r\rHost: b\r\nHost: a.example\r\n\r\n", SC_PEEK_BROKEN, NULL);
}

static size_t put16(uint8_t *at, size_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
    return 2;
}

/* A hello with these server names, each an extension of its own; `record` bytes a record. */
static size_t hello(uint8_t *out, const char *const *names, size_t n_names, size_t record)
{
    uint8_t body[4096] = {3, 3};
    size_t len = 34, done = 0, all = 0;
    body[len++] = 0;
    len += put16(body + len, 2);
    len += put16(body + len, 0x1301);
    body[len++] = 1;
    body[len++] = 0;
    size_t extensions = len;
    len += 2;
    len += put16(body + len, 0xff01); /* one of another kind */
    len += put16(body + len, 1);
    body[len++] = 0;
    for (size_t i = 0; i < n_names; i++) {
        size_t n = strlen(names[i]);
        len += put16(body + len, 0);
        len += put16(body + len, n + 5);
        len += put16(body + len, n + 3);
        body[len++] = 0;
        len += put16(body + len, n);
        memcpy(body + len, names[i], n);
        len += n;
    }
    put16(body + extensions, len - extensions - 2);
    uint8_t whole[4096 + 4] = {1, 0};
    put16(whole + 2, len);
    memcpy(whole + 4, body, len);
    for (len += 4; done < len; done += record) {
        size_t here = len - done < record ? len - done : record;
        out[all++] = 0x16;
        out[all++] = 3;
        out[all++] = 1;
        all += put16(out + all, here);
        memcpy(out + all, whole + done, here);
        all += here;
    }
    return all;
}

static void test_tls(void **state)
{
    (void)state;
    uint8_t data[8192];
    char found[SC_NET_NAME_MAX + 1];
    const char *one[] = {"Example.org"}, *two[] = {"a.example", "b.example"}, *literal[] = {"127.0.0.1"};
    static const size_t records[] = {1, 7, 100, 16384};
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
        size_t len = hello(data, one, 1, records[i]);
        assert_int_equal(sc_peek(data, len, found), SC_PEEK_NAME);
        assert_string_equal(found, "example.org");
        for (size_t cut = 1; cut < len; cut++)
            assert_int_equal(sc_peek(data, cut, found), SC_PEEK_MORE);
    }
    assert_int_equal(sc_peek(data, hello(data, NULL, 0, 999), found), SC_PEEK_OTHER);
    assert_int_equal(sc_peek(data, hello(data, two, 2, 999), found), SC_PEEK_BROKEN);
    assert_int_equal(sc_peek(data, hello(data, literal, 1, 999), found), SC_PEEK_BROKEN);
    size_t len = hello(data, one, 1, 999);
    data[3] = 0x7f; /* a record longer than any hello may be */
    assert_int_equal(sc_peek(data, len, found), SC_PEEK_BROKEN);
    len = hello(data, one, 1, 999);
    data[5] = 2; /* another message of the handshake */
    assert_int_equal(sc_peek(data, len, found), SC_PEEK_BROKEN);
    /* A record of another kind before the hello, which some servers read past. */
    for (uint8_t kind = 0x13; kind <= 0x19; kind++) {
        static const uint8_t rest[] = {3, 1, 0, 2, 1, 90};
        data[0] = kind;
        memcpy(data + 1, rest, sizeof rest);
        len = sizeof rest + 1 + hello(data + 1 + sizeof rest, one, 1, 999);
        bool is_record = kind >= 0x14 && kind <= 0x18;
        assert_int_equal(sc_peek(data, len, found), is_record ? SC_PEEK_BROKEN : SC_PEEK_OTHER);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_http), cmocka_unit_test(test_tls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
