#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "net/dns.h"

/* A question for `name` in the form of the wire. */
static size_t ask(uint8_t *message, const char *name, uint16_t type)
{
    static const uint8_t head[12] = {0xab, 0xcd, 0x01, 0x00, 0, 1};
    size_t len = sizeof head;
    memcpy(message, head, len);
    while (*name) {
        size_t label = strcspn(name, ".");
        message[len++] = (uint8_t)label;
        memcpy(message + len, name, label);
        len += label;
        name += label + (name[label] == '.');
    }
    message[len++] = 0;
    message[len++] = (uint8_t)(type >> 8);
    message[len++] = (uint8_t)type;
    message[len++] = 0;
    message[len++] = 1;
    return len;
}

static void test_question(void **state)
{
    (void)state;
    uint8_t message[SC_DNS_MESSAGE_MAX], answer[SC_DNS_MESSAGE_MAX];
    struct sc_dns_query query;
    size_t len = ask(message, "www.Example.org", SC_DNS_A);
    assert_int_equal(sc_dns_parse(message, len, &query), 0);
    assert_string_equal(query.name, "www.Example.org");
    assert_int_equal(query.type, SC_DNS_A);
    assert_int_equal(query.class, 1);
    assert_false(query.strange);
    const struct sc_addr addr = {false, {198, 18, 0, 1}};
    size_t n = sc_dns_answer(&query, message, SC_DNS_OK, &addr, 60, answer);
    assert_int_equal(n, len + 16);
    assert_memory_equal(answer, "\xab\xcd\x81\x80\0\1\0\1\0\0\0\0", 12);
    assert_memory_equal(answer + 12, message + 12, len - 12);
    assert_memory_equal(answer + len, "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\0\1", 16);
    n = sc_dns_answer(&query, message, SC_DNS_NXDOMAIN, NULL, 0, answer);
    assert_int_equal(n, len);
    assert_int_equal(answer[3] & 15, SC_DNS_NXDOMAIN);
    assert_int_equal(answer[7], 0);
}

/* Every beginning of a question is none, and nothing is read behind it. */
static void test_cut_short(void **state)
{
    (void)state;
    uint8_t message[SC_DNS_MESSAGE_MAX];
    size_t len = ask(message, "a.bc.example", SC_DNS_AAAA);
    for (size_t cut = 0; cut < len; cut++) {
        struct sc_dns_query query;
        int r = sc_dns_parse(message, cut, &query);
        assert_int_equal(r, cut < 12 ? -EINVAL : SC_DNS_FORMERR);
    }
}

static void test_strange(void **state)
{
    (void)state;
    uint8_t message[SC_DNS_MESSAGE_MAX] = {0};
    struct sc_dns_query query;
    size_t len = ask(message, "a.example", SC_DNS_A);
    message[2] |= 0x80; /* an answer */
    assert_int_equal(sc_dns_parse(message, len, &query), -EINVAL);
    ask(message, "a.example", SC_DNS_A);
    message[2] |= 0x10; /* another kind of request */
    assert_int_equal(sc_dns_parse(message, len, &query), SC_DNS_NOTIMP);
    ask(message, "a.example", SC_DNS_A);
    message[5] = 2; /* two questions */
    assert_int_equal(sc_dns_parse(message, len, &query), SC_DNS_FORMERR);
    ask(message, "a.example", SC_DNS_A);
    message[12] = 0xc0; /* a pointer */
    assert_int_equal(sc_dns_parse(message, len, &query), SC_DNS_FORMERR);
    ask(message, "abc.example", SC_DNS_A);
    message[14] = '.'; /* a dot in a label */
    assert_int_equal(sc_dns_parse(message, len + 2, &query), 0);
    assert_true(query.strange);
    char name[300];
    memset(name, 'a', sizeof name);
    for (size_t i = 50; i < sizeof name; i += 51)
        name[i] = '.';
    name[254] = '\0';
    len = ask(message, name, SC_DNS_A);
    assert_int_equal(sc_dns_parse(message, len, &query), SC_DNS_FORMERR);
    name[253] = '\0';
    len = ask(message, name, SC_DNS_A);
    assert_int_equal(sc_dns_parse(message, len, &query), 0);
    assert_string_equal(query.name, name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_question), cmocka_unit_test(test_cut_short),
                                       cmocka_unit_test(test_strange)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
