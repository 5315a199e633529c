/* The relay between two terminals: the test plays the person at one and the program at the other. A child,
 * the holder, stands for snapcell. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cli/relay.h"
#include "unit.h"

#define PATIENCE_MS 10000

struct rig {
    int person;   /* master of the caller's terminal; or the write end of the holder's stdin pipe */
    int screen;   /* what the holder's stdout shows */
    int terminal; /* the caller's terminal itself, to look at its modes; -1 with pipes */
    int program;  /* the cell's terminal, as the program sees it */
    int word;     /* closing it tells the holder to stop */
    pid_t holder;
};

static void hold(int in, int out, int master, int word, bool tty)
{
    struct sc_cli_relay relay;
    char byte;
    setsid();
    if (tty && ioctl(in, TIOCSCTTY, 0) < 0)
        _exit(2);
    dup2(in, 0);
    dup2(out, 1);
    close_range(3, (unsigned)(master < word ? master : word) - 1, 0);
    if (sc_cli_relay_start(&relay, NULL) < 0 || sc_cli_relay_give(&relay, master) < 0)
        _exit(3);
    close(master);
    while (read(word, &byte, 1) < 0 && errno == EINTR)
        ;
    sc_cli_relay_stop(&relay);
    _exit(0);
}

static void rig_start(struct rig *rig, bool tty)
{
    const struct winsize size = {.ws_row = 33, .ws_col = 99};
    int in, out, master, word;
    if (tty) {
        assert_int_equal(openpty(&rig->person, &rig->terminal, NULL, NULL, &size), 0);
        in = out = rig->terminal;
        rig->screen = rig->person;
    } else {
        rig->terminal = -1;
        assert_int_equal(sc_pipe(&in, &rig->person), 0);
        assert_int_equal(sc_pipe(&rig->screen, &out), 0);
    }
    assert_int_equal(openpty(&master, &rig->program, NULL, NULL, NULL), 0);
    assert_int_equal(sc_pipe(&word, &rig->word), 0);
    /* Above all others, so that the holder can close what is not its own below them. */
    int high_master = fcntl(master, F_DUPFD_CLOEXEC, 200), high_word = fcntl(word, F_DUPFD_CLOEXEC, 200);
    rig->holder = fork();
    assert_true(rig->holder >= 0);
    if (rig->holder == 0)
        hold(in, out, high_master, high_word, tty);
    close(master);
    close(word);
    close(high_master);
    close(high_word);
    if (!tty) {
        close(in);
        close(out);
    }
}

static void rig_stop(struct rig *rig)
{
    int status = -1;
    sc_close(&rig->word);
    if (rig->holder > 0)
        assert_int_equal(waitpid(rig->holder, &status, 0), rig->holder);
    if (rig->holder > 0)
        assert_int_equal(status, 0);
    if (rig->screen != rig->person)
        sc_close(&rig->screen);
    sc_close(&rig->person);
    sc_close(&rig->terminal);
    sc_close(&rig->program);
}

/* Reads until `wanted` has come in whole. */
static void expect(int fd, const char *wanted)
{
    char got[4096];
    size_t len = 0;
    while (len < strlen(wanted)) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
        ssize_t n = read(fd, got + len, sizeof got - len);
        assert_true(n > 0);
        len += (size_t)n;
    }
    assert_int_equal(len, strlen(wanted));
    assert_memory_equal(got, wanted, len);
}

static void say(int fd, const char *text)
{
    assert_int_equal(sc_write_all(fd, text, strlen(text)), 0);
}

static bool is_raw(int terminal)
{
    struct termios modes;
    assert_int_equal(tcgetattr(terminal, &modes), 0);
    return !(modes.c_lflag & (ICANON | ECHO | ISIG));
}

/* What the relay does by itself shows a moment later: looks again until it does. */
static void await_raw(int terminal, bool raw)
{
    uint64_t end = sc_now_ns() + PATIENCE_MS * SC_NS_PER_MS;
    while (is_raw(terminal) != raw) {
        assert_true(sc_now_ns() < end);
        poll(NULL, 0, 1);
    }
}

