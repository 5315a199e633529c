/* Folders as tar streams, between the host and a session. Each is a process of its own at one end of a pipe,
 * so that the talk with the keeper goes on beside it. */
#ifndef SC_CLI_TREE_H
#define SC_CLI_TREE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct sc_cli_tree {
    pid_t pid;
    int pipe; /* our end */
};

/* Sends the folder `path`: files, folders and symbolic links as they are; what is none of these is left out
 * and told. Bytes come from tree->pipe. */
int sc_cli_tree_send(struct sc_cli_tree *tree, const char *path, struct sc_err *err);
/* Unpacks what is written to tree->pipe into `folder`, which is empty and the caller's own. The stream comes
 * from inside a cell: only regular files and folders are made, names that lead out or are there already end
 * it, and so do SC_CLI_TREE_FILES_MAX and SC_CLI_TREE_BYTES_MAX. Everything else in it is left out and told.
 */
int sc_cli_tree_take(struct sc_cli_tree *tree, int folder, struct sc_err *err);
/* The same for a root file system, with its symbolic and hard links. A link is made as it stands and never
 * followed: what goes below one, or hard-links to what is no file of this folder, ends the stream. Devices
 * and the like are left out, set-user-ID bits and write permission of others are taken off. */
int sc_cli_tree_take_root(struct sc_cli_tree *tree, int folder, struct sc_err *err);
#define SC_CLI_TREE_FILES_MAX 1000000
#define SC_CLI_TREE_BYTES_MAX (64ull << 30)
/* Closes our end and waits. False: it failed, and has said why. */
bool sc_cli_tree_finish(struct sc_cli_tree *tree);

#endif
