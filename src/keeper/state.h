/* The state folder: what a keeper that serves many keeps on disk. Mode 0700, the keeper's own user's. */
#ifndef SC_KEEPER_STATE_H
#define SC_KEEPER_STATE_H

#include <limits.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* The path that is used when none is given: $SNAPCELL_STATE, else as root /var/lib/snapcell/keeper, else
 * $XDG_STATE_HOME/snapcell, else ~/.local/state/snapcell. */
int sc_state_path(char ret_path[PATH_MAX], struct sc_err *err);
/* Opens it, made with the folders above it when it is not there. Refuses one that belongs to somebody else or
 * that others may enter. A descriptor, or negative errno with a story. */
int sc_state_open(const char *path, struct sc_err *err);

/* The whole of a file in it, which must be a plain file of our own that nobody else may write; at most `max`
 * bytes. -ENOENT: there is none, without a story. */
int sc_state_read(int folder, const char *name, size_t max, struct sc_buf *ret_text, struct sc_err *err);
/* Replaces a file as a whole: after a crash it is the old one or the new one. */
int sc_state_write(int folder, const char *name, const void *data, size_t len, struct sc_err *err);
/* Waits for the lock of this name and holds it until the descriptor is closed. */
int sc_state_lock(int folder, const char *name, struct sc_err *err);

#endif
