/* What names stand for: scopes, and every place that gives a name a meaning. */
#ifndef SC_CHECK_BINDINGS_H
#define SC_CHECK_BINDINGS_H

#include "check/reading.h"

enum sc_binding_how {
    SC_BIND_OWN,    /* the program's own: a function, a parameter, something computed */
    SC_BIND_VALUE,  /* the value of `node` */
    SC_BIND_PART,   /* element number `part` of `node`, a display or something unknown */
    SC_BIND_MEMBER, /* attribute `name` of the value of `node` */
    SC_BIND_NAME,   /* the dotted name `name` */
    SC_BIND_GLOBAL, /* says that the name is the module's */
    SC_BIND_OUTER,  /* says that the name is of a scope around */
    SC_BIND_UNDONE, /* the name may be unbound again */
    SC_BIND_SUM,    /* what all the others come to, once it was asked for */
};

#define SC_PART_ANY UINT32_MAX

struct sc_binding {
    const char *what; /* the name that is bound: of the pool, normalised */
    uint32_t scope;
    uint32_t next; /* of the same slot; SC_NO_NODE: none */
    enum sc_binding_how how;
    bool firm;     /* from here on it is bound whatever happens */
    uint32_t at;   /* node; when firm, the last one of what comes before the name is bound */
    uint32_t node; /* VALUE, PART, MEMBER */
    uint32_t part;
    const char *name;           /* NAME, MEMBER */
    struct sc_meaning *meaning; /* SUM */
};

/* All that one scope says about a name. */
struct sc_meaning {
    struct sc_values values;
    uint32_t firm_at; /* node from which on it is surely bound, or SC_NO_NODE */
    bool is_global, is_outer, is_bound;
};

uint32_t sc_scope_add(struct sc_reading *reading, uint32_t parent, uint32_t node, enum sc_scope_kind kind);
void sc_binding_add(struct sc_reading *reading, const struct sc_binding *binding);
/* Has this scope a binding of that kind for the name? */
bool sc_binding_is(const struct sc_reading *reading, uint32_t scope, const char *what,
                   enum sc_binding_how how);
bool sc_binding_has(const struct sc_reading *reading, uint32_t scope, const char *what);
/* After all bindings were added. NULL: the scope says nothing about it. */
const struct sc_meaning *sc_binding_meaning(struct sc_reading *reading, uint32_t scope, const char *what);

#endif
