/* A cell before its program: namespaces, groups, streams, and process 1 sealing itself. Made ahead or when
 * needed, used once. */
#ifndef SC_CELL_MAKE_H
#define SC_CELL_MAKE_H

#include <sys/resource.h>

#include "cell/egress.h"
#include "cell/space.h"

struct sc_works;

struct sc_cell {
    struct sc_space space;
    struct sc_egress egress; /* the process that lets its network out, if it has any */
    pid_t pid;               /* of process 1, our child; wait with __WALL. 0: none */
    int pidfd;
    int pid_ns;       /* of a child cell; -1: it is asked for by pidfd */
    int control;      /* the agent's stream */
    int in, out, err; /* our ends of the program's streams; -1 once closed */
};

#define SC_CELL_NONE                                                                                         \
    ((struct sc_cell){.space = SC_SPACE_NONE,                                                                \
                      .egress = SC_EGRESS_NONE,                                                              \
                      .pidfd = -1,                                                                           \
                      .pid_ns = -1,                                                                          \
                      .control = -1,                                                                         \
                      .in = -1,                                                                              \
                      .out = -1,                                                                             \
                      .err = -1})

/* Starts process 1, which seals the cell while the caller goes on; what it says waits in the stream. */
int sc_cell_make(struct sc_works *works, struct sc_cell *ret_cell, struct sc_err *err);
/* The same below the cell `parent` of the same works, which is sealed and alive; waits until its process 1 is
 * born. `forkable`: its programs can be forked in turn. Give its ids back with sc_space_release. */
int sc_cell_make_child(struct sc_works *works, struct sc_cell *parent, bool forkable,
                       struct sc_cell *ret_cell, struct sc_err *err);
/* What wait told of process 1. */
struct sc_cell_death {
    bool known; /* else somebody else in this process has waited for it */
    int wait_status;
    struct rusage usage; /* of the agent and everything it reaped */
};
/* Who takes what still comes out of a dying cell's streams, if it has any. */
struct sc_mourner {
    void (*read_stream)(void *userdata, int stream); /* 1, 2 */
    void *userdata;
};
/* bury.c: kills every process of the cell and waits for their death, for at most half a minute. *ret_death is
 * untouched where nothing is known. A cell whose process 1 is reaped already is fine. */
int sc_cell_bury(struct sc_cell *cell, const struct sc_mourner *mourner, struct sc_cell_death *ret_death,
                 struct sc_err *err);
/* Of a process 1 that is dead: its pidfd is readable. */
int sc_cell_reap(struct sc_cell *cell, struct sc_cell_death *ret_death);
/* Ends a cell that never ran, or whose processes are dead already: kills, reaps, closes. The groups' removal
 * is the space's, which stays open. */
void sc_cell_end(struct sc_cell *cell);

#endif
