/* Streams of lines, cut anywhere, as whole lines. */
#include "gate/follow.h"

#include <string.h>

#define LINE_MAX_BYTES (64u * 1024 * 1024)

void lines_add(struct lines *lines, const void *data, size_t len,
               void (*line)(void *userdata, const char *text, size_t len), void *userdata)
{
    const char *at = data, *end = at + len;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t piece = (size_t)((stop ? stop : end) - at);
        if (!lines->held.data)
            sc_buf_init(&lines->held, LINE_MAX_BYTES);
        (void)sc_buf_add(&lines->held, at, piece);
        at += piece + (stop ? 1 : 0);
        if (!stop)
            return;
        if (lines->held.len)
            line(userdata, (const char *)lines->held.data, lines->held.len);
        sc_buf_fini(&lines->held);
    }
}

void lines_fini(struct lines *lines)
{
    sc_buf_fini(&lines->held);
}
