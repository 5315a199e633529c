/* Runs the patterns of a reading's rule sets. */
#ifndef SC_CHECK_MATCH_H
#define SC_CHECK_MATCH_H

#include "check/reading.h"

void sc_match_patterns(struct sc_reading *reading);

#endif
