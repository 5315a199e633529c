/* The part of a result's JSON object that tells what the run said about itself, and what was found in its
 * code. */
#ifndef SC_RESULT_INSIDE_H
#define SC_RESULT_INSIDE_H

#include "base/json.h"
#include "result/result.h"

/* A new object, without members for a plain run; NULL when memory ran out. */
json_t *sc_result_inside_object(const struct sc_result *result);

#endif
