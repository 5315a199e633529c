/* Where the keeper's socket lies: a folder of one user's, a lock beside the socket. */
#ifndef SC_KEEPER_PLACE_H
#define SC_KEEPER_PLACE_H

#include <limits.h>

#include "base/err.h"

/* The path that is used when none is given: $SNAPCELL_SOCKET, else as root /run/snapcell/keeper.sock, else
 * $XDG_RUNTIME_DIR/snapcell/keeper.sock, else /tmp/snapcell-UID/keeper.sock. */
int sc_keeper_path(char ret_path[PATH_MAX], struct sc_err *err);

#define SC_KEEPER_SOCKET_NAME_MAX 64 /* an address has room for 107 bytes */

struct sc_keeper_place {
    int folder; /* mode 0700, ours */
    int lock;   /* held for as long as the keeper serves */
    char name[SC_KEEPER_SOCKET_NAME_MAX + 1], lock_name[SC_KEEPER_SOCKET_NAME_MAX + 8];
};

/* Makes the folder if it is not there (its parent must be), refuses one that others could get into, takes the
 * lock, and binds a listening socket of mode 0600 in the place of a stale one. -EADDRINUSE: the lock is held,
 * another keeper serves. On failure nothing is left behind. */
int sc_keeper_place_take(struct sc_keeper_place *place, const char *path, int *ret_listener,
                         struct sc_err *err);
/* Removes socket and lock. The listener is closed by its owner before. */
void sc_keeper_place_leave(struct sc_keeper_place *place);

/* A connection to the socket at `path`. -ENOENT, -ECONNREFUSED: nobody serves there; other errors have a
 * story. Refuses a keeper that is neither the caller's own user nor root, unless the caller is root. */
int sc_keeper_place_connect(const char *path, int *ret_sock, struct sc_err *err);

#endif
