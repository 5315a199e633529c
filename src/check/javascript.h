/* The parts of the reader of JavaScript and TypeScript. Inside src/check/javascript_*.c. */
#ifndef SC_CHECK_JAVASCRIPT_H
#define SC_CHECK_JAVASCRIPT_H

#include "check/bindings.h"
#include "check/reading.h"

/* javascript_bind.c */
/* The name of an identifier or a property, its \u escapes read. */
const char *sc_javascript_identifier(struct sc_reading *reading, uint32_t node);
/* The module that an import statement or an export names, or NULL. */
const char *sc_javascript_source(struct sc_reading *reading, uint32_t statement);
/* "node:fs/promises" is "fs.promises". */
const char *sc_javascript_module(struct sc_reading *reading, const char *name);

/* javascript_value.c */
void sc_javascript_value(struct sc_reading *reading, uint32_t node, struct sc_values *ret_values);
/* globalThis.eval is eval; module.require is require; a module's default export is the module. */
const char *sc_javascript_canonical(struct sc_reading *reading, const char *name);
/* Argument number `index` of a call, or SC_NO_NODE. */
uint32_t sc_javascript_argument(const struct sc_reading *reading, uint32_t call, uint32_t index);
/* Does a function of this name bring a module by its name? */
bool sc_javascript_is_require(const char *function);
/* The constructor of something: of a function, it makes functions out of text. */
#define SC_JAVASCRIPT_CONSTRUCTOR "?.constructor"

/* javascript_walk.c */
void sc_javascript_walk(struct sc_reading *reading);

#endif
