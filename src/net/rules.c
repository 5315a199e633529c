#include "net/rules.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define V4(a, b, c, d, n, why)                                                                               \
    {                                                                                                        \
        {{false, {a, b, c, d}}, n}, why                                                                      \
    }
/* IANA's special-purpose registries; of v6 everything that is not global unicast. The order matters only for
 * the words. */
const struct sc_net_range SC_NET_SPECIAL[] = {
    V4(0, 0, 0, 0, 8, "this host"),
    V4(10, 0, 0, 0, 8, "private"),
    V4(100, 64, 0, 0, 10, "private (shared)"),
    V4(127, 0, 0, 0, 8, "loopback"),
    V4(169, 254, 0, 0, 16, "link-local, where clouds keep their metadata"),
    V4(172, 16, 0, 0, 12, "private"),
    V4(192, 0, 0, 0, 24, "reserved"),
    V4(192, 0, 2, 0, 24, "reserved for documents"),
    V4(192, 88, 99, 0, 24, "reserved"),
    V4(192, 168, 0, 0, 16, "private"),
    V4(198, 18, 0, 0, 15, "reserved for benchmarks"),
    V4(198, 51, 100, 0, 24, "reserved for documents"),
    V4(203, 0, 113, 0, 24, "reserved for documents"),
    V4(224, 0, 0, 0, 4, "multicast"),
    V4(240, 0, 0, 0, 4, "reserved"),
    {{{true, {0xfe, 0x80}}, 10}, "link-local"},
    {{{true, {0xfc}}, 7}, "private"},
    {{{true, {0xff}}, 8}, "multicast"},
    {{{true, {0}}, 3}, "reserved"},
    {{{true, {0x40}}, 2}, "reserved"},
    {{{true, {0x80}}, 1}, "reserved"},
    {{{true, {0x20, 0x01, 0, 0}}, 23}, "reserved"},
    {{{true, {0x20, 0x01, 0x0d, 0xb8}}, 32}, "reserved for documents"},
    {{{true, {0x3f, 0xff}}, 20}, "reserved for documents"},
    {{{false, {0}}, 0}, NULL},
};

/* Prefixes behind which a v4 address stands, at this byte. */
static const struct {
    struct sc_cidr cidr;
    size_t at;
} EMBEDDING[] = {
    {{{true, {[10] = 0xff, [11] = 0xff}}, 96}, 12}, /* ::ffff:0:0/96, mapped */
    {{{true, {0, 0x64, 0xff, 0x9b}}, 96}, 12},      /* 64:ff9b::/96, NAT64 */
    {{{true, {0x20, 0x02}}, 16}, 2},                /* 2002::/16, 6to4 */
};

bool sc_net_embedded(const struct sc_addr *addr, struct sc_addr *ret_v4)
{
    for (size_t i = 0; i < sizeof EMBEDDING / sizeof EMBEDDING[0]; i++) {
        if (!sc_cidr_has(&EMBEDDING[i].cidr, addr))
            continue;
        *ret_v4 = (struct sc_addr){.v6 = false};
        memcpy(ret_v4->bytes, addr->bytes + EMBEDDING[i].at, 4);
        return true;
    }
    return false;
}

const char *sc_net_special(const struct sc_addr *addr)
{
    static const struct sc_addr unspecified = {.v6 = true}, loopback = {.v6 = true, .bytes = {[15] = 1}};
    struct sc_addr v4;
    if (sc_net_embedded(addr, &v4))
        return sc_net_special(&v4);
    if (addr->v6 && !memcmp(addr, &loopback, sizeof loopback))
        return "loopback";
    if (addr->v6 && !memcmp(addr, &unspecified, sizeof unspecified))
        return "this host";
    for (const struct sc_net_range *range = SC_NET_SPECIAL; range->why; range++)
        if (sc_cidr_has(&range->cidr, addr))
            return range->why;
    return NULL;
}

bool sc_net_rule_is_special(const struct sc_net_rule *rule)
{
    for (const struct sc_net_range *range = SC_NET_SPECIAL; range->why; range++)
        if (!rule->name && sc_cidr_covers(&range->cidr, &rule->cidr))
            return true;
    return false;
}

bool sc_net_name_clean(const char *name, size_t len, char *ret_name)
{
    size_t label = 0, last = 0;
    if (len && name[len - 1] == '.')
        len--;
    if (len == 0 || len > SC_NET_NAME_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)name[i];
        if (c == '.') {
            if (label == 0)
                return false;
            label = 0;
            last = i + 1;
        } else if ((!isalnum(c) && c != '-' && c != '_') || c >= 0x80 || ++label > 63) {
            return false;
        }
        ret_name[i] = (char)tolower(c);
    }
    ret_name[len] = '\0';
    if (label == 0 || isdigit((unsigned char)ret_name[last]))
        return false;
    return strcmp(ret_name + last, "localhost") != 0;
}

