#include "check/match.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

/* Matches looked at in one set: more than that is a source written to keep the reader busy. */
#define MATCHES_MAX 200000

static const TSQueryCapture *capture_of(const TSQueryMatch *match, uint32_t id)
{
    for (uint16_t i = 0; i < match->capture_count; i++)
        if (match->captures[i].index == id)
            return &match->captures[i];
    return NULL;
}

static const char *text_of(struct sc_reading *reading, TSNode node)
{
    uint32_t start = ts_node_start_byte(node), end = ts_node_end_byte(node);
    return sc_pool_text(&reading->pool, reading->source.text + start, end - start);
}

static bool is_one_of(const struct sc_predicate *predicate, const char *text)
{
    for (size_t i = 0; i < predicate->n_texts; i++)
        if (!strcmp(predicate->texts[i], text))
            return true;
    return false;
}

static bool name_is(const struct sc_predicate *predicate, const char *name)
{
    for (size_t i = 0; i < predicate->n_texts; i++) {
        const char *wanted = predicate->texts[i];
        size_t len = strlen(wanted);
        bool all = len > 2 && !strcmp(wanted + len - 2, ".*");
        if (all ? !strncmp(name, wanted, len - 2) && (name[len - 2] == '.' || name[len - 2] == '\0')
                : !strcmp(name, wanted))
            return true;
    }
    return false;
}

static bool holds_of_value(struct sc_reading *reading, const struct sc_predicate *predicate, TSNode node)
{
    uint32_t at = sc_tree_find(&reading->tree, node);
    const struct sc_values *values = sc_reading_value(reading, at);
    bool constant = sc_values_constant(values) != NULL;
    if (predicate->kind == SC_PREDICATE_CONSTANT)
        return constant;
    for (uint8_t i = 0; i < values->n; i++) {
        const struct sc_value *value = &values->v[i];
        if (predicate->kind == SC_PREDICATE_NAME && value->kind == SC_VALUE_NAME &&
            name_is(predicate, value->text))
            return true;
        if (predicate->kind == SC_PREDICATE_OUTSIDE && value->kind == SC_VALUE_TEXT &&
            sc_path_is_outside(value->text))
            return true;
    }
    return false;
}

static bool holds(struct sc_reading *reading, const struct sc_predicate *predicate, const TSQueryMatch *match)
{
    const TSQueryCapture *capture = capture_of(match, predicate->capture), *other = NULL;
    if (!capture)
        return true; /* of a part of the pattern that may be missing */
    bool yes = false;
    switch (predicate->kind) {
    case SC_PREDICATE_EQ:
        if (predicate->other >= 0)
            other = capture_of(match, (uint32_t)predicate->other);
        yes = predicate->other >= 0
                  ? other && text_of(reading, capture->node) == text_of(reading, other->node)
                  : is_one_of(predicate, text_of(reading, capture->node));
        break;
    case SC_PREDICATE_ANY_OF:
        yes = is_one_of(predicate, text_of(reading, capture->node));
        break;
    case SC_PREDICATE_MATCH:
        yes = regexec(predicate->regex, text_of(reading, capture->node), 0, NULL, 0) == 0;
        break;
    case SC_PREDICATE_NAME:
    case SC_PREDICATE_OUTSIDE:
    case SC_PREDICATE_CONSTANT:
        yes = holds_of_value(reading, predicate, capture->node);
        break;
    }
    return yes != predicate->negated;
}

static bool all_hold(struct sc_reading *reading, const struct sc_rule_set *set, const TSQueryMatch *match)
{
    for (size_t i = 0; i < set->n_predicates; i++)
        if (set->predicates[i].pattern == match->pattern_index && !holds(reading, &set->predicates[i], match))
            return false;
    return true;
}

/* The finding stands at the capture @at, else at the first one. */
static TSNode place_of(const struct sc_rule_set *set, const TSQueryMatch *match)
{
    for (uint16_t i = 0; i < match->capture_count; i++) {
        uint32_t len;
        const char *name = ts_query_capture_name_for_id(set->query, match->captures[i].index, &len);
        if (len == 2 && !memcmp(name, "at", 2))
            return match->captures[i].node;
    }
    return match->captures[0].node;
}

static void match_range(struct sc_reading *reading, const struct sc_rule_set *set, TSQueryCursor *cursor,
                        uint32_t start, uint32_t end)
{
    TSQueryMatch match;
    unsigned looked = 0;
    ts_query_cursor_set_byte_range(cursor, start, end);
    ts_query_cursor_exec(cursor, set->query, ts_tree_root_node(reading->tree.parsed));
    while (looked++ < MATCHES_MAX && ts_query_cursor_next_match(cursor, &match)) {
        if (match.capture_count == 0 || !all_hold(reading, set, &match))
            continue;
        const struct sc_rule *rule = sc_rules_of_pattern(set, match.pattern_index);
        sc_findings_add(&reading->findings,
                        &(struct sc_finding){.rule = rule->id,
                                             .severity = rule->severity,
                                             .message = rule->message,
                                             .advice = rule->advice,
                                             .at = ts_node_start_byte(place_of(set, &match))});
    }
}

static void match_set(struct sc_reading *reading, const struct sc_rule_set *set, TSQueryCursor *cursor)
{
    if (set->needs_whole_tree || reading->n_pattern_places > SC_PATTERN_PLACES_MAX) {
        match_range(reading, set, cursor, 0, UINT32_MAX);
        return;
    }
    for (size_t i = 0; i < reading->n_pattern_places; i++) {
        const struct sc_node *place = &reading->tree.nodes[reading->pattern_places[i]];
        match_range(reading, set, cursor, place->start, place->end);
    }
}

void sc_match_patterns(struct sc_reading *reading)
{
    TSQueryCursor *cursor = ts_query_cursor_new();
    ts_query_cursor_set_match_limit(cursor, 4096);
    for (size_t i = 0; i < reading->n_sets; i++)
        if (reading->sets[i]->query)
            match_set(reading, reading->sets[i], cursor);
    ts_query_cursor_delete(cursor);
}
