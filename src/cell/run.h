/* One run, from beginning to end: what the files of src/cell/run*.c share.
 *
 * take (a cell made ahead, or made now) → feed (files) → watch (until something ends it) → bury (kill, drain,
 * reap) → collect (artifacts) → judge (verdict). Each step takes the run as the one before left it; bury is
 * reached on every way out once there is a cell.
 */
#ifndef SC_CELL_RUN_H
#define SC_CELL_RUN_H

#include "agent/proto.h"
#include "base/frame.h"
#include "cell/cell.h"
#include "cell/make.h"
#include "cell/notices.h"

#define SC_GRAVES_MAX 8

struct sc_works {
    const struct sc_plan *plan;
    struct sc_template tmpl;
    struct sc_egress_kit egress;
    int agent;             /* the agent's sealed image */
    int image;             /* the plan's */
    int null;              /* /dev/null */
    int self;              /* pidfd of this process */
    struct sc_cell *cells; /* made ahead: sealed, waiting for their program */
    size_t n_cells;
    /* Empty groups of ended cells: removing them takes the kernel a while, and nobody waits for it. */
    struct sc_space graves[SC_GRAVES_MAX];
    size_t n_graves;
};

/* Why the supervisor ended the cell; NONE: the program ended by itself. The first reason stays. */
enum sc_end {
    SC_END_NONE = 0,
    SC_END_EXIT, /* the agent reported the program's end */
    SC_END_WALL,
    SC_END_CPU,
    SC_END_MEMORY,
    SC_END_OUTPUT,
    SC_END_CANCEL,
    SC_END_AGENT,  /* the agent is gone without a report */
    SC_END_FAILED, /* the agent reported a failure of its own */
};

struct sc_run {
    struct sc_works *works;
    const struct sc_plan *plan;
    const struct sc_callbacks *callbacks; /* never NULL */
    struct sc_result *result;

    struct sc_cell cell;
    int ready[SC_READY_COUNT]; /* descriptors from the agent, by enum sc_ready_fd */
    bool has_ready;
    const char *stdin_data; /* whole, or NULL: it comes from stdin_fd, or there is none */
    size_t stdin_len, stdin_done;
    struct sc_buf stdin_chunk; /* what was read from stdin_fd and not yet written */
    bool stdin_eof;

    struct sc_frame_reader *reader;
    uint64_t begun_ns, started_ns, ended_ns; /* 0: not yet */
    uint64_t cpu_fed_ns;  /* what the cell had used just before START was sent: not the program's */
    uint64_t cpu_base_ns; /* and when STARTED was seen, which may be late: from there on the limit counts */
    uint64_t next_cpu_check_ns;
    struct sc_notices notices;
    enum sc_end end;
    struct sc_msg_exit exit;
    struct sc_msg_failed failed;
    struct sc_cell_death death;
};

/* The oldest cell that was made ahead and is still alive, or one made now. */
int sc_works_take(struct sc_works *works, struct sc_cell *ret_cell, struct sc_err *err);
/* Takes a cell whose processes are dead: its groups go to their grave, everything else is closed now. */
void sc_works_release(struct sc_works *works, struct sc_cell *cell);
/* Removes what is left of ended cells. Negative errno when a group does not go. */
int sc_works_bury(struct sc_works *works, struct sc_err *err);

/* Sets the reason if there is none yet, and the time. */
void sc_run_end(struct sc_run *run, enum sc_end why);

/* Takes what the egress process says on its own. */
void sc_run_hear_egress(struct sc_run *run);

/* run_streams.c */
void sc_run_read_stream(struct sc_run *run, int *fd, int number);
void sc_run_write_stdin(struct sc_run *run);
/* Takes what is left in the pipes without waiting. */
void sc_run_drain(struct sc_run *run);
/* run_watch.c: returns when run->end is set. */
int sc_run_watch(struct sc_run *run, struct sc_err *err);
/* run_judge.c */
int sc_run_judge(struct sc_run *run, struct sc_err *err);

#endif
