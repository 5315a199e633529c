/* A credential of a rule: a field that is put into the requests which the rule allows. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "spec/network_rule.h"
#include "spec/spec_internal.h"

void sc_net_free_credential(struct sc_net_rule *rule)
{
    if (rule->secret)
        explicit_bzero(rule->secret, strlen(rule->secret));
    free(rule->secret);
    free(rule->secret_field);
    rule->secret = rule->secret_field = NULL;
}

int sc_net_copy_credential(const struct sc_net_rule *from, struct sc_net_rule *to)
{
    to->secret_field = from->secret_field ? strdup(from->secret_field) : NULL;
    to->secret = from->secret ? strdup(from->secret) : NULL;
    if ((!from->secret_field || to->secret_field) && (!from->secret || to->secret))
        return 0;
    sc_net_free_credential(to);
    return -ENOMEM;
}

/* What decides where a request ends, whom it is for and how it is passed on is not to be set by it. */
static bool is_field_name(const char *text)
{
    static const char *const others[] = {
        "host",   "connection", "content-length", "transfer-encoding", "upgrade",
        "expect", "te",         "trailer",        "keep-alive"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (!strcasecmp(text, others[i]))
            return false;
    for (const char *at = text; *at; at++)
        if (!isalnum((unsigned char)*at) && *at != '-')
            return false;
    return *text && strlen(text) <= SC_NET_FIELD_MAX;
}

static bool is_secret(const char *text)
{
    for (const char *at = text; *at; at++)
        if (*at < ' ' || *at >= 0x7f)
            return false;
    size_t len = strlen(text);
    return len > 0 && len <= SC_NET_SECRET_MAX && text[0] != ' ' && text[len - 1] != ' ';
}

static int read_field(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_net_rule *rule = into;
    const char *text = sc_json_text(value, path, err);
    if (!text)
        return -EINVAL;
    if (!is_field_name(text))
        return sc_spec_bad(err, path, text,
                           "allowed: a field's name of letters, digits and -, but none of those that "
                           "say where a request ends or whom it is for");
    return sc_spec_put_text(&rule->secret_field, text, err);
}

/* Errors never show it. */
static int read_secret(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_net_rule *rule = into;
    const char *text = sc_json_text(value, path, err);
    if (!text)
        return -EINVAL;
    if (!is_secret(text))
        return sc_err_usage(err, path,
                            "%s: allowed: 1 to %d printable characters of ASCII, no blank at an end", path,
                            SC_NET_SECRET_MAX);
    return sc_spec_put_text(&rule->secret, text, err);
}

static int read_basic(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_net_rule *rule = into;
    const char *text = sc_json_text(value, path, err);
    struct sc_buf encoded;
    if (!text)
        return -EINVAL;
    if (!is_secret(text) || !strchr(text, ':') || strlen(text) > SC_NET_SECRET_MAX / 2)
        return sc_err_usage(err, path, "%s: allowed: USER:PASSWORD, up to %d printable characters of ASCII",
                            path, SC_NET_SECRET_MAX / 2);
    sc_buf_init(&encoded, SC_NET_SECRET_MAX);
    int r = sc_buf_add_str(&encoded, "Basic ");
    if (r == 0)
        r = sc_b64_encode(&encoded, text, strlen(text));
    if (r == 0)
        r = sc_spec_put_text(&rule->secret, (const char *)encoded.data, err);
    else
        sc_spec_no_memory(err);
    if (r == 0)
        r = sc_spec_put_text(&rule->secret_field, "Authorization", err);
    if (encoded.data)
        explicit_bzero(encoded.data, encoded.len);
    sc_buf_fini(&encoded);
    return r;
}

static int read_withheld(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    (void)into;
    return json_is_true(value) ? 0 : sc_json_wrong_type(path, value, "true", err);
}

int sc_net_read_credential(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    static const struct sc_json_field fields[] = {{"header", read_field},
                                                  {"value", read_secret},
                                                  {"basic", read_basic},
                                                  {"withheld", read_withheld},
                                                  {NULL}};
    struct sc_net_rule *rule = into;
    int r = sc_json_read_object(rule, value, path, fields, err);
    bool header = json_is_string(json_object_get(value, "header")),
         one = json_is_string(json_object_get(value, "value")),
         basic = json_is_string(json_object_get(value, "basic")),
         withheld = json_is_true(json_object_get(value, "withheld"));
    if (r == 0 && !(header ? one + basic + withheld == 1 && !basic : basic && !one && !withheld))
        return sc_err_usage(err, path, "%s: allowed: header and value, or basic", path);
    return r;
}

json_t *sc_net_credential_json(const struct sc_net_rule *rule, bool whole)
{
    if (whole && rule->secret)
        return json_pack("{s:s, s:s}", "header", rule->secret_field, "value", rule->secret);
    return json_pack("{s:s, s:b}", "header", rule->secret_field, "withheld", 1);
}

bool sc_net_has_credentials(const struct sc_net *net)
{
    for (const struct sc_net *layer = net; layer; layer = layer->within)
        for (size_t i = 0; i < layer->n_rules; i++)
            if (layer->rules[i].secret_field)
                return true;
    return false;
}

static bool is_over_tls(const struct sc_net_rule *rule)
{
    return (rule->n_http || rule->secret_field) &&
           (rule->tls || sc_ports_have(rule->ports, rule->n_ports, SC_NET_PORT_HTTPS));
}

bool sc_net_terminates(const struct sc_net *net)
{
    for (const struct sc_net *layer = net; layer; layer = layer->within)
        for (size_t i = 0; i < layer->n_rules; i++)
            if (is_over_tls(&layer->rules[i]))
                return true;
    return false;
}
