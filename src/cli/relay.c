/* Theory of operation
 *
 *   caller's terminal ── relay ── master │ cell's terminal ── program
 *                          │ sock
 *                       snapcell
 *
 * The relay is forked before the cell is made and inherits nothing of it. It sleeps until snapcell sends the
 * master's descriptor over `sock`; then it makes the caller's terminal raw and copies both ways until the
 * master ends (all holders of the other side are gone) or `sock` ends (snapcell closed it, or died). Either
 * way it restores the terminal. Signals come as bytes of a signalfd: a change of size goes to the master,
 * TSTP and CONT restore the terminal and make it raw again, those that end a program end the relay in order.
 *
 * Each direction has one buffer: it is filled only when empty, so that a side which does not read slows the
 * other one down instead of filling memory. The master is non-blocking; the caller's descriptors are shared
 * with the caller's other programs and stay as they are: they are read and written only when poll(2) says so.
 */
#include "cli/relay.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

#define LINGER_NS (2 * SC_NS_PER_S)
#define QUIET_MS 100
#define END_OF_INPUT '\x04' /* VEOF of a fresh terminal */

/* One direction. PIPE_BUF bytes go into a pipe that poll calls writable without blocking. */
struct way {
    int from, to; /* -1: this end is over */
    char bytes[PIPE_BUF];
    size_t at, len;
};

struct relay {
    int sock, signal_fd, master;
    struct way in, out;
    bool tty;      /* stdin is a terminal */
    bool raw;      /* and has been made raw */
    bool mid_line; /* the last byte sent in was not a new line */
    struct termios saved;
    uint64_t linger_until; /* 0: not yet told to stop */
};

static void make_raw(struct relay *relay)
{
    struct termios raw = relay->saved;
    if (!relay->tty || relay->raw)
        return;
    cfmakeraw(&raw);
    relay->raw = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

static void restore(struct relay *relay)
{
    if (relay->raw)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &relay->saved);
    relay->raw = false;
}

static void pass_size(const struct relay *relay)
{
    struct winsize size;
    if (relay->master >= 0 && ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0)
        (void)ioctl(relay->master, TIOCSWINSZ, &size);
}

/* Nothing more comes from the caller: a terminal says so with a character, at the start of a line; within one
 * it first hands over the line. */
static void end_input(struct relay *relay)
{
    struct way *way = &relay->in;
    way->from = -1;
    way->at = 0;
    way->len = 0;
    if (relay->mid_line)
        way->bytes[way->len++] = END_OF_INPUT;
    way->bytes[way->len++] = END_OF_INPUT;
}

/* 0: nothing now; 1: some; negative errno or -ENODATA at the end. */
static int fill(struct way *way)
{
    ssize_t n = read(way->from, way->bytes, sizeof way->bytes);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN ? 0 : -errno;
    if (n == 0)
        return -ENODATA;
    way->at = 0;
    way->len = (size_t)n;
    return 1;
}

static int empty(struct way *way)
{
    ssize_t n = write(way->to, way->bytes + way->at, way->len - way->at);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN ? 0 : -errno;
    way->at += (size_t)n;
    if (way->at == way->len)
        way->at = way->len = 0;
    return 1;
}

static void take_input(struct relay *relay)
{
    int r = fill(&relay->in);
    if (r < 0)
        end_input(relay);
    else if (r > 0)
        relay->mid_line = relay->in.bytes[relay->in.len - 1] != '\n';
}

/* Stopped from outside: give the caller a sane terminal for the while. */
static void pause_relay(struct relay *relay)
{
    restore(relay);
    raise(SIGSTOP);
    make_raw(relay);
    pass_size(relay);
}

/* False: end. */
static bool take_signal(struct relay *relay)
{
    struct signalfd_siginfo info;
    if (read(relay->signal_fd, &info, sizeof info) != sizeof info)
        return true;
    switch (info.ssi_signo) {
    case SIGWINCH:
        pass_size(relay);
        return true;
    case SIGTSTP:
        pause_relay(relay);
        return true;
    default: /* SIGINT, SIGTERM, SIGHUP: snapcell got them too and ends the cell; wait for its word */
        return relay->linger_until == 0;
    }
}

/* A descriptor on `sock` is the master; its end means that the cell is over. */
static void take_word(struct relay *relay)
{
    char byte;
    int fd = -1;
    size_t n_fds = 1;
    ssize_t n = sc_recv_fds(relay->sock, &byte, 1, &fd, &n_fds);
    if (n > 0 && n_fds == 1 && relay->master < 0) {
        relay->master = fd;
        relay->in.to = relay->out.from = fd;
        (void)sc_set_nonblocking(fd);
        pass_size(relay);
        make_raw(relay);
    } else if (n <= 0) {
        sc_close(&relay->sock);
        relay->linger_until = sc_now_ns() + LINGER_NS;
        relay->in.from = -1;
        relay->in.at = relay->in.len = 0;
    }
}

