/* One way of running a program: a process by posix_spawn (the program itself, or a peer around it), or a
 * fresh cell by the library. Each run is timed from the request to the first byte of output and to the end.
 */
#ifndef BENCH_WAY_H
#define BENCH_WAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapcell.h"

#define BENCH_ARGV_MAX 96
#define BENCH_OPTIONS_MAX 16

struct bench_sample {
    int64_t first_ns; /* to the first byte of stdout; -1: none came */
    int64_t end_ns;   /* spawn: waitpid returned; cell: snapcell_run returned, everything removed */
};

/* One option of the cell's spec: set ("wall", "30s") or added ("dir", "…"). */
struct bench_option {
    bool add;
    char *name, *value;
};

struct bench_way {
    char *name;
    bool cell;
    unsigned block; /* runs in a row in one round */
    unsigned ahead; /* cells that are kept ready; 0: each is made when it is asked for */
    char *argv[BENCH_ARGV_MAX + 1];
    size_t n_argv;
    char *filter_path; /* spawn: opened for reading as descriptor 9 in the child; NULL: not */

    struct snapcell_spec *spec;
    struct snapcell_plan *plan;
};

/* Cells: makes spec and plan, and runs once, which makes what all cells of the plan share. Spawned ways need
 * nothing. Reports on stderr and returns a negative errno. */
int bench_way_open(struct bench_way *way, const struct snapcell_host *host,
                   const struct bench_option *options, size_t n_options);
/* Fills up what is kept ready; the time it took. Where nothing is: 0 ns. */
int bench_way_ready(struct bench_way *way, int64_t *ret_ns);
/* One run. A run that does not end well is a negative errno, with the reason on stderr. */
int bench_way_run(struct bench_way *way, struct bench_sample *ret_sample);
void bench_way_close(struct bench_way *way);

int64_t bench_now_ns(void);

#endif
