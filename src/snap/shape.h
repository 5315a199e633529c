/* The shape of a request: everything of it that cannot be changed in a cell that is made and whose
 * interpreter has been started. Requests of one shape can be served by the same parked cells (snap/pool.h).
 */
#ifndef SC_SNAP_SHAPE_H
#define SC_SNAP_SHAPE_H

#include <stdbool.h>

#include "base/err.h"
#include "snap/recipe.h"
#include "spec/spec.h"

/* NULL: a parked cell can do what this checked spec asks for. Else what of it needs a cell of its own, in
 * words for people. */
const char *sc_shape_misfit(const struct sc_spec *spec);
/* May this variable (NAME=VALUE) be given to an interpreter that runs already, with the same effect? */
bool sc_shape_env_fits(const char *entry, enum sc_lang lang);

/* The spec of the shape's cells: what is of one request is left out, its code is empty; variables and files
 * are those of the template it names (`recipe`; without a name: none). `ret_spec` needs no initialisation; it
 * passed the check, as `spec` did. 0 or -ENOMEM. */
int sc_shape_of(const struct sc_spec *spec, const struct sc_recipe *recipe, struct sc_spec *ret_spec);
/* So many of the spec's variables and files, the first ones, are given when a cell is taken. */
size_t sc_shape_own_env(const struct sc_spec *spec);
size_t sc_shape_own_files(const struct sc_spec *spec);
/* Heap text, NULL when memory ran out: equal for equal shapes of templates that load the same only. Folders
 * of the host that are named in it count as other ones when something else stands there. */
char *sc_shape_key(const struct sc_spec *shape, const struct sc_recipe *recipe);

#endif
