/* keeper/client.h against a keeper that says anything: a thread with the other end of the socket. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "keeper/client.h"

/* What the keeper's thread does with its connection. */
struct part {
    void (*play)(int sock);
    bool silent; /* no WELCOME */
};

static char folder[64], path[96];
static int listener;
static struct part part;
static pthread_t thread;
static struct sc_frame_reader reader; /* the keeper's: what came with a frame stays in it */

static void send_frame(int sock, uint16_t type, uint16_t channel, const void *payload, size_t len)
{
    (void)sc_frame_send(sock, type, channel, payload, len);
}

static void welcome(int sock, uint32_t version)
{
    const struct sc_keeper_hello hello = {SC_KEEPER_MAGIC, version};
    send_frame(sock, SC_KEEPER_WELCOME, 0, &hello, sizeof hello);
}

static void reply(int sock, uint16_t channel, const char *text)
{
    char payload[512];
    const struct sc_keeper_text_head head = {.total = (uint32_t)strlen(text)};
    memcpy(payload, &head, sizeof head);
    memcpy(payload + sizeof head, text, strlen(text));
    send_frame(sock, SC_KEEPER_REPLY, channel, payload, sizeof head + strlen(text));
}

static void output(int sock, uint32_t stream, const char *text)
{
    char payload[512];
    const struct sc_keeper_output_head head = {.stream = stream};
    memcpy(payload, &head, sizeof head);
    memcpy(payload + sizeof head, text, strlen(text));
    send_frame(sock, SC_KEEPER_OUTPUT, 1, payload, sizeof head + strlen(text));
}

/* The next frame's type; its payload's length in *ret_len. */
static int next(int sock, size_t *ret_len)
{
    struct sc_frame frame;
    const uint8_t *payload;
    while (sc_frame_next(&reader, &frame, &payload) == 0)
        if (sc_frame_fill(&reader, sock, NULL, NULL) <= 0)
            return -1;
    *ret_len = frame.len;
    return frame.type;
}

static void *keep(void *nothing)
{
    size_t len;
    (void)nothing;
    memset(&reader, 0, sizeof reader);
    int sock = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (next(sock, &len) == SC_KEEPER_HELLO) {
        if (!part.silent) {
            welcome(sock, SC_KEEPER_VERSION);
            if (next(sock, &len) == SC_KEEPER_REQUEST)
                part.play(sock);
        } else {
            part.play(sock);
        }
    }
    close(sock);
    return NULL;
}

static struct sc_keeper_client *client_with(void (*play)(int sock))
{
    struct sc_keeper_client *client = NULL;
    part = (struct part){.play = play};
    assert_int_equal(pthread_create(&thread, NULL, keep, NULL), 0);
    assert_int_equal(sc_keeper_client_open(path, &client, NULL), 0);
    return client;
}

static int ask(void (*play)(int sock), const struct sc_keeper_exchange *exchange, json_t **ret_ok,
               struct sc_err *err)
{
    struct sc_keeper_client *client = client_with(play);
    int r = sc_keeper_ask(client, json_pack("{s:s}", "request", "x"), exchange, ret_ok, err);
    sc_keeper_client_close(client);
    pthread_join(thread, NULL);
    return r;
}

static int begin(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/keeper-client-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/k", folder);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return bind(listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(listener, 4) < 0 ? -1
                                                                                                      : 0;
}

static int end(void **state)
{
    (void)state;
    sc_close(&listener);
    unlink(path);
    return rmdir(folder);
}

/* ---- well ---- */

static void plays_output_and_reply(int sock)
{
    output(sock, SC_KEEPER_STDOUT, "out");
    output(sock, SC_KEEPER_STDERR, "err");
    const struct sc_keeper_text_head head = {.total = 14};
    char first[sizeof head + 5];
    memcpy(first, &head, sizeof head);
    memcpy(first + sizeof head, "{\"ok\"", 5);
    send_frame(sock, SC_KEEPER_REPLY, 1, first, sizeof first);
    send_frame(sock, SC_KEEPER_REPLY_MORE, 1, ":{\"a\":1}}", 9);
}

