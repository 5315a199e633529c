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

#endif
