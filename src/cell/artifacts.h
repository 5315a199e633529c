/* Files that a program left in the work folder. */
#ifndef SC_CELL_ARTIFACTS_H
#define SC_CELL_ARTIFACTS_H

#include "base/err.h"
#include "cell/cell.h"

/* Takes what the plan's `outs` name into `result`, by callbacks->artifact or into their folders. `work` is
 * the work folder as the agent handed it over; no process of the cell may be left. */
int sc_artifacts_collect(const struct sc_plan *plan, const struct sc_callbacks *callbacks, int work,
                         struct sc_result *result, struct sc_err *err);

#endif