static int collect(void *userdata, enum sc_keeper_stream stream, const void *data, size_t len)
{
    char *seen = userdata;
    size_t n = strlen(seen);
    snprintf(seen + n, 64 - n, "%d:%.*s ", stream, (int)len, (const char *)data);
    return 0;
}

static void output_and_a_reply_in_pieces(void **state)
{
    (void)state;
    char seen[64] = "";
    json_t *ok = NULL;
    const struct sc_keeper_exchange exchange = {.output = collect, .output_data = seen};
    assert_int_equal(ask(plays_output_and_reply, &exchange, &ok, NULL), 0);
    assert_string_equal(seen, "1:out 2:err ");
    assert_int_equal(json_integer_value(json_object_get(ok, "a")), 1);
    json_decref(ok);
}

/* ---- input ---- */

static void plays_input(int sock)
{
    size_t len, total = 0;
    int type;
    /* Nothing beyond the credit comes, until there is more. */
    while (total < SC_KEEPER_INPUT_WINDOW && next(sock, &len) == SC_KEEPER_DATA)
        total += len;
    const uint32_t more = 1000;
    send_frame(sock, SC_KEEPER_CREDIT, 1, &more, sizeof more);
    type = next(sock, &len);
    bool ok = total == SC_KEEPER_INPUT_WINDOW && type == SC_KEEPER_DATA && len == 1000;
    send_frame(sock, SC_KEEPER_CREDIT, 1, &more, sizeof more);
    type = next(sock, &len);
    ok = ok && type == SC_KEEPER_DATA_END;
    reply(sock, 1, ok ? "{\"ok\": {}}" : "{\"error\": {\"kind\": \"usage\"}}");
}

static ssize_t give(void *userdata, void *room, size_t size)
{
    size_t *left = userdata;
    size_t n = *left < size ? *left : size;
    memset(room, 'x', n);
    *left -= n;
    return (ssize_t)n;
}

static void input_keeps_to_the_credit(void **state)
{
    (void)state;
    size_t left = SC_KEEPER_INPUT_WINDOW + 1000;
    const struct sc_keeper_exchange exchange = {.userdata = &left, .input = give, .input_fd = -1};
    assert_int_equal(ask(plays_input, &exchange, NULL, NULL), 0);
    assert_int_equal(left, 0);
}

static void plays_cancelled(int sock)
{
    size_t len;
    output(sock, SC_KEEPER_STDOUT, "stop me");
    reply(sock, 1, next(sock, &len) == SC_KEEPER_CANCEL ? "{\"ok\": {}}" : "{}");
}

static int full(void *userdata, enum sc_keeper_stream stream, const void *data, size_t len)
{
    (void)userdata, (void)stream, (void)data, (void)len;
    return -ENOSPC;
}

static void a_full_disk_cancels(void **state)
{
    (void)state;
    json_t *ok = NULL;
    const struct sc_keeper_exchange exchange = {.output = full};
    assert_int_equal(ask(plays_cancelled, &exchange, &ok, NULL), -ENOSPC);
    assert_null(ok);
}

/* ---- errors ---- */

static void plays_file_error(int sock)
{
    reply(sock, 1,
          "{\"error\": {\"kind\": \"file\", \"code\": \"ENOSPC\", \"field\": \"path\", \"message\": "
          "\"full\"}}");
}

static void plays_usage_error(int sock)
{
    reply(sock, 1, "{\"error\": {\"kind\": \"usage\", \"field\": \"name\", \"message\": \"name: no\"}}");
}

static void plays_ended(int sock)
{
    reply(sock, 1, "{\"error\": {\"kind\": \"ended\", \"field\": \"session\", \"message\": \"it has\"}}");
}

static void errors_keep_their_kind(void **state)
{
    (void)state;
    struct sc_err err = {0};
    assert_int_equal(ask(plays_file_error, NULL, NULL, &err), -ENOSPC);
    assert_int_equal(err.kind, SC_ERR_SANDBOX);
    assert_string_equal(err.field, "path");
    assert_string_equal(err.message, "full");
    assert_int_equal(ask(plays_usage_error, NULL, NULL, &err), -EINVAL);
    assert_int_equal(err.kind, SC_ERR_USAGE);
    assert_string_equal(err.field, "name");
    assert_int_equal(ask(plays_ended, NULL, NULL, &err), -ESRCH);
}

