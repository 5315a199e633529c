/* Options that say more about the allow rule before them. */
#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "spec/network_rule.h"
#include "spec/spec_internal.h"

static struct sc_net_rule *last_rule(struct sc_net *net, const char *field, const char *text,
                                     struct sc_err *err)
{
    struct sc_net_rule *last = net->n_rules ? &net->rules[net->n_rules - 1] : NULL;
    if (last && last->allow && !last->of_preset)
        return last;
    sc_spec_set_bad(err, field, text,
                    "it is about the rule before it: allowed behind allow, which names no preset");
    return NULL;
}

int sc_net_add_http(struct sc_net *net, const char *field, const char *text, struct sc_err *err)
{
    struct sc_net_rule *rule = last_rule(net, field, text, err);
    int r = rule ? sc_net_add_pattern(rule, field, text, err) : -EINVAL;
    return r == 0 ? sc_net_check_requests(rule, rule, "network", err) : r;
}

/* A file's only line, without its end. */
static int read_secret(const char *field, const char *path, struct sc_buf *ret_text, struct sc_err *err)
{
    sc_buf_init(ret_text, SC_NET_SECRET_MAX + 2);
    int r = sc_buf_read_file(ret_text, AT_FDCWD, path);
    if (r == -EMSGSIZE)
        return sc_spec_bad(err, field, path, "allowed: up to %d bytes", SC_NET_SECRET_MAX);
    if (r < 0)
        return sc_spec_bad(err, field, path, "cannot be read: %s", strerror(-r));
    while (ret_text->len && strchr("\r\n", ret_text->data[ret_text->len - 1]))
        ret_text->len--;
    return sc_buf_add(ret_text, "", 1) < 0 ? sc_spec_no_memory(err) : 0;
}

static void wipe(struct sc_buf *text)
{
    if (text->data)
        explicit_bzero(text->data, text->len);
    sc_buf_fini(text);
}

/* `value` is taken; NULL: there was no memory for it. */
static int put(struct sc_net_rule *rule, const char *field, json_t *value, struct sc_err *err)
{
    int r = value ? 0 : sc_spec_no_memory(err);
    if (r == 0 && rule->secret_field)
        r = sc_spec_bad(err, field, rule->text, "this rule has a credential already: allowed is one");
    if (r == 0)
        r = sc_net_read_credential(rule, value, field, err);
    json_decref(value);
    return r == 0 ? sc_net_check_requests(rule, rule, "network", err) : r;
}

int sc_net_add_credential_header(struct sc_net *net, const char *field, const char *text, struct sc_err *err)
{
    const char *equals = strchr(text, '=');
    struct sc_buf secret;
    struct sc_net_rule *rule = last_rule(net, field, text, err);
    if (!rule)
        return -EINVAL;
    if (!equals || equals == text || !equals[1])
        return sc_spec_bad(err, field, text, "allowed: NAME=FILE");
    int r = read_secret(field, equals + 1, &secret, err);
    if (r == 0)
        r = put(rule, field,
                json_pack("{s:s%, s:s}", "header", text, (size_t)(equals - text), "value",
                          (const char *)secret.data),
                err);
    wipe(&secret);
    return r;
}

int sc_net_add_credential_basic(struct sc_net *net, const char *field, const char *text, struct sc_err *err)
{
    struct sc_buf secret;
    struct sc_net_rule *rule = last_rule(net, field, text, err);
    if (!rule)
        return -EINVAL;
    int r = read_secret(field, text, &secret, err);
    if (r == 0)
        r = put(rule, field, json_pack("{s:s}", "basic", (const char *)secret.data), err);
    wipe(&secret);
    return r;
}
