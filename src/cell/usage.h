/* What a cell used and which limits it touched, as its groups, file systems and network tell from outside. */
#ifndef SC_CELL_USAGE_H
#define SC_CELL_USAGE_H

#include "agent/proto.h"
#include "cell/make.h"
#include "result/result.h"

/* Sets in *usage what they know, and adds to *hits (enum sc_limit_hit) what was touched; memory is not among
 * it: who watches the group asks sc_group_oom. `ready`: the agent's descriptors. Returns how often a process
 * or thread was refused. */
uint64_t sc_cell_look(const struct sc_cell *cell, const int ready[SC_READY_COUNT], const struct sc_plan *plan,
                      struct sc_usage *usage, uint32_t *hits);
/* network.c: how often something wanted to leave the cell's network. */
uint64_t sc_cell_network_refused(const struct sc_cell *cell);
/* As a denial of the one kind there is; `count` is the total. */
void sc_cell_deny_network(struct sc_result *result, uint64_t count);

#endif
