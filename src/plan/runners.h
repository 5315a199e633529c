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

#endif
