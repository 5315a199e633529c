/* Help, made from the tables of verbs and options. */
#ifndef SC_CLI_HELP_H
#define SC_CLI_HELP_H

#include "base/buf.h"
#include "cli/cli.h"

/* One command with its options. */
void sc_cli_help_verb(const struct sc_cli_verb *verb, struct sc_buf *out);

#endif