enum { SOCK, SIGNALS, IN_FROM, IN_TO, OUT_FROM, OUT_TO, PLACES };

static void list_places(const struct relay *relay, struct pollfd places[PLACES])
{
    bool ready = relay->master >= 0;
    bool in_full = relay->in.len > 0, out_full = relay->out.len > 0;
    places[SOCK] = (struct pollfd){.fd = relay->sock, .events = POLLIN};
    places[SIGNALS] = (struct pollfd){.fd = relay->signal_fd, .events = POLLIN};
    places[IN_FROM] = (struct pollfd){.fd = ready && !in_full ? relay->in.from : -1, .events = POLLIN};
    places[IN_TO] = (struct pollfd){.fd = in_full ? relay->in.to : -1, .events = POLLOUT};
    places[OUT_FROM] = (struct pollfd){.fd = ready && !out_full ? relay->out.from : -1, .events = POLLIN};
    places[OUT_TO] = (struct pollfd){.fd = out_full ? relay->out.to : -1, .events = POLLOUT};
}

/* How long poll may wait. Once told to stop: for a reader that stalls to the end of the patience, for the
 * cell's terminal only a moment, for it has no more to say. */
static int time_left_ms(const struct relay *relay)
{
    uint64_t now = sc_now_ns();
    if (!relay->linger_until)
        return -1;
    if (!relay->out.len)
        return QUIET_MS;
    return now >= relay->linger_until ? 0 : (int)((relay->linger_until - now) / SC_NS_PER_MS) + 1;
}

/* False: over. The master's end is EIO once nobody holds the other side and all is read. */
static bool move(struct relay *relay, const struct pollfd places[PLACES])
{
    if (places[IN_FROM].revents && relay->in.from >= 0)
        take_input(relay);
    if (places[IN_TO].revents && relay->in.len && empty(&relay->in) < 0)
        relay->in.to = relay->in.from = -1;
    if (places[OUT_FROM].revents && fill(&relay->out) < 0)
        return false;
    return !(places[OUT_TO].revents && empty(&relay->out) < 0);
}

static void serve(struct relay *relay)
{
    struct pollfd places[PLACES];
    for (;;) {
        list_places(relay, places);
        int n = poll(places, PLACES, time_left_ms(relay));
        if (n < 0 && errno != EINTR)
            return;
        if (n < 0)
            continue;
        if (n == 0 && relay->linger_until)
            return;
        if (relay->linger_until && (relay->master < 0 || sc_now_ns() >= relay->linger_until))
            return;
        if (places[SIGNALS].revents && !take_signal(relay))
            return;
        if (places[SOCK].revents)
            take_word(relay);
        if (!move(relay, places))
            return;
    }
}

static int open_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    static const int wanted[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        sigaddset(&set, wanted[i]);
    /* Restoring a terminal from the background would stop the relay instead. */
    signal(SIGTTOU, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return -errno;
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

static void relay_main(int sock)
{
    struct relay relay = {.sock = sock, .master = -1};
    relay.in = (struct way){.from = STDIN_FILENO, .to = -1};
    relay.out = (struct way){.from = -1, .to = STDOUT_FILENO};
    relay.signal_fd = open_signals();
    if (relay.signal_fd < 0)
        _exit(1);
    relay.tty = tcgetattr(STDIN_FILENO, &relay.saved) == 0;
    prctl(PR_SET_NAME, "snapcell-relay");
    serve(&relay);
    restore(&relay);
    _exit(0);
}

int sc_cli_relay_start(struct sc_cli_relay *relay, struct sc_err *err)
{
    int ends[2];
    *relay = (struct sc_cli_relay){.pid = -1, .sock = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return sc_err_sys(err, -errno, "terminal relay: socketpair");
    pid_t pid = fork();
    if (pid < 0) {
        int r = -errno;
        close(ends[0]);
        close(ends[1]);
        return sc_err_sys(err, r, "terminal relay: fork");
    }
    if (pid == 0) {
        close(ends[0]);
        relay_main(ends[1]);
    }
    close(ends[1]);
    *relay = (struct sc_cli_relay){.pid = pid, .sock = ends[0]};
    return 0;
}

int sc_cli_relay_give(struct sc_cli_relay *relay, int master_fd)
{
    ssize_t n = sc_send_fds(relay->sock, "m", 1, &master_fd, 1);
    return n < 0 ? (int)n : 0;
}

void sc_cli_relay_stop(struct sc_cli_relay *relay)
{
    sc_close(&relay->sock);
    if (relay->pid <= 0)
        return;
    while (waitpid(relay->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    relay->pid = -1;
}
