/* What goes to the agent of a living cell. Its stream is never waited for: what has no room is queued. What
 * only can wait, commands and input, is refused when too much is queued; the rest is little, and an agent
 * that does not take even that is broken. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "cell/live_parts.h"

#define QUEUE_BULK_MAX (32u << 20)
#define QUEUE_MAX (QUEUE_BULK_MAX + (2u << 20))
#define QUEUE_KEPT_MAX (256u * 1024) /* of an empty queue's memory */

size_t sc_live_queued(const struct sc_live *live)
{
    return live->queue.len - live->queue_done;
}

bool sc_live_has_room(const struct sc_live *live, size_t len)
{
    return len <= QUEUE_BULK_MAX && sc_live_queued(live) <= QUEUE_BULK_MAX - len;
}

/* Bytes sent, 0 when there is no room. A stream that is at its end takes everything: that the agent is gone
 * is noticed by reading. */
static size_t send_now(struct sc_live *live, const struct iovec *parts, size_t n_parts, size_t len)
{
    struct msghdr msg = {.msg_iov = (struct iovec *)parts, .msg_iovlen = n_parts};
    ssize_t n;
    do
        n = sendmsg(live->cell.control, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        return (size_t)n;
    if (errno == EAGAIN || errno == ENOBUFS)
        return 0;
    live->is_unread = true;
    return len;
}

static int enqueue(struct sc_live *live, const struct iovec *parts, size_t n_parts, size_t skip)
{
    struct sc_buf *queue = &live->queue;
    queue->max = 2 * QUEUE_MAX; /* what was sent may still stand before the rest */
    if (queue->len == 0)
        live->queue_ns = sc_now_ns();
    if (live->queue_done > queue->len / 2) {
        queue->len -= live->queue_done;
        memmove(queue->data, queue->data + live->queue_done, queue->len);
        live->queue_done = 0;
    }
    int r = 0;
    for (size_t i = 0; i < n_parts && r == 0; i++) {
        size_t done = skip < parts[i].iov_len ? skip : parts[i].iov_len;
        skip -= done;
        if (done < parts[i].iov_len)
            r = sc_buf_add(queue, (const uint8_t *)parts[i].iov_base + done, parts[i].iov_len - done);
    }
    return r;
}

void sc_live_say(struct sc_live *live, uint16_t type, uint16_t channel, const void *head, size_t head_len,
                 const void *body, size_t body_len)
{
    struct sc_frame frame = {.len = (uint32_t)(head_len + body_len), .type = type, .channel = channel};
    const struct iovec parts[3] = {
        {&frame, sizeof frame}, {(void *)head, head_len}, {(void *)body, body_len}};
    size_t len = sizeof frame + head_len + body_len;
    if (live->phase != SC_LIVE_LIVES)
        return;
    live->last_type = type;
    live->last_channel = channel;
    size_t sent = sc_live_queued(live) == 0 ? send_now(live, parts, 3, len) : 0;
    if (sent == len)
        return;
    if (sc_live_queued(live) + len > QUEUE_MAX || enqueue(live, parts, 3, sent) < 0)
        sc_live_end(live, SC_STATUS_SANDBOX_ERROR, "the cell's agent leaves too much of what it is told");
    sc_live_watch(live);
}

void sc_live_flush(struct sc_live *live)
{
    struct sc_buf *queue = &live->queue;
    size_t left = sc_live_queued(live);
    if (left == 0)
        return;
    const struct iovec rest = {queue->data + live->queue_done, left};
    size_t sent = send_now(live, &rest, 1, left);
    if (sent > 0)
        live->queue_ns = sc_now_ns();
    live->queue_done += sent;
    if (sent < left)
        return;
    live->queue_done = queue->len = 0;
    if (queue->cap > QUEUE_KEPT_MAX)
        sc_buf_fini(queue);
}
