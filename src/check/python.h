/* The parts of the Python reader. Inside src/check/python_*.c. */
#ifndef SC_CHECK_PYTHON_H
#define SC_CHECK_PYTHON_H

#include "check/bindings.h"
#include "check/reading.h"

/* Pseudo names that rules may speak of: what was done, where no name tells. */
#define SC_USE_DYNAMIC_IMPORT "?dynamic-import"
#define SC_USE_DYNAMIC_ATTRIBUTE "?dynamic-attribute"
#define SC_USE_UNKNOWN_ATTRIBUTE "?unknown-attribute"
#define SC_USE_MODULE_VALUE "?module-as-value"

/* The namespace of the program itself: globals(), locals(), vars(). */
#define SC_PYTHON_NAMESPACE "<namespace>"

/* python_bind.c */
/* An identifier's name as the interpreter compares it: NFKC. */
const char *sc_python_identifier(struct sc_reading *reading, uint32_t node);
/* A dotted_name as one text. */
const char *sc_python_dotted(struct sc_reading *reading, uint32_t node);

/* python_value.c */
void sc_python_value(struct sc_reading *reading, uint32_t node, struct sc_values *ret_values);
/* Argument number `index` of a call, or the one named `keyword`; SC_NO_NODE when it cannot be told. */
uint32_t sc_python_argument(struct sc_reading *reading, uint32_t call, uint32_t index, const char *keyword);
/* Is it a mapping from names to what they stand for: sys.modules, a __dict__, the namespace? */
bool sc_python_is_namespace(const char *name);
/* "sys.modules.get" and the like → "sys.modules"; else NULL. */
const char *sc_python_lookup_of(struct sc_reading *reading, const char *function);
enum sc_python_gate { SC_GATE_NONE, SC_GATE_IMPORT, SC_GATE_ATTRIBUTE };
enum sc_python_gate sc_python_gate_of(const char *function);

/* python_names.c */
/* The name that the standard library's own detours come to: "random._os.sep" is "os.sep", "posix" is "os". */
const char *sc_python_canonical(struct sc_reading *reading, const char *name);
bool sc_python_is_stdlib(const char *name, size_t len);

/* python_text.c: constants, and what is made of them. A NULL means: not known. */
const char *sc_python_string(struct sc_reading *reading, uint32_t node);
const char *sc_python_text_method(struct sc_reading *reading, uint32_t call);

/* python_walk.c */
void sc_python_walk(struct sc_reading *reading);

#endif
