#include "plan/filter_emit.h"

#include <linux/seccomp.h>
#include <stddef.h>

#define JUMP_MAX 255u

static unsigned put(struct sc_emit *e, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
    if (e->n == SC_FILTER_INSNS_MAX) {
        e->failed = true;
        return e->n;
    }
    e->code[e->n++] = (struct sock_filter){.code = code, .jt = jt, .jf = jf, .k = k};
    return e->n;
}

/* How many instructions the next one put would skip to reach `place`. */
static unsigned distance(const struct sc_emit *e, unsigned place)
{
    return e->n - place;
}

static unsigned put_answer(struct sc_emit *e, uint32_t answer)
{
    unsigned i = 0;

    while (i < e->n_answers && e->answers[i].answer != answer)
        i++;
    if (i == SC_EMIT_ANSWERS_MAX) {
        e->failed = true;
        return e->n;
    }
    if (i == e->n_answers)
        e->n_answers++;
    e->answers[i].answer = answer;
    e->answers[i].place = put(e, BPF_RET | BPF_K, 0, 0, answer);
    return e->n;
}

unsigned sc_emit_answer(struct sc_emit *e, uint32_t answer)
{
    for (unsigned i = 0; i < e->n_answers; i++)
        if (e->answers[i].answer == answer && distance(e, e->answers[i].place) <= JUMP_MAX)
            return e->answers[i].place;
    return put_answer(e, answer);
}

/* A place that does the same and that a jump can reach when at most `more` instructions come in between. */
static unsigned bring_near(struct sc_emit *e, unsigned place, unsigned more)
{
    const struct sock_filter *there = &e->code[place - 1];

    if (distance(e, place) + more <= JUMP_MAX)
        return place;
    if (there->code == (BPF_RET | BPF_K)) {
        unsigned near = sc_emit_answer(e, there->k);
        return distance(e, near) + more <= JUMP_MAX ? near : put_answer(e, there->k);
    }
    return put(e, BPF_JMP | BPF_JA, 0, 0, distance(e, place));
}

unsigned sc_emit_jump(struct sc_emit *e, uint16_t op, uint32_t value, unsigned yes, unsigned no)
{
    if (e->failed)
        return e->n;
    yes = bring_near(e, yes, 1); /* bringing `no` near may put one instruction in between */
    no = bring_near(e, no, 0);
    return put(e, (uint16_t)(BPF_JMP | BPF_K | op), (uint8_t)distance(e, yes), (uint8_t)distance(e, no),
               value);
}

/* Falls through: `next` must be the newest instruction, else a long jump is put first. */
static void come_to(struct sc_emit *e, unsigned next)
{
    if (!e->failed && next != e->n)
        put(e, BPF_JMP | BPF_JA, 0, 0, distance(e, next));
}

unsigned sc_emit_load(struct sc_emit *e, uint32_t offset, unsigned next)
{
    come_to(e, next);
    return put(e, BPF_LD | BPF_W | BPF_ABS, 0, 0, offset);
}

/* --- conditions --- */

static unsigned place_from(const struct sc_emit_target *target, struct sc_emit_word held)
{
    bool warm = target->word.mask && target->word.mask == held.mask && target->word.offset == held.offset;

    return warm ? target->warm : target->entry;
}

static struct sc_emit_target finish_word(struct sc_emit *e, struct sc_emit_word word, uint32_t mask)
{
    struct sc_emit_target target = {.warm = e->n, .word = word};

    if (mask != UINT32_MAX)
        put(e, BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
    target.entry = put(e, BPF_LD | BPF_W | BPF_ABS, 0, 0, word.offset);
    return target;
}

/* One word that must be one of the values, or have one of the bits. */
static struct sc_emit_target emit_word(struct sc_emit *e, const struct sc_filter_cond *cond,
                                       const struct sc_emit_target *yes, const struct sc_emit_target *no)
{
    struct sc_emit_word word = {.offset = (uint32_t)offsetof(struct seccomp_data, args) + 8u * cond->arg,
                                .mask = (uint32_t)cond->mask};
    bool any_bit = cond->n_values == 1 && cond->values[0] == 0 && word.mask != UINT32_MAX;
    unsigned next, hit;

    if (any_bit)
        word.mask = UINT32_MAX; /* tested in place, the accumulator keeps the whole word */
    hit = place_from(yes, word);
    next = place_from(no, word);
    if (any_bit)
        sc_emit_jump(e, BPF_JSET, (uint32_t)cond->mask, next, hit);
    else
        for (size_t i = cond->n_values; i-- > 0;)
            next = sc_emit_jump(e, BPF_JEQ, (uint32_t)cond->values[i], hit, next);
    return finish_word(e, word, word.mask);
}

/* Both words of one value: high first, then low. */
static unsigned emit_wide_value(struct sc_emit *e, const struct sc_filter_cond *cond, uint64_t value,
                                unsigned yes, unsigned no)
{
    const uint32_t low = (uint32_t)offsetof(struct seccomp_data, args) + 8u * cond->arg;
    const uint32_t parts[2][3] = {{low, (uint32_t)cond->mask, (uint32_t)value},
                                  {low + 4, (uint32_t)(cond->mask >> 32), (uint32_t)(value >> 32)}};

    for (int i = 0; i < 2; i++) {
        if (parts[i][1] == 0)
            continue; /* the mask looks at nothing here */
        sc_emit_jump(e, BPF_JEQ, parts[i][2], yes, no);
        yes = finish_word(e, (struct sc_emit_word){.offset = parts[i][0]}, parts[i][1]).entry;
    }
    return yes;
}

struct sc_emit_target sc_emit_cond(struct sc_emit *e, const struct sc_filter_cond *cond,
                                   const struct sc_emit_target *yes, const struct sc_emit_target *no)
{
    const struct sc_emit_target *hit = cond->negated ? no : yes, *miss = cond->negated ? yes : no;
    unsigned next = miss->entry;

    if (e->failed)
        return *no;
    if (!cond->wide)
        return emit_word(e, cond, hit, miss);
    for (size_t i = cond->n_values; i-- > 0;)
        next = emit_wide_value(e, cond, cond->values[i], hit->entry, next);
    return (struct sc_emit_target){.entry = next};
}

void sc_emit_finish(const struct sc_emit *e, struct sc_filter_program *ret_program)
{
    for (unsigned i = 0; i < e->n; i++)
        ret_program->insns[i] = e->code[e->n - 1 - i];
    ret_program->n_insns = (uint16_t)e->n;
}
