/* Rules as data: files of policy/code and of users. docs/code-rules.md has the form.
 *
 * A set is one such file, compiled for one grammar and kept for the life of the process. Names are looked up
 * in tables; tree-sitter queries are for what names cannot say.
 */
#ifndef SC_CHECK_RULES_H
#define SC_CHECK_RULES_H

#include "check/findings.h"
#include "check/names.h"
#include "check/pool.h"
#include "check/tree.h"

#define SC_RULE_FILE_MAX (256 * 1024)
#define SC_RULES_MAX 256 /* in one file */

struct sc_rule {
    const char *id, *message, *advice;
    enum sc_severity severity;
    uint32_t query_start; /* byte of the file where its patterns begin */
};

enum sc_predicate_kind {
    SC_PREDICATE_EQ, /* the text */
    SC_PREDICATE_ANY_OF,
    SC_PREDICATE_MATCH,    /* a POSIX extended regular expression somewhere in the text */
    SC_PREDICATE_NAME,     /* what it resolves to */
    SC_PREDICATE_OUTSIDE,  /* a constant path that leads out of the work folder */
    SC_PREDICATE_CONSTANT, /* its value is known */
};

struct sc_predicate {
    uint32_t pattern;
    uint32_t capture;
    enum sc_predicate_kind kind;
    bool negated;
    const char **texts; /* arguments */
    size_t n_texts;
    int64_t other; /* EQ with a second capture instead of a text; else -1 */
    void *regex;   /* MATCH: regex_t */
};

struct sc_rule_set {
    struct sc_rule *rules;
    size_t n_rules;
    struct sc_names names; /* → index of the rule */
    TSQuery *query;        /* NULL: no patterns */
    /* Names that patterns speak of (#name?). When every pattern has one, only places where one is used need
     * to be looked at: running patterns over a whole tree takes a third of the time that parsing it does. */
    struct sc_names query_names;
    bool needs_whole_tree;
    struct sc_predicate *predicates; /* by pattern, in order */
    size_t n_predicates;
    struct sc_pool pool;
};

struct sc_rule_error {
    char message[400];
};

/* The language a rule file says it is for; 0, or -1 when it does not say. */
int sc_rules_language(const char *text, size_t len, enum sc_grammar *ret_grammar);
/* NULL: *ret_error says what is wrong. `name` is for messages. */
struct sc_rule_set *sc_rules_compile(const char *name, const char *text, size_t len, enum sc_grammar grammar,
                                     struct sc_rule_error *ret_error);
void sc_rules_free(struct sc_rule_set *set);
/* The rule that pattern `pattern` belongs to. */
const struct sc_rule *sc_rules_of_pattern(const struct sc_rule_set *set, uint32_t pattern);

#endif
