/* Helper processes that make namespaces: they enter, report descriptors, and end. */
#ifndef SC_CELL_MAKER_H
#define SC_CELL_MAKER_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct sc_maker {
    pid_t pid;
    int socket; /* the caller's end */
};

/* What a maker says: descriptors with code 0, or a failure. */
struct sc_maker_report {
    int code; /* negative errno */
    char stage[32];
    char object[160];
};

/* Forks a maker that runs body(socket, data) and ends. `body` must not allocate or use stdio: the caller may
 * have had other threads. 0 or negative errno. */
int sc_maker_start(struct sc_maker *maker, void (*body)(int socket, void *data), void *data,
                   struct sc_err *err);
/* Takes the maker's next report with exactly n_fds descriptors into ret_fds. A failure becomes the error. */
int sc_maker_take(struct sc_maker *maker, int *ret_fds, size_t n_fds, struct sc_err *err);
/* Lets the maker go on past sc_maker_wait. */
int sc_maker_go(struct sc_maker *maker);
/* Closes the socket and reaps. Safe on a maker that never started (pid 0). */
void sc_maker_end(struct sc_maker *maker);

/* In the maker: */
/* fork, but no exit signal, so that a host program's own wait() does not find the child (wait for it with
 * __WALL); with every signal blocked in the child, whose handlers would be the caller's; and nothing of the C
 * library's, whose locks another thread of the caller's may have held. */
pid_t sc_maker_fork(void);
void sc_maker_send(int socket, const int *fds, size_t n_fds);
__attribute__((noreturn)) void sc_maker_fail(int socket, const char *stage, const char *object, int code);
/* Sleeps until the caller says go; ends the process when it is gone. */
void sc_maker_wait(int socket);

#endif
