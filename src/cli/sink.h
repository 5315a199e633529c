/* Where live output goes: one of the caller's descriptors. A reader that stalls must not stall the cell's
 * clocks, so that what cannot be written at once waits here, bounded by the stream's own limit. */
#ifndef SC_CLI_SINK_H
#define SC_CLI_SINK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "cli/guard.h"

struct sc_cli_sink {
    int fd;        /* borrowed */
    bool guarded;  /* a terminal: control bytes are shown */
    bool mid_line; /* the last byte written was not a new line */
    int broken;    /* negative errno of a write that failed; nothing is written any more */
    struct sc_cli_guard guard;
    struct sc_buf waiting;
    size_t sent; /* of `waiting` */
};

/* `raw`: exact bytes also to a terminal. `max`: most bytes that can be added over the sink's life. */
void sc_cli_sink_init(struct sc_cli_sink *sink, int fd, bool raw, size_t max);
void sc_cli_sink_fini(struct sc_cli_sink *sink);
/* Never blocks for longer than one small write. Failures stand in `broken`. */
void sc_cli_sink_add(struct sc_cli_sink *sink, const void *data, size_t len);
/* Writes what can be written now. */
void sc_cli_sink_push(struct sc_cli_sink *sink);
/* Writes all that waits, as long as it takes, or until `stop_fd` (or -1) becomes readable. */
void sc_cli_sink_drain(struct sc_cli_sink *sink, int stop_fd);
/* Writes all that waits, and the guard's rest. Gives up when `stop_fd` (or -1) becomes readable. */
void sc_cli_sink_finish(struct sc_cli_sink *sink, int stop_fd);

#endif
