/* `network` of a request in JSON, both ways. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "spec/json_read.h"
#include "spec/network.h"
#include "spec/network_rule.h"
#include "spec/spec_internal.h"

extern const struct sc_spec_word SC_NET_MODES[];
static const struct sc_spec_word ANSWERS[] = {
    {"nxdomain", SC_NET_NXDOMAIN}, {"refused", SC_NET_REFUSED}, {NULL, 0}};

static int read_mode(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_net *net = into;
    const char *text = sc_json_text(value, path, err);
    int word = 0, r = text ? sc_spec_word(SC_NET_MODES, path, text, &word, err) : -EINVAL;
    if (r == 0)
        net->mode = (enum sc_net_mode)word;
    return r;
}

static int read_rules(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_json_read_list(into, value, path, sc_net_read_rule, err);
}

static int read_range(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    const char *text = sc_json_text(value, path, err);
    return text ? sc_net_add_internal(into, path, text, err) : -EINVAL;
}

static int read_internal(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_json_read_list(into, value, path, read_range, err);
}

static int read_answer(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    const char *text = sc_json_text(value, path, err);
    int word = 0, r = text ? sc_spec_word(ANSWERS, path, text, &word, err) : -EINVAL;
    if (r == 0)
        ((struct sc_net *)into)->refuse_names = (enum sc_net_answer)word;
    return r;
}

static int read_check_names(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    bool on = true;
    int r = sc_json_read_bool(&on, value, path, err);
    if (r == 0)
        ((struct sc_net *)into)->unchecked_names = !on;
    return r;
}

static int read_connections(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_net_read_count(&((struct sc_net *)into)->connections, value, path, SC_NET_CONNECTIONS_MAX, err);
}
static int read_bytes_out(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_net_read_count(&((struct sc_net *)into)->bytes_out, value, path, SC_NET_BYTES_MAX, err);
}
static int read_bytes_in(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_net_read_count(&((struct sc_net *)into)->bytes_in, value, path, SC_NET_BYTES_MAX, err);
}
static int read_rate(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_net_read_count(&((struct sc_net *)into)->bytes_per_second, value, path, SC_NET_BYTES_MAX, err);
}

static int read_within(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_net *net = into;
    size_t depth = 0;
    for (const char *at = path; (at = strstr(at, "within")); at += strlen("within"))
        depth++;
    if (depth > SC_NET_WITHIN_MAX)
        return sc_err_usage(err, "network.within", "network.within: deeper than the %d levels allowed",
                            SC_NET_WITHIN_MAX);
    if (!net->within && !(net->within = calloc(1, sizeof *net->within)))
        return sc_spec_no_memory(err);
    return sc_net_from_json(net->within, value, path, err);
}

int sc_net_from_json(struct sc_net *net, const json_t *value, const char *path, struct sc_err *err)
{
    static const struct sc_json_field fields[] = {{"mode", read_mode},
                                                  {"rules", read_rules},
                                                  {"internal", read_internal},
                                                  {"refuse_names", read_answer},
                                                  {"check_names", read_check_names},
                                                  {"connections", read_connections},
                                                  {"bytes_out", read_bytes_out},
                                                  {"bytes_in", read_bytes_in},
                                                  {"bytes_per_second", read_rate},
                                                  {"within", read_within},
                                                  {NULL}};
    net->given = true;
    int r = sc_json_read_object(net, value, path, fields, err);
    const json_t *mode = json_object_get(value, "mode");
    if (r == 0 && net->n_rules && mode && json_is_string(mode) && !strcmp(json_string_value(mode), "none"))
        return sc_err_usage(err, path, "%s: mode none has no rules: allowed with rules are rules and open",
                            path);
    return r;
}

/* ---- the other way ---- */

static json_t *rules_json(const struct sc_net *net, bool whole, bool *failed)
{
    json_t *array = json_array();
    for (size_t i = 0; i < net->n_rules; i++)
        if (json_array_append_new(array, sc_net_rule_json(&net->rules[i], whole)) < 0)
            *failed = true;
    return array;
}

static json_t *internal_json(const struct sc_net *net, bool *failed)
{
    json_t *array = json_array();
    for (size_t i = 0; i < net->n_internal; i++) {
        char text[46];
        sc_addr_format(&net->internal[i].addr, text, sizeof text);
        if (json_array_append_new(array, json_sprintf("%s/%u", text, net->internal[i].bits)) < 0)
            *failed = true;
    }
    return array;
}

static void put(json_t *object, const char *key, json_t *value, bool *failed)
{
    if (json_object_set_new(object, key, value) < 0)
        *failed = true;
}

static void put_number(json_t *object, const char *key, uint64_t value, bool *failed)
{
    if (value)
        put(object, key, json_integer((json_int_t)value), failed);
}

json_t *sc_net_to_json(const struct sc_net *net, bool whole)
{
    bool failed = false;
    json_t *object = json_object();
    put(object, "mode", json_string(SC_NET_MODES[net->mode].name), &failed);
    if (net->n_rules)
        put(object, "rules", rules_json(net, whole, &failed), &failed);
    if (net->n_internal)
        put(object, "internal", internal_json(net, &failed), &failed);
    if (net->refuse_names != SC_NET_NXDOMAIN)
        put(object, "refuse_names", json_string(ANSWERS[net->refuse_names].name), &failed);
    if (net->unchecked_names)
        put(object, "check_names", json_false(), &failed);
    put_number(object, "connections", net->connections, &failed);
    put_number(object, "bytes_out", net->bytes_out, &failed);
    put_number(object, "bytes_in", net->bytes_in, &failed);
    put_number(object, "bytes_per_second", net->bytes_per_second, &failed);
    if (net->within)
        put(object, "within", sc_net_to_json(net->within, whole), &failed);
    if (failed) {
        json_decref(object);
        return NULL;
    }
    return object;
}
