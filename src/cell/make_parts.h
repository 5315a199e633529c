/* What the making of a cell and of a child cell have in common. */
#ifndef SC_CELL_MAKE_PARTS_H
#define SC_CELL_MAKE_PARTS_H

#include "cell/run.h"
#include "cell/spawn_child.h"

/* The program's ends of its streams, until the agent has them; and what else only the start needs. */
struct sc_cell_start {
    int in, out, err;
    int control; /* the agent's end */
    int workdisk;
};

/* Below whom a child cell is made, and as what. */
struct sc_kin {
    const struct sc_cell *parent;
    bool forkable;
};

void sc_cell_fill_slots(const struct sc_works *works, const struct sc_cell *cell,
                        const struct sc_cell_start *start, struct sc_spawn_order *order);
/* The agent's first message, which then stands in its stream. `flags`: enum sc_boot_flag. */
int sc_cell_send_boot(const struct sc_cell *cell, uint32_t flags);
/* make_child.c: process 1 of a child cell, by a midwife. */
int sc_cell_start_child(const struct sc_works *works, struct sc_cell *cell, const struct sc_kin *kin,
                        const struct sc_cell_start *start, struct sc_err *err);

#endif
