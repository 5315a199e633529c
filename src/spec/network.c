/* Addresses, and the rules about them as text. */
#include "spec/network.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "spec/network_rule.h"
#include "spec/spec_internal.h"

const struct sc_spec_word SC_NET_MODES[] = {
    {"none", SC_NET_NONE}, {"rules", SC_NET_RULES}, {"open", SC_NET_OPEN}, {NULL, 0}};

#define FORMS                                                                                                \
    "a name, *.NAME, an address or ADDRESS/BITS (v6 in brackets), and behind a colon ports: 443, 80,443, "   \
    "8000-8010 or *"

void sc_net_fini(struct sc_net *net)
{
    for (size_t i = 0; i < net->n_rules; i++) {
        free(net->rules[i].text);
        free(net->rules[i].name);
        sc_net_free_patterns(&net->rules[i]);
        sc_net_free_credential(&net->rules[i]);
    }
    free(net->rules);
    free(net->internal);
    if (net->within)
        sc_net_fini(net->within);
    free(net->within);
    *net = (struct sc_net){0};
}

static int copy_rules(const struct sc_net *from, struct sc_net *to)
{
    to->rules = calloc(from->n_rules ? from->n_rules : 1, sizeof *to->rules);
    if (!to->rules)
        return -ENOMEM;
    for (; to->n_rules < from->n_rules; to->n_rules++) {
        const struct sc_net_rule *rule = &from->rules[to->n_rules];
        struct sc_net_rule *copy = &to->rules[to->n_rules];
        *copy = *rule;
        copy->text = strdup(rule->text);
        copy->name = rule->name ? strdup(rule->name) : NULL;
        int r = sc_net_copy_patterns(rule, copy);
        if (sc_net_copy_credential(rule, copy) < 0 || r < 0 || !copy->text || (rule->name && !copy->name)) {
            sc_net_free_patterns(copy);
            sc_net_free_credential(copy);
            free(copy->text);
            free(copy->name);
            return -ENOMEM;
        }
    }
    return 0;
}

int sc_net_copy(const struct sc_net *net, struct sc_net *ret_copy)
{
    struct sc_net copy = *net;
    copy.rules = NULL;
    copy.n_rules = 0;
    copy.internal = NULL;
    copy.n_internal = 0;
    copy.within = NULL;
    int r = copy_rules(net, &copy);
    if (r == 0 && net->n_internal) {
        copy.internal = calloc(net->n_internal, sizeof *copy.internal);
        if (copy.internal) {
            memcpy(copy.internal, net->internal, net->n_internal * sizeof *copy.internal);
            copy.n_internal = net->n_internal;
        } else {
            r = -ENOMEM;
        }
    }
    if (r == 0 && net->within) {
        copy.within = calloc(1, sizeof *copy.within);
        r = copy.within ? sc_net_copy(net->within, copy.within) : -ENOMEM;
    }
    if (r < 0) {
        sc_net_fini(&copy);
        return r;
    }
    *ret_copy = copy;
    return 0;
}

int sc_net_add_within(struct sc_net *net, const struct sc_net *ceiling)
{
    struct sc_net *copy = calloc(1, sizeof *copy), **last = &net->within;
    int r = copy ? sc_net_copy(ceiling, copy) : -ENOMEM;
    if (r < 0) {
        free(copy);
        return r;
    }
    while (*last)
        last = &(*last)->within;
    *last = copy;
    return 0;
}

int sc_net_set_mode(struct sc_net *net, const char *field, const char *text, struct sc_err *err)
{
    int word = 0;
    int r = sc_spec_word(SC_NET_MODES, field, text, &word, err);
    if (r < 0)
        return r;
    if (word == SC_NET_NONE)
        sc_net_fini(net);
    net->mode = (enum sc_net_mode)word;
    net->given = true;
    return 0;
}

int sc_addr_parse(const char *text, struct sc_addr *ret_addr)
{
    struct sc_addr addr = {.v6 = strchr(text, ':') != NULL};
    if (inet_pton(addr.v6 ? AF_INET6 : AF_INET, text, addr.bytes) != 1)
        return -EINVAL;
    *ret_addr = addr;
    return 0;
}

