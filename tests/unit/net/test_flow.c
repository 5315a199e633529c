/* A flow between two pairs of sockets: bytes, ends, full sockets, broken ones. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "net/flow.h"

struct lines {
    int near[2], far[2]; /* [0] is the flow's */
    struct sc_flow flow;
};

static int open_lines(void **state)
{
    struct lines *l = calloc(1, sizeof *l);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, l->near) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, l->far) < 0)
        return -1;
    l->flow = SC_FLOW_NONE;
    *state = l;
    return 0;
}

static int close_lines(void **state)
{
    struct lines *l = *state;
    sc_flow_fini(&l->flow);
    for (int i = 0; i < 2; i++) {
        close(l->near[i]);
        close(l->far[i]);
    }
    free(l);
    return 0;
}

static void test_all_bytes_pass(void **state)
{
    struct lines *l = *state;
    static uint8_t in[1 << 16], out[1 << 16];
    uint64_t sent = 0, got = 0, moved_all = 0;
    uint8_t want = 0, next = 0;
    bool spliced = false;
    int r = SC_FLOW_WAITS;
    const uint64_t total = 20u << 20;
    while (r != SC_FLOW_OVER || got < total) {
        size_t moved;
        while (sent < total) {
            size_t n = total - sent < sizeof in ? total - sent : sizeof in;
            for (size_t i = 0; i < n; i++)
                in[i] = (uint8_t)(next + i * 7);
            ssize_t w = send(l->near[1], in, n, MSG_NOSIGNAL);
            if (w < 0)
                break;
            next = (uint8_t)(next + w * 7);
            sent += (uint64_t)w;
            if (sent == total)
                shutdown(l->near[1], SHUT_WR);
        }
        r = sc_flow_move(&l->flow, l->near[0], l->far[0], 1 << 20, &moved);
        assert_true(r >= 0);
        assert_true(moved <= 1 << 20);
        moved_all += moved;
        spliced = spliced || l->flow.pipe[0] >= 0;
        ssize_t n;
        while ((n = recv(l->far[1], out, sizeof out, 0)) > 0) {
            for (ssize_t i = 0; i < n; i++, want = (uint8_t)(want + 7))
                assert_int_equal(out[i], want);
            got += (uint64_t)n;
        }
    }
    assert_int_equal(got, total);
    assert_int_equal(moved_all, total);
    assert_int_equal(recv(l->far[1], out, 1, 0), 0); /* the end was passed on */
    assert_true(spliced || l->flow.full_reads < 4);
}

static void test_most(void **state)
{
    struct lines *l = *state;
    size_t moved;
    char data[100] = "", got[100];
    assert_int_equal(send(l->near[1], data, sizeof data, 0), sizeof data);
    assert_int_equal(sc_flow_move(&l->flow, l->near[0], l->far[0], 30, &moved), SC_FLOW_MORE);
    assert_int_equal(moved, 30);
    assert_int_equal(recv(l->far[1], got, sizeof got, 0), 30);
    assert_int_equal(sc_flow_move(&l->flow, l->near[0], l->far[0], 1000, &moved), SC_FLOW_WAITS);
    assert_int_equal(moved, 70);
}

static void test_broken(void **state)
{
    struct lines *l = *state;
    size_t moved;
    assert_int_equal(send(l->near[1], "x", 1, 0), 1);
    close(l->far[1]);
    l->far[1] = dup(l->near[1]);
    assert_int_equal(sc_flow_move(&l->flow, l->near[0], l->far[0], 1000, &moved), -EPIPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_bytes_pass, open_lines, close_lines),
        cmocka_unit_test_setup_teardown(test_most, open_lines, close_lines),
        cmocka_unit_test_setup_teardown(test_broken, open_lines, close_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
