/* The namespace's table. What it does not refuse the egress process judges again: the table only makes
 * `connect` fail at once where that can be told beforehand.
 *
 *   out   established, own loopback, DNS: on. TCP: one chain for each family and layer of rules.
 *         All else: refuse.
 *   tcpF-L  (family, layer) what the rules say of stand-ins (layer 0) and of addresses, in their order
 *   pubF-L  goes on to the next layer unless the address is special and not named
 *   refuse  tells of it, then answers for the refused address
 *   nat   TCP to the relay's listener, DNS to the name server's; own loopback stays
 */
#include "net/table.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "net/netlink.h"
#include "net/rules.h"

#define TABLE "snapcell"
#define BATCH_MAX (192 * 1024) /* one send of a socket with the usual buffer */
#define CHAIN_MAX 16
#define LOGS_PER_SECOND 50

enum { PRIORITY_OUT = -150, PRIORITY_NAT = -100 };

struct table {
    struct sc_nl nl;
    size_t expressions, rule; /* of the open rule */
};

static void begin(struct table *t, uint16_t type, uint16_t flags)
{
    struct nfgenmsg header = {.nfgen_family = NFPROTO_INET, .version = NFNETLINK_V0};
    sc_nl_begin(&t->nl, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), flags, &header, sizeof header);
}

static void batch_mark(struct table *t, uint16_t type)
{
    struct nfgenmsg header = {.version = NFNETLINK_V0, .res_id = htons(NFNL_SUBSYS_NFTABLES)};
    sc_nl_begin(&t->nl, type, 0, &header, sizeof header);
    sc_nl_end(&t->nl);
}

static void put_table(struct table *t, uint16_t type, uint16_t flags)
{
    begin(t, type, flags);
    sc_nl_put_text(&t->nl, NFTA_TABLE_NAME, TABLE);
    sc_nl_end(&t->nl);
}