void sc_addr_format(const struct sc_addr *addr, char *ret_text, size_t size)
{
    *ret_text = '\0';
    inet_ntop(addr->v6 ? AF_INET6 : AF_INET, addr->bytes, ret_text, (socklen_t)size);
}

static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    uint8_t mask = (uint8_t)(0xff << (8 - rest));
    return !memcmp(a, b, whole) && (!rest || ((a[whole] ^ b[whole]) & mask) == 0);
}

bool sc_cidr_has(const struct sc_cidr *cidr, const struct sc_addr *addr)
{
    return cidr->addr.v6 == addr->v6 && same_bits(cidr->addr.bytes, addr->bytes, cidr->bits);
}

bool sc_cidr_covers(const struct sc_cidr *outer, const struct sc_cidr *inner)
{
    return outer->bits <= inner->bits && sc_cidr_has(outer, &inner->addr);
}

bool sc_ports_have(const struct sc_ports *ports, size_t n, uint16_t port)
{
    for (size_t i = 0; i < n; i++)
        if (port >= ports[i].first && port <= ports[i].last)
            return true;
    return false;
}

static int parse_port(const char *text, uint16_t *ret_port)
{
    uint64_t value = 0;
    if (sc_parse_u64(text, &value) < 0 || value < 1 || value > 65535)
        return -EINVAL;
    *ret_port = (uint16_t)value;
    return 0;
}

static int parse_ports(struct sc_net_rule *rule, char *text)
{
    if (!strcmp(text, "*")) {
        rule->ports[rule->n_ports++] = (struct sc_ports){1, 65535};
        return 0;
    }
    for (char *at = text; at;) {
        char *end = strchr(at, ','), *dash;
        if (end)
            *end++ = '\0';
        struct sc_ports *ports = &rule->ports[rule->n_ports];
        if (rule->n_ports == SC_NET_PORTS_MAX)
            return -EINVAL;
        if ((dash = strchr(at, '-')))
            *dash++ = '\0';
        if (parse_port(at, &ports->first) < 0 || parse_port(dash ? dash : at, &ports->last) < 0 ||
            ports->last < ports->first)
            return -EINVAL;
        rule->n_ports++;
        at = end;
    }
    return 0;
}

static int parse_cidr(char *text, struct sc_cidr *ret_cidr)
{
    struct sc_cidr cidr;
    char *slash = strchr(text, '/');
    uint64_t bits = 0;
    if (slash)
        *slash++ = '\0';
    if (sc_addr_parse(text, &cidr.addr) < 0)
        return -EINVAL;
    unsigned all = cidr.addr.v6 ? 128 : 32;
    if (slash && (sc_parse_u64(slash, &bits) < 0 || bits > all))
        return -EINVAL;
    cidr.bits = (uint8_t)(slash ? bits : all);
    for (unsigned bit = cidr.bits; bit < all; bit++)
        if (cidr.addr.bytes[bit / 8] & (0x80u >> bit % 8))
            return -EDOM;
    *ret_cidr = cidr;
    return 0;
}

/* Labels of letters, digits, '-' and '_'; names of another script come as xn--. The last one is no number:
 * that would be an address to who asks. "*" may be the first label. */
static bool is_name(const char *text)
{
    size_t len = strlen(text), label = 0;
    const char *at = !strncmp(text, "*.", 2) ? text + 2 : text, *last = at;
    if (!strcmp(text, "*"))
        return true;
    if (len > SC_NET_NAME_MAX || !*at)
        return false;
    for (; *at; at++) {
        if (*at == '.') {
            if (label == 0)
                return false;
            label = 0;
            last = at + 1;
        } else if ((!isalnum((unsigned char)*at) && *at != '-' && *at != '_') || ++label > 63) {
            return false;
        }
    }
    return label > 0 && !isdigit((unsigned char)*last);
}