static void await_columns(int terminal, unsigned columns)
{
    uint64_t end = sc_now_ns() + PATIENCE_MS * SC_NS_PER_MS;
    struct winsize size = {0};
    while (size.ws_col != columns) {
        assert_true(sc_now_ns() < end);
        assert_int_equal(ioctl(terminal, TIOCGWINSZ, &size), 0);
        poll(NULL, 0, 1);
    }
}

static void both_ways(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, true);
    await_raw(rig.terminal, true);
    say(rig.person, "hello\r");
    expect(rig.program, "hello\n");
    expect(rig.screen, "hello\r\n"); /* the echo of the cell's terminal */
    say(rig.program, "\x1b[1mwelcome\n");
    expect(rig.screen, "\x1b[1mwelcome\r\n");
    rig_stop(&rig);
}

static void terminal_is_put_right(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, true);
    await_raw(rig.terminal, true);
    int terminal = dup(rig.terminal), person = dup(rig.person);
    say(rig.program, "last words");
    rig_stop(&rig);
    assert_false(is_raw(terminal));
    expect(person, "last words");
    close(terminal);
    close(person);
}

static void program_ends_first(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, true);
    await_raw(rig.terminal, true);
    say(rig.program, "bye");
    sc_close(&rig.program);
    expect(rig.screen, "bye");
    await_raw(rig.terminal, false);
    rig_stop(&rig);
}

static void holder_is_killed(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, true);
    await_raw(rig.terminal, true);
    kill(rig.holder, SIGKILL);
    assert_int_equal(waitpid(rig.holder, NULL, 0), rig.holder);
    rig.holder = -1;
    sc_close(&rig.program);
    await_raw(rig.terminal, false);
    rig_stop(&rig);
}

static void size_is_passed_on(void **state)
{
    (void)state;
    const struct winsize wide = {.ws_row = 50, .ws_col = 222};
    struct rig rig;
    rig_start(&rig, true);
    await_columns(rig.program, 99);
    assert_int_equal(ioctl(rig.person, TIOCSWINSZ, &wide), 0);
    await_columns(rig.program, 222);
    rig_stop(&rig);
}

static void pipe_ends_as_end_of_input(void **state)
{
    (void)state;
    char byte;
    struct rig rig;
    rig_start(&rig, false);
    say(rig.person, "one\ntwo");
    sc_close(&rig.person);
    expect(rig.program, "one\n");
    expect(rig.program, "two");
    assert_int_equal(read(rig.program, &byte, 1), 0);
    rig_stop(&rig);
}

/* Neither side's slowness loses or repeats a byte. */
static void much_output(void **state)
{
    (void)state;
    enum { BLOCK = 997, BLOCKS = 600 };
    char block[BLOCK];
    struct rig rig;
    struct termios modes;
    rig_start(&rig, false);
    assert_int_equal(tcgetattr(rig.program, &modes), 0);
    cfmakeraw(&modes);
    assert_int_equal(tcsetattr(rig.program, TCSANOW, &modes), 0);
    pid_t writer = fork();
    assert_true(writer >= 0);
    if (writer == 0) {
        for (int i = 0; i < BLOCKS; i++) {
            memset(block, 'a' + i % 26, sizeof block);
            if (sc_write_all(rig.program, block, sizeof block) < 0)
                _exit(1);
        }
        _exit(0);
    }
    for (int i = 0; i < BLOCKS; i++) {
        assert_int_equal(sc_read_all(rig.screen, block, sizeof block), 0);
        for (size_t at = 0; at < sizeof block; at++)
            assert_int_equal(block[at], 'a' + i % 26);
    }
    int status;
    assert_int_equal(waitpid(writer, &status, 0), writer);
    assert_int_equal(status, 0);
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ways),          cmocka_unit_test(terminal_is_put_right),
        cmocka_unit_test(program_ends_first), cmocka_unit_test(holder_is_killed),
        cmocka_unit_test(size_is_passed_on),  cmocka_unit_test(pipe_ends_as_end_of_input),
        cmocka_unit_test(much_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
