/* Whom upstreams and programs are trusted by in TLS, where a cell has an authority of its own. */
#ifndef SC_CELL_TRUST_H
#define SC_CELL_TRUST_H

#include "base/buf.h"
#include "base/err.h"

/* Certificates in PEM. */
struct sc_trust {
    struct sc_buf system; /* the host's; empty: it has none */
    int roots;            /* for the egress process: these and the operator's, in sealed memory */
};
#define SC_TRUST_NONE ((struct sc_trust){.roots = -1})

/* Names a file of the operator's with certificates that upstreams are trusted by, besides the host's. It is
 * read from the environment of who makes cells. */
#define SC_TRUST_VARIABLE "SNAPCELL_UPSTREAM_CA"

/* Errors: HOST, when there is nobody at all whom upstreams could be trusted by, or the operator's file cannot
 * be read. */
int sc_trust_open(struct sc_trust *ret_trust, struct sc_err *err);
void sc_trust_close(struct sc_trust *trust);
/* Puts the host's and the cell's own authority into the cell. `control`: the agent's stream, blocking, of a
 * cell in which nothing runs yet. 0 also where the agent is gone, which who watches the cell will tell. */
int sc_trust_lay(int control, const struct sc_trust *trust, const char *authority, struct sc_err *err);

#endif
