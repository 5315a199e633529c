/* System calls that a cell's filter reports: refused and told, or answered for the cell. */
#ifndef SC_CELL_NOTICES_H
#define SC_CELL_NOTICES_H

#include <stdbool.h>
#include <stdint.h>

#include "cell/space.h"

struct seccomp_notif;

struct sc_notices {
    const struct sc_plan *plan;
    const struct sc_space *space; /* what the answers are about */
    int listener;                 /* borrowed; -1: none */
    /* A call that was refused, for the record. */
    void (*refused)(void *userdata, const struct sc_filter_notice *rule, const char *resource);
    void *userdata;
    bool exec_used;      /* `compute`: the one exec was let through */
    uint64_t count;      /* reported calls that are not forgiven yet */
    uint64_t counted_ns; /* when that was */
    uint64_t next_ns;    /* none is taken before */
};

/* Takes one reported call, if its caller is still there, and answers it. */
void sc_notices_take(struct sc_notices *notices);
/* notices_answer.c: carries a reported call out for the cell. 0, or the negative errno that its caller is to
 * get. */
int sc_notices_answer(const struct sc_notices *notices, const struct seccomp_notif *notice);

#endif
