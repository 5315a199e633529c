/* The patterns of a rule file. Inside src/check/rules*.c. */
#ifndef SC_CHECK_RULES_QUERY_H
#define SC_CHECK_RULES_QUERY_H

#include "check/rules.h"

/* Compiles the patterns and reads their predicates. Unknown predicates are an error: a pattern that loses one
 * would find too much. */
bool sc_rules_query(struct sc_rule_set *set, const char *name, const char *text, size_t len,
                    enum sc_grammar grammar, struct sc_rule_error *ret_error);

#endif
