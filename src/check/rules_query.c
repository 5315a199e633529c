#include "check/rules_query.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned line_of(const char *text, uint32_t at)
{
    unsigned line = 1;
    for (uint32_t i = 0; i < at; i++)
        line += text[i] == '\n';
    return line;
}

static bool fail(struct sc_rule_error *error, const char *name, unsigned line, const char *what,
                 const char *which)
{
    snprintf(error->message, sizeof error->message, "%s line %u: %s%s%s", name, line, what, which ? ": " : "",
             which ? which : "");
    return false;
}

static const char *what_is_wrong(TSQueryError error)
{
    switch (error) {
    case TSQueryErrorNodeType:
        return "the grammar has no such node type";
    case TSQueryErrorField:
        return "the grammar has no such field";
    case TSQueryErrorCapture:
        return "a predicate speaks of a capture that its pattern does not have";
    case TSQueryErrorStructure:
        return "such a pattern can never match";
    default:
        return "not a pattern";
    }
}

/* One predicate's steps, up to its Done. */
struct steps {
    const TSQuery *query;
    const TSQueryPredicateStep *at;
    uint32_t n;
};

static const char *text_of(const struct steps *steps, uint32_t i)
{
    uint32_t len;
    return steps->at[i].type == TSQueryPredicateStepTypeString
               ? ts_query_string_value_for_id(steps->query, steps->at[i].value_id, &len)
               : NULL;
}

static bool kind_of(const char *word, struct sc_predicate *predicate)
{
    static const struct {
        const char *word;
        enum sc_predicate_kind kind;
        bool negated;
    } known[] = {
        {"eq?", SC_PREDICATE_EQ, false},
        {"not-eq?", SC_PREDICATE_EQ, true},
        {"any-of?", SC_PREDICATE_ANY_OF, false},
        {"not-any-of?", SC_PREDICATE_ANY_OF, true},
        {"match?", SC_PREDICATE_MATCH, false},
        {"not-match?", SC_PREDICATE_MATCH, true},
        {"name?", SC_PREDICATE_NAME, false},
        {"not-name?", SC_PREDICATE_NAME, true},
        {"constant?", SC_PREDICATE_CONSTANT, false},
        {"not-constant?", SC_PREDICATE_CONSTANT, true},
        {"path-outside-work?", SC_PREDICATE_OUTSIDE, false},
    };
    for (size_t i = 0; word && i < sizeof known / sizeof known[0]; i++)
        if (!strcmp(known[i].word, word)) {
            predicate->kind = known[i].kind;
            predicate->negated = known[i].negated;
            return true;
        }
    return false;
}

static bool take_texts(struct sc_rule_set *set, const struct steps *steps, struct sc_predicate *predicate)
{
    predicate->n_texts = steps->n - 2;
    predicate->texts = sc_pool_alloc(&set->pool, (predicate->n_texts + 1) * sizeof *predicate->texts);
    for (uint32_t i = 2; i < steps->n; i++) {
        const char *text = text_of(steps, i);
        if (!text)
            return false;
        predicate->texts[i - 2] = sc_pool_text(&set->pool, text, strlen(text));
    }
    return true;
}

/* NULL, or what is wrong with it. */
static const char *read_predicate(struct sc_rule_set *set, const struct steps *steps,
                                  struct sc_predicate *predicate)
{
    if (!kind_of(text_of(steps, 0), predicate))
        return "unknown predicate";
    if (steps->n < 2 || steps->at[1].type != TSQueryPredicateStepTypeCapture)
        return "a predicate's first argument must be a capture";
    predicate->capture = steps->at[1].value_id;
    if (predicate->kind == SC_PREDICATE_EQ && steps->n == 3 &&
        steps->at[2].type == TSQueryPredicateStepTypeCapture) {
        predicate->other = steps->at[2].value_id;
        return NULL;
    }
    if (!take_texts(set, steps, predicate))
        return "a predicate's further arguments must be texts";
    bool wants_texts = predicate->kind != SC_PREDICATE_OUTSIDE && predicate->kind != SC_PREDICATE_CONSTANT;
    if (wants_texts != (predicate->n_texts > 0))
        return "a predicate has too few or too many arguments";
    if (predicate->kind == SC_PREDICATE_MATCH) {
        regex_t *regex = sc_check_realloc(NULL, 1, sizeof *regex);
        if (regcomp(regex, predicate->texts[0], REG_EXTENDED | REG_NOSUB) != 0) {
            free(regex);
            return "not a regular expression";
        }
        predicate->regex = regex;
    }
    return NULL;
}

/* Enters the names of a pattern's #name?, on whose use it hangs. False: it has none. */
static bool hangs_on_names(struct sc_rule_set *set, uint32_t pattern)
{
    bool hangs = false;
    for (size_t i = 0; i < set->n_predicates; i++) {
        const struct sc_predicate *predicate = &set->predicates[i];
        if (predicate->pattern != pattern || predicate->kind != SC_PREDICATE_NAME || predicate->negated ||
            hangs)
            continue;
        for (size_t j = 0; j < predicate->n_texts; j++)
            sc_names_add(&set->query_names, predicate->texts[j], 0);
        hangs = true;
    }
    return hangs;
}

static bool read_predicates(struct sc_rule_set *set, const char *name, const char *text,
                            struct sc_rule_error *error)
{
    for (uint32_t pattern = 0; pattern < ts_query_pattern_count(set->query); pattern++) {
        uint32_t n, from = 0;
        const TSQueryPredicateStep *all = ts_query_predicates_for_pattern(set->query, pattern, &n);
        for (uint32_t i = 0; i < n; i++) {
            if (all[i].type != TSQueryPredicateStepTypeDone)
                continue;
            struct steps steps = {set->query, all + from, i - from};
            struct sc_predicate predicate = {.pattern = pattern, .other = -1};
            const char *wrong = read_predicate(set, &steps, &predicate);
            if (wrong)
                return fail(error, name, line_of(text, ts_query_start_byte_for_pattern(set->query, pattern)),
                            wrong, text_of(&steps, 0));
            set->predicates =
                sc_check_realloc(set->predicates, set->n_predicates + 1, sizeof *set->predicates);
            set->predicates[set->n_predicates++] = predicate;
            from = i + 1;
        }
        set->needs_whole_tree |= !hangs_on_names(set, pattern);
    }
    return true;
}

bool sc_rules_query(struct sc_rule_set *set, const char *name, const char *text, size_t len,
                    enum sc_grammar grammar, struct sc_rule_error *ret_error)
{
    uint32_t at;
    TSQueryError wrong;
    TSQuery *query = ts_query_new(sc_language_get(grammar)->grammar, text, (uint32_t)len, &at, &wrong);
    if (!query)
        return fail(ret_error, name, line_of(text, at), what_is_wrong(wrong), NULL);
    if (ts_query_pattern_count(query) == 0) {
        ts_query_delete(query);
        return true;
    }
    set->query = query;
    return read_predicates(set, name, text, ret_error);
}
