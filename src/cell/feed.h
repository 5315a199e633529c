/* What a spec puts into the work folder: its program, files and folders, as messages to the agent of a cell
 * in which nothing runs yet. */
#ifndef SC_CELL_FEED_H
#define SC_CELL_FEED_H

#include "agent/proto.h"
#include "base/err.h"
#include "spec/spec.h"

/* `control` is the agent's stream, blocking. -EPIPE or -ECONNRESET, and no error set: the agent is gone,
 * which who watches the cell will see and tell. What the agent could not write it tells by SC_MSG_FAILED,
 * stage "file". */
int sc_feed(int control, const struct sc_spec *spec, struct sc_err *err);
/* The refusal of one of these files as the caller's mistake, or ours: always negative. `failed` is of stage
 * "file". */
int sc_feed_refused(const struct sc_msg_failed *failed, struct sc_err *err);
/* More files, of one run only. Same errors. */
int sc_feed_files(int control, const struct sc_spec_file *files, size_t n_files, struct sc_err *err);

#endif
