/* What the command line itself says. Parts of it may come from inside a cell or from file names, so that
 * control bytes in it are shown, never sent. */
#ifndef SC_CLI_SAY_H
#define SC_CLI_SAY_H

#include <stddef.h>

#include "base/err.h"

/* One line on stderr: "snapcell: …". */
void sc_cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Finished lines on stderr. */
void sc_cli_tell(const void *text, size_t len);
/* Tells an error and returns the exit status that belongs to its kind. */
int sc_cli_fail(const struct sc_err *err);
/* Writes heap text (freed here; NULL means that memory ran out) to stdout, ended by a new line. Returns an
 * exit status. The second form keeps JSON harmless for a terminal. */
int sc_cli_print(char *text);
int sc_cli_print_json(char *text);

#endif
