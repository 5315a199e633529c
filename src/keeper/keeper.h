/* The keeper: the resident process that owns sessions, for one user, on one unix socket. */
#ifndef SC_KEEPER_KEEPER_H
#define SC_KEEPER_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "keeper/pressure.h"

#define SC_KEEPER_SESSIONS_STANDARD 64
#define SC_KEEPER_SESSIONS_MOST 1024
#define SC_KEEPER_CLIENTS_MAX 64
#define SC_KEEPER_GATES_MAX 256 /* connections of a gate */
#define SC_KEEPER_POOL_STANDARD 4
#define SC_KEEPER_POOL_MOST 64
#define SC_KEEPER_SHAPES_MOST 16 /* of parked cells, each with a zygote */
#define SC_KEEPER_RUNNING_MOST 1024
#define SC_KEEPER_QUEUE_STANDARD 1024
#define SC_KEEPER_QUEUE_MOST 100000

struct sc_keeper_options {
    const char *path;                   /* of the socket; NULL: sc_keeper_path */
    uint64_t idle_ns;                   /* ends after so long without sessions and clients; 0: never */
    unsigned sessions;                  /* most at once */
    unsigned pool;                      /* most parked cells, of all shapes together; 0: none */
    unsigned running;                   /* single runs for tenants at once */
    unsigned queue;                     /* requests of tenants that wait for their turn */
    struct sc_pressure_bounds pressure; /* beyond them no more cells are handed out to tenants */
    int gate_fd;                        /* the door: docs/keeper.md, "Gates"; -1: no gate */
    bool zygotes; /* parked cells are forks of an interpreter that is kept for it, where one can be had */
    bool audit_strict;     /* no work for tenants while the audit stream can not be written */
    uint64_t audit_rotate; /* bytes of a file of it */
    const char *state;     /* the state folder; NULL: sc_state_path. Used with a gate only */
    void (*serving)(void); /* called once, when clients can connect; or NULL */
};

/* Serves until SIGTERM, SIGINT, SIGHUP or the idle time. 0: every session has been ended and nothing is left.
 * -EADDRINUSE: another keeper serves this path. One at a time in a process. */
int sc_keeper_serve(const struct sc_keeper_options *options, struct sc_err *err);

#endif
