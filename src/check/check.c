#include "check/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "check/match.h"
#include "check/python.h"
#include "check/reading.h"
#include "check/sets.h"

/* Of the 2 s that a check may take, parsing gets most: what comes after is quicker. */
#define PARSE_US 1400000

static const struct sc_finding TROUBLE[] = {
    [SC_TREE_PARTLY] =
        {.rule = "partly-read",
         .severity = SC_SEVERITY_NOTE,
         .message = "From here on something is not understood: newer than the grammar, or wrong. Rules "
                    "may not see all of it."},
    [SC_TREE_TOO_DEEP] = {.rule = "too-deep",
                          .severity = SC_SEVERITY_ERROR,
                          .message = "The source is nested deeper than it can be read.",
                          .advice = "Nest less."},
    [SC_TREE_TOO_LARGE] = {.rule = "too-large",
                           .severity = SC_SEVERITY_ERROR,
                           .message = "The source is larger than it can be read.",
                           .advice = "Move data into files."},
    [SC_TREE_TOO_SLOW] = {.rule = "unreadable",
                          .severity = SC_SEVERITY_ERROR,
                          .message = "Reading the source took too long.",
                          .advice = "Move data into files, and nest less."},
};

static json_t *refuse(const char *field, const char *message)
{
    return json_pack("{s:{s:s, s:s}}", "error", "field", field, "message", message);
}

static const char *text_of(const json_t *header, const char *key)
{
    const char *text = json_string_value(json_object_get(header, key));
    return text ? text : "";
}

static bool has_suffix(const char *name, const char *suffix)
{
    size_t a = strlen(name), b = strlen(suffix);
    return a > b && !strcasecmp(name + a - b, suffix);
}

static bool grammar_of(const json_t *header, enum sc_grammar *ret_grammar)
{
    const char *language = text_of(header, "language"), *name = text_of(header, "name");
    if (!strcmp(language, "python"))
        *ret_grammar = SC_GRAMMAR_PYTHON;
    else if (!strcmp(language, "bash"))
        *ret_grammar = SC_GRAMMAR_BASH;
    else if (strcmp(language, "node") != 0)
        return false;
    else if (has_suffix(name, ".tsx") || has_suffix(name, ".jsx"))
        *ret_grammar = SC_GRAMMAR_TSX;
    else if (has_suffix(name, ".ts") || has_suffix(name, ".mts") || has_suffix(name, ".cts"))
        *ret_grammar = SC_GRAMMAR_TYPESCRIPT;
    else
        *ret_grammar = SC_GRAMMAR_JAVASCRIPT;
    return true;
}

/* ---- what the request asks for ---- */

/* Once, if there is one. False: there are too many. */
static bool add_set(struct sc_reading *reading, const struct sc_rule_set *set)
{
    for (size_t i = 0; i < reading->n_sets; i++)
        if (reading->sets[i] == set)
            return true;
    if (!set || reading->n_sets == SC_SETS_MAX)
        return !set;
    reading->sets[reading->n_sets++] = set;
    return true;
}

static json_t *take_sets(struct sc_reading *reading, const json_t *header)
{
    size_t i;
    json_t *value;
    char message[500];
    json_array_foreach(json_object_get(header, "sets"), i, value)
    {
        const char *name = json_string_value(value) ? json_string_value(value) : "";
        const struct sc_rule_set *set = sc_sets_builtin(name, reading->grammar);
        if (!set) {
            snprintf(message, sizeof message, "rules: \"%.64s\": allowed are default, strict, and files",
                     name);
            return refuse("rules", message);
        }
        /* What is strict is also what is default. */
        const struct sc_rule_set *base =
            strcmp(name, "strict") ? NULL : sc_sets_builtin("default", reading->grammar);
        if (!add_set(reading, base) || !add_set(reading, set))
            return refuse("rules", "rules: too many sets");
    }
    json_array_foreach(json_object_get(header, "files"), i, value)
    {
        struct sc_rule_error error;
        const struct sc_rule_set *set;
        const char *text = text_of(value, "text");
        if (sc_sets_file(text_of(value, "name"), text, strlen(text), reading->grammar, &set, &error) < 0)
            return refuse("rules", error.message);
        if (!add_set(reading, set))
            return refuse("rules", "rules: too many sets");
    }
    return NULL;
}

