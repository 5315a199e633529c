/* The keeper's command, and how the first `session start` starts one. */
#ifndef SC_CLI_KEEPER_H
#define SC_CLI_KEEPER_H

#include "keeper/client.h"

/* Connects to the keeper at `path` (NULL: the default), and starts one there when none serves. Several who do
 * this at once all reach the same one. */
int sc_cli_keeper_reach(const char *path, struct sc_keeper_client **ret_client, struct sc_err *err);

#endif
