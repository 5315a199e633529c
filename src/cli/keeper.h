/* The keeper's command, and how the first `session start` starts one. */
#ifndef SC_CLI_KEEPER_H
#define SC_CLI_KEEPER_H

#include <limits.h>

#include "keeper/client.h"

/* Are the options that belong to a keeper right? */
struct sc_cli_args;
int sc_cli_keeper_check(const struct sc_cli_args *args, struct sc_err *err);
/* Connects to the keeper at `path` (NULL: the default), and starts one there when none serves. Several who do
 * this at once all reach the same one. */
int sc_cli_keeper_reach(const char *path, struct sc_keeper_client **ret_client, struct sc_err *err);

/* A keeper of this process's alone, beside the default one: a child, which ends with it however that ends. */
struct sc_cli_own_keeper {
    pid_t pid; /* -1: there is none */
    char path[PATH_MAX];
};
int sc_cli_keeper_own(struct sc_cli_own_keeper *keeper, struct sc_keeper_client **ret_client,
                      struct sc_err *err);
/* Ends its sessions and it, and waits for that. */
void sc_cli_keeper_own_end(struct sc_cli_own_keeper *keeper);

#endif
