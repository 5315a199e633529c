/* Signals that end a run are taken as bytes of a descriptor, so that none of them interrupts the making or
 * the burial of a cell half-way. */
#ifndef SC_CLI_SIGNALS_H
#define SC_CLI_SIGNALS_H

#include <signal.h>

#include "base/err.h"

/* Blocks SIGINT, SIGTERM and SIGHUP (those that the caller did not ignore) and ignores SIGPIPE. Returns in
 * `ret_fd` a descriptor that becomes readable when one of them comes. They stay blocked until the program
 * ends. */
int sc_cli_signals_open(int *ret_fd, struct sc_err *err);

#endif
