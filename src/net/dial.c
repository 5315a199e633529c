/* From a name or an address to a connected socket outside. A name is resolved here and nowhere else, when it
 * is connected to; each address is judged, and what was judged is what is connected to. */
#include <ares.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/num.h"
#include "net/egress.h"

#define CONNECT_PATIENCE_NS (10 * SC_NS_PER_S) /* of each address */
#define REMEMBERED_NS (30 * SC_NS_PER_S)
#define ASK_MS 3000
#define ASK_TRIES 2
#define RESOLVER_SOCKETS 64

struct sc_dial {
    struct sc_source source; /* the socket that connects, or -1 */
    struct sc_egress *egress;
    struct sc_known_name *name; /* NULL: an address only */
    struct sc_addr addrs[SC_NAME_ADDRESSES_MAX];
    size_t n_addrs, next;
    uint16_t port;
    bool resolving, cancelled, over;
    int error; /* why the last address did not do */
    uint64_t until_ns;
    sc_dial_done *done;
    void *userdata;
    struct sc_dial *after;
};

/* All that are open; those that are over are freed in the next round. */
static struct sc_dial *dials;
static struct sc_source resolver_sockets[RESOLVER_SOCKETS];

/* ---- the resolver's sockets ---- */

static void on_resolver(struct sc_egress *egress, struct sc_source *source, uint32_t events)
{
    int fd = source->fd;
    if (fd < 0)
        return;
    ares_process_fd(egress->resolver, events & (EPOLLIN | EPOLLERR | EPOLLHUP) ? fd : ARES_SOCKET_BAD,
                    events & EPOLLOUT ? fd : ARES_SOCKET_BAD);
}

static void on_socket_state(void *userdata, ares_socket_t fd, int readable, int writable)
{
    struct sc_egress *egress = userdata;
    struct sc_source *source = NULL;
    for (size_t i = 0; i < RESOLVER_SOCKETS; i++) {
        if (resolver_sockets[i].fd == fd) {
            source = &resolver_sockets[i];
            break;
        }
        if (!source && resolver_sockets[i].fd < 0)
            source = &resolver_sockets[i];
    }
    if (!source)
        return; /* that question times out */
    struct epoll_event event = {.events = (readable ? EPOLLIN : 0u) | (writable ? EPOLLOUT : 0u),
                                .data.ptr = source};
    if (!readable && !writable) {
        if (source->fd == fd)
            epoll_ctl(egress->epoll, EPOLL_CTL_DEL, fd, NULL);
        source->fd = -1;
        return;
    }
    int what = source->fd == fd ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    source->fd = fd;
    source->ready = on_resolver;
    epoll_ctl(egress->epoll, what, fd, &event);
}

int sc_dial_init(struct sc_egress *egress)
{
    char lookups[] = "fb"; /* /etc/hosts, then DNS */
    struct ares_options options = {.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
                                   .timeout = ASK_MS,
                                   .tries = ASK_TRIES,
                                   .lookups = lookups,
                                   .sock_state_cb = on_socket_state,
                                   .sock_state_cb_data = egress};
    for (size_t i = 0; i < RESOLVER_SOCKETS; i++)
        resolver_sockets[i].fd = -1;
    int r = ares_init_options(&egress->resolver, &options,
                              ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS |
                                  ARES_OPT_SOCK_STATE_CB);
    return r == ARES_SUCCESS ? 0 : r == ARES_ENOMEM ? -ENOMEM : -EINVAL;
}

/* ---- an address ---- */

static socklen_t socket_address(const struct sc_addr *addr, uint16_t port, struct sockaddr_storage *ret)
{
    memset(ret, 0, sizeof *ret);
    if (addr->v6) {
        struct sockaddr_in6 *to = (struct sockaddr_in6 *)ret;
        to->sin6_family = AF_INET6;
        to->sin6_port = htons(port);
        memcpy(&to->sin6_addr, addr->bytes, 16);
        return sizeof *to;
    }
    struct sockaddr_in *to = (struct sockaddr_in *)ret;
    to->sin_family = AF_INET;
    to->sin_port = htons(port);
    memcpy(&to->sin_addr, addr->bytes, 4);
    return sizeof *to;
}

