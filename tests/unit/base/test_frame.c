/* base/frame.h: frames come out as they went in, however the stream cuts them; a hostile peer gets an error.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/frame.h"

static int pair[2];
static struct sc_frame_reader reader;

static int begin(void **state)
{
    (void)state;
    memset(&reader, 0, sizeof reader);
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
}

static int end(void **state)
{
    (void)state;
    sc_close(&pair[0]);
    sc_close(&pair[1]);
    return 0;
}

static void whole_frames(void **state)
{
    (void)state;
    struct sc_frame frame;
    const uint8_t *payload = NULL;
    assert_int_equal(sc_frame_next(&reader, &frame, &payload), 0);
    assert_int_equal(sc_frame_send(pair[0], 7, 9, "abc", 3), 0);
    assert_int_equal(sc_frame_send(pair[0], 8, 0, NULL, 0), 0);
    assert_int_equal(sc_frame_fill(&reader, pair[1], NULL, NULL), 19);
    assert_int_equal(sc_frame_next(&reader, &frame, &payload), 1);
    assert_true(frame.type == 7 && frame.channel == 9 && frame.len == 3);
    assert_memory_equal(payload, "abc", 3);
    assert_int_equal(sc_frame_next(&reader, &frame, &payload), 1);
    assert_true(frame.type == 8 && frame.channel == 0 && frame.len == 0);
    assert_int_equal(sc_frame_next(&reader, &frame, &payload), 0);
    sc_close(&pair[0]);
    assert_int_equal(sc_frame_fill(&reader, pair[1], NULL, NULL), 0);
}

static void limits_of_a_frame(void **state)
{
    (void)state;
    struct sc_frame frame = {.len = SC_FRAME_MAX + 1, .type = 1};
    const uint8_t *payload;
    static char big[SC_FRAME_MAX + 1];
    assert_int_equal(sc_frame_send(pair[0], 1, 0, big, sizeof big), -EMSGSIZE);
    assert_int_equal(write(pair[0], &frame, sizeof frame), sizeof frame);
    assert_int_equal(sc_frame_fill(&reader, pair[1], NULL, NULL), sizeof frame);
    assert_int_equal(sc_frame_next(&reader, &frame, &payload), -EPROTO);
    sc_close(&pair[1]);
    assert_int_equal(sc_frame_send(pair[0], 1, 0, "x", 1), -EPIPE);
}

static void a_nonblocking_reader(void **state)
{
    (void)state;
    assert_int_equal(sc_set_nonblocking(pair[1]), 0);
    assert_int_equal(sc_frame_fill(&reader, pair[1], NULL, NULL), -EAGAIN);
}

static void descriptors_come_along(void **state)
{
    (void)state;
    int in = -1, out = -1, got[2] = {-1, -1};
    size_t n = 2;
    struct sc_frame frame = {.len = 1, .type = 3};
    uint8_t bytes[sizeof frame + 1];
    memcpy(bytes, &frame, sizeof frame);
    bytes[sizeof frame] = 'x';
    assert_int_equal(sc_pipe(&in, &out), 0);
    assert_int_equal(sc_send_fds(pair[0], bytes, sizeof bytes, &in, 1), sizeof bytes);
    assert_int_equal(sc_frame_fill(&reader, pair[1], got, &n), sizeof bytes);
    assert_int_equal(n, 1);
    assert_int_equal(fcntl(got[0], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    close(got[0]);
    sc_close(&in);
    sc_close(&out);
}

static void *send_many(void *unused)
{
    (void)unused;
    static uint8_t data[SC_FRAME_MAX];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 31);
    unsigned seed = 5;
    for (uint16_t i = 0; i < 200; i++) {
        size_t len = i % 10 == 0 ? SC_FRAME_MAX : (size_t)rand_r(&seed) % 3000;
        if (sc_frame_send(pair[0], i, (uint16_t)(i * 3), data, len) < 0)
            return (void *)1;
    }
    shutdown(pair[0], SHUT_WR);
    return NULL;
}

/* Frames of all sizes through a small socket buffer: cuts fall everywhere, in headers too. */
static void any_cut(void **state)
{
    (void)state;
    pthread_t thread;
    void *failed = NULL;
    int size = 4096;
    assert_int_equal(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size), 0);
    assert_int_equal(pthread_create(&thread, NULL, send_many, NULL), 0);
    unsigned next = 0;
    while (sc_frame_fill(&reader, pair[1], NULL, NULL) > 0) {
        struct sc_frame frame;
        const uint8_t *payload;
        while (sc_frame_next(&reader, &frame, &payload) == 1) {
            assert_int_equal(frame.type, next);
            assert_int_equal(frame.channel, (uint16_t)(next * 3));
            for (size_t i = 0; i < frame.len; i++)
                assert_int_equal(payload[i], (uint8_t)(i * 31));
            next++;
        }
    }
    assert_int_equal(next, 200);
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
}

static void noise(void **state)
{
    (void)state;
    srandom(3);
    for (int round = 0; round < 2000; round++) {
        struct sc_frame frame;
        const uint8_t *payload;
        memset(&reader, 0, sizeof reader);
        reader.used = (size_t)random() % 200;
        for (size_t i = 0; i < reader.used; i++)
            reader.data[i] = random() % 4 ? 0 : (uint8_t)random();
        int r;
        while ((r = sc_frame_next(&reader, &frame, &payload)) == 1)
            assert_true(payload + frame.len <= reader.data + reader.used && reader.start <= reader.used);
        assert_true(r == 0 || r == -EPROTO);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(whole_frames),           TEST(limits_of_a_frame), TEST(a_nonblocking_reader),
        TEST(descriptors_come_along), TEST(any_cut),           TEST(noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
