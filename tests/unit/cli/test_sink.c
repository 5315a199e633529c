#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cli/sink.h"
#include "unit.h"

static void exact_bytes_into_a_pipe(void **state)
{
    (void)state;
    static const char data[] = "a\x1b[1m\xff\r\n";
    struct sc_cli_sink sink;
    char got[64];
    int from, to;
    assert_int_equal(sc_pipe(&from, &to), 0);
    sc_cli_sink_init(&sink, to, false, 1024);
    assert_false(sink.guarded);
    sc_cli_sink_add(&sink, data, sizeof data - 1);
    assert_int_equal(read(from, got, sizeof got), sizeof data - 1);
    assert_memory_equal(got, data, sizeof data - 1);
    assert_false(sink.mid_line);
    sc_cli_sink_fini(&sink);
    close(from);
    close(to);
}

/* Adding never waits for the reader, and nothing is lost. */
static void stalled_reader(void **state)
{
    (void)state;
    enum { PIECES = 200, PIECE_LEN = 10000 };
    static char piece[PIECE_LEN];
    struct sc_cli_sink sink;
    int from, to;
    assert_int_equal(sc_pipe(&from, &to), 0);
    sc_cli_sink_init(&sink, to, false, PIECES * PIECE_LEN);
    for (int i = 0; i < PIECES; i++) {
        memset(piece, 'a' + i % 26, sizeof piece);
        sc_cli_sink_add(&sink, piece, sizeof piece);
    }
    assert_int_equal(sink.broken, 0);
    assert_true(sink.waiting.len > sink.sent);
    size_t total = 0;
    for (;;) {
        char got[65536];
        assert_int_equal(sc_set_nonblocking(from), 0);
        ssize_t n = read(from, got, sizeof got);
        if (n <= 0)
            break;
        for (ssize_t i = 0; i < n; i++, total++)
            assert_int_equal(got[i], 'a' + (int)(total / PIECE_LEN) % 26);
        sc_cli_sink_push(&sink);
    }
    assert_int_equal(total, PIECES * PIECE_LEN);
    sc_cli_sink_fini(&sink);
    close(from);
    close(to);
}

static void finish_gives_up_when_told(void **state)
{
    (void)state;
    static char much[1 << 20];
    struct sc_cli_sink sink;
    int from, to, stop_from, stop_to;
    assert_int_equal(sc_pipe(&from, &to), 0);
    assert_int_equal(sc_pipe(&stop_from, &stop_to), 0);
    sc_cli_sink_init(&sink, to, false, sizeof much);
    sc_cli_sink_add(&sink, much, sizeof much);
    assert_int_equal(write(stop_to, "x", 1), 1);
    sc_cli_sink_finish(&sink, stop_from);
    assert_int_equal(sink.broken, 0);
    assert_true(sink.waiting.len > sink.sent);
    sc_cli_sink_fini(&sink);
    close(from);
    close(to);
    close(stop_from);
    close(stop_to);
}

static void reader_gone(void **state)
{
    (void)state;
    struct sc_cli_sink sink;
    int from, to;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(sc_pipe(&from, &to), 0);
    close(from);
    sc_cli_sink_init(&sink, to, false, 16);
    sc_cli_sink_add(&sink, "x", 1);
    assert_int_equal(sink.broken, -EPIPE);
    sc_cli_sink_add(&sink, "x", 1);
    sc_cli_sink_finish(&sink, -1);
    sc_cli_sink_fini(&sink);
    close(to);
}

static void full_disk(void **state)
{
    (void)state;
    struct sc_cli_sink sink;
    int to = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(to >= 0);
    sc_cli_sink_init(&sink, to, false, 16);
    sc_cli_sink_add(&sink, "x", 1);
    assert_int_equal(sink.broken, -ENOSPC);
    sc_cli_sink_fini(&sink);
    close(to);
}

static void shown_on_a_terminal(bool raw, const char *expected)
{
    struct sc_cli_sink sink;
    char got[64] = "";
    int master, slave;
    assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
    sc_cli_sink_init(&sink, slave, raw, 64);
    sc_cli_sink_add(&sink, "\x1b[1mx\xc3", 6);
    assert_true(sink.mid_line);
    sc_cli_sink_finish(&sink, -1);
    /* What was written in two pieces may come in two. */
    for (size_t have = 0; have < strlen(expected);) {
        ssize_t n = read(master, got + have, sizeof got - 1 - have);
        assert_true(n > 0);
        have += (size_t)n;
    }
    assert_string_equal(got, expected);
    sc_cli_sink_fini(&sink);
    close(master);
    close(slave);
}

static void terminal(void **state)
{
    (void)state;
    shown_on_a_terminal(false, "^[[1mx\\xc3");
    shown_on_a_terminal(true, "\x1b[1mx\xc3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_bytes_into_a_pipe),
        cmocka_unit_test(stalled_reader),
        cmocka_unit_test(finish_gives_up_when_told),
        cmocka_unit_test(reader_gone),
        cmocka_unit_test(full_disk),
        cmocka_unit_test(terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
