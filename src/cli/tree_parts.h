/* The two bodies, apart for tests. 0 or negative errno; what went wrong has been told. */
#ifndef SC_CLI_TREE_PARTS_H
#define SC_CLI_TREE_PARTS_H

#include <stdbool.h>

int sc_cli_tree_pack(int out, const char *path);
/* `links`: symbolic and hard links are made too; see cli/tree.h. */
int sc_cli_tree_unpack(int in, int folder, bool links);

#endif