/* Where the ports begin, their colon replaced by an end; NULL: there are none. Brackets are taken off. */
static char *cut_ports(char **text)
{
    char *colon;
    if (**text == '[') {
        char *close = strchr(*text, ']');
        if (!close || (close[1] && close[1] != ':'))
            return NULL;
        ++*text;
        *close = '\0';
        return close[1] ? close + 2 : NULL;
    }
    colon = strchr(*text, ':');
    if (!colon || strchr(colon + 1, ':'))
        return NULL; /* none, or a v6 address by itself */
    *colon = '\0';
    return colon + 1;
}

static int parse_rule(struct sc_net_rule *rule, char *text)
{
    char *ports = cut_ports(&text);
    int r = ports ? parse_ports(rule, ports) : 0;
    if (r < 0)
        return r;
    if (!ports && rule->allow) {
        rule->ports[rule->n_ports++] = (struct sc_ports){80, 80};
        rule->ports[rule->n_ports++] = (struct sc_ports){443, 443};
    } else if (!ports) {
        rule->ports[rule->n_ports++] = (struct sc_ports){1, 65535};
    }
    bool has_bits = strchr(text, '/') != NULL;
    r = parse_cidr(text, &rule->cidr);
    if (r != -EINVAL)
        return r;
    size_t len = strlen(text);
    if (len > 1 && text[len - 1] == '.')
        text[len - 1] = '\0';
    if (has_bits || !is_name(text))
        return -EINVAL;
    rule->name = strdup(text);
    return rule->name ? 0 : -ENOMEM;
}

static int bad_rule(const char *field, const char *text, int code, struct sc_err *err)
{
    if (code == -ENOMEM)
        return sc_spec_no_memory(err);
    if (code == -EDOM)
        return sc_spec_bad(err, field, text, "the address has bits set behind its prefix");
    return sc_spec_bad(err, field, text, "allowed: " FORMS);
}

int sc_net_add_rule(struct sc_net *net, bool allow, const char *field, const char *text, struct sc_err *err)
{
    struct sc_net_rule rule = {.allow = allow};
    int r = sc_spec_text_ok(field, text, SC_NET_RULE_TEXT_MAX, err);
    if (r < 0)
        return r;
    if (!strncmp(text, "preset:", 7))
        return sc_net_add_preset(net, allow, field, text + 7, err);
    if (net->n_rules >= SC_NET_RULES_MAX)
        return sc_spec_bad(err, field, text, "more than the %d rules allowed", SC_NET_RULES_MAX);
    rule.text = strdup(text);
    for (char *at = rule.text; at && *at; at++)
        *at = (char)tolower((unsigned char)*at);
    char *scratch = rule.text ? strdup(rule.text) : NULL;
    struct sc_net_rule *grown = scratch ? reallocarray(net->rules, net->n_rules + 1, sizeof *grown) : NULL;
    if (grown)
        net->rules = grown;
    r = grown ? parse_rule(&rule, scratch) : -ENOMEM;
    free(scratch);
    if (r < 0) {
        free(rule.text);
        return bad_rule(field, text, r, err);
    }
    net->rules[net->n_rules++] = rule;
    net->given = true;
    if (net->mode == SC_NET_NONE)
        net->mode = SC_NET_RULES;
    return 0;
}

int sc_net_add_internal(struct sc_net *net, const char *field, const char *text, struct sc_err *err)
{
    char scratch[64];
    struct sc_cidr cidr;
    if (net->n_internal >= SC_NET_INTERNAL_MAX)
        return sc_spec_bad(err, field, text, "more than the %d ranges allowed", SC_NET_INTERNAL_MAX);
    int r = (size_t)snprintf(scratch, sizeof scratch, "%s", text) < sizeof scratch ? 0 : -EINVAL;
    if (r == 0)
        r = parse_cidr(scratch, &cidr);
    if (r == -EDOM)
        return bad_rule(field, text, r, err);
    if (r < 0)
        return sc_spec_bad(err, field, text, "allowed: an address, or ADDRESS/BITS");
    struct sc_cidr *grown = reallocarray(net->internal, net->n_internal + 1, sizeof *grown);
    if (!grown)
        return sc_spec_no_memory(err);
    net->internal = grown;
    grown[net->n_internal++] = cidr;
    net->given = true;
    return 0;
}
