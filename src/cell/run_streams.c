/* The program's three streams. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "cell/run.h"

#define CHUNK (64 * 1024)
/* After the end, bytes that are still in the pipes are taken up to this many: a pipe holds at most 1 MiB. */
#define DRAIN_MAX (2u << 20)

/* Keeps what fits, counts the rest, and ends the run where that was asked for. */
static void take(struct sc_run *run, int number, const char *data, size_t len)
{
    struct sc_stream *stream = number == 1 ? &run->result->out : &run->result->err;
    uint64_t max = number == 1 ? run->plan->limits.stdout : run->plan->limits.stderr;
    size_t room = (size_t)sc_min_u64(len, max - sc_min_u64(max, stream->total));
    stream->total += len;
    if (room > 0) {
        if (sc_buf_add(&stream->kept, data, room) < 0)
            room = 0; /* out of memory: the cut is flagged like any other */
        else if (run->callbacks->output)
            run->callbacks->output(run->callbacks->userdata, number, data, room);
    }
    if (room == len)
        return;
    stream->truncated = true;
    run->result->limits_hit |= number == 1 ? SC_HIT_STDOUT : SC_HIT_STDERR;
    if (run->plan->overflow == SC_OVERFLOW_END)
        sc_run_end(run, SC_END_OUTPUT);
}

void sc_run_read_stream(struct sc_run *run, int *fd, int number)
{
    char chunk[CHUNK];
    ssize_t n = read(*fd, chunk, sizeof chunk);
    if (n > 0)
        take(run, number, chunk, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        sc_close(fd);
}

void sc_run_drain(struct sc_run *run)
{
    int *const ends[2] = {&run->cell.out, &run->cell.err};
    for (int i = 0; i < 2; i++) {
        uint64_t *total = i == 0 ? &run->result->out.total : &run->result->err.total;
        for (uint64_t before = *total, last = UINT64_MAX; *ends[i] >= 0 && *total - before < DRAIN_MAX;
             last = *total) {
            if (last == *total)
                break; /* nothing more without waiting */
            sc_run_read_stream(run, ends[i], i + 1);
        }
        sc_close(ends[i]);
    }
}

/* More of the caller's stdin_fd, when all before it is written. */
static bool refill(struct sc_run *run)
{
    run->stdin_chunk.len = 0;
    run->stdin_done = 0;
    uint8_t *room = sc_buf_reserve(&run->stdin_chunk, CHUNK - 1);
    ssize_t n = room ? read(run->plan->spec->stdin_fd, room, CHUNK - 1) : 0;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        run->stdin_eof = true;
        return false;
    }
    sc_buf_took(&run->stdin_chunk, (size_t)n);
    return true;
}

/* A program that does not read its stdin must not end its caller by SIGPIPE. Of this thread only: the signal
 * is held back during the write, and taken if it is the write's. */
static ssize_t write_quietly(int fd, const char *data, size_t len)
{
    const struct timespec now = {0};
    sigset_t pipe_only, before, pending;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    sigpending(&pending);
    ssize_t n = write(fd, data, len);
    int code = errno;
    if (n < 0 && code == EPIPE && !sigismember(&pending, SIGPIPE))
        while (sigtimedwait(&pipe_only, NULL, &now) < 0 && errno == EINTR)
            ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = code;
    return n;
}

void sc_run_write_stdin(struct sc_run *run)
{
    const char *data = run->stdin_data;
    size_t len = run->stdin_len;
    if (!data) {
        if (run->stdin_done >= run->stdin_chunk.len && !refill(run)) {
            if (run->stdin_eof)
                sc_close(&run->cell.in);
            return;
        }
        data = (const char *)run->stdin_chunk.data;
        len = run->stdin_chunk.len;
    }
    ssize_t n = run->stdin_done < len
                    ? write_quietly(run->cell.in, data + run->stdin_done, len - run->stdin_done)
                    : 0;
    if (n > 0)
        run->stdin_done += (size_t)n;
    else if (n < 0 && errno != EAGAIN && errno != EINTR)
        sc_close(&run->cell.in); /* the program does not read it: that is its right */
    if (run->cell.in >= 0 && run->stdin_data && run->stdin_done >= len)
        sc_close(&run->cell.in);
}
