/* What an interpreter has loaded before its first run: modules, then code. From a template, and from the
 * `imports` of requests. */
#ifndef SC_SNAP_PRELUDE_H
#define SC_SNAP_PRELUDE_H

#include <stdbool.h>

#include "base/strv.h"
#include "spec/spec.h"

struct sc_recipe;

struct sc_prelude {
    struct sc_strv imports;
    char *code; /* NULL: none */
};

void sc_prelude_fini(struct sc_prelude *prelude);
/* The recipe's, with those imports that it does not have already. `ret_prelude` needs no initialisation.
 * Empty where no runner of that language loads one. 0 or -ENOMEM. */
int sc_prelude_of(const struct sc_recipe *recipe, const struct sc_strv *imports, enum sc_lang lang,
                  struct sc_prelude *ret_prelude);
bool sc_prelude_is_empty(const struct sc_prelude *prelude);
/* Are all of these among its imports? */
bool sc_prelude_has(const struct sc_prelude *prelude, const struct sc_strv *imports);

#endif
