/* To a port that a program of the cell listens on, on the cell's own loopback: input goes there, and what
 * comes from there is output, until that side ends it. Nothing else can be reached by it: the address is not
 * a choice, and the process has the program's rights. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "agent/operate.h"
#include "base/fd.h"

#define CONNECT_PATIENCE_S 10 /* a listener that takes nobody */

/* One direction. */
struct way {
    int from, to;
    size_t at, len; /* of data: what has not gone on */
    bool is_over;   /* nothing more comes */
    uint8_t data[64 * 1024];
};

static int read_port(const char *text, uint16_t *ret_port)
{
    unsigned long port = 0;
    for (const char *at = text; *at; at++) {
        if (*at < '0' || *at > '9' || port > 65535)
            return -EINVAL;
        port = port * 10 + (unsigned long)(*at - '0');
    }
    if (port < 1 || port > 65535)
        return -EINVAL;
    *ret_port = (uint16_t)port;
    return 0;
}

static int dial(int family, const void *address, socklen_t len)
{
    const struct timeval patience = {.tv_sec = CONNECT_PATIENCE_S};
    const int on = 1;
    int sock = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (sock < 0)
        return -errno;
    setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0 &&
        connect(sock, address, len) == 0)
        return sock;
    int r = errno == EINPROGRESS || errno == EAGAIN ? -ETIMEDOUT : -errno;
    close(sock);
    return r;
}

static int dial_loopback(uint16_t port)
{
    const struct sockaddr_in four = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr_in6 six = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int sock = dial(AF_INET, &four, sizeof four);
    int other = sock == -ECONNREFUSED ? dial(AF_INET6, &six, sizeof six) : sock;
    return other >= 0 ? other : sock;
}

/* 0, also where it would have to wait; negative errno. */
static int fill(struct way *way)
{
    if (way->is_over || way->len)
        return 0;
    ssize_t n = read(way->from, way->data, sizeof way->data);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    way->is_over = n == 0;
    way->at = 0;
    way->len = (size_t)n;
    return 0;
}

static int drain(struct way *way, uint64_t *ret_bytes)
{
    while (way->len) {
        ssize_t n = write(way->to, way->data + way->at, way->len);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        way->at += (size_t)n;
        way->len -= (size_t)n;
        *ret_bytes += (size_t)n;
    }
    return 0;
}

static void wait_for(const struct way *in, const struct way *out)
{
    struct pollfd list[4] = {
        {in->len || in->is_over ? -1 : in->from, POLLIN, 0},
        {in->len ? in->to : -1, POLLOUT, 0},
        {out->len || out->is_over ? -1 : out->from, POLLIN, 0},
        {out->len ? out->to : -1, POLLOUT, 0},
    };
    (void)poll(list, 4, -1);
}

/* Ends when the program's side has said all. Whoever takes no more input there may still speak. */
static int relay(struct sc_operation *op, struct way *in, struct way *out)
{
    uint64_t uncounted = 0;
    bool told = false;
    for (;;) {
        int r = fill(in);
        if (r == 0 && drain(in, &uncounted) < 0) {
            in->is_over = told = true;
            in->len = 0;
        }
        if (r == 0 && in->is_over && !in->len && !told) {
            told = true;
            shutdown(in->to, SHUT_WR);
        }
        if (r == 0)
            r = fill(out);
        if (r == 0)
            r = drain(out, &op->done.bytes);
        if (r < 0 || (out->is_over && !out->len))
            return r;
        wait_for(in, out);
    }
}

int sc_operate_port(struct sc_operation *op)
{
    static struct way in, out;
    uint16_t port;
    int r = read_port(op->path, &port);
    int sock = r == 0 ? dial_loopback(port) : r;
    if (sock < 0)
        return sock;
    in = (struct way){.from = 0, .to = sock};
    out = (struct way){.from = sock, .to = 1};
    for (int i = 0; i < 3 && r == 0; i++)
        r = sc_set_nonblocking((const int[]){0, 1, sock}[i]);
    if (r == 0) {
        sc_operation_started(op);
        r = relay(op, &in, &out);
    }
    close(sock);
    return r;
}
