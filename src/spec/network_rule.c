#include "spec/network_rule.h"

#include <string.h>

#include "spec/spec_internal.h"

/* A rule's fields come in any order, so they are kept until all are read. */
struct reading {
    const char *text; /* borrowed from the JSON */
    bool allow;
    size_t verdicts; /* how many of allow and deny there are */
    char text_path[SC_ERR_FIELD_MAX];
    struct sc_net_rule more; /* all but whom it is about */
    const char *more_field;  /* one that stands there; NULL: none does */
};

static int read_verdict(struct reading *reading, bool allow, const json_t *value, const char *path,
                        struct sc_err *err)
{
    reading->text = sc_json_text(value, path, err);
    reading->allow = allow;
    reading->verdicts++;
    snprintf(reading->text_path, sizeof reading->text_path, "%s", path);
    return reading->text ? 0 : -EINVAL;
}

static int read_allow(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_verdict(into, true, value, path, err);
}

static int read_deny(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_verdict(into, false, value, path, err);
}

int sc_net_read_count(uint64_t *into, const json_t *value, const char *path, uint64_t max, struct sc_err *err)
{
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value))
        return sc_json_wrong_type(path, value, "a whole number", err);
    if (number < 1 || (uint64_t)number > max)
        return sc_err_usage(err, path, "%s: %lld: allowed 1 to %llu", path, (long long)number,
                            (unsigned long long)max);
    *into = (uint64_t)number;
    return 0;
}

static int read_connections(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct reading *reading = into;
    reading->more_field = "connections";
    return sc_net_read_count(&reading->more.connections, value, path, SC_NET_CONNECTIONS_MAX, err);
}
static int read_bytes_out(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct reading *reading = into;
    reading->more_field = "bytes_out";
    return sc_net_read_count(&reading->more.bytes_out, value, path, SC_NET_BYTES_MAX, err);
}
static int read_bytes_in(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct reading *reading = into;
    reading->more_field = "bytes_in";
    return sc_net_read_count(&reading->more.bytes_in, value, path, SC_NET_BYTES_MAX, err);
}
static int read_rate(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct reading *reading = into;
    reading->more_field = "bytes_per_second";
    return sc_net_read_count(&reading->more.bytes_per_second, value, path, SC_NET_BYTES_MAX, err);
}

static int read_patterns(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct reading *reading = into;
    reading->more_field = "http";
    int r = sc_json_read_list(&reading->more, value, path, sc_net_read_pattern, err);
    return r == 0 && reading->more.n_http == 0
               ? sc_err_usage(err, path, "%s: needs at least one request", path)
               : r;
}

static int read_credential(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct reading *reading = into;
    reading->more_field = "credential";
    return sc_net_read_credential(&reading->more, value, path, err);
}

static int read_tls(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct reading *reading = into;
    reading->more_field = "tls";
    reading->more.tls = json_is_true(value);
    return reading->more.tls ? 0 : sc_err_usage(err, path, "%s: allowed: true", path);
}

/* What more there is to say needs one rule that allows. */
static int check_more(const struct reading *reading, const char *path, struct sc_err *err)
{
    char field[SC_ERR_FIELD_MAX];
    if (!reading->more_field)
        return 0;
    sc_json_join_path(field, path, reading->more_field);
    if (!reading->allow)
        return sc_err_usage(err, field, "%s: a rule that denies has none: allowed with allow", field);
    if (!strncmp(reading->text, "preset:", 7))
        return sc_err_usage(err, field, "%s: a preset has none: allowed with a rule of one's own", field);
    return 0;
}

static bool is_https(const struct sc_net_rule *rule, const struct sc_net_rule *more)
{
    return more->tls || (rule->n_ports == 1 && rule->ports[0].first == SC_NET_PORT_HTTPS &&
                         rule->ports[0].last == SC_NET_PORT_HTTPS);
}

/* Requests can be read where a name says whom they are for. A credential goes one way only, so that a program
 * cannot choose the one that others can listen to. */
