/* Makes a cell from a plan, runs the program in it, and buries it. */
#ifndef SC_CELL_CELL_H
#define SC_CELL_CELL_H

#include "base/err.h"
#include "plan/plan.h"
#include "result/result.h"

/* What one run gets beside, or in place of, what its plan's spec says: the plan, and cells made ahead, serve
 * many inputs. */
struct sc_run_input {
    /* In place of the spec's stdin; NULL: that. The spec has bytes of its own, if only none (""), so that its
     * cells are made with a pipe. */
    const char *stdin_data;
    size_t stdin_len;
    const struct sc_spec_file *files; /* put into the work folder behind the spec's own */
    size_t n_files;
};

/* Live view of a run; any member may be NULL. Called from sc_cell_run, on its thread. */
struct sc_callbacks {
    void *userdata;
    /* Output as it comes, at most the kept part: stream 1 or 2. */
    void (*output)(void *userdata, int stream, const void *data, size_t len);
    void (*denial)(void *userdata, const struct sc_denial *denial);
    /* Called about ten times a second and at every event; a non-zero answer cancels the run. */
    int (*cancelled)(void *userdata);
    /* A descriptor to watch: becoming readable means cancel. -1 or 0: none. */
    int cancel_fd;
    /* With plan->pty: the master side of the cell's terminal, valid until sc_cell_run returns. */
    void (*terminal)(void *userdata, int master_fd);
    /* Where artifacts go: called once for each accepted file with a read descriptor; NULL: they are saved
     * below the spec's --out folders. Negative errno stops the collection. */
    int (*artifact)(void *userdata, const char *path, int fd, uint64_t size);
    const struct sc_run_input *input; /* NULL: all is the spec's */
};

/* What is kept ready between cells of one plan: template mount namespace, cells made ahead, agent
 * image, plan image. */
struct sc_works;
int sc_works_new(const struct sc_plan *plan, struct sc_works **ret_works, struct sc_err *err);
void sc_works_free(struct sc_works *works);
/* Makes `cells` cells ahead, up to the point where a program could start in them, and removes the empty
 * groups of ended ones. Each is used once. */
int sc_works_ready(struct sc_works *works, unsigned cells, struct sc_err *err);
/* Ended cells whose groups, namespaces and descriptors are still there; sc_works_ready() removes them. */
size_t sc_works_ended(const struct sc_works *works);

/* One run in one fresh cell. 0: `result` tells everything, also SC_STATUS_SANDBOX_ERROR. `queue_ns` is how
 * long the caller waited before. */
int sc_cell_run(struct sc_works *works, const struct sc_callbacks *callbacks, uint64_t queue_ns,
                struct sc_result *result, struct sc_err *err);

#endif
