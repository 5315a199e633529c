/* JSON schemas of what requests and answers hold. */
#ifndef SC_GATE_SCHEMA_H
#define SC_GATE_SCHEMA_H

#include <jansson.h>

#include "gate/parts.h"

/* Of one field of a table. References are the caller's; NULL when memory ran out. */
json_t *schema_of_field(const struct field *field);
/* Of a body: an object with these fields and no others. */
json_t *schema_of_fields(const struct field *fields);
/* "components": {"schemas": …}: Problem, Result, Limits, … */
json_t *schema_components(void);

#endif
