/* The template of a plan: the read-only tree as a mount namespace that cells join. Made once per plan. */
#ifndef SC_CELL_TEMPLATE_H
#define SC_CELL_TEMPLATE_H

#include "cell/maker.h"
#include "plan/plan.h"

struct sc_template {
    int user_ns;   /* rootless: the namespace that owns the others, made under the caller's id; root: -1 */
    int birth_ns;  /* rootless: a mount namespace of it that still shows a whole /proc, which the kernel asks
                    * for when a  new one is mounted; root: -1 */
    int mount_ns;  /* the tree; -1 until it is finished */
    int vacant_ns; /* nothing at all; the same */
    struct sc_maker maker; /* at work until then */
};

#define SC_TEMPLATE_NONE                                                                                     \
    ((struct sc_template){.user_ns = -1, .birth_ns = -1, .mount_ns = -1, .vacant_ns = -1})

/* Sets a helper to work on the tree. What other namespaces depend on (user_ns, birth_ns) is there on return.
 */
int sc_template_start(const struct sc_plan *plan, struct sc_template *ret_template, struct sc_err *err);
/* Waits for the tree, once; afterwards free. */
int sc_template_finish(struct sc_template *tmpl, struct sc_err *err);
void sc_template_close(struct sc_template *tmpl);

#endif
