/* What rules decide. No state, no system calls; the same answer for the same question. */
#ifndef SC_NET_RULES_H
#define SC_NET_RULES_H

#include "spec/network.h"

struct sc_net_verdict {
    bool allow;
    const char *rule;             /* text of the rule that decided, or "default"; borrowed from the rules */
    const char *reason;           /* of a refusal, for people; static */
    const struct sc_net_rule *by; /* NULL: no rule, a default */
};

/* Lower case, without a dot at its end; false: it is no host name that may be asked for (empty labels,
 * strange bytes, too long, a number at its end, localhost). `ret_name` has room for SC_NET_NAME_MAX + 1. */
bool sc_net_name_clean(const char *name, size_t len, char *ret_name);

/* May this clean name be looked up: is there any port on which it may be reached? */
struct sc_net_verdict sc_net_judge_lookup(const struct sc_net *net, const char *name);
/* May this clean name be reached on this port? Its addresses are judged by themselves. */
struct sc_net_verdict sc_net_judge_name(const struct sc_net *net, const char *name, uint16_t port);
/* May an allowed name lie at this address? */
struct sc_net_verdict sc_net_judge_resolved(const struct sc_net *net, const struct sc_addr *addr,
                                            uint16_t port);
/* May this address be reached that was not got from a name? */
struct sc_net_verdict sc_net_judge_literal(const struct sc_net *net, const struct sc_addr *addr,
                                           uint16_t port);

/* Are there rules about requests for what this name has on this port? Then all that is said to it must be
 * requests, each of which is judged. */
bool sc_net_is_about_requests(const struct sc_net *net, const char *name, uint16_t port);
/* Must they come over TLS? */
bool sc_net_wants_tls(const struct sc_net *net, const char *name, uint16_t port);
struct sc_net_verdict sc_net_judge_request(const struct sc_net *net, const char *name, uint16_t port,
                                           const struct sc_net_request *request);

/* The rules by which that is allowed, at most one of each layer. Their number. */
size_t sc_net_rules_of_name(const struct sc_net *net, const char *name, uint16_t port,
                            const struct sc_net_rule *ret_rules[SC_NET_LAYERS_MAX]);
size_t sc_net_rules_of_request(const struct sc_net *net, const char *name, uint16_t port,
                               const struct sc_net_request *request,
                               const struct sc_net_rule *ret_rules[SC_NET_LAYERS_MAX]);
size_t sc_net_rules_of_literal(const struct sc_net *net, const struct sc_addr *addr, uint16_t port,
                               const struct sc_net_rule *ret_rules[SC_NET_LAYERS_MAX]);

/* Why an address is none of the public internet's ("loopback", "private", …), or NULL: it is. Addresses that
 * carry a v4 address in them (mapped, NAT64, 6to4) are what that one is. */
const char *sc_net_special(const struct sc_addr *addr);
/* A special address that this layer of rules lets be reached: by `internal`, or by an allow rule all of whose
 * range is special, so that it was meant. */
bool sc_net_names_special(const struct sc_net *net, const struct sc_addr *addr, uint16_t port);
/* All of the rule's range is special. */
bool sc_net_rule_is_special(const struct sc_net_rule *rule);
/* The v4 address in a v6 one that leads to it, as a v4 address; false: there is none. */
bool sc_net_embedded(const struct sc_addr *addr, struct sc_addr *ret_v4);

/* Budgets and checks of the outermost layer become the tightest of all layers'. */
void sc_net_tighten(struct sc_net *net);

/* A special range, ended by one whose `why` is NULL. */
struct sc_net_range {
    struct sc_cidr cidr;
    const char *why;
};
extern const struct sc_net_range SC_NET_SPECIAL[];

#endif