static void deny(struct sc_reading *reading, const char *shown, const char *name)
{
    reading->denied_names =
        sc_check_realloc(reading->denied_names, reading->n_denied + 1, sizeof *reading->denied_names);
    reading->denied_names[reading->n_denied] = sc_pool_text(&reading->pool, shown, strlen(shown));
    sc_names_add(&reading->denied, name, (uint32_t)reading->n_denied++);
}

static void deny_module(struct sc_reading *reading, const char *module)
{
    /* Every program uses built-ins; what is denied is to reach for them. */
    bool is_everywhere = reading->grammar == SC_GRAMMAR_PYTHON && !strcmp(module, "builtins");
    deny(reading, module, is_everywhere ? module : sc_pool_printf(&reading->pool, "%s.*", module));
}

static void deny_call(struct sc_reading *reading, const char *call)
{
    bool is_builtin = reading->grammar == SC_GRAMMAR_PYTHON && !strchr(call, '.');
    const char *name = is_builtin ? sc_pool_printf(&reading->pool, "builtins.%s", call) : call;
    if (reading->grammar == SC_GRAMMAR_PYTHON)
        name = sc_python_canonical(reading, name);
    deny(reading, call, sc_pool_printf(&reading->pool, "%s.*", name));
    /* However it is reached: open is io.open, too, and a call has a result. */
    deny(reading, call, sc_pool_printf(&reading->pool, "%s().*", name));
}

/* With a list, what leads around any list is a finding, too. */
static bool take_lists(struct sc_reading *reading, const json_t *header)
{
    size_t i;
    json_t *value;
    json_array_foreach(json_object_get(header, "deny_modules"), i, value)
        deny_module(reading, json_string_value(value) ? json_string_value(value) : "");
    json_array_foreach(json_object_get(header, "deny_calls"), i, value)
        deny_call(reading, json_string_value(value) ? json_string_value(value) : "");
    return reading->n_denied == 0 || add_set(reading, sc_sets_builtin("guard", reading->grammar));
}

/* ---- reading ---- */

static void tell(struct sc_reading *reading, enum sc_tree_state state)
{
    struct sc_finding finding = TROUBLE[state];
    if (state == SC_TREE_PARTLY && reading->tree.first_error != SC_NO_NODE)
        finding.at = reading->tree.first_error;
    sc_findings_add(&reading->findings, &finding);
}

static void read_tree(struct sc_reading *reading)
{
    const struct sc_reader *reader = sc_reader_of(reading->grammar);
    enum sc_tree_state state = sc_tree_read(&reading->tree, sc_language_get(reading->grammar),
                                            reading->source.text, reading->source.len, PARSE_US);
    if (state != SC_TREE_WHOLE)
        tell(reading, state);
    if (!reading->tree.n)
        return;
    uint32_t n = reading->tree.n;
    reading->scope_of = sc_check_realloc(NULL, n, sizeof *reading->scope_of);
    reading->inner_of = sc_check_realloc(NULL, n, sizeof *reading->inner_of);
    reading->value_of = sc_check_realloc(NULL, n, sizeof *reading->value_of);
    memset(reading->value_of, 0, n * sizeof *reading->value_of);
    reader->bind(reading);
    reader->walk(reading);
    sc_match_patterns(reading);
}

static void fini(struct sc_reading *reading)
{
    free(reading->scope_of);
    free(reading->inner_of);
    free(reading->value_of);
    free(reading->scopes);
    free(reading->bindings);
    free(reading->binding_slots);
    free(reading->denied_names);
    sc_names_fini(&reading->denied);
    sc_tree_fini(&reading->tree);
    sc_source_fini(&reading->source);
    sc_pool_fini(&reading->pool);
    free(reading);
}

json_t *sc_check_source(const json_t *header, const char *source, size_t len)
{
    enum sc_grammar grammar;
    if (!grammar_of(header, &grammar))
        return refuse("language", "language: allowed are python, node, bash");
    struct sc_reading *reading = sc_check_realloc(NULL, 1, sizeof *reading);
    memset(reading, 0, sizeof *reading);
    reading->grammar = grammar;
    sc_pool_init(&reading->pool);
    json_t *report = take_sets(reading, header);
    if (!report && !take_lists(reading, header))
        report = refuse("rules", "rules: too many sets");
    if (!report) {
        sc_source_read(&reading->source, grammar, source, len, &reading->findings);
        read_tree(reading);
        report = sc_findings_to_json(&reading->findings, reading->source.text, reading->source.len);
    }
    fini(reading);
    return report;
}
