/* What of the network a cell may reach: rules, as values. What they decide is told by src/net/rules.h;
 * docs/egress.md is for people. */
#ifndef SC_SPEC_NETWORK_H
#define SC_SPEC_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct json_t;

#define SC_NET_RULES_MAX 256
#define SC_NET_INTERNAL_MAX 64
#define SC_NET_PORTS_MAX 16    /* ranges of one rule */
#define SC_NET_PATTERNS_MAX 64 /* requests of one rule */
#define SC_NET_METHOD_MAX 20
#define SC_NET_FIELD_MAX 64
#define SC_NET_SECRET_MAX 4096
#define SC_NET_SECRETS_MAX 16 /* of all layers together */
#define SC_NET_NAME_MAX 253   /* bytes of a name, without a dot at its end */
#define SC_NET_RULE_TEXT_MAX 400
#define SC_NET_WITHIN_MAX 6 /* how often `within` may stand inside itself */
#define SC_NET_LAYERS_MAX (SC_NET_WITHIN_MAX + 1)
#define SC_NET_CONNECTIONS_MAX 1024
#define SC_NET_PORT_HTTPS 443 /* where requests come over TLS */

/* An address; v4 stands in the first four bytes, the rest is zero. */
struct sc_addr {
    bool v6;
    uint8_t bytes[16];
};
struct sc_cidr {
    struct sc_addr addr;
    uint8_t bits; /* at most 32, or 128 */
};
struct sc_ports {
    uint16_t first, last;
};

struct sc_net_rule {
    bool allow;
    char *text; /* as it was given, in lower case: what records name */
    char *name; /* "example.org", "*.example.org", "*"; NULL: cidr */
    struct sc_cidr cidr;
    struct sc_ports ports[SC_NET_PORTS_MAX];
    size_t n_ports;
    bool of_preset; /* and so not written by who asks */
    /* Budgets of what this rule allows; 0: none but the cell's. */
    uint64_t connections, bytes_out, bytes_in, bytes_per_second;
    char **http; /* requests that it allows, "METHOD PATH"; only such over HTTP/1, where there are any */
    size_t n_http;
    bool tls; /* they must come over TLS on each of its ports; on 443 they must anyway, elsewhere must not */
    /* A field that is put into each request that the rule allows; NULL: none. `secret` NULL with a name: it
     * is withheld, and no cell can be made so. */
    char *secret_field, *secret;
};

/* What a request asks for: a method, and a path without its query; borrowed, without an end. */
struct sc_net_request {
    const char *method;
    size_t method_len;
    const char *path;
    size_t path_len;
};

/* NONE: no network at all. RULES: what a rule allows. OPEN: what no rule denies, on public addresses. */
enum sc_net_mode { SC_NET_NONE = 0, SC_NET_RULES, SC_NET_OPEN };
/* How a refused name is answered. */
enum sc_net_answer { SC_NET_NXDOMAIN = 0, SC_NET_REFUSED };

struct sc_net {
    bool given; /* the request or template itself says something about it */
    enum sc_net_mode mode;
    enum sc_net_answer refuse_names;
    bool unchecked_names;      /* do not compare SNI and Host with the name that was asked for */
    struct sc_net_rule *rules; /* the first that fits decides */
    size_t n_rules;
    struct sc_cidr *internal; /* special addresses that may be reached where a rule allows it */
    size_t n_internal;
    /* Budgets; 0: none. */
    uint64_t connections;         /* at once; 0: 128 */
    uint64_t bytes_out, bytes_in; /* of all connections together, from the cell and to it */
    uint64_t bytes_per_second;    /* of all together, each way */
    struct sc_net *within;        /* this must allow it too: the template's rules; NULL: nothing else */
};

void sc_net_fini(struct sc_net *net);
/* `ret_copy` needs no initialisation. 0 or -ENOMEM. */
int sc_net_copy(const struct sc_net *net, struct sc_net *ret_copy);

/* Behind all layers that are there: a copy of `ceiling` with its own, which must allow what they allow. 0 or
 * -ENOMEM. */
int sc_net_add_within(struct sc_net *net, const struct sc_net *ceiling);

/* "none", "rules" or "open"; "none" also forgets rules that were given. */
int sc_net_set_mode(struct sc_net *net, const char *field, const char *text, struct sc_err *err);
/* One more rule: "NAME[:PORTS]", "ADDRESS[/BITS][:PORTS]", "[V6[/BITS]][:PORTS]"; PORTS are "*" or numbers
 * and ranges with commas. Without ports an allow rule is for 80 and 443, a deny rule for all; or
 * "preset:NAME". A rule turns the mode from none to rules. */
int sc_net_add_rule(struct sc_net *net, bool allow, const char *field, const char *text, struct sc_err *err);
/* The rules of a preset (policy/net/), as "preset:NAME" adds them. */
int sc_net_add_preset(struct sc_net *net, bool allow, const char *field, const char *name,
                      struct sc_err *err);
/* What options say about the allow rule that was added last: one more of its requests, "METHOD PATH"; a
 * credential, whose value is read from a file: "NAME=FILE", or "FILE" with USER:PASSWORD. */
int sc_net_add_http(struct sc_net *net, const char *field, const char *text, struct sc_err *err);
int sc_net_add_credential_header(struct sc_net *net, const char *field, const char *text, struct sc_err *err);
int sc_net_add_credential_basic(struct sc_net *net, const char *field, const char *text, struct sc_err *err);
int sc_net_add_internal(struct sc_net *net, const char *field, const char *text, struct sc_err *err);

int sc_net_from_json(struct sc_net *net, const struct json_t *value, const char *path, struct sc_err *err);
/* NULL when memory ran out. `whole`: with the credentials, for whoever shall use them; else they are
 * withheld. */
struct json_t *sc_net_to_json(const struct sc_net *net, bool whole);
/* Has a rule of any layer a credential? What has may not be written to a file. */
bool sc_net_has_credentials(const struct sc_net *net);

/* Is a rule of any layer about requests over TLS? Then TLS to such names ends in the egress process, and the
 * cell trusts an authority of its own. */
bool sc_net_terminates(const struct sc_net *net);

/* Is it a path that leads where it says, with every server? No dot segments, also escaped ones, no query. */
bool sc_net_path_is_plain(const char *path, size_t len);
/* `pattern` is one of a rule's `http`; the path is a plain one. */
bool sc_net_pattern_fits(const char *pattern, const struct sc_net_request *request);

/* "192.0.2.1", "2001:db8::1" → address. -EINVAL. */
int sc_addr_parse(const char *text, struct sc_addr *ret_addr);
/* `size` at least 46. */
void sc_addr_format(const struct sc_addr *addr, char *ret_text, size_t size);
bool sc_cidr_has(const struct sc_cidr *cidr, const struct sc_addr *addr);
/* Is all of `inner` in `outer`? */
bool sc_cidr_covers(const struct sc_cidr *outer, const struct sc_cidr *inner);
bool sc_ports_have(const struct sc_ports *ports, size_t n, uint16_t port);

#endif
