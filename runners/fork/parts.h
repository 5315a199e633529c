/* What the files of the fork library share. Three processes take part:
 *
 *   the program ──clone, borrowing its memory──▶ the step ──fork──▶ the child
 *
 * The step is there because a process that enters another user namespace can never come back, and only what
 * is born after setns(pid) lives in the other pid namespace. It runs in the program's memory while the
 * program sleeps, and ends as soon as the child is born. */
#ifndef SNAPCELL_FORK_PARTS_H
#define SNAPCELL_FORK_PARTS_H

#include "agent/fork_order.h"
#include "fork.h"

struct sc_fork_task {
    struct sc_fork_order order;
    char cwd[SC_FORK_CWD_MAX];
    int fds[SC_FORK_FDS_MAX]; /* by enum sc_fork_fd; -1: not there */
    int socket;               /* the order's own; the child must not keep it */
    struct sc_fork_answer answer;
};

/* Notes where an order failed, and as what. Returns `code`. */
int sc_fork_note(char step[SC_FORK_STEP_MAX], char object[SC_FORK_OBJECT_MAX], const char *name,
                 const char *about, int code);
/* order.c: one order with its descriptors. 1, 0: the socket is at its end, or negative errno; an order that
 * is not understood has its answer filled. Takes none of the descriptors when it returns < 1. */
int sc_fork_receive(int socket, struct sc_fork_task *task);
void sc_fork_close(struct sc_fork_task *task);
/* order.c: whether this process has nothing that a fork would tear apart, and no threads but the caller's and
 * so many others. 0 or -EBUSY with the answer filled. */
int sc_fork_look(struct sc_fork_task *task, int idle_threads, int look_at_memory);
/* mutant.c, test builds only: whether the order says that this stage is left out (1), or fails (-EIO); else
 * 0. */
#ifdef SC_MUTANTS
int sc_fork_mutant(const struct sc_fork_order *order, const char *stage);
#else
static inline int sc_fork_mutant(const struct sc_fork_order *order, const char *stage)
{
    (void)order;
    (void)stage;
    return 0;
}
#endif
/* number.c: in the program, before each fork; -E2BIG: it has too many ancestors. */
int sc_fork_remember_number(void);
/* number.c: in the step, among the processes that the child will be one of: lets the next number be none of
 * the child's ancestors'. 0 or negative errno. */
int sc_fork_skip_numbers(void);
/* number.c: in the child, whether it is so. */
int sc_fork_number_is_new(void);
/* child.c: the child's life up to "go". Returns only when it is sealed and may go on; else ends the process.
 */
void sc_fork_become(struct sc_fork_task *task);

#endif
