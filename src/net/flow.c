#include "net/flow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

/* So many full reads in a row, and splicing is worth its two descriptors. */
#define MANY 4
#define PIPE_BYTES (1024 * 1024)
#define REWRITE_CHUNK (8 * 1024)
#define REWRITE_MAX (2 * 1024 * 1024) /* of what goes on for one: a credential for each request in it */

static ssize_t take(const struct sc_flow *flow, int from, void *data, size_t len)
{
    return flow->calls ? flow->calls->take(flow->from, data, len) : recv(from, data, len, MSG_DONTWAIT);
}

static ssize_t give(const struct sc_flow *flow, int to, const void *data, size_t len)
{
    return flow->calls ? flow->calls->give(flow->to, data, len)
                       : send(to, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int finish(const struct sc_flow *flow, int to)
{
    return flow->calls ? flow->calls->finish(flow->from, flow->to) : shutdown(to, SHUT_WR);
}

static void open_pipe(struct sc_flow *flow)
{
    if (pipe2(flow->pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
        flow->pipe[0] = flow->pipe[1] = -1; /* copying does it, too */
        return;
    }
    /* Less where the host allows an unprivileged user no more. */
    (void)fcntl(flow->pipe[1], F_SETPIPE_SZ, PIPE_BYTES);
}

/* What was put in may be secret. */
static void free_rest(struct sc_flow *flow)
{
    if (flow->rewrite && flow->rest)
        explicit_bzero(flow->rest, flow->rest_len);
    free(flow->rest);
    flow->rest = NULL;
}

/* 0: nothing is left over; 1: something is, the socket is full. */
static int write_rest(struct sc_flow *flow, int to)
{
    while (flow->rest_done < flow->rest_len) {
        ssize_t n = give(flow, to, flow->rest + flow->rest_done, flow->rest_len - flow->rest_done);
        if (n < 0)
            return errno == EAGAIN ? 1 : -errno;
        flow->rest_done += (size_t)n;
    }
    free_rest(flow);
    flow->rest_len = flow->rest_done = 0;
    return 0;
}

static int keep_rest(struct sc_flow *flow, const uint8_t *data, size_t len)
{
    flow->rest = malloc(len);
    if (!flow->rest)
        return -ENOMEM;
    memcpy(flow->rest, data, len);
    flow->rest_len = len;
    return 1;
}

/* A read, and what goes on in its place: it is what is left over then. Bytes read; 0; negative errno. */
static ssize_t rewrite_once(struct sc_flow *flow, int from, size_t most)
{
    uint8_t chunk[REWRITE_CHUNK];
    struct sc_buf out;
    ssize_t n = take(flow, from, chunk, most < sizeof chunk ? most : sizeof chunk);
    if (n <= 0) {
        flow->ended = n == 0;
        return n == 0 || errno == EAGAIN ? 0 : -errno;
    }
    sc_buf_init(&out, REWRITE_MAX);
    int r = flow->rewrite(flow->userdata, chunk, (size_t)n, &out);
    if (r < 0 || out.len == 0) {
        sc_buf_fini(&out);
        return r < 0 ? r : n;
    }
    flow->rest = (uint8_t *)sc_buf_steal(&out, &flow->rest_len);
    return flow->rest ? n : -ENOMEM;
}

/* One read and its write. Bytes read; 0: not now, or at the end; negative errno. */
static ssize_t copy_once(struct sc_flow *flow, int from, int to, size_t most)
{
    static uint8_t chunk[SC_FLOW_CHUNK];
    size_t want = most < sizeof chunk ? most : sizeof chunk;
    ssize_t n = take(flow, from, chunk, want);
    if (n < 0)
        return errno == EAGAIN ? 0 : -errno;
    if (n == 0) {
        flow->ended = true;
        return 0;
    }
    int allowed = flow->check ? flow->check(flow->userdata, chunk, (size_t)n) : 0;
    if (allowed < 0)
        return allowed;
    flow->full_reads = !flow->check && !flow->calls && (size_t)n == sizeof chunk ? flow->full_reads + 1 : 0;
    ssize_t written = give(flow, to, chunk, (size_t)n);
    if (written < 0 && errno != EAGAIN)
        return -errno;
    size_t done = written > 0 ? (size_t)written : 0;
    int r = done < (size_t)n ? keep_rest(flow, chunk + done, (size_t)n - done) : 0;
    return r < 0 ? r : n;
}

/* 0: the pipe is empty; 1: the socket is full. */
static int empty_pipe(struct sc_flow *flow, int to)
{
    while (flow->in_pipe) {
        ssize_t n = splice(flow->pipe[0], NULL, to, NULL, flow->in_pipe, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
        if (n <= 0)
            return n == 0 || errno == EAGAIN ? 1 : -errno;
        flow->in_pipe -= (size_t)n;
    }
    return 0;
}

static ssize_t splice_once(struct sc_flow *flow, int from, size_t most)
{
    ssize_t n = splice(from, NULL, flow->pipe[1], NULL, most < PIPE_BYTES ? most : PIPE_BYTES,
                       SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
    if (n < 0)
        return errno == EAGAIN ? 0 : -errno;
    if (n == 0)
        flow->ended = true;
    flow->in_pipe += (size_t)n;
    return n;
}

/* What is left over goes first. 1: it does not go now. */
static int flush(struct sc_flow *flow, int to)
{
    int r = flow->rest ? write_rest(flow, to) : 0;
    return r == 0 && flow->in_pipe ? empty_pipe(flow, to) : r;
}

int sc_flow_move(struct sc_flow *flow, int from, int to, size_t most, size_t *ret_moved)
{
    size_t moved = 0;
    int r = 0;
    while (!flow->passed && (r = flush(flow, to)) == 0 && !flow->ended && moved < most) {
        if (flow->pipe[0] < 0 && flow->full_reads >= MANY)
            open_pipe(flow);
        ssize_t n = flow->rewrite        ? rewrite_once(flow, from, most - moved)
                    : flow->pipe[0] >= 0 ? splice_once(flow, from, most - moved)
                                         : copy_once(flow, from, to, most - moved);
        if (n < 0)
            r = (int)n;
        if (n < 0 || (n == 0 && !flow->ended))
            break;
        moved += (size_t)n;
    }
    *ret_moved = moved;
    if (r < 0)
        return r;
    if (flow->ended && !flow->rest && !flow->in_pipe && !flow->passed) {
        flow->passed = true;
        if (finish(flow, to) < 0 && errno != ENOTCONN)
            return -errno;
    }
    if (flow->passed)
        return SC_FLOW_OVER;
    return r == 0 && moved >= most ? SC_FLOW_MORE : SC_FLOW_WAITS;
}

void sc_flow_fini(struct sc_flow *flow)
{
    free_rest(flow);
    sc_close(&flow->pipe[0]);
    sc_close(&flow->pipe[1]);
    *flow = SC_FLOW_NONE;
}
