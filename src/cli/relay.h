/* Between the caller's terminal and the cell's: a process of its own, so that bytes of the cell never meet
 * the process that holds the cell, and so that the terminal is put right again even after that one was
 * killed. */
#ifndef SC_CLI_RELAY_H
#define SC_CLI_RELAY_H

#include <sys/types.h>

#include "base/err.h"

struct sc_cli_relay {
    pid_t pid;
    int sock; /* to the relay; closing it ends it */
};

/* Forks the relay; it waits for a terminal. To be called before the cell's descriptors exist. */
int sc_cli_relay_start(struct sc_cli_relay *relay, struct sc_err *err);
/* Hands the master side of the cell's terminal over; it stays the caller's. From here on the caller's own
 * terminal is raw, if stdin is one. */
int sc_cli_relay_give(struct sc_cli_relay *relay, int master_fd);
/* The cell has ended: the relay writes what is left, restores the terminal, and is waited for. A reader of
 * stdout that stalls holds it up for two seconds at most. */
void sc_cli_relay_stop(struct sc_cli_relay *relay);

#endif
