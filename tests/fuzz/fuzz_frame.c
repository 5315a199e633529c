/* libFuzzer target: any bytes in any pieces as a stream of frames. What the reader gives must be what a plain
 * walk over the same bytes gives. The first byte chooses the size of the pieces. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The frame at `data`, as the header says it: its whole size, 0 when more is needed, -1 when it is too large.
 */
static long reference(const uint8_t *data, size_t size)
{
    uint32_t len =
        (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
    if (len > SC_FRAME_MAX)
        return -1;
    return size < 8 + (size_t)len ? 0 : 8 + (long)len;
}

/* All frames that are whole by now. False: the stream is over for good. */
static int drain(struct sc_frame_reader *reader, const uint8_t **at, const uint8_t *end)
{
    struct sc_frame frame;
    const uint8_t *payload;
    int r;
    while ((r = sc_frame_next(reader, &frame, &payload)) > 0) {
        long whole = *at + 8 <= end ? reference(*at, (size_t)(end - *at)) : 0;
        if (whole <= 0 || frame.len + 8 != (unsigned long)whole || memcmp(payload, *at + 8, frame.len) != 0 ||
            frame.type != ((*at)[4] | (*at)[5] << 8))
            abort();
        *at += whole;
    }
    if (r < 0 && reference(*at, (size_t)(end - *at)) != -1)
        abort();
    return r == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sc_frame_reader reader;
    int ends[2];
    if (size < 1 || size > 100000 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return 0;
    size_t piece = data[0] ? data[0] : 4096;
    const uint8_t *at = data + 1, *sent = at, *end = data + size;
    reader.used = reader.start = 0;
    while (sent < end) {
        size_t n = (size_t)(end - sent) < piece ? (size_t)(end - sent) : piece;
        if (send(ends[1], sent, n, MSG_NOSIGNAL) != (ssize_t)n)
            abort();
        sent += n;
        if (sc_frame_fill(&reader, ends[0], NULL, NULL) != (ssize_t)n)
            abort();
        if (!drain(&reader, &at, sent))
            break;
    }
    /* What was not given is less than a frame. */
    if (sent == end && end - at >= 8 && reference(at, (size_t)(end - at)) > 0)
        abort();
    close(ends[0]);
    close(ends[1]);
    return 0;
}