static bool name_fits(const char *pattern, const char *name)
{
    if (!strcmp(pattern, "*"))
        return true;
    if (strncmp(pattern, "*.", 2) != 0)
        return !strcmp(pattern, name);
    size_t tail = strlen(pattern) - 1, len = strlen(name); /* with its dot */
    return len > tail && !strcmp(name + len - tail, pattern + 1);
}

static struct sc_net_verdict by_default(const struct sc_net *net, const char *reason)
{
    bool open = net->mode == SC_NET_OPEN;
    return (struct sc_net_verdict){open, "default", open ? NULL : reason, NULL};
}

static struct sc_net_verdict by_rule(const struct sc_net_rule *rule)
{
    return (struct sc_net_verdict){rule->allow, rule->text, rule->allow ? NULL : "a rule denies it", rule};
}

/* Port 0: any. A rule that denies some ports only does not decide about all of them. */
static struct sc_net_verdict judge_name(const struct sc_net *net, const char *name, uint16_t port)
{
    for (size_t i = 0; i < net->n_rules; i++) {
        const struct sc_net_rule *rule = &net->rules[i];
        bool all = rule->n_ports == 1 && rule->ports[0].first == 1 && rule->ports[0].last == 65535;
        if (rule->name && name_fits(rule->name, name) &&
            (port ? sc_ports_have(rule->ports, rule->n_ports, port) : rule->allow || all))
            return by_rule(rule);
    }
    return by_default(net, port ? "no rule allows this name on this port" : "no rule allows this name");
}

/* All layers must allow; the outermost one's rule is told. */
#define EVERY_LAYER(net, call)                                                                               \
    struct sc_net_verdict verdict = {0}, first = {0};                                                        \
    for (const struct sc_net *layer = (net); layer; layer = layer->within) {                                 \
        if (layer->mode == SC_NET_NONE)                                                                      \
            return (struct sc_net_verdict){false, "default", "there is no network", NULL};                   \
        verdict = (call);                                                                                    \
        if (!verdict.allow)                                                                                  \
            return verdict;                                                                                  \
        if (layer == (net))                                                                                  \
            first = verdict;                                                                                 \
    }                                                                                                        \
    return first;

struct sc_net_verdict sc_net_judge_lookup(const struct sc_net *net, const char *name)
{
    EVERY_LAYER(net, judge_name(layer, name, 0))
}

struct sc_net_verdict sc_net_judge_name(const struct sc_net *net, const char *name, uint16_t port)
{
    EVERY_LAYER(net, judge_name(layer, name, port))
}

static bool rule_names(const struct sc_net_rule *rule, const char *name, uint16_t port)
{
    return rule->name && name_fits(rule->name, name) && sc_ports_have(rule->ports, rule->n_ports, port);
}

bool sc_net_is_about_requests(const struct sc_net *net, const char *name, uint16_t port)
{
    for (const struct sc_net *layer = net; layer; layer = layer->within) {
        size_t i = 0;
        while (i < layer->n_rules && !rule_names(&layer->rules[i], name, port))
            i++;
        if (i < layer->n_rules && (layer->rules[i].n_http || layer->rules[i].secret_field))
            return true;
    }
    return false;
}

bool sc_net_wants_tls(const struct sc_net *net, const char *name, uint16_t port)
{
    for (const struct sc_net *layer = net; layer; layer = layer->within)
        for (size_t i = 0; i < layer->n_rules; i++)
            if (layer->rules[i].tls && rule_names(&layer->rules[i], name, port))
                return true;
    return port == SC_NET_PORT_HTTPS;
}

/* Once a rule has said which requests are allowed, there is no default that allows others. */
static struct sc_net_verdict judge_request(const struct sc_net *net, const char *name, uint16_t port,
                                           const struct sc_net_request *request)
{
    bool told = false;
    for (size_t i = 0; i < net->n_rules; i++) {
        const struct sc_net_rule *rule = &net->rules[i];
        if (!rule_names(rule, name, port))
            continue;
        bool fits = !rule->n_http;
        for (size_t k = 0; k < rule->n_http && !fits; k++)
            fits = sc_net_pattern_fits(rule->http[k], request);
        if (fits)
            return by_rule(rule);
        told = true;
    }
    return told ? (struct sc_net_verdict){false, "http", "no rule allows this request", NULL}
                : by_default(net, "no rule allows this name on this port");
}

struct sc_net_verdict sc_net_judge_request(const struct sc_net *net, const char *name, uint16_t port,
                                           const struct sc_net_request *request)
{
    EVERY_LAYER(net, judge_request(layer, name, port, request))
}

static bool rule_fits(const struct sc_net_rule *rule, const struct sc_addr *addr, uint16_t port)
{
    return !rule->name && sc_cidr_has(&rule->cidr, addr) && sc_ports_have(rule->ports, rule->n_ports, port);
}

bool sc_net_names_special(const struct sc_net *net, const struct sc_addr *addr, uint16_t port)
{
    for (size_t i = 0; i < net->n_internal; i++)
        if (sc_cidr_has(&net->internal[i], addr))
            return true;
    for (size_t i = 0; i < net->n_rules; i++)
        if (net->rules[i].allow && rule_fits(&net->rules[i], addr, port) &&
            sc_net_rule_is_special(&net->rules[i]))
            return true;
    return false;
}

