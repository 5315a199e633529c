/* What tools/mkfilter writes: every profile of policy/syscalls/, in the order it was told them. */
#ifndef SC_PLAN_FILTER_BUILT_H
#define SC_PLAN_FILTER_BUILT_H

#include "plan/filter.h"

extern const struct sc_filter sc_filters_built[];
extern const size_t sc_filters_built_n;

#endif
