#include "net/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void add(struct sc_nl *nl, const void *data, size_t len)
{
    static const uint8_t zeros[NLMSG_ALIGNTO];
    if (nl->failed)
        return;
    nl->failed = sc_buf_add(nl->buf, data, len);
    if (!nl->failed && len % NLMSG_ALIGNTO)
        nl->failed = sc_buf_add(nl->buf, zeros, NLMSG_ALIGNTO - len % NLMSG_ALIGNTO);
}

void sc_nl_begin(struct sc_nl *nl, uint16_t type, uint16_t flags, const void *header, size_t len)
{
    struct nlmsghdr message = {
        .nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST | flags, .nlmsg_seq = ++nl->seq};
    nl->message = nl->buf->len;
    add(nl, &message, sizeof message);
    add(nl, header, len);
}

void sc_nl_end(struct sc_nl *nl)
{
    uint32_t len = (uint32_t)(nl->buf->len - nl->message);
    if (!nl->failed)
        memcpy(nl->buf->data + nl->message, &len, sizeof len);
}

void sc_nl_put(struct sc_nl *nl, uint16_t type, const void *data, size_t len)
{
    struct nlattr attr = {.nla_len = (uint16_t)(NLA_HDRLEN + len), .nla_type = type};
    add(nl, &attr, sizeof attr);
    add(nl, data, len);
}

void sc_nl_put_text(struct sc_nl *nl, uint16_t type, const char *text)
{
    sc_nl_put(nl, type, text, strlen(text) + 1);
}

void sc_nl_put_be32(struct sc_nl *nl, uint16_t type, uint32_t value)
{
    uint32_t big = htonl(value);
    sc_nl_put(nl, type, &big, sizeof big);
}

size_t sc_nl_open(struct sc_nl *nl, uint16_t type)
{
    size_t at = nl->buf->len;
    sc_nl_put(nl, type | NLA_F_NESTED, NULL, 0);
    return at;
}

void sc_nl_close(struct sc_nl *nl, size_t at)
{
    uint16_t len = (uint16_t)(nl->buf->len - at);
    if (!nl->failed && nl->buf->len - at > UINT16_MAX)
        nl->failed = -EMSGSIZE;
    if (!nl->failed)
        memcpy(nl->buf->data + at, &len, sizeof len);
}

/* The answers come in the order of the messages: the one to `seq` is the last. */
static int wait_for(int sock, uint32_t seq)
{
    char answer[8192] __attribute__((aligned(NLMSG_ALIGNTO)));
    for (;;) {
        ssize_t n = recv(sock, answer, sizeof answer, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        size_t left = (size_t)n;
        for (const struct nlmsghdr *m = (const void *)answer; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
            const struct nlmsgerr *error = NLMSG_DATA(m);
            if (m->nlmsg_type != NLMSG_ERROR || m->nlmsg_len < NLMSG_LENGTH(sizeof *error))
                continue;
            if (error->error < 0)
                return error->error;
            if (m->nlmsg_seq == seq)
                return 0;
        }
    }
}

int sc_nl_ask(int sock, const void *data, size_t len, uint32_t seq)
{
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    ssize_t n = sendto(sock, data, len, 0, (struct sockaddr *)&kernel, sizeof kernel);
    if (n != (ssize_t)len)
        return n < 0 ? -errno : -EMSGSIZE;
    return wait_for(sock, seq);
}
