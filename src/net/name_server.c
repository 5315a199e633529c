/* Answers the cell's questions about names. An allowed name gets its stand-in without asking anybody; nothing
 * of a refused one leaves this process. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/dns.h"
#include "net/egress.h"

#define TTL_S 60
#define QUESTIONS_A_ROUND 64 /* connections want their turn, too */
#define TCP_CLIENTS_MAX 32

struct tcp_client {
    struct sc_source source;
    uint8_t data[2 + SC_DNS_MESSAGE_MAX];
    size_t used;
};

static size_t refuse(struct sc_egress *egress, const struct sc_dns_query *query, const uint8_t *question,
                     const char *name, struct sc_net_verdict verdict, uint8_t *ret_answer)
{
    const struct sc_decision decision = {.what = SC_NET_WHAT_NAME, .name = name, .verdict = verdict};
    bool refused = egress->net.refuse_names == SC_NET_REFUSED;
    sc_records_add(egress, &decision);
    return sc_dns_answer(query, question, refused ? SC_DNS_REFUSED : SC_DNS_NXDOMAIN, NULL, 0, ret_answer);
}

size_t sc_name_server_answer(struct sc_egress *egress, const uint8_t *question, size_t len,
                             uint8_t *ret_answer)
{
    struct sc_dns_query query;
    char name[SC_NET_NAME_MAX + 1];
    int code = sc_dns_parse(question, len, &query);
    if (code < 0)
        return 0;
    if (code > 0)
        return sc_dns_answer(&query, question, (enum sc_dns_code)code, NULL, 0, ret_answer);
    struct sc_net_verdict verdict = {false, "names", "no host name"};
    if (query.strange || query.class != 1 || !sc_net_name_clean(query.name, strlen(query.name), name))
        return refuse(egress, &query, question, "(no host name)", verdict, ret_answer);
    verdict = sc_net_judge_lookup(&egress->net, name);
    if (!verdict.allow)
        return refuse(egress, &query, question, name, verdict, ret_answer);
    /* There is nothing to tell about an allowed name but where it is. */
    if (query.type != SC_DNS_A && query.type != SC_DNS_AAAA)
        return sc_dns_answer(&query, question, SC_DNS_OK, NULL, 0, ret_answer);
    int index = sc_names_add(&egress->names, name);
    if (index < 0)
        return sc_dns_answer(&query, question, SC_DNS_SERVFAIL, NULL, 0, ret_answer);
    struct sc_addr addr = sc_names_standin((size_t)index, query.type == SC_DNS_AAAA);
    return sc_dns_answer(&query, question, SC_DNS_OK, &addr, TTL_S, ret_answer);
}

static void on_datagram(struct sc_egress *egress, struct sc_source *source, uint32_t events)
{
    (void)events;
    for (int i = 0; i < QUESTIONS_A_ROUND; i++) {
        uint8_t question[SC_DNS_MESSAGE_MAX + 1], answer[SC_DNS_MESSAGE_MAX];
        struct sockaddr_storage from;
        socklen_t from_len = sizeof from;
        ssize_t n = recvfrom(source->fd, question, sizeof question, 0, (struct sockaddr *)&from, &from_len);
        if (n < 0)
            return;
        size_t len = sc_name_server_answer(egress, question, (size_t)n, answer);
        if (len)
            (void)!sendto(source->fd, answer, len, MSG_NOSIGNAL, (struct sockaddr *)&from, from_len);
    }
}

static void hang_up(struct sc_egress *egress, struct tcp_client *client)
{
    egress->n_dns--;
    close(client->source.fd);
    free(client); /* its one event is being served */
}

/* Whole questions in front of the buffer; false: hang up. */
static bool answer_all(struct sc_egress *egress, struct tcp_client *client)
{
    while (client->used >= 2) {
        uint8_t answer[2 + SC_DNS_MESSAGE_MAX];
        size_t want = (size_t)client->data[0] << 8 | client->data[1];
        if (want > SC_DNS_MESSAGE_MAX)
            return false;
        if (client->used < 2 + want)
            return true;
        size_t len = sc_name_server_answer(egress, client->data + 2, want, answer + 2);
        answer[0] = (uint8_t)(len >> 8);
        answer[1] = (uint8_t)len;
        /* Who asks without reading the answers is not waited for. */
        if (!len || send(client->source.fd, answer, len + 2, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)len + 2)
            return false;
        client->used -= 2 + want;
        memmove(client->data, client->data + 2 + want, client->used);
    }
    return true;
}

static void on_question(struct sc_egress *egress, struct sc_source *source, uint32_t events)
{
    struct tcp_client *client = (struct tcp_client *)source;
    (void)events;
    ssize_t n =
        recv(source->fd, client->data + client->used, sizeof client->data - client->used, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN)
        return;
    client->used += n > 0 ? (size_t)n : 0;
    if (n <= 0 || !answer_all(egress, client))
        hang_up(egress, client);
}

static void on_client(struct sc_egress *egress, struct sc_source *source, uint32_t events)
{
    (void)events;
    int sock = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (sock < 0)
        return;
    struct tcp_client *client = egress->n_dns < TCP_CLIENTS_MAX ? calloc(1, sizeof *client) : NULL;
    if (!client) {
        close(sock);
        return;
    }
    client->source = (struct sc_source){sock, on_question};
    egress->n_dns++;
    if (sc_egress_watch(egress, &client->source, EPOLLIN) < 0)
        hang_up(egress, client);
}

int sc_name_server_start(struct sc_egress *egress)
{
    static const int udp[2] = {SC_NET_FD_DNS4, SC_NET_FD_DNS6},
                     tcp[2] = {SC_NET_FD_DNS4_TCP, SC_NET_FD_DNS6_TCP};
    int r = sc_names_init(&egress->names);
    for (int v6 = 0; v6 < 2 && r == 0; v6++) {
        egress->udp[v6] = (struct sc_source){SC_NET_SLOT_FIRST + udp[v6], on_datagram};
        egress->dns_listeners[v6] = (struct sc_source){SC_NET_SLOT_FIRST + tcp[v6], on_client};
        r = sc_egress_watch(egress, &egress->udp[v6], EPOLLIN);
        if (r == 0)
            r = sc_egress_watch(egress, &egress->dns_listeners[v6], EPOLLIN);
        if (v6 && r == -EPERM) /* /dev/null: the kernel has no v6 */
            r = 0;
    }
    return r;
}
