/* What keeps interpreters inside a cell: the files of runners/, made part of the library by
 * tools/embed_runners.py. */
#ifndef SC_PLAN_RUNNERS_H
#define SC_PLAN_RUNNERS_H

#include <stddef.h>

struct sc_runner_file {
    const char *path; /* inside the cell */
    const char *content;
};

/* The table, ended by a row whose path is NULL. */
extern const struct sc_runner_file SC_RUNNER_FILES[];

/* libsnapcell-fork, for interpreters that can be forked. */
#define SC_FORK_LIBRARY "/snapcell/fork/libsnapcell-fork.so"
extern const unsigned char sc_fork_library[];
extern const size_t sc_fork_library_len;
/* What Node needs besides, and Bash: runners/fork/node, runners/fork/bash. */
#define SC_FORK_NODE_SHIM "/snapcell/fork/libsnapcell-nodefork.so"
#define SC_FORK_NODE_ADDON "/snapcell/fork/snapcell-fork-addon.node"
#define SC_FORK_BASH_BUILTIN "/snapcell/fork/snapcell-fork-bash.so"
extern const unsigned char sc_fork_node_shim[], sc_fork_node_addon[], sc_fork_bash_builtin[];
extern const size_t sc_fork_node_shim_len, sc_fork_node_addon_len, sc_fork_bash_builtin_len;

#endif
