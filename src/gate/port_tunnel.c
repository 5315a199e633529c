/* A connection that was upgraded: the program inside agreed to another protocol, and from then on bytes go
 * both ways, unread. libmicrohttpd leaves us its socket until we say that we are done. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/num.h"
#include "gate/port.h"

#define CHUNK (16u * 1024)

struct port_tunnel {
    struct request *request;
    struct MHD_UpgradeResponseHandle *handle; /* NULL: the answer has not gone out yet, or it is closed */
    struct watch watch;
    struct sc_buf out; /* to the client */
    size_t out_at;
    bool is_over; /* nothing more comes from inside */
};

static size_t waiting(const struct port_tunnel *tunnel)
{
    return tunnel->out.len - tunnel->out_at;
}

/* libmicrohttpd then ends the connection, and with it the request. */
static void close_tunnel(struct port_tunnel *tunnel)
{
    struct request *request = tunnel->request;
    if (!tunnel->handle)
        return;
    watch_remove(request->gate, &tunnel->watch);
    (void)MHD_upgrade_action(tunnel->handle, MHD_UPGRADE_ACTION_CLOSE);
    tunnel->handle = NULL;
    if (request->ask)
        ask_forget(request->ask);
    request->ask = NULL;
    request->gate->daemon_ready = true;
}

static void set_watch(struct port_tunnel *tunnel)
{
    const struct ask *ask = tunnel->request->ask;
    bool hears = ask && ask->link && ask->credit > 0;
    uint32_t events = (hears ? EPOLLIN | EPOLLRDHUP : 0u) | (waiting(tunnel) ? EPOLLOUT : 0u);
    if (watch_change(tunnel->request->gate, &tunnel->watch, events) < 0)
        close_tunnel(tunnel);
}

/* What waits goes to the client. False: it is gone. */
static bool flush(struct port_tunnel *tunnel)
{
    struct ask *ask = tunnel->request->ask;
    while (waiting(tunnel)) {
        ssize_t n = send(tunnel->watch.fd, tunnel->out.data + tunnel->out_at, waiting(tunnel),
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN)
            return false;
        if (n < 0)
            break;
        tunnel->out_at += (size_t)n;
    }
    if (!waiting(tunnel)) {
        tunnel->out_at = 0;
        sc_buf_fini(&tunnel->out);
    }
    if (ask && ask->link)
        link_pause(ask->link, waiting(tunnel) > SC_GATE_WINDOW);
    return waiting(tunnel) || !tunnel->is_over;
}

/* What the client says, within what the program takes. False: it is gone. */
static bool hear(struct port_tunnel *tunnel)
{
    char chunk[CHUNK];
    struct ask *ask = tunnel->request->ask;
    if (!ask || !ask->link || ask->credit == 0)
        return true;
    ssize_t n =
        recv(tunnel->watch.fd, chunk, ask->credit < sizeof chunk ? ask->credit : sizeof chunk, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    return n > 0 && ask_input(ask, chunk, (size_t)n) == 0;
}

static void on_ready(void *userdata, uint32_t events)
{
    struct port_tunnel *tunnel = userdata;
    bool lives = !(events & (EPOLLERR | EPOLLHUP)) && flush(tunnel);
    if (lives && events & (EPOLLIN | EPOLLRDHUP))
        lives = hear(tunnel);
    if (lives)
        set_watch(tunnel);
    else
        close_tunnel(tunnel);
}

static void on_upgraded(void *cls, struct MHD_Connection *connection, void *context, const char *extra,
                        size_t extra_len, MHD_socket sock, struct MHD_UpgradeResponseHandle *handle)
{
    struct port_tunnel *tunnel = cls;
    struct request *request = tunnel->request;
    (void)connection;
    (void)context;
    tunnel->handle = handle;
    tunnel->watch = (struct watch){.fd = sock, .ready = on_ready, .userdata = tunnel};
    bool fine = sc_set_nonblocking(sock) == 0 && watch_add(request->gate, &tunnel->watch, EPOLLRDHUP) == 0;
    /* What came with the request's head. */
    if (fine && extra_len)
        fine = request->ask && ask_input(request->ask, extra, extra_len) == 0;
    if (fine && flush(tunnel))
        set_watch(tunnel);
    else
        close_tunnel(tunnel);
}

struct port_tunnel *port_tunnel_new(struct request *request)
{
    struct port_tunnel *tunnel = calloc(1, sizeof *tunnel);
    if (!tunnel)
        return NULL;
    tunnel->request = request;
    sc_buf_init(&tunnel->out, 4 * (size_t)SC_KEEPER_REPLY_MAX);
    return tunnel;
}

bool port_tunnel_answer(struct port_tunnel *tunnel)
{
    return answer_upgrade(tunnel->request, on_upgraded, tunnel);
}

void port_tunnel_say(struct port_tunnel *tunnel, const void *data, size_t len)
{
    struct ask *ask = tunnel->request->ask;
    if (!tunnel->out.data)
        sc_buf_init(&tunnel->out, 4 * (size_t)SC_KEEPER_REPLY_MAX);
    bool fine = sc_buf_add(&tunnel->out, data, len) == 0;
    if (!tunnel->handle && ask && ask->link) /* the answer has not gone out yet */
        link_pause(ask->link, waiting(tunnel) > SC_GATE_WINDOW);
    if (!fine || (tunnel->handle && !flush(tunnel)))
        close_tunnel(tunnel);
    else if (tunnel->handle)
        set_watch(tunnel);
}

void port_tunnel_room(struct port_tunnel *tunnel)
{
    if (tunnel->handle)
        set_watch(tunnel);
}

void port_tunnel_end(struct port_tunnel *tunnel)
{
    tunnel->is_over = true;
    if (!tunnel->handle)
        return;
    if (flush(tunnel))
        set_watch(tunnel);
    else
        close_tunnel(tunnel);
}

void port_tunnel_cut(struct port_tunnel *tunnel)
{
    close_tunnel(tunnel);
}

void port_tunnel_free(struct port_tunnel *tunnel)
{
    if (!tunnel)
        return;
    sc_buf_fini(&tunnel->out);
    free(tunnel);
}
