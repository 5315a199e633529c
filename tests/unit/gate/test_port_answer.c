/* Answers of programs: what is whole, what is more, and what is none. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "gate/port_answer.h"

static struct port_answer answer;
static char heard[256];

static void on_head(void *userdata)
{
    size_t at = 0, used;
    (void)userdata;
    snprintf(heard, sizeof heard, "%u", answer.status);
    for (const char *name, *value; port_answer_field(&answer, &at, &name, &value);) {
        used = strlen(heard);
        snprintf(heard + used, sizeof heard - used, "|%s=%s", name, value);
    }
}

static void on_body(void *userdata, const uint8_t *data, size_t len)
{
    size_t used = strlen(heard);
    (void)userdata;
    snprintf(heard + used, sizeof heard - used, "[%.*s]", (int)len, (const char *)data);
}

static int take(const char *text, bool without_body)
{
    static const struct port_events events = {on_head, on_body};
    heard[0] = '\0';
    port_answer_init(&answer, without_body);
    return port_answer_take(&answer, (const uint8_t *)text, strlen(text), &events, NULL);
}

static void test_answers(void **state)
{
    (void)state;
    static const struct {
        const char *text, *heard;
        int result, end;
        bool without_body;
    } rows[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nA: b c \r\nEmpty:\r\n\r\nab",
         "200|Content-Length=2|A=b c |Empty=[ab]", 1, 0},
        {"HTTP/1.0 404 \nContent-Length: 0\n\n", "404|Content-Length=0", 1, 0},
        {"HTTP/1.1 200\r\n\r\nabc", "200[abc]", 0, 0},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x\r\n0123456789\r\n0\r\nT: "
         "u\r\n\r\n",
         "200|Transfer-Encoding=chunked[abc][0123456789]", 1, 0},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\nA: b\r\n\r\n", "204|A=b", 1, 0},
        {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "200|Content-Length=9", 1, 0, true},
        {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", "200|Content-Length=9[ab]", 0, -EPROTO},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab", "200|Transfer-Encoding=chunked[ab]",
         0, -EPROTO},
        {"HTTP/1.1 200 OK\r\nA: b", "", 0, -EPROTO},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int r = take(rows[i].text, rows[i].without_body);
        if (r != rows[i].result || strcmp(heard, rows[i].heard) != 0 ||
            port_answer_end(&answer) != rows[i].end)
            fail_msg("%s: %d, \"%s\"", rows[i].text, r, heard);
    }
}

static void test_none(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "hello\r\n\r\n",
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 600 OK\r\n\r\n",
        "HTTP/1.1 200 O\x01K\r\n\r\n",
        "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno field\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: \x01\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1111111111111111\r\n",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (take(rows[i], false) != -EPROTO)
            fail_msg("%s was taken", rows[i]);
}

static void test_ends_of_texts(void **state)
{
    static const struct port_events events = {on_head, on_body};
    static const char text[] = "HTTP/1.1 200 O\0K: v\r\n\r\n",
                      field[] = "HTTP/1.1 200 OK\r\nA: b\0B: c\r\n\r\n";
    (void)state;
    port_answer_init(&answer, false);
    assert_int_equal(port_answer_take(&answer, (const uint8_t *)text, sizeof text - 1, &events, NULL),
                     -EPROTO);
    port_answer_init(&answer, false);
    assert_int_equal(port_answer_take(&answer, (const uint8_t *)field, sizeof field - 1, &events, NULL),
                     -EPROTO);
}

/* What follows 101 is everything that comes. */
static void test_upgrade(void **state)
{
    static const struct port_events events = {on_head, on_body};
    static const char text[] = "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nContent-Length: 1\r\n\r\nabc";
    (void)state;
    heard[0] = '\0';
    port_answer_init(&answer, false);
    answer.may_upgrade = true;
    assert_int_equal(port_answer_take(&answer, (const uint8_t *)text, sizeof text - 1, &events, NULL), 0);
    assert_string_equal(heard, "101|Upgrade=websocket|Content-Length=1[abc]");
    assert_int_equal(port_answer_end(&answer), 0);
}

static void test_too_large(void **state)
{
    static const struct port_events events = {on_head, on_body};
    (void)state;
    static uint8_t large[PORT_HEAD_MAX + 1];
    memset(large, 'a', sizeof large);
    port_answer_init(&answer, false);
    assert_int_equal(port_answer_take(&answer, large, PORT_HEAD_MAX, &events, NULL), 0);
    assert_int_equal(port_answer_take(&answer, large, 1, &events, NULL), -EPROTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),       cmocka_unit_test(test_none),
        cmocka_unit_test(test_ends_of_texts), cmocka_unit_test(test_upgrade),
        cmocka_unit_test(test_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