static void plays_nothing(int sock)
{
    (void)sock;
}

static void plays_another_channel(int sock)
{
    reply(sock, 2, "{\"ok\": {}}");
}

static void plays_no_json(int sock)
{
    reply(sock, 1, "{\"ok\": ");
}

static void plays_too_long(int sock)
{
    const struct sc_keeper_text_head head = {.total = UINT32_MAX};
    send_frame(sock, SC_KEEPER_REPLY, 1, &head, sizeof head);
}

static void plays_credit_from_nowhere(int sock)
{
    const uint32_t more = 1;
    send_frame(sock, SC_KEEPER_CREDIT, 1, &more, sizeof more);
}

static void plays_a_large_frame(int sock)
{
    const struct sc_frame frame = {.len = SC_FRAME_MAX + 1, .type = SC_KEEPER_OUTPUT, .channel = 1};
    (void)sc_write_all(sock, &frame, sizeof frame);
}

static void plays_short_output(int sock)
{
    send_frame(sock, SC_KEEPER_OUTPUT, 1, "x", 1);
}

static void a_keeper_that_speaks_wrongly(void **state)
{
    (void)state;
    struct sc_err err = {0};
    assert_int_equal(ask(plays_nothing, NULL, NULL, &err), -EPIPE);
    assert_non_null(strstr(err.message, "went away"));
    void (*const plays[])(int) = {plays_another_channel, plays_no_json, plays_credit_from_nowhere,
                                  plays_a_large_frame, plays_short_output};
    for (size_t i = 0; i < sizeof plays / sizeof *plays; i++)
        assert_int_equal(ask(plays[i], NULL, NULL, &err), -EPROTO);
    assert_int_equal(ask(plays_too_long, NULL, NULL, &err), -EMSGSIZE);
}

/* ---- connecting ---- */

static int open_with(void (*play)(int sock), struct sc_err *err)
{
    struct sc_keeper_client *client = NULL;
    part = (struct part){.play = play, .silent = true};
    assert_int_equal(pthread_create(&thread, NULL, keep, NULL), 0);
    int r = sc_keeper_client_open(path, &client, err);
    sc_keeper_client_close(client);
    pthread_join(thread, NULL);
    return r;
}

static void plays_refusal(int sock)
{
    reply(sock, 0, "{\"error\": {\"kind\": \"usage\", \"field\": \"\", \"message\": \"not you\"}}");
}

static void plays_old(int sock)
{
    welcome(sock, SC_KEEPER_VERSION + 1);
}

static void plays_http(int sock)
{
    (void)sc_write_all(sock, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
}

static void a_keeper_that_will_not(void **state)
{
    (void)state;
    struct sc_err err = {0};
    assert_int_equal(open_with(plays_refusal, &err), -EINVAL);
    assert_string_equal(err.message, "not you");
    assert_int_equal(open_with(plays_old, &err), -EPROTO);
    assert_int_equal(err.kind, SC_ERR_HOST);
    assert_int_equal(open_with(plays_http, &err), -EPROTO);
    assert_int_equal(open_with(plays_nothing, &err), -ECONNRESET);
}

static void nobody_there(void **state)
{
    struct sc_keeper_client *client = NULL;
    (void)state;
    sc_close(&listener);
    assert_int_equal(sc_keeper_client_open(path, &client, NULL), -ECONNREFUSED);
    unlink(path);
    assert_int_equal(sc_keeper_client_open(path, &client, NULL), -ENOENT);
    assert_int_equal(sc_keeper_client_open("/tmp/no-such-folder/k", &client, NULL), -ENOENT);
    assert_int_equal(sc_keeper_client_open("/tmp/", &client, NULL), -EINVAL);
    assert_null(client);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(output_and_a_reply_in_pieces),
        TEST(input_keeps_to_the_credit),
        TEST(a_full_disk_cancels),
        TEST(errors_keep_their_kind),
        TEST(a_keeper_that_speaks_wrongly),
        TEST(a_keeper_that_will_not),
        TEST(nobody_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
