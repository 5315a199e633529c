/* What was built for templates, on disk: FOLDER/templates/NAME/ holds one folder for each content hash, and
 * the link `current` to the one in use. A build works in a folder of its own and takes its place when it is
 * whole and on disk; until then, and when it fails or is killed, the one before stays in use. The one before
 * is kept until the next build, for cells that still use it.
 */
#ifndef SC_SNAP_SHELF_H
#define SC_SNAP_SHELF_H

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/sha256.h"

/* $SNAPCELL_STORE, else /var/lib/snapcell as root, else $XDG_DATA_HOME/snapcell, else
 * ~/.local/share/snapcell. */
int sc_shelf_folder(char ret_path[PATH_MAX], struct sc_err *err);

/* The hash in use, and its folder's path. -ENOENT: nothing was built. */
int sc_shelf_current(const char *name, char ret_hash[SC_SHA256_TEXT], char ret_path[PATH_MAX]);

struct sc_shelf_build {
    int folder;          /* of the template; -1: none */
    int lock;            /* one build of a template at a time */
    int work;            /* what is being built */
    char path[PATH_MAX]; /* of `work` */
    char hash[SC_SHA256_TEXT];
};

/* 0: build into build->work, then commit or abandon. 1: that hash is built, and in use from now on; there is
 * nothing to do, nor to abandon. Waits for another build of the same template. */
int sc_shelf_begin(const char *name, const char *hash, struct sc_shelf_build *ret_build, struct sc_err *err);
/* Ends the build either way. */
int sc_shelf_commit(struct sc_shelf_build *build, struct sc_err *err);
void sc_shelf_abandon(struct sc_shelf_build *build);
/* Everything of a template. 1: there was something. */
int sc_shelf_remove(const char *name, struct sc_err *err);

/* `name` in `folder` and all below it; no link is followed. 0 also when it is not there. */
int sc_shelf_remove_tree(int folder, const char *name);

/* ---- shelf_note.c: why `template test` last failed ---- */

#define SC_SHELF_NOTE_MAX 400
/* NULL: it passed. Notes are kept in FOLDER/notes. */
int sc_shelf_note(const char *name, const char *reason, struct sc_err *err);
/* False: none. */
bool sc_shelf_noted(const char *name, char ret_reason[SC_SHELF_NOTE_MAX]);
/* `path` and the folders above it. */
int sc_shelf_make_folders(const char *path, struct sc_err *err);
/* Opens FOLDER/`below`/`name`, made if it is not there. A descriptor or negative errno. */
int sc_shelf_open(const char *below, const char *name, char ret_path[PATH_MAX], struct sc_err *err);

#endif
