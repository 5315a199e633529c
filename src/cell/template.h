/* The template of a plan: the read-only tree as a mount namespace that cells join. Made once per plan. */
#ifndef SC_CELL_TEMPLATE_H
#define SC_CELL_TEMPLATE_H

#include "plan/plan.h"

struct sc_template {
    int user_ns;   /* rootless: the namespace that owns the others, made under the caller's id; root: -1 */
    int birth_ns;  /* rootless: a mount namespace of it that still shows a whole /proc, which the kernel asks for when a
                    * new one is mounted; root: -1 */
    int mount_ns;  /* the tree */
    int vacant_ns; /* nothing at all */
};

int sc_template_open(const struct sc_plan *plan, struct sc_template *ret_template, struct sc_err *err);
void sc_template_close(struct sc_template *tmpl);

#endif
