#include "base/frame.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"

int sc_frame_send(int sock, uint16_t type, uint16_t channel, const void *payload, size_t len)
{
    struct sc_frame frame = {.len = (uint32_t)len, .type = type, .channel = channel};
    if (len > SC_FRAME_MAX)
        return -EMSGSIZE;
    struct iovec iov[2] = {{&frame, sizeof frame}, {(void *)payload, len}};
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = len ? 2 : 1};
    size_t left = sizeof frame + len;
    while (left > 0) {
        ssize_t n = sendmsg(sock, &msg, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        left -= (size_t)n;
        for (size_t i = 0; i < 2 && n > 0; i++) {
            size_t step = (size_t)n < iov[i].iov_len ? (size_t)n : iov[i].iov_len;
            iov[i].iov_base = (char *)iov[i].iov_base + step;
            iov[i].iov_len -= step;
            n -= (ssize_t)step;
        }
    }
    return 0;
}

ssize_t sc_frame_fill(struct sc_frame_reader *reader, int sock, int *fds, size_t *n_fds)
{
    if (reader->start > 0) {
        memmove(reader->data, reader->data + reader->start, reader->used - reader->start);
        reader->used -= reader->start;
        reader->start = 0;
    }
    size_t room = sizeof reader->data - reader->used;
    if (room == 0)
        return -ENOBUFS; /* cannot be: sc_frame_next leaves less than one frame behind */
    ssize_t n;
    if (fds) {
        n = sc_recv_fds(sock, reader->data + reader->used, room, fds, n_fds);
    } else {
        do
            n = recv(sock, reader->data + reader->used, room, 0);
        while (n < 0 && errno == EINTR);
        if (n < 0)
            n = -errno;
    }
    if (n > 0)
        reader->used += (size_t)n;
    return n;
}

int sc_frame_next(struct sc_frame_reader *reader, struct sc_frame *ret_frame, const uint8_t **ret_payload)
{
    struct sc_frame frame;
    size_t have = reader->used - reader->start;
    if (have < sizeof frame)
        return 0;
    memcpy(&frame, reader->data + reader->start, sizeof frame);
    if (frame.len > SC_FRAME_MAX)
        return -EPROTO;
    if (have < sizeof frame + frame.len)
        return 0;
    *ret_frame = frame;
    *ret_payload = reader->data + reader->start + sizeof frame;
    reader->start += sizeof frame + frame.len;
    return 1;
}
