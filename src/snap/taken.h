/* A seam of test builds at which what a request brings to a cell that waits can be left out; in others there
 * is none. */
#ifndef SC_SNAP_TAKEN_H
#define SC_SNAP_TAKEN_H

#include <stdbool.h>

#include "snap/session.h"

#ifdef SC_MUTANTS
/* Whether this is to be left out: "files", or a name that sc_taken_run knows. */
bool sc_taken_without(const char *name);
/* The run without what is to be left out of it. */
struct sc_session_run sc_taken_run(const struct sc_session_run *run);
#else
static inline bool sc_taken_without(const char *name)
{
    (void)name;
    return false;
}
static inline struct sc_session_run sc_taken_run(const struct sc_session_run *run)
{
    return *run;
}
#endif

#endif