int sc_net_check_requests(const struct sc_net_rule *rule, const struct sc_net_rule *more, const char *path,
                          struct sc_err *err)
{
    bool about = more->n_http || more->secret_field;
    char field[SC_ERR_FIELD_MAX];
    sc_json_join_path(field, path, more->secret_field ? "credential" : more->n_http ? "http" : "tls");
    if (!about && more->tls)
        return sc_err_usage(err, field,
                            "%s: allowed with http or credential: TLS is not looked into otherwise", field);
    if (about && !rule->name)
        return sc_err_usage(err, field, "%s: a rule about addresses has none: allowed with a name", field);
    if (more->secret_field && strchr(rule->name, '*'))
        return sc_err_usage(err, field, "%s: it is for one name: allowed without *", field);
    if (more->secret_field && !is_https(rule, more) &&
        sc_ports_have(rule->ports, rule->n_ports, SC_NET_PORT_HTTPS))
        return sc_err_usage(err, field,
                            "%s: the rule's ports have 443, where requests come over TLS, and others, where "
                            "anybody on the way can read them: allowed with ports of one kind, as in %s:443",
                            field, rule->name);
    return 0;
}

static void add_more(struct sc_net_rule *rule, struct sc_net_rule *more)
{
    rule->http = more->http;
    rule->n_http = more->n_http;
    rule->tls = more->tls;
    rule->secret_field = more->secret_field;
    rule->secret = more->secret;
    more->secret_field = more->secret = NULL;
    more->http = NULL;
    more->n_http = 0;
    rule->connections = more->connections;
    rule->bytes_out = more->bytes_out;
    rule->bytes_in = more->bytes_in;
    rule->bytes_per_second = more->bytes_per_second;
}

int sc_net_read_rule(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    static const struct sc_json_field fields[] = {{"allow", read_allow},
                                                  {"deny", read_deny},
                                                  {"connections", read_connections},
                                                  {"bytes_out", read_bytes_out},
                                                  {"bytes_in", read_bytes_in},
                                                  {"bytes_per_second", read_rate},
                                                  {"http", read_patterns},
                                                  {"credential", read_credential},
                                                  {"tls", read_tls},
                                                  {NULL}};
    struct sc_net *net = into;
    struct reading reading = {0};
    int r = sc_json_read_object(&reading, value, path, fields, err);
    if (r == 0 && reading.verdicts != 1)
        r = sc_err_usage(err, path, "%s: needs one of allow and deny", path);
    if (r == 0)
        r = check_more(&reading, path, err);
    if (r == 0)
        r = sc_net_add_rule(net, reading.allow, reading.text_path, reading.text, err);
    if (r == 0 && reading.more_field)
        r = sc_net_check_requests(&net->rules[net->n_rules - 1], &reading.more, path, err);
    if (r == 0 && reading.more_field)
        add_more(&net->rules[net->n_rules - 1], &reading.more);
    sc_net_free_patterns(&reading.more);
    sc_net_free_credential(&reading.more);
    return r;
}

/* ---- the other way ---- */

static int put_number(json_t *object, const char *key, uint64_t value)
{
    return value ? json_object_set_new(object, key, json_integer((json_int_t)value)) : 0;
}

static int put_patterns(json_t *object, const struct sc_net_rule *rule)
{
    json_t *array = json_array();
    for (size_t i = 0; i < rule->n_http; i++)
        if (json_array_append_new(array, json_string(rule->http[i])) < 0) {
            json_decref(array);
            return -1;
        }
    return json_object_set_new(object, "http", array);
}

json_t *sc_net_rule_json(const struct sc_net_rule *rule, bool whole)
{
    json_t *object = json_object();
    if (json_object_set_new(object, rule->allow ? "allow" : "deny", json_string(rule->text)) < 0 ||
        put_number(object, "connections", rule->connections) < 0 ||
        put_number(object, "bytes_out", rule->bytes_out) < 0 ||
        put_number(object, "bytes_in", rule->bytes_in) < 0 ||
        put_number(object, "bytes_per_second", rule->bytes_per_second) < 0 ||
        (rule->n_http && put_patterns(object, rule) < 0) ||
        (rule->tls && json_object_set_new(object, "tls", json_true()) < 0) ||
        (rule->secret_field &&
         json_object_set_new(object, "credential", sc_net_credential_json(rule, whole)) < 0)) {
        json_decref(object);
        return NULL;
    }
    return object;
}