/* `type` NULL: a chain that is only jumped to. */
static void put_chain(struct table *t, const char *name, const char *type, int priority)
{
    begin(t, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
    sc_nl_put_text(&t->nl, NFTA_CHAIN_TABLE, TABLE);
    sc_nl_put_text(&t->nl, NFTA_CHAIN_NAME, name);
    if (type) {
        size_t hook = sc_nl_open(&t->nl, NFTA_CHAIN_HOOK);
        sc_nl_put_be32(&t->nl, NFTA_HOOK_HOOKNUM, NF_INET_LOCAL_OUT);
        sc_nl_put_be32(&t->nl, NFTA_HOOK_PRIORITY, (uint32_t)priority);
        sc_nl_close(&t->nl, hook);
        sc_nl_put_text(&t->nl, NFTA_CHAIN_TYPE, type);
    }
    sc_nl_end(&t->nl);
}

/* ---- expressions of a rule ---- */

static void rule_begin(struct table *t, const char *chain, uint16_t flags)
{
    begin(t, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND | flags);
    sc_nl_put_text(&t->nl, NFTA_RULE_TABLE, TABLE);
    sc_nl_put_text(&t->nl, NFTA_RULE_CHAIN, chain);
    t->expressions = sc_nl_open(&t->nl, NFTA_RULE_EXPRESSIONS);
}

static void rule_end(struct table *t)
{
    sc_nl_close(&t->nl, t->expressions);
    sc_nl_end(&t->nl);
}

struct expression {
    size_t element, data;
};

static struct expression expr_begin(struct table *t, const char *name)
{
    struct expression e;
    e.element = sc_nl_open(&t->nl, NFTA_LIST_ELEM);
    sc_nl_put_text(&t->nl, NFTA_EXPR_NAME, name);
    e.data = sc_nl_open(&t->nl, NFTA_EXPR_DATA);
    return e;
}

static void expr_end(struct table *t, struct expression e)
{
    sc_nl_close(&t->nl, e.data);
    sc_nl_close(&t->nl, e.element);
}

static void put_value(struct table *t, uint16_t attr, const void *data, size_t len)
{
    size_t at = sc_nl_open(&t->nl, attr);
    sc_nl_put(&t->nl, NFTA_DATA_VALUE, data, len);
    sc_nl_close(&t->nl, at);
}

static void compare(struct table *t, uint32_t op, const void *data, size_t len)
{
    struct expression e = expr_begin(t, "cmp");
    sc_nl_put_be32(&t->nl, NFTA_CMP_SREG, NFT_REG_1);
    sc_nl_put_be32(&t->nl, NFTA_CMP_OP, op);
    put_value(t, NFTA_CMP_DATA, data, len);
    expr_end(t, e);
}

static void mask(struct table *t, const void *bits, size_t len)
{
    static const uint8_t zeros[16];
    struct expression e = expr_begin(t, "bitwise");
    sc_nl_put_be32(&t->nl, NFTA_BITWISE_SREG, NFT_REG_1);
    sc_nl_put_be32(&t->nl, NFTA_BITWISE_DREG, NFT_REG_1);
    sc_nl_put_be32(&t->nl, NFTA_BITWISE_LEN, (uint32_t)len);
    put_value(t, NFTA_BITWISE_MASK, bits, len);
    put_value(t, NFTA_BITWISE_XOR, zeros, len);
    expr_end(t, e);
}

static void meta_is(struct table *t, uint32_t key, uint8_t value)
{
    struct expression e = expr_begin(t, "meta");
    sc_nl_put_be32(&t->nl, NFTA_META_DREG, NFT_REG_1);
    sc_nl_put_be32(&t->nl, NFTA_META_KEY, key);
    expr_end(t, e);
    compare(t, NFT_CMP_EQ, &value, sizeof value);
}

static void load(struct table *t, uint32_t base, uint32_t offset, uint32_t len)
{
    struct expression e = expr_begin(t, "payload");
    sc_nl_put_be32(&t->nl, NFTA_PAYLOAD_DREG, NFT_REG_1);
    sc_nl_put_be32(&t->nl, NFTA_PAYLOAD_BASE, base);
    sc_nl_put_be32(&t->nl, NFTA_PAYLOAD_OFFSET, offset);
    sc_nl_put_be32(&t->nl, NFTA_PAYLOAD_LEN, len);
    expr_end(t, e);
}

static void port_in(struct table *t, struct sc_ports ports)
{
    uint16_t first = htons(ports.first), last = htons(ports.last);
    if (ports.first == 1 && ports.last == 65535)
        return;
    load(t, NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2);
    compare(t, ports.first == ports.last ? NFT_CMP_EQ : NFT_CMP_GTE, &first, sizeof first);
    if (ports.first != ports.last)
        compare(t, NFT_CMP_LTE, &last, sizeof last);
}

static void goes_to(struct table *t, const struct sc_cidr *cidr)
{
    uint8_t bits[16] = {0};
    uint32_t len = cidr->addr.v6 ? 16 : 4;
    if (cidr->bits == 0)
        return;
    load(t, NFT_PAYLOAD_NETWORK_HEADER, cidr->addr.v6 ? 24 : 16, len);
    for (unsigned bit = 0; bit < cidr->bits; bit++)
        bits[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
    if (cidr->bits < len * 8)
        mask(t, bits, len);
    compare(t, NFT_CMP_EQ, cidr->addr.bytes, len);
}

static void verdict(struct table *t, int32_t code, const char *chain)
{
    struct expression e = expr_begin(t, "immediate");
    sc_nl_put_be32(&t->nl, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
    size_t data = sc_nl_open(&t->nl, NFTA_IMMEDIATE_DATA), inner = sc_nl_open(&t->nl, NFTA_DATA_VERDICT);
    sc_nl_put_be32(&t->nl, NFTA_VERDICT_CODE, (uint32_t)code);
    if (chain)
        sc_nl_put_text(&t->nl, NFTA_VERDICT_CHAIN, chain);
    sc_nl_close(&t->nl, inner);
    sc_nl_close(&t->nl, data);
    expr_end(t, e);
}

static void redirect(struct table *t, uint16_t port)
{
    uint16_t big = htons(port);
    struct expression e = expr_begin(t, "immediate");
    sc_nl_put_be32(&t->nl, NFTA_IMMEDIATE_DREG, NFT_REG_1);
    put_value(t, NFTA_IMMEDIATE_DATA, &big, sizeof big);
    expr_end(t, e);
    e = expr_begin(t, "redir");
    sc_nl_put_be32(&t->nl, NFTA_REDIR_REG_PROTO_MIN, NFT_REG_1);
    expr_end(t, e);
}

static void reject(struct table *t, uint32_t type, uint8_t code)
{
    struct expression e = expr_begin(t, "reject");
    sc_nl_put_be32(&t->nl, NFTA_REJECT_TYPE, type);
    sc_nl_put(&t->nl, NFTA_REJECT_ICMP_CODE, &code, sizeof code);
    expr_end(t, e);
}

static void known_connection(struct table *t)
{
    const uint32_t established_or_related = 1u << 1 | 1u << 2, none = 0; /* NF_CT_STATE_BIT */
    struct expression e = expr_begin(t, "ct");
    sc_nl_put_be32(&t->nl, NFTA_CT_DREG, NFT_REG_1);
    sc_nl_put_be32(&t->nl, NFTA_CT_KEY, NFT_CT_STATE);
    expr_end(t, e);
    mask(t, &established_or_related, sizeof established_or_related);
    compare(t, NFT_CMP_NEQ, &none, sizeof none);
}

static void put_be64(struct table *t, uint16_t type, uint64_t value)
{
    uint8_t big[8];
    for (int i = 0; i < 8; i++)
        big[i] = (uint8_t)(value >> (56 - 8 * i));
    sc_nl_put(&t->nl, type, big, sizeof big);
}

static void limit(struct table *t, uint64_t per_second)
{
    struct expression e = expr_begin(t, "limit");
    put_be64(t, NFTA_LIMIT_RATE, per_second);
    put_be64(t, NFTA_LIMIT_UNIT, 1);
    sc_nl_put_be32(&t->nl, NFTA_LIMIT_BURST, (uint32_t)per_second * 4);
    expr_end(t, e);
}

static void tell(struct table *t)
{
    uint16_t group = htons(SC_NET_LOG_GROUP);
    struct expression e = expr_begin(t, "log");
    sc_nl_put(&t->nl, NFTA_LOG_GROUP, &group, sizeof group);
    expr_end(t, e);
}

/* ---- chains ---- */

static const struct sc_cidr LOOPBACK[2] = {{{false, {127}}, 8}, {{true, {[15] = 1}}, 128}};
static const struct sc_cidr STANDINS[2] = {{{false, SC_NET_STANDIN_V4}, SC_NET_STANDIN_V4_BITS},
                                           {{true, SC_NET_STANDIN_V6}, SC_NET_STANDIN_V6_BITS}};
static const uint8_t FAMILIES[2] = {NFPROTO_IPV4, NFPROTO_IPV6};

static const char *chain_name(char text[CHAIN_MAX], const char *kind, int v6, size_t layer)
{
    snprintf(text, CHAIN_MAX, "%s%d-%zu", kind, v6 ? 6 : 4, layer);
    return text;
}

/* Where an allowed packet of this layer goes. */
static void pass(struct table *t, const struct sc_net *layer, int v6, size_t index)
{
    char next[CHAIN_MAX];
    if (layer->within)
        verdict(t, NFT_GOTO, chain_name(next, "tcp", v6, index + 1));
    else
        verdict(t, NF_ACCEPT, NULL);
}

static void put_public(struct table *t, const struct sc_net *layer, int v6, size_t index)
{
    char chain[CHAIN_MAX];
    chain_name(chain, "pub", v6, index);
    for (size_t i = 0; i < layer->n_internal; i++) {
        if (layer->internal[i].addr.v6 != (v6 != 0))
            continue;
        rule_begin(t, chain, 0);
        goes_to(t, &layer->internal[i]);
        pass(t, layer, v6, index);
        rule_end(t);
    }
    for (const struct sc_net_range *range = SC_NET_SPECIAL; range->why; range++) {
        if (range->cidr.addr.v6 != (v6 != 0))
            continue;
        rule_begin(t, chain, 0);
        goes_to(t, &range->cidr);
        verdict(t, NFT_RETURN, NULL);
        rule_end(t);
    }
    rule_begin(t, chain, 0);
    pass(t, layer, v6, index);
    rule_end(t);
}

/* Stand-ins are for names: here only ports are refused that no name has. */
static void put_standins(struct table *t, const struct sc_net *net, int v6, const char *chain)
{
    for (size_t i = 0; i < net->n_rules; i++) {
        const struct sc_net_rule *rule = &net->rules[i];
        for (size_t k = 0; rule->allow && rule->name && k < rule->n_ports; k++) {
            rule_begin(t, chain, 0);
            goes_to(t, &STANDINS[v6]);
            port_in(t, rule->ports[k]);
            verdict(t, NF_ACCEPT, NULL);
            rule_end(t);
        }
    }
    rule_begin(t, chain, 0);
    goes_to(t, &STANDINS[v6]);
    if (net->mode == SC_NET_OPEN)
        verdict(t, NF_ACCEPT, NULL);
    else
        verdict(t, NFT_GOTO, "refuse");
    rule_end(t);
}

static void put_address_rule(struct table *t, const struct sc_net *layer, const struct sc_net_rule *rule,
                             int v6, size_t index, const char *chain)
{
    char public[CHAIN_MAX];
    for (size_t k = 0; k < rule->n_ports; k++) {
        rule_begin(t, chain, 0);
        goes_to(t, &rule->cidr);
        port_in(t, rule->ports[k]);
        if (!rule->allow)
            verdict(t, NFT_GOTO, "refuse");
        else if (sc_net_rule_is_special(rule))
            pass(t, layer, v6, index);
        else
            verdict(t, NFT_JUMP, chain_name(public, "pub", v6, index));
        rule_end(t);
    }
}

static void put_layer(struct table *t, const struct sc_net *layer, int v6, size_t index)
{
    char chain[CHAIN_MAX], public[CHAIN_MAX];
    chain_name(chain, "tcp", v6, index);
    put_public(t, layer, v6, index);
    if (index == 0)
        put_standins(t, layer, v6, chain);
    for (size_t i = 0; i < layer->n_rules; i++)
        if (!layer->rules[i].name && layer->rules[i].cidr.addr.v6 == (v6 != 0))
            put_address_rule(t, layer, &layer->rules[i], v6, index, chain);
    if (layer->mode == SC_NET_OPEN) {
        rule_begin(t, chain, 0);
        verdict(t, NFT_JUMP, chain_name(public, "pub", v6, index));
        rule_end(t);
    }
    rule_begin(t, chain, 0);
    verdict(t, NFT_GOTO, "refuse");
    rule_end(t);
}

static void put_dns(struct table *t, const char *chain, uint8_t protocol, bool nat)
{
    rule_begin(t, chain, 0);
    meta_is(t, NFT_META_L4PROTO, protocol);
    port_in(t, (struct sc_ports){53, 53});
    if (nat)
        redirect(t, SC_NET_PORT_DNS);
    else
        verdict(t, NF_ACCEPT, NULL);
    rule_end(t);
}

static void put_loopback(struct table *t, const char *chain)
{
    for (int v6 = 0; v6 < 2; v6++) {
        rule_begin(t, chain, 0);
        meta_is(t, NFT_META_NFPROTO, FAMILIES[v6]);
        goes_to(t, &LOOPBACK[v6]);
        verdict(t, NF_ACCEPT, NULL);
        rule_end(t);
    }
}

static void put_out(struct table *t)
{
    char chain[CHAIN_MAX];
    rule_begin(t, "out", 0);
    known_connection(t);
    verdict(t, NF_ACCEPT, NULL);
    rule_end(t);
    put_loopback(t, "out");
    put_dns(t, "out", IPPROTO_UDP, false);
    put_dns(t, "out", IPPROTO_TCP, false);
    for (int v6 = 0; v6 < 2; v6++) {
        rule_begin(t, "out", 0);
        meta_is(t, NFT_META_L4PROTO, IPPROTO_TCP);
        meta_is(t, NFT_META_NFPROTO, FAMILIES[v6]);
        verdict(t, NFT_GOTO, chain_name(chain, "tcp", v6, 0));
        rule_end(t);
    }
    rule_begin(t, "out", 0);
    verdict(t, NFT_GOTO, "refuse");
    rule_end(t);
}

static void put_refuse(struct table *t)
{
    rule_begin(t, "refuse", 0);
    limit(t, LOGS_PER_SECOND);
    tell(t);
    rule_end(t);
    rule_begin(t, "refuse", 0);
    meta_is(t, NFT_META_L4PROTO, IPPROTO_TCP);
    reject(t, NFT_REJECT_TCP_RST, 0);
    rule_end(t);
    rule_begin(t, "refuse", 0);
    reject(t, NFT_REJECT_ICMPX_UNREACH, NFT_REJECT_ICMPX_PORT_UNREACH);
    rule_end(t);
}

/* The last rule's answer is waited for. */
static void put_nat(struct table *t)
{
    put_loopback(t, "nat");
    put_dns(t, "nat", IPPROTO_UDP, true);
    put_dns(t, "nat", IPPROTO_TCP, true);
    rule_begin(t, "nat", NLM_F_ACK);
    meta_is(t, NFT_META_L4PROTO, IPPROTO_TCP);
    redirect(t, SC_NET_PORT_TCP);
    rule_end(t);
}

static void put_chains(struct table *t, const struct sc_net *net)
{
    char chain[CHAIN_MAX];
    size_t index = 0;
    put_chain(t, "refuse", NULL, 0);
    for (const struct sc_net *layer = net; layer; layer = layer->within, index++) {
        for (int v6 = 0; v6 < 2; v6++) {
            put_chain(t, chain_name(chain, "pub", v6, index), NULL, 0);
            put_chain(t, chain_name(chain, "tcp", v6, index), NULL, 0);
        }
    }
    put_chain(t, "out", "filter", PRIORITY_OUT);
    put_chain(t, "nat", "nat", PRIORITY_NAT);
}

int sc_net_table_build(const struct sc_net *net, struct sc_buf *ret_batch)
{
    struct table t = {.nl = {.buf = ret_batch}};
    size_t index = 0;
    sc_buf_init(ret_batch, BATCH_MAX);
    batch_mark(&t, NFNL_MSG_BATCH_BEGIN);
    /* Made so that it can be removed with all that is in it, whether it was there or not. */
    put_table(&t, NFT_MSG_NEWTABLE, NLM_F_CREATE);
    put_table(&t, NFT_MSG_DELTABLE, 0);
    put_table(&t, NFT_MSG_NEWTABLE, NLM_F_CREATE);
    put_chains(&t, net);
    put_refuse(&t);
    for (const struct sc_net *layer = net; layer; layer = layer->within, index++)
        for (int v6 = 0; v6 < 2; v6++)
            put_layer(&t, layer, v6, index);
    put_out(&t);
    put_nat(&t);
    batch_mark(&t, NFNL_MSG_BATCH_END);
    if (t.nl.failed)
        sc_buf_fini(ret_batch);
    return t.nl.failed;
}
