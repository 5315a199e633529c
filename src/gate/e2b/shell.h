#ifndef SC_GATE_E2B_SHELL_H
#define SC_GATE_E2B_SHELL_H

#include <jansson.h>

/* A cell of Python that holds nothing but lines "!COMMAND" as Python that runs each in Bash, one after the
 * other; any other as it is. The caller's reference; NULL: memory ran out. */
json_t *shell_code(const json_t *code);

#endif