static bool same_address(const struct sc_addr *addr, const struct sockaddr_storage *other)
{
    if (addr->v6)
        return !memcmp(addr->bytes, &((const struct sockaddr_in6 *)other)->sin6_addr, 16);
    return !memcmp(addr->bytes, &((const struct sockaddr_in *)other)->sin_addr, 4);
}

/* What goes to one of the host's own addresses comes from that address. Nothing is sent for this. */
static bool is_our_own(const struct sc_addr *addr)
{
    struct sockaddr_storage to, from = {0};
    socklen_t len = socket_address(addr, 9, &to), from_len = sizeof from;
    int sock = socket(addr->v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (sock < 0)
        return true; /* not known: refused */
    bool own = connect(sock, (struct sockaddr *)&to, len) == 0 &&
               getsockname(sock, (struct sockaddr *)&from, &from_len) == 0 && same_address(addr, &from);
    close(sock);
    return own;
}

static bool lifted(const struct sc_net *net, const struct sc_addr *addr, uint16_t port)
{
    for (; net; net = net->within)
        if (!sc_net_names_special(net, addr, port))
            return false;
    return true;
}

static bool may_connect(struct sc_dial *dial, const struct sc_addr *addr)
{
    struct sc_egress *egress = dial->egress;
    struct sc_decision decision = {.what = SC_NET_WHAT_CONNECT,
                                   .name = dial->name ? dial->name->text : NULL,
                                   .addr = addr,
                                   .port = dial->port};
    decision.verdict = dial->name ? sc_net_judge_resolved(&egress->net, addr, dial->port)
                                  : sc_net_judge_literal(&egress->net, addr, dial->port);
    if (decision.verdict.allow && !lifted(&egress->net, addr, dial->port) && is_our_own(addr))
        decision.verdict =
            (struct sc_net_verdict){false, "special addresses", "this host's own address", NULL};
    if (!decision.verdict.allow)
        sc_records_add(egress, &decision);
    return decision.verdict.allow;
}

/* ---- one after another ---- */

static void finish(struct sc_dial *dial, int result, const struct sc_addr *addr)
{
    dial->over = true;
    if (!dial->cancelled)
        dial->done(dial->userdata, result, addr);
    else if (result >= 0)
        close(result);
}

static void on_connected(struct sc_egress *egress, struct sc_source *source, uint32_t events);

/* 1: connected; 0: on its way; negative errno. */
static int try_address(struct sc_dial *dial, const struct sc_addr *addr)
{
    struct sockaddr_storage to;
    const int on = 1;
    socklen_t len = socket_address(addr, dial->port, &to);
    int sock = socket(addr->v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (sock < 0)
        return -errno;
    setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    dial->source = (struct sc_source){sock, on_connected};
    if (connect(sock, (struct sockaddr *)&to, len) == 0)
        return 1;
    int r = errno != EINPROGRESS ? -errno : sc_egress_watch(dial->egress, &dial->source, EPOLLOUT);
    if (r < 0)
        sc_close(&dial->source.fd);
    dial->until_ns = sc_now_ns() + CONNECT_PATIENCE_NS;
    return r;
}

static void go_on(struct sc_dial *dial)
{
    while (dial->next < dial->n_addrs) {
        const struct sc_addr *addr = &dial->addrs[dial->next++];
        int r = may_connect(dial, addr) ? try_address(dial, addr) : -EACCES;
        if (r > 0)
            finish(dial, sc_steal_fd(&dial->source.fd), addr);
        if (r >= 0)
            return;
        dial->error = r;
    }
    finish(dial, dial->error, NULL);
}

static void on_connected(struct sc_egress *egress, struct sc_source *source, uint32_t events)
{
    struct sc_dial *dial = (struct sc_dial *)source;
    int error = 0;
    socklen_t len = sizeof error;
    (void)events;
    if (dial->over || source->fd < 0)
        return;
    if (getsockopt(source->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        error = errno;
    if (error) {
        sc_close(&source->fd);
        dial->error = -error;
        go_on(dial);
        return;
    }
    epoll_ctl(egress->epoll, EPOLL_CTL_DEL, source->fd, NULL);
    finish(dial, sc_steal_fd(&source->fd), &dial->addrs[dial->next - 1]);
}

/* ---- a name ---- */

static void keep_addresses(struct sc_known_name *name, const struct ares_addrinfo *info)
{
    name->n_addrs = 0;
    for (const struct ares_addrinfo_node *node = info->nodes; node; node = node->ai_next) {
        struct sc_addr addr = {.v6 = node->ai_family == AF_INET6};
        if (name->n_addrs == SC_NAME_ADDRESSES_MAX)
            break;
        if (addr.v6)
            memcpy(addr.bytes, &((const struct sockaddr_in6 *)(const void *)node->ai_addr)->sin6_addr, 16);
        else if (node->ai_family == AF_INET)
            memcpy(addr.bytes, &((const struct sockaddr_in *)(const void *)node->ai_addr)->sin_addr, 4);
        else
            continue;
        name->addrs[name->n_addrs++] = addr;
    }
    name->until_ns = sc_now_ns() + REMEMBERED_NS;
}

static void use_addresses(struct sc_dial *dial)
{
    memcpy(dial->addrs, dial->name->addrs, sizeof dial->addrs);
    dial->n_addrs = dial->name->n_addrs;
    dial->error = -ENOENT; /* when there is none */
    go_on(dial);
}

static void on_resolved(void *userdata, int status, int timeouts, struct ares_addrinfo *info)
{
    struct sc_dial *dial = userdata;
    (void)timeouts;
    dial->resolving = false;
    if (status == ARES_SUCCESS)
        keep_addresses(dial->name, info);
    if (info)
        ares_freeaddrinfo(info);
    if (status == ARES_SUCCESS && !dial->cancelled)
        use_addresses(dial);
    else
        finish(dial, -ENOENT, NULL);
}

int sc_dial_start(struct sc_egress *egress, struct sc_known_name *name, const struct sc_addr *addr,
                  uint16_t port, sc_dial_done *done, void *userdata, struct sc_dial **ret_dial)
{
    struct sc_dial *dial = calloc(1, sizeof *dial);
    if (!dial)
        return -ENOMEM;
    *dial = (struct sc_dial){.source = {.fd = -1},
                             .egress = egress,
                             .name = name,
                             .port = port,
                             .until_ns = UINT64_MAX,
                             .done = done,
                             .userdata = userdata,
                             .after = dials};
    dials = dial;
    *ret_dial = dial;
    if (!name) {
        dial->addrs[dial->n_addrs++] = *addr;
        go_on(dial);
    } else if (name->n_addrs && sc_now_ns() < name->until_ns) {
        use_addresses(dial);
    } else {
        struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
        dial->resolving = true;
        ares_getaddrinfo(egress->resolver, name->text, NULL, &hints, on_resolved, dial);
    }
    return 0;
}

void sc_dial_cancel(struct sc_dial *dial)
{
    dial->cancelled = true;
    sc_close(&dial->source.fd);
    if (!dial->resolving)
        dial->over = true;
}

int sc_dial_round(struct sc_egress *egress)
{
    uint64_t now = sc_now_ns(), next = UINT64_MAX;
    if (!dials) /* then the resolver has nothing to do either */
        return -1;
    for (struct sc_dial **at = &dials; *at;) {
        struct sc_dial *dial = *at;
        if (!dial->over && dial->source.fd >= 0 && now >= dial->until_ns) {
            sc_close(&dial->source.fd);
            dial->error = -ETIMEDOUT;
            go_on(dial);
        }
        if (dial->over && !dial->resolving) {
            *at = dial->after;
            free(dial);
            continue;
        }
        if (dial->source.fd >= 0 && dial->until_ns < next)
            next = dial->until_ns;
        at = &dial->after;
    }
    struct timeval wait, most = {.tv_sec = 60};
    ares_process_fd(egress->resolver, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    const struct timeval *resolver = ares_timeout(egress->resolver, &most, &wait);
    int ms = next == UINT64_MAX ? -1 : (int)((next - sc_min_u64(next, now)) / SC_NS_PER_MS) + 1;
    int resolver_ms = (int)(resolver->tv_sec * 1000 + resolver->tv_usec / 1000) + 1;
    return ms < 0 || resolver_ms < ms ? resolver_ms : ms;
}