static struct sc_net_verdict refuse_special(const char *why)
{
    return (struct sc_net_verdict){false, "special addresses", why, NULL};
}

/* The address itself, without what it carries. */
static struct sc_net_verdict judge_resolved(const struct sc_net *net, const struct sc_addr *addr,
                                            uint16_t port)
{
    for (size_t i = 0; i < net->n_rules; i++) {
        if (!rule_fits(&net->rules[i], addr, port))
            continue;
        if (!net->rules[i].allow)
            return by_rule(&net->rules[i]);
        break;
    }
    const char *why = sc_net_special(addr);
    if (why && !sc_net_names_special(net, addr, port))
        return refuse_special(why);
    return (struct sc_net_verdict){true, "default", NULL, NULL};
}

/* An allow rule that was not written for special addresses does not fit them. */
static bool meant(const struct sc_net *net, const struct sc_net_rule *rule, const struct sc_addr *addr)
{
    if (!rule->allow || !sc_net_special(addr) || sc_net_rule_is_special(rule))
        return true;
    for (size_t i = 0; i < net->n_internal; i++)
        if (sc_cidr_has(&net->internal[i], addr))
            return true;
    return false;
}

static struct sc_net_verdict judge_literal(const struct sc_net *net, const struct sc_addr *addr,
                                           uint16_t port)
{
    for (size_t i = 0; i < net->n_rules; i++)
        if (rule_fits(&net->rules[i], addr, port) && meant(net, &net->rules[i], addr))
            return by_rule(&net->rules[i]);
    const char *why = sc_net_special(addr);
    if (why && !sc_net_names_special(net, addr, port))
        return refuse_special(why);
    return by_default(net, "no rule allows this address and port");
}

/* What an address carries is reached by it, too: both must be allowed. */
static struct sc_net_verdict judge_both(const struct sc_net *net, const struct sc_addr *addr, uint16_t port,
                                        struct sc_net_verdict (*judge)(const struct sc_net *,
                                                                       const struct sc_addr *, uint16_t))
{
    struct sc_addr v4;
    if (!sc_net_embedded(addr, &v4))
        return judge(net, addr, port);
    struct sc_net_verdict verdict = judge(net, &v4, port);
    for (size_t i = 0; verdict.allow && i < net->n_rules; i++)
        if (rule_fits(&net->rules[i], addr, port))
            return by_rule(&net->rules[i]);
    return verdict;
}

struct sc_net_verdict sc_net_judge_resolved(const struct sc_net *net, const struct sc_addr *addr,
                                            uint16_t port)
{
    EVERY_LAYER(net, judge_both(layer, addr, port, judge_resolved))
}

struct sc_net_verdict sc_net_judge_literal(const struct sc_net *net, const struct sc_addr *addr,
                                           uint16_t port){
    EVERY_LAYER(net, judge_both(layer, addr, port, judge_literal))}

size_t sc_net_rules_of_name(const struct sc_net *net, const char *name, uint16_t port,
                            const struct sc_net_rule *ret_rules[SC_NET_LAYERS_MAX])
{
    size_t n = 0;
    for (const struct sc_net *layer = net; layer && n < SC_NET_LAYERS_MAX; layer = layer->within)
        if ((ret_rules[n] = judge_name(layer, name, port).by))
            n++;
    return n;
}

size_t sc_net_rules_of_request(const struct sc_net *net, const char *name, uint16_t port,
                               const struct sc_net_request *request,
                               const struct sc_net_rule *ret_rules[SC_NET_LAYERS_MAX])
{
    size_t n = 0;
    for (const struct sc_net *layer = net; layer && n < SC_NET_LAYERS_MAX; layer = layer->within)
        if ((ret_rules[n] = judge_request(layer, name, port, request).by))
            n++;
    return n;
}

size_t sc_net_rules_of_literal(const struct sc_net *net, const struct sc_addr *addr, uint16_t port,
                               const struct sc_net_rule *ret_rules[SC_NET_LAYERS_MAX])
{
    size_t n = 0;
    for (const struct sc_net *layer = net; layer && n < SC_NET_LAYERS_MAX; layer = layer->within)
        if ((ret_rules[n] = judge_both(layer, addr, port, judge_literal).by))
            n++;
    return n;
}

static void tighten(uint64_t *budget, uint64_t other)
{
    if (other && (!*budget || other < *budget))
        *budget = other;
}

void sc_net_tighten(struct sc_net *net)
{
    for (const struct sc_net *layer = net->within; layer; layer = layer->within) {
        tighten(&net->connections, layer->connections);
        tighten(&net->bytes_out, layer->bytes_out);
        tighten(&net->bytes_in, layer->bytes_in);
        tighten(&net->bytes_per_second, layer->bytes_per_second);
        net->unchecked_names = net->unchecked_names && layer->unchecked_names;
    }
}
