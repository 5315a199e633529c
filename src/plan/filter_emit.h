/* Writes classic BPF from its end to its beginning. Places are distances from the end: the last instruction
 * is at 1. */
#ifndef SC_PLAN_FILTER_EMIT_H
#define SC_PLAN_FILTER_EMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/filter_compile.h"

#define SC_EMIT_ANSWERS_MAX 64

/* The argument word the accumulator holds: (32 bits at `offset`) & mask. mask 0: not known. */
struct sc_emit_word {
    uint32_t offset, mask;
};

/* Where to go on: at `entry`, or at `warm` when the accumulator holds `word` already. */
struct sc_emit_target {
    unsigned entry, warm;
    struct sc_emit_word word;
};

struct sc_emit {
    struct sock_filter code[SC_FILTER_INSNS_MAX]; /* backwards */
    unsigned n;
    bool failed; /* the program became too long; what follows is ignored */
    struct {
        uint32_t answer;
        unsigned place;
    } answers[SC_EMIT_ANSWERS_MAX];
    unsigned n_answers;
};

/* Each puts instructions before what is there and returns the place of the first of them. */
unsigned sc_emit_answer(struct sc_emit *emit, uint32_t answer); /* may find one in reach instead */
unsigned sc_emit_load(struct sc_emit *emit, uint32_t offset, unsigned next);
/* op: BPF_JEQ, BPF_JGE or BPF_JSET against `value`. */
unsigned sc_emit_jump(struct sc_emit *emit, uint16_t op, uint32_t value, unsigned yes, unsigned no);
/* Loads and compares what `cond` looks at, and goes to `yes` or `no`. */
struct sc_emit_target sc_emit_cond(struct sc_emit *emit, const struct sc_filter_cond *cond,
                                   const struct sc_emit_target *yes, const struct sc_emit_target *no);
void sc_emit_finish(const struct sc_emit *emit, struct sc_filter_program *ret_program);

#endif
