/* Puts a request's files into the work folder of a living cell, one after another and without waiting: what
 * sc_live_feed does before the first command, at any time. */
#ifndef SC_SNAP_FILL_H
#define SC_SNAP_FILL_H

#include "cell/live.h"
#include "spec/spec.h"

struct sc_fill;

/* Once, from sc_live_step. `r` is 0, or negative with a story: of kind USAGE when one of the files is the
 * reason. -EPIPE without one: the cell is gone, or who wrote there was killed. */
typedef void sc_fill_done(void *userdata, int r, const struct sc_err *err);

/* `live` and the files must stay until sc_fill_free. At least one file. */
int sc_fill_start(struct sc_live *live, const struct sc_spec_file *files, size_t n_files, sc_fill_done *done,
                  void *userdata, struct sc_fill **ret_fill, struct sc_err *err);
/* After the cell was closed, or where all files went in. NULL is fine. */
void sc_fill_free(struct sc_fill *fill);

#endif
