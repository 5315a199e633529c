#include "cli/sink.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

/* poll(2) promises room for PIPE_BUF bytes in a pipe that is writable: a write of that size does not block.
 */
#define PIECE PIPE_BUF
/* The longest form of one byte that the guard writes ("\x9b"; "<U+009B>" stands for two). */
#define GUARD_GROWTH 4

void sc_cli_sink_init(struct sc_cli_sink *sink, int fd, bool raw, size_t max)
{
    *sink = (struct sc_cli_sink){.fd = fd, .guarded = !raw && isatty(fd)};
    sc_buf_init(&sink->waiting, (max + 16) * GUARD_GROWTH);
}

void sc_cli_sink_fini(struct sc_cli_sink *sink)
{
    sc_buf_fini(&sink->waiting);
}

/* Waits until `sink` can be written (1), or the time is over or `stop_fd` has something to say (0). */
static int wait_writable(const struct sc_cli_sink *sink, int stop_fd, int timeout_ms)
{
    struct pollfd fds[2] = {{.fd = sink->fd, .events = POLLOUT}, {.fd = stop_fd, .events = POLLIN}};
    int n;
    do
        n = poll(fds, 2, timeout_ms);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    if (fds[1].revents)
        return 0;
    return fds[0].revents != 0;
}

/* Writes one piece of what waits. 0 (also when nothing went out after all) or negative errno. */
static int write_piece(struct sc_cli_sink *sink)
{
    size_t left = sink->waiting.len - sink->sent;
    ssize_t n = write(sink->fd, sink->waiting.data + sink->sent, left < PIECE ? left : PIECE);
    if (n < 0) /* EAGAIN: somebody else made the descriptor non-blocking */
        return errno == EINTR || errno == EAGAIN ? 0 : -errno;
    sink->sent += (size_t)n;
    if (n > 0)
        sink->mid_line = sink->waiting.data[sink->sent - 1] != '\n';
    return 0;
}

static void drain(struct sc_cli_sink *sink, int stop_fd, int timeout_ms)
{
    while (!sink->broken && sink->sent < sink->waiting.len) {
        int r = wait_writable(sink, stop_fd, timeout_ms);
        if (r == 0)
            return;
        if (r > 0)
            r = write_piece(sink);
        if (r < 0)
            sink->broken = r;
    }
    sink->waiting.len = sink->sent = 0;
}

void sc_cli_sink_push(struct sc_cli_sink *sink)
{
    drain(sink, -1, 0);
}

void sc_cli_sink_drain(struct sc_cli_sink *sink, int stop_fd)
{
    drain(sink, stop_fd, -1);
}

void sc_cli_sink_add(struct sc_cli_sink *sink, const void *data, size_t len)
{
    if (sink->broken)
        return;
    int r = sink->guarded ? sc_cli_guard_add(&sink->guard, data, len, &sink->waiting)
                          : sc_buf_add(&sink->waiting, data, len);
    if (r < 0)
        sink->broken = r;
    sc_cli_sink_push(sink);
}

void sc_cli_sink_finish(struct sc_cli_sink *sink, int stop_fd)
{
    if (!sink->broken && sink->guarded)
        (void)sc_cli_guard_end(&sink->guard, &sink->waiting);
    drain(sink, stop_fd, -1);
}
