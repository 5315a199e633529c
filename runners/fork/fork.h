/* libsnapcell-fork: how an interpreter inside a cell lets itself be forked into another cell.
 *
 * The interpreter has warmed itself up and calls sc_fork_serve with its fork socket (descriptor 4). For each
 * order that comes the library forks; in the parent it answers and waits for the next order, so the call does
 * not return there until the socket is at its end. In a child it returns SC_FORK_CHILD: that process is the
 * same interpreter in another, sealed cell, and goes on from there.
 *
 * When the child returns from the call
 *   - it is in the namespaces, groups, root and Landlock domain of its own cell, with that cell's program id,
 * no capability, and the cell's system-call filter: as a program that was started there, stage by stage;
 *   - it is the leader of a session of its own; descriptors 0, 1, 2 are its streams, 3 the runner's stream
 * (if it has one), 4 its own fork socket (only when it may be forked again), and every other descriptor is
 *     closed: also those that the interpreter held (event loops, sockets, files);
 *   - it has one thread, the signal mask and handlers of the caller, and is dumpable as any program;
 *   - nothing has been re-seeded and no after-fork function of the interpreter's has run: that is the
 * caller's part, from the bytes in struct sc_fork_birth, before it takes a request. A child that fails at any
 * step reports it and ends by _exit, before it returns.
 *
 * The library is plain C on libc, keeps no state but a stack, and is for single-threaded callers: a process
 * with a second thread (but see idle_threads), or with writable memory that it shares with others, refuses
 * each order with the reason. pthread_atfork handlers run as with fork(). Exit of the parent (or of its cell)
 * ends every child.
 */
#ifndef SNAPCELL_FORK_H
#define SNAPCELL_FORK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the functions below return when nothing failed. */
#define SC_FORK_END 0    /* the socket is at its end: nobody will order any more */
#define SC_FORK_CHILD 1  /* this process is a new child */
#define SC_FORK_PARENT 2 /* sc_fork_take only: an order was served or refused, and answered */

/* What the caller does around a fork; any member may be NULL. Called on the caller's thread, in this order.
 */
struct sc_fork_hooks {
    /* Whether this process can be forked now. 0: yes; else not, and the reason is in ret_reason (ended by
     * NUL, `size` bytes at most), which reaches whoever ordered the fork. Nothing else is called then. */
    int (*refuse)(char *ret_reason, size_t size);
    /* Right before the fork: CPython's PyOS_BeforeFork fits. */
    void (*before)(void);
    /* After it, in the parent, also when it failed: PyOS_AfterFork_Parent fits. */
    void (*parent)(void);
    /* Threads that the interpreter itself has besides the caller's and that its forks do without; more than
     * these are refused. It is for `refuse` to see that they wait, and hold nothing. */
    int idle_threads;
};

/* What a child knows of its birth. */
struct sc_fork_birth {
    uint8_t randomness[64]; /* fresh bytes that no other process has got */
    int64_t wall_ns;        /* CLOCK_REALTIME when the order was written */
    int32_t has_runner;     /* descriptor 3 is a runner's stream */
    int32_t has_socket;     /* descriptor 4 is a fork socket of its own */
};

/* Serves orders until the socket's end. SC_FORK_CHILD (in a child, with *ret_birth filled), SC_FORK_END, or a
 * negative errno when the socket cannot be read. `hooks` may be NULL. The look for memory that is shared is
 * taken at the first order only: between orders nothing runs but hooks. */
int sc_fork_serve(int socket, const struct sc_fork_hooks *hooks, struct sc_fork_birth *ret_birth);

/* Serves one order, waiting for it: for a caller that polls the socket beside others. SC_FORK_CHILD,
 * SC_FORK_PARENT, SC_FORK_END or negative errno. */
int sc_fork_take(int socket, const struct sc_fork_hooks *hooks, struct sc_fork_birth *ret_birth);

/* Version of the orders that are understood, for who loads the library by name. */
int sc_fork_version(void);

#ifdef __cplusplus
}
#endif
#endif
