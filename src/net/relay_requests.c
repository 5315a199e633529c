/* Connections whose rules are about requests: each request is judged, and where it comes over TLS that ends
 * here. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "net/relay_parts.h"

#define SETTLE_PATIENCE_NS (30 * SC_NS_PER_S) /* of both handshakes */

/* One request, all of it: it is charged to the rules that allow it. */
static int judge_request(void *userdata, const struct sc_net_request *request,
                         const struct sc_net_rule **ret_credential)
{
    struct sc_connection *c = userdata;
    const struct sc_net *net = &c->egress->net;
    const struct sc_net_rule *rules[SC_NET_LAYERS_MAX];
    struct sc_net_verdict verdict = sc_net_judge_request(net, c->name->text, c->port, request);
    c->said = (struct sc_spent){0};
    if (!verdict.allow) {
        snprintf(c->asked, sizeof c->asked, "%s: %.*s %.*s", verdict.reason, (int)request->method_len,
                 request->method, (int)sc_min_u64(request->path_len, sizeof c->asked), request->path);
        c->said = (struct sc_spent){verdict.rule, c->asked};
        return -EACCES;
    }
    sc_budgets_release(&c->charged);
    size_t n = sc_net_rules_of_request(net, c->name->text, c->port, request, rules);
    c->said = sc_budgets_charge(&c->egress->budgets, &c->charged, rules, n);
    for (size_t i = 0; i < n && !*ret_credential; i++)
        *ret_credential = rules[i]->secret ? rules[i] : NULL;
    return c->said.why ? -EACCES : 0;
}

static int feed_requests(void *userdata, const uint8_t *data, size_t len, struct sc_buf *ret_out)
{
    struct sc_connection *c = userdata;
    return sc_http_feed_strict(c->http, data, len, ret_out);
}

/* Only requests go out, and only those that a rule allows. */
int sc_relay_follow_requests(struct sc_connection *c)
{
    c->http = malloc(sizeof *c->http);
    if (!c->http)
        return -ENOMEM;
    sc_http_init_strict(c->http, c->name->text, judge_request, c);
    c->flows[SC_NET_OUT].rewrite = feed_requests;
    c->flows[SC_NET_OUT].userdata = c;
    return 0;
}

void sc_relay_refuse_request(struct sc_connection *c, int why)
{
    char name[SC_NET_NAME_MAX + 1];
    if (why == -EACCES) {
        sc_relay_refuse(c, c->name->text, c->said.rule, c->said.why);
        return;
    }
    memcpy(name, why == -EPERM ? c->http->seen : c->name->text,
           why == -EPERM ? sizeof c->http->seen : strlen(c->name->text) + 1);
    sc_relay_refuse(c, name, "http_host",
                    why == -EPERM ? "the name in it is not the one that was looked up"
                                  : "it cannot be told whom a request is for, or where it ends");
}

/* ---- TLS ---- */

int sc_relay_settle(struct sc_connection *c)
{
    struct sc_tls_trouble trouble;
    int r = 0;
    if (!sc_net_tls) { /* a cell without an authority: its owner gave it no such rules */
        sc_relay_refuse(c, c->name->text, "tls", "this cell was made without looking into TLS");
        return -1;
    }
    if (!c->tls) {
        r = sc_net_tls->open(c->name->text, c->client.fd, c->upstream.fd, &c->tls);
        c->settle_until_ns = sc_now_ns() + SETTLE_PATIENCE_NS;
    }
    if (r < 0) {
        sc_relay_end(c, true);
        return -1;
    }
    r = sc_net_tls->shake(c->tls, &trouble);
    if (r < 0)
        sc_relay_refuse(c, c->name->text, trouble.rule, trouble.reason);
    if (r <= 0)
        return r < 0 ? -1 : 0;
    sc_net_tls->carry(c->tls, &c->flows[SC_NET_OUT], true);
    sc_net_tls->carry(c->tls, &c->flows[SC_NET_IN], false);
    c->is_settled = true;
    return 1;
}

int sc_relay_settle_clock(struct sc_connection *c, uint64_t now_ns)
{
    if (!c->tls || c->is_settled)
        return -1;
    if (now_ns < c->settle_until_ns)
        return (int)((c->settle_until_ns - now_ns) / SC_NS_PER_MS) + 1;
    sc_relay_refuse(c, c->name->text, "tls", "its beginning took too long");
    return -1;
}
