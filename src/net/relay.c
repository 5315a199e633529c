/* Connections out of the cell. The kernel has accepted each of them before it is judged here, so that a
 * refusal is a reset.
 *
 *   accepted → judged → dialling → relaying → gone
 *
 * What the cell sends first is looked at before any of it goes on, where a name was asked for: a TLS hello or
 * an HTTP request for somebody else ends the connection (peek.h).
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/num.h"
#include "net/peek.h"
#include "net/relay_parts.h"

#define CONNECTIONS_USUAL 128
#define ACCEPTS_A_ROUND 64
#define BYTES_A_TURN (2 * 1024 * 1024) /* then others have theirs */
#define REFILL_MS 5
/* linux/netfilter_ipv4.h cannot be included beside the C library's headers. Both families have this number.
 */
#define ORIGINAL_DST 80

/* ---- the end of one ---- */

/* The other side sees a reset, not an orderly end. */
static void reset(int *fd)
{
    const struct linger now = {.l_onoff = 1};
    if (*fd >= 0)
        setsockopt(*fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    sc_close(fd);
}

/* Its memory stays until no event of this round can mean it. */
void sc_relay_end(struct sc_connection *c, bool by_reset)
{
    struct sc_egress *egress = c->egress;
    if (c->dial)
        sc_dial_cancel(c->dial);
    c->dial = NULL;
    if (by_reset) {
        reset(&c->client.fd);
        reset(&c->upstream.fd);
    }
    sc_close(&c->client.fd);
    sc_close(&c->upstream.fd);
    sc_budgets_release(&c->charged);
    sc_flow_fini(&c->flows[SC_NET_OUT]);
    sc_flow_fini(&c->flows[SC_NET_IN]);
    if (c->tls)
        sc_net_tls->close(c->tls);
    c->tls = NULL;
    free(c->http);
    c->http = NULL;
    for (struct sc_connection **at = &egress->connections; *at; at = &(*at)->after) {
        if (*at == c) {
            *at = c->after;
            break;
        }
    }
    c->after = egress->dead;
    egress->dead = c;
    egress->n_connections--;
}

void sc_relay_refuse(struct sc_connection *c, const char *name, const char *rule, const char *reason)
{
    const struct sc_decision decision = {.what = SC_NET_WHAT_CONNECT,
                                         .name = name,
                                         .addr = c->name ? NULL : &c->addr,
                                         .port = c->port,
                                         .verdict = {false, rule, reason}};
    sc_records_add(c->egress, &decision);
    sc_relay_end(c, true);
}

/* ---- budgets ---- */

static void account(struct sc_connection *c, enum sc_net_way way, size_t moved)
{
    struct sc_net_note *record = c->record >= 0 ? &c->egress->records[c->record] : NULL;
    sc_budgets_count(&c->egress->budgets, &c->charged, way, moved);
    if (record)
        *(way == SC_NET_OUT ? &record->bytes_out : &record->bytes_in) += moved;
}

/* To the rules that allow it; where they are about requests, each of those will be. False: one of them has no
 * room, and the connection is gone. */
static bool charge(struct sc_connection *c)
{
    const struct sc_net_rule *rules[SC_NET_LAYERS_MAX];
    const struct sc_net *net = &c->egress->net;
    size_t n = c->requests_only ? 0
               : c->name        ? sc_net_rules_of_name(net, c->name->text, c->port, rules)
                                : sc_net_rules_of_literal(net, &c->addr, c->port, rules);
    struct sc_spent spent = sc_budgets_charge(&c->egress->budgets, &c->charged, rules, n);
    if (spent.why)
        sc_relay_refuse(c, c->name ? c->name->text : NULL, spent.rule, spent.why);
    return !spent.why;
}

/* ---- relaying ---- */

static int check_http(void *userdata, const uint8_t *data, size_t len)
{
    return sc_http_feed(userdata, data, len);
}

/* From here on every request is looked at. */
static int follow_http(struct sc_connection *c, bool doubtful)
{
    c->http = malloc(sizeof *c->http);
    if (!c->http)
        return -ENOMEM;
    if (doubtful)
        sc_http_init_doubtful(c->http, c->name->text);
    else
        sc_http_init(c->http, c->name->text);
    c->flows[SC_NET_OUT].check = check_http;
    c->flows[SC_NET_OUT].userdata = c->http;
    return 0;
}

/* Whom the first bytes are for. False: the connection is gone. */
static bool look(struct sc_connection *c)
{
    uint8_t first[SC_PEEK_MAX];
    char name[SC_NET_NAME_MAX + 1];
    ssize_t n = recv(c->client.fd, first, sizeof first, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN)
        return true;
    if (n <= 0) { /* nothing to look at; moving will find out the same */
        c->looked_at = true;
        return true;
    }
    enum sc_peek seen = sc_peek(first, (size_t)n, name);
    const char *what = first[0] >= 0x14 && first[0] <= 0x18 ? "tls_sni" : "http_host";
    bool doubtful = seen == SC_PEEK_MORE && sc_peek_tells_later(first, (size_t)n);
    if (doubtful)
        seen = SC_PEEK_OTHER;
    if (seen == SC_PEEK_BROKEN || (seen == SC_PEEK_MORE && (size_t)n == sizeof first)) {
        sc_relay_refuse(c, c->name->text, what, "whom it is for cannot be read");
        return false;
    }
    if (seen == SC_PEEK_NAME && strcmp(name, c->name->text) != 0) {
        sc_relay_refuse(c, name, what, "the name in it is not the one that was looked up");
        return false;
    }
    c->looked_at = seen != SC_PEEK_MORE;
    bool http = c->looked_at && (doubtful || sc_peek_is_http(first, (size_t)n));
    if (http && follow_http(c, doubtful) < 0) {
        sc_relay_end(c, true);
        return false;
    }
    return true;
}

/* Another protocol was asked for: the server's answer comes before anything more from the cell. False: the
 * connection is gone. */
static bool hear_answer(struct sc_connection *c)
{
    uint8_t first[16];
    if (!c->http || c->http->state != SC_HTTP_ASKED)
        return true;
    ssize_t n = recv(c->upstream.fd, first, sizeof first, MSG_PEEK | MSG_DONTWAIT);
    if (n <= 0 || sc_http_answered(c->http, first, (size_t)n) >= 0)
        return true;
    sc_relay_refuse(c, c->name->text, "http_host", "an upgrade to what cannot be looked into");
    return false;
}

/* SC_FLOW_*, or -1: the connection is gone. */
static int move(struct sc_connection *c, enum sc_net_way way)
{
    struct sc_budgets *budgets = &c->egress->budgets;
    size_t moved = 0, most = sc_budgets_allowance(budgets, &c->charged, way, BYTES_A_TURN);
    int from = way == SC_NET_OUT ? c->client.fd : c->upstream.fd,
        to = way == SC_NET_OUT ? c->upstream.fd : c->client.fd;
    struct sc_spent spent = sc_budgets_spent(budgets, &c->charged);
    if (spent.why) {
        sc_relay_refuse(c, c->name ? c->name->text : NULL, spent.rule, spent.why);
        return -1;
    }
    int state = sc_flow_move(&c->flows[way], from, to, most, &moved);
    account(c, way, moved);
    if (state < 0 && c->http && way == SC_NET_OUT &&
        (state == -EPERM || state == -EPROTO || state == -EACCES))
        sc_relay_refuse_request(c, state);
    else if (state < 0)
        sc_relay_end(c, true);
    if (state < 0)
        return -1;
    if (state == SC_FLOW_MORE) {
        bool limited = sc_budgets_wait(budgets, &c->charged, way);
        c->throttled = c->throttled || limited;
        c->again = c->again || !limited;
    }
    return state;
}

static void pump(struct sc_connection *c)
{
    int out = SC_FLOW_WAITS, in;
    if (c->client.fd < 0 || c->upstream.fd < 0)
        return;
    c->again = c->throttled = false;
    if (!c->is_settled && sc_relay_settle(c) <= 0)
        return;
    if (!c->looked_at && !look(c))
        return;
    if (!hear_answer(c))
        return;
    bool may_speak = c->looked_at && !(c->http && c->http->state == SC_HTTP_ASKED);
    if (may_speak && (out = move(c, SC_NET_OUT)) < 0)
        return;
    if (c->http && c->http->state == SC_HTTP_ASKED && !hear_answer(c))
        return;
    in = move(c, SC_NET_IN);
    if (in >= 0 && out == SC_FLOW_OVER && in == SC_FLOW_OVER)
        sc_relay_end(c, false);
}

static void on_upstream(struct sc_egress *egress, struct sc_source *source, uint32_t events)
{
    struct sc_connection *c =
        (struct sc_connection *)(void *)((char *)source - offsetof(struct sc_connection, upstream));
    (void)egress;
    (void)events;
    pump(c);
}

static void on_client(struct sc_egress *egress, struct sc_source *source, uint32_t events)
{
    struct sc_connection *c = (struct sc_connection *)(void *)source;
    (void)egress;
    if (c->upstream.fd >= 0)
        pump(c);
    else if (c->client.fd >= 0 && events & (EPOLLERR | EPOLLHUP))
        sc_relay_end(c, true); /* gone before there was anybody to talk to */
}

static void on_dialled(void *userdata, int sock, const struct sc_addr *addr)
{
    struct sc_connection *c = userdata;
    struct sc_egress *egress = c->egress;
    struct sc_decision decision = {.what = SC_NET_WHAT_CONNECT,
                                   .name = c->name ? c->name->text : NULL,
                                   .addr = addr      ? addr
                                           : c->name ? NULL
                                                     : &c->addr,
                                   .port = c->port};
    c->dial = NULL;
    if (sock == -EACCES) { /* which is in the records */
        sc_relay_end(c, true);
        return;
    }
    decision.verdict = c->name ? sc_net_judge_name(&egress->net, c->name->text, c->port)
                               : sc_net_judge_literal(&egress->net, &c->addr, c->port);
    if (sock < 0)
        decision.verdict.reason = sock == -ENOENT ? "allowed, but the name does not resolve"
                                                  : "allowed, but there was no connection to be had";
    c->record = sc_records_add(egress, &decision);
    if (sock < 0) {
        sc_relay_end(c, true);
        return;
    }
    c->addr = *addr;
    c->upstream = (struct sc_source){sock, on_upstream};
    if (sc_egress_watch(egress, &c->upstream, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET) < 0)
        sc_relay_end(c, true);
    else
        pump(c);
}

/* ---- the beginning ---- */

static int original_address(int sock, bool v6, struct sc_addr *ret_addr, uint16_t *ret_port)
{
    struct sockaddr_in6 six;
    struct sockaddr_in four;
    socklen_t len = v6 ? sizeof six : sizeof four;
    int r = v6 ? getsockopt(sock, IPPROTO_IPV6, ORIGINAL_DST, &six, &len)
               : getsockopt(sock, IPPROTO_IP, ORIGINAL_DST, &four, &len);
    if (r < 0)
        return -errno;
    *ret_addr = (struct sc_addr){.v6 = v6};
    memcpy(ret_addr->bytes, v6 ? (void *)&six.sin6_addr : (void *)&four.sin_addr, v6 ? 16 : 4);
    *ret_port = ntohs(v6 ? six.sin6_port : four.sin_port);
    return 0;
}

static void judge(struct sc_connection *c)
{
    struct sc_egress *egress = c->egress;
    uint64_t most = egress->net.connections ? egress->net.connections : CONNECTIONS_USUAL;
    most = sc_min_u64(most, egress->connections_most);
    if (sc_names_is_standin(&c->addr)) {
        c->name = sc_names_find(&egress->names, &c->addr);
        if (!c->name) {
            sc_relay_refuse(c, NULL, "names", "an address that stands for no name that was looked up");
            return;
        }
        struct sc_net_verdict verdict = sc_net_judge_name(&egress->net, c->name->text, c->port);
        if (!verdict.allow) {
            sc_relay_refuse(c, c->name->text, verdict.rule, verdict.reason);
            return;
        }
    }
    if (egress->n_connections > most) {
        sc_relay_refuse(c, c->name ? c->name->text : NULL, "connections",
                        "this budget of the cell is used up");
        return;
    }
    c->requests_only = c->name && sc_net_is_about_requests(&egress->net, c->name->text, c->port);
    c->wants_tls = c->requests_only && sc_net_wants_tls(&egress->net, c->name->text, c->port);
    c->is_settled = !c->wants_tls;
    if (!charge(c))
        return;
    c->looked_at = !c->name || egress->net.unchecked_names || c->requests_only;
    if (c->requests_only && sc_relay_follow_requests(c) < 0) {
        sc_relay_end(c, true);
        return;
    }
    if (sc_dial_start(egress, c->name, &c->addr, c->port, on_dialled, c, &c->dial) < 0)
        sc_relay_end(c, true);
}

static void begin(struct sc_egress *egress, int sock, bool v6)
{
    struct sc_connection *c = calloc(1, sizeof *c);
    if (!c) {
        close(sock);
        return;
    }
    *c = (struct sc_connection){.client = {sock, on_client},
                                .upstream = {.fd = -1},
                                .egress = egress,
                                .record = -1,
                                .flows = {SC_FLOW_NONE, SC_FLOW_NONE},
                                .after = egress->connections};
    egress->connections = c;
    egress->n_connections++;
    /* Who comes to the listener by its own address was sent by nobody. */
    if (original_address(sock, v6, &c->addr, &c->port) < 0 || c->port == SC_NET_PORT_TCP ||
        sc_egress_watch(egress, &c->client, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET) < 0)
        sc_relay_end(c, true);
    else
        judge(c);
}

static void on_accept(struct sc_egress *egress, struct sc_source *source, uint32_t events)
{
    (void)events;
    for (int i = 0; i < ACCEPTS_A_ROUND; i++) {
        int sock = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (sock < 0)
            return;
        begin(egress, sock, source == &egress->listeners[1]);
    }
}

int sc_relay_start(struct sc_egress *egress)
{
    static const int slots[2] = {SC_NET_FD_TCP4, SC_NET_FD_TCP6};
    const int on = 1;
    int r = 0;
    for (int v6 = 0; v6 < 2 && r == 0; v6++) {
        /* What is accepted has it, too. On /dev/null it means nothing. */
        setsockopt(SC_NET_SLOT_FIRST + slots[v6], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        egress->listeners[v6] = (struct sc_source){SC_NET_SLOT_FIRST + slots[v6], on_accept};
        r = sc_egress_watch(egress, &egress->listeners[v6], EPOLLIN);
        if (v6 && r == -EPERM) /* /dev/null: the kernel has no v6 */
            r = 0;
    }
    return r;
}

static bool still_allowed(const struct sc_connection *c)
{
    const struct sc_net *net = &c->egress->net;
    if (!c->name)
        return sc_net_judge_literal(net, &c->addr, c->port).allow;
    return sc_net_judge_name(net, c->name->text, c->port).allow &&
           sc_net_is_about_requests(net, c->name->text, c->port) == c->requests_only &&
           (c->requests_only && sc_net_wants_tls(net, c->name->text, c->port)) == c->wants_tls &&
           (c->upstream.fd < 0 || sc_net_judge_resolved(net, &c->addr, c->port).allow);
}

static void judge_one_again(struct sc_connection *c)
{
    if (still_allowed(c))
        (void)charge(c);
    else
        sc_relay_refuse(c, c->name ? c->name->text : NULL, "changed rules",
                        "the rules were changed and allow it no more");
}

int sc_relay_change(struct sc_egress *egress, struct sc_net *net)
{
    int r = sc_budgets_renew(&egress->budgets, net);
    if (r < 0)
        return r;
    sc_net_fini(&egress->net);
    egress->net = *net;
    egress->budgets.net = &egress->net;
    for (struct sc_connection *c = egress->connections; c; c = c->after)
        c->charged.n = 0; /* its rules are gone */
    for (struct sc_connection *c = egress->connections, *after; c; c = after) {
        after = c->after;
        judge_one_again(c);
    }
    return 0;
}

int sc_relay_round(struct sc_egress *egress)
{
    int wait = -1;
    uint64_t now = sc_now_ns();
    sc_budgets_refill(&egress->budgets, now);
    for (struct sc_connection *c = egress->connections, *after; c; c = after) {
        after = c->after;
        if (c->again || c->throttled)
            pump(c);
    }
    for (struct sc_connection *c = egress->connections, *after; c; c = after) {
        after = c->after;
        int settle = sc_relay_settle_clock(c, now);
        if (settle >= 0 && (wait < 0 || settle < wait))
            wait = settle;
    }
    for (struct sc_connection *c = egress->connections; c; c = c->after) {
        if (c->again)
            wait = 0;
        else if (c->throttled && (wait < 0 || wait > REFILL_MS))
            wait = REFILL_MS;
    }
    while (egress->dead) {
        struct sc_connection *c = egress->dead;
        egress->dead = c->after;
        free(c);
    }
    return wait;
}
