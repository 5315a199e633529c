#include "check/reading.h"

#include <string.h>

#include "check/python.h"

/* Names of names of names: longer than anybody writes, and each is a call on the stack. */
#define DEPTH_MAX 400

static const struct sc_values UNKNOWN = {.other = true};

static const struct sc_finding TOO_WINDING = {
    .rule = "too-deep",
    .severity = SC_SEVERITY_ERROR,
    .message = "A name is given on so often that it cannot be followed.",
    .advice = "Write it more directly.",
};

const struct sc_reader *sc_reader_of(enum sc_grammar grammar)
{
    switch (grammar) {
    case SC_GRAMMAR_PYTHON:
        return &SC_READER_PYTHON;
    case SC_GRAMMAR_BASH:
        return &SC_READER_BASH;
    default:
        return &SC_READER_NODE;
    }
}

const struct sc_values *sc_reading_value(struct sc_reading *reading, uint32_t node)
{
    struct sc_values values = {0};
    if (node == SC_NO_NODE)
        return &UNKNOWN;
    if (reading->value_of[node])
        return reading->value_of[node];
    if (reading->depth == DEPTH_MAX) {
        struct sc_finding finding = TOO_WINDING;
        finding.at = reading->tree.nodes[node].start;
        sc_findings_add(&reading->findings, &finding);
        return &UNKNOWN;
    }
    /* What asks for itself while it is computed gets this. */
    reading->value_of[node] = &UNKNOWN;
    reading->depth++;
    sc_reader_of(reading->grammar)->value(reading, node, &values);
    reading->depth--;
    if (values.n) {
        struct sc_values *kept = sc_pool_alloc(&reading->pool, sizeof *kept);
        *kept = values;
        reading->value_of[node] = kept;
    }
    return reading->value_of[node];
}

const char *sc_reading_constant(struct sc_reading *reading, uint32_t node)
{
    return sc_values_constant(sc_reading_value(reading, node));
}

static void found(struct sc_reading *reading, const struct sc_rule *rule, uint32_t node, const char *name)
{
    sc_findings_add(&reading->findings, &(struct sc_finding){.rule = rule->id,
                                                             .severity = rule->severity,
                                                             .message = rule->message,
                                                             .advice = rule->advice,
                                                             .name = name,
                                                             .at = reading->tree.nodes[node].start});
}

static void denied(struct sc_reading *reading, uint32_t node, uint32_t which)
{
    static const char advice[] = "Do it without, or ask for a request that allows it.";
    sc_findings_add(&reading->findings, &(struct sc_finding){.rule = "denied",
                                                             .severity = SC_SEVERITY_ERROR,
                                                             .message = "This request denies its use.",
                                                             .advice = advice,
                                                             .name = reading->denied_names[which],
                                                             .at = reading->tree.nodes[node].start});
}

void sc_reading_use(struct sc_reading *reading, uint32_t node, const char *name)
{
    static const char builtins[] = "builtins.";
    bool is_builtin = reading->grammar == SC_GRAMMAR_PYTHON && !strncmp(name, builtins, strlen(builtins));
    sc_reading_use_as(reading, node, name, name + (is_builtin ? strlen(builtins) : 0) + (name[0] == '.'));
}

void sc_reading_use_attribute(struct sc_reading *reading, uint32_t node, const char *name)
{
    sc_reading_use(reading, node, sc_pool_printf(&reading->pool, ".%s", name));
}

static void mark_place(struct sc_reading *reading, uint32_t node)
{
    size_t n = reading->n_pattern_places;
    if (n && reading->pattern_places[n - 1] == node)
        return;
    if (n < SC_PATTERN_PLACES_MAX)
        reading->pattern_places[n] = node;
    reading->n_pattern_places++;
}

void sc_reading_use_denied(struct sc_reading *reading, uint32_t node, const char *name)
{
    uint32_t which = sc_names_find(&reading->denied, name);
    if (which != SC_NO_NAME)
        denied(reading, node, which);
}

void sc_reading_use_as(struct sc_reading *reading, uint32_t node, const char *name, const char *shown)
{
    sc_reading_use_denied(reading, node, name);
    for (size_t i = 0; i < reading->n_sets; i++) {
        uint32_t rule = sc_names_find(&reading->sets[i]->names, name);
        if (rule != SC_NO_NAME)
            found(reading, &reading->sets[i]->rules[rule], node, shown);
        if (sc_names_find(&reading->sets[i]->query_names, name) != SC_NO_NAME)
            mark_place(reading, node);
    }
}

bool sc_reading_watches_below(const struct sc_reading *reading, const char *name)
{
    if (sc_names_below(&reading->denied, name))
        return true;
    for (size_t i = 0; i < reading->n_sets; i++)
        if (sc_names_below(&reading->sets[i]->names, name) ||
            sc_names_find(&reading->sets[i]->query_names, name) != SC_NO_NAME)
            return true;
    return false;
}

bool sc_path_is_outside(const char *path)
{
    static const char *const inside[] = {"/home/user",  "/tmp",         "/dev/null", "/dev/stdin",
                                         "/dev/stdout", "/dev/stderr",  "/dev/shm",  "/dev/full",
                                         "/dev/zero",   "/dev/urandom", "/dev/tty"};
    bool climbs = !strcmp(path, "..") || !strncmp(path, "../", 3) || strstr(path, "/../") ||
                  (strlen(path) > 3 && !strcmp(path + strlen(path) - 3, "/.."));
    if (climbs || path[0] == '~')
        return climbs || (path[1] != '\0' && path[1] != '/');
    if (path[0] != '/')
        return false;
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
        size_t len = strlen(inside[i]);
        if (!strncmp(path, inside[i], len) && (path[len] == '\0' || path[len] == '/'))
            return false;
    }
    return true;
}
