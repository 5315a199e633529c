/* What the namespace's table refused, as the kernel tells it: nfnetlink_log. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "net/egress.h"

#define MESSAGES_A_ROUND 32
#define V6_HEADER 40

/* Address, protocol and port of a packet's beginning. The cell made it up. */
static bool read_packet(const uint8_t *packet, size_t len, struct sc_decision *decision,
                        struct sc_addr *ret_addr)
{
    *ret_addr = (struct sc_addr){0};
    size_t header;
    if (len >= 20 && packet[0] >> 4 == 4) {
        header = (size_t)(packet[0] & 15) * 4;
        decision->protocol = packet[9];
        memcpy(ret_addr->bytes, packet + 16, 4);
    } else if (len >= V6_HEADER && packet[0] >> 4 == 6) {
        header = V6_HEADER;
        decision->protocol = packet[6];
        ret_addr->v6 = true;
        memcpy(ret_addr->bytes, packet + 24, 16);
    } else {
        return false;
    }
    bool has_ports = decision->protocol == IPPROTO_TCP || decision->protocol == IPPROTO_UDP;
    if (has_ports && len >= header + 4)
        decision->port = (uint16_t)(packet[header + 2] << 8 | packet[header + 3]);
    return true;
}

static void note_packet(struct sc_egress *egress, const uint8_t *packet, size_t len)
{
    struct sc_addr addr;
    struct sc_decision decision = {.what = SC_NET_WHAT_PACKET, .addr = &addr};
    if (!read_packet(packet, len, &decision, &addr))
        return;
    decision.verdict = (struct sc_net_verdict){false, "protocols",
                                               "only TCP, and questions about names, leave a cell", NULL};
    if (decision.protocol == IPPROTO_TCP && sc_names_is_standin(&addr)) {
        const struct sc_known_name *name = sc_names_find(&egress->names, &addr);
        decision.name = name ? name->text : NULL;
        decision.addr = NULL;
        decision.verdict = (struct sc_net_verdict){false, "default", "no rule allows this port", NULL};
        if (name)
            decision.verdict = sc_net_judge_name(&egress->net, name->text, decision.port);
    } else if (decision.protocol == IPPROTO_TCP) {
        decision.verdict = sc_net_judge_literal(&egress->net, &addr, decision.port);
    }
    /* The rules may have changed since. */
    decision.verdict.allow = false;
    if (!decision.verdict.reason)
        decision.verdict.reason = "no rule allowed it then";
    sc_records_add(egress, &decision);
}

static void read_message(struct sc_egress *egress, const struct nlmsghdr *message)
{
    if (message->nlmsg_type != (NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_PACKET) ||
        message->nlmsg_len < NLMSG_LENGTH(sizeof(struct nfgenmsg)))
        return;
    const uint8_t *at = (const uint8_t *)NLMSG_DATA(message) + NLMSG_ALIGN(sizeof(struct nfgenmsg));
    const uint8_t *end = (const uint8_t *)message + message->nlmsg_len;
    while (end - at >= NLA_HDRLEN) {
        struct nlattr attr;
        memcpy(&attr, at, sizeof attr);
        if (attr.nla_len < NLA_HDRLEN || attr.nla_len > end - at)
            return;
        if ((attr.nla_type & NLA_TYPE_MASK) == NFULA_PAYLOAD)
            note_packet(egress, at + NLA_HDRLEN, attr.nla_len - NLA_HDRLEN);
        at += NLA_ALIGN(attr.nla_len) < end - at ? NLA_ALIGN(attr.nla_len) : end - at;
    }
}

static void on_log(struct sc_egress *egress, struct sc_source *source, uint32_t events)
{
    (void)events;
    for (int i = 0; i < MESSAGES_A_ROUND; i++) {
        char data[8192] __attribute__((aligned(NLMSG_ALIGNTO)));
        ssize_t n = recv(source->fd, data, sizeof data, MSG_DONTWAIT);
        if (n < 0 && errno == ENOBUFS)
            continue; /* some were lost: there were more than one has to know of */
        if (n <= 0)
            return;
        size_t left = (size_t)n;
        for (const struct nlmsghdr *m = (const void *)data; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left))
            read_message(egress, m);
    }
}

int sc_packets_start(struct sc_egress *egress)
{
    egress->packets = (struct sc_source){SC_NET_SLOT_FIRST + SC_NET_FD_LOG, on_log};
    return sc_egress_watch(egress, &egress->packets, EPOLLIN);
}
