/* Compiled rule sets, kept for the life of the process: compiling one takes longer than reading a source. */
#ifndef SC_CHECK_SETS_H
#define SC_CHECK_SETS_H

#include "check/rules.h"

/* The built-in set of that name for the grammar's language; NULL: no such set. */
const struct sc_rule_set *sc_sets_builtin(const char *name, enum sc_grammar grammar);
/* A user's file. 0, or -1: *ret_error is set. *ret_set is NULL when the file is for another language. */
int sc_sets_file(const char *name, const char *text, size_t len, enum sc_grammar grammar,
                 const struct sc_rule_set **ret_set, struct sc_rule_error *ret_error);

#endif
