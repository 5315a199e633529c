/* Theory of operation
 *
 * At load the kernel runs the program once for every call number, to learn which calls are always allowed;
 * after that it asks only about the others. So what counts is the length of the path from the entry to a
 * plain answer. Numbers are merged into ranges of one answer and searched by halves of equal weight (weight:
 * how many numbers a range has); argument checks are read only by calls that have some.
 *
 * BPF jumps go forward only and conditional ones at most 255 instructions far. The program is therefore
 * written from its end: answers first, then checks, then the tree. A place is named by its distance from the
 * end, which does not change any more, and whoever jumps to it knows how far that is; what is too far gets a
 * copy of the answer or a long jump put in between. */
#include "plan/filter_compile.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "plan/filter_emit.h"

#define X32_BIT 0x40000000u
#define RANGES_MAX (SC_FILTER_NR_MAX + 8)

/* What happens to a call: plain `answer` when n_rules is 0; else the first rule that holds, or `answer`. */
struct action {
    uint32_t answer;
    size_t n_rules;
    const struct sc_filter_rule **rules;
};

/* Numbers from `first` up to the next range's. */
struct range {
    uint32_t first;
    unsigned weight;
    struct action action;
};

struct compiler {
    const struct sc_filter_policy *policy;
    const struct sc_filter_arch *arch;
    struct range ranges[RANGES_MAX];
    size_t n_ranges;
    const struct sc_filter_rule **by_nr; /* the policy's rules by number, in file order within one */
    struct sc_emit emit;
};

static uint32_t answer_of(const struct sc_filter_rule *rule)
{
    switch (rule->verdict) {
    case SC_FILTER_ALLOW:
        return SECCOMP_RET_ALLOW;
    case SC_FILTER_DENY:
        return SECCOMP_RET_ERRNO | (uint32_t)rule->error;
    case SC_FILTER_NOTIFY:
    case SC_FILTER_ONCE:
    case SC_FILTER_ANSWER:
        return SECCOMP_RET_USER_NOTIF;
    }
    return SECCOMP_RET_KILL_PROCESS;
}

/* --- ranges --- */

static bool same_conds(const struct sc_filter_rule *a, const struct sc_filter_rule *b)
{
    if (a->n_conds != b->n_conds)
        return false;
    for (size_t i = 0; i < a->n_conds; i++) {
        const struct sc_filter_cond *x = &a->conds[i], *y = &b->conds[i];
        if (x->arg != y->arg || x->wide != y->wide || x->negated != y->negated || x->mask != y->mask ||
            x->n_values != y->n_values || memcmp(x->values, y->values, x->n_values * sizeof *x->values) != 0)
            return false;
    }
    return true;
}

static bool same_action(const struct action *a, const struct action *b)
{
    if (a->answer != b->answer || a->n_rules != b->n_rules)
        return false;
    for (size_t i = 0; i < a->n_rules; i++)
        if (answer_of(a->rules[i]) != answer_of(b->rules[i]) || !same_conds(a->rules[i], b->rules[i]))
            return false;
    return true;
}

static void add_range(struct compiler *c, uint32_t first, unsigned weight, const struct action *action)
{
    struct range *last = c->n_ranges ? &c->ranges[c->n_ranges - 1] : NULL;

    if (last && same_action(&last->action, action))
        last->weight += weight;
    else
        c->ranges[c->n_ranges++] = (struct range){.first = first, .weight = weight, .action = *action};
}

/* The rules of `nr` among by_nr[*at…], which are moved past. */
static struct action action_for(struct compiler *c, int nr, size_t *at)
{
    bool known = sc_filter_arch_by_nr(c->arch, nr) != NULL;
    struct action action = {.answer = SECCOMP_RET_ERRNO | (uint32_t)(known ? EPERM : ENOSYS)};

    action.rules = &c->by_nr[*at];
    for (; *at < c->policy->n_rules && c->by_nr[*at]->nr == nr; (*at)++) {
        if (c->by_nr[*at]->n_conds)
            action.n_rules++;
        else
            action.answer = answer_of(c->by_nr[*at]); /* the parser lets nothing follow */
    }
    return action;
}

/* Covers all 2^32 numbers. Numbers with bit 30 are x32's, except -1, which is how a tracer says "no call". */
static void make_ranges(struct compiler *c, int highest)
{
    const struct action no_such = {.answer = SECCOMP_RET_ERRNO | ENOSYS};
    const struct action foreign = {.answer = c->arch->has_x32 ? SECCOMP_RET_KILL_PROCESS : no_such.answer};
    size_t at = 0;

    for (int nr = 0; nr <= highest; nr++) {
        const struct action action = action_for(c, nr, &at);
        add_range(c, (uint32_t)nr, 1, &action);
    }
    add_range(c, (uint32_t)highest + 1, 1, &no_such);
    add_range(c, X32_BIT, 1, &foreign);
    add_range(c, 2 * X32_BIT, 1, &no_such);
    add_range(c, 3 * X32_BIT, 1, &foreign);
    add_range(c, UINT32_MAX, 1, &no_such);
}

static int by_nr_then_line(const void *a, const void *b)
{
    const struct sc_filter_rule *x = *(const struct sc_filter_rule *const *)a;
    const struct sc_filter_rule *y = *(const struct sc_filter_rule *const *)b;

    if (x->nr != y->nr)
        return x->nr < y->nr ? -1 : 1;
    return x < y ? -1 : x > y; /* both lie in policy->rules */
}

/* --- code --- */

static unsigned emit_action(struct compiler *c, const struct action *action)
{
    struct sc_emit_target fail = {.entry = sc_emit_answer(&c->emit, action->answer)};

    for (size_t i = action->n_rules; i-- > 0;) {
        const struct sc_filter_rule *rule = action->rules[i];
        struct sc_emit_target next = {.entry = sc_emit_answer(&c->emit, answer_of(rule))};

        for (size_t k = rule->n_conds; k-- > 0;)
            next = sc_emit_cond(&c->emit, &rule->conds[k], &next, &fail);
        fail = next;
    }
    return fail.entry;
}

/* Argument checks, once for each kind of action; plain answers are made where they are needed. */
static void emit_checks(struct compiler *c, unsigned *places)
{
    for (size_t i = 0; i < c->n_ranges; i++) {
        places[i] = 0;
        if (c->ranges[i].action.n_rules == 0)
            continue;
        for (size_t k = 0; k < i && places[i] == 0; k++)
            if (same_action(&c->ranges[k].action, &c->ranges[i].action))
                places[i] = places[k];
        if (places[i] == 0)
            places[i] = emit_action(c, &c->ranges[i].action);
    }
}

/* Where the weight of ranges[lo…hi] is cut best into two. */
static size_t find_cut(const struct range *ranges, size_t lo, size_t hi)
{
    unsigned long total = 0, left = 0;
    size_t cut = lo;

    for (size_t i = lo; i <= hi; i++)
        total += ranges[i].weight;
    while (cut < hi && 2 * (left + ranges[cut].weight) <= total)
        left += ranges[cut++].weight;
    /* ranges[cut] straddles the middle: put it on the side that leaves the halves more equal */
    if (cut < hi && total - 2 * left > 2 * (left + ranges[cut].weight) - total)
        cut++;
    return cut == lo ? lo + 1 : cut;
}

/* Depth is at most that of ranges of doubling weights: a few more than log2. */
static unsigned emit_tree(struct compiler *c, const unsigned *places, size_t lo, size_t hi)
{
    unsigned right, left;
    size_t cut;

    if (lo == hi)
        return places[lo] ? places[lo] : sc_emit_answer(&c->emit, c->ranges[lo].action.answer);
    cut = find_cut(c->ranges, lo, hi);
    right = emit_tree(c, places, cut, hi);
    left = emit_tree(c, places, lo, cut - 1);
    return sc_emit_jump(&c->emit, BPF_JGE, c->ranges[cut].first, right, left);
}

static void emit_program(struct compiler *c)
{
    unsigned places[RANGES_MAX], tree;

    emit_checks(c, places);
    tree = emit_tree(c, places, 0, c->n_ranges - 1);
    tree = sc_emit_load(&c->emit, offsetof(struct seccomp_data, nr), tree);
    sc_emit_jump(&c->emit, BPF_JEQ, c->arch->audit_arch, tree,
                 sc_emit_answer(&c->emit, SECCOMP_RET_KILL_PROCESS));
    sc_emit_load(&c->emit, offsetof(struct seccomp_data, arch), c->emit.n);
}

int sc_filter_compile(const struct sc_filter_policy *policy, const struct sc_filter_arch *arch,
                      struct sc_filter_program *ret_program, struct sc_err *err)
{
    int highest = sc_filter_arch_highest(arch), r = 0;
    struct compiler *c;

    if (highest < 0 || highest >= SC_FILTER_NR_MAX)
        return sc_err_set(err, SC_ERR_SANDBOX, -EINVAL, "%s: highest call %d: 0 to %d are allowed",
                          arch->name, highest, SC_FILTER_NR_MAX - 1);
    c = calloc(1, sizeof *c);
    if (c)
        c->by_nr = calloc(policy->n_rules + 1, sizeof(struct sc_filter_rule *));
    if (!c || !c->by_nr) {
        free(c);
        return sc_err_sys(err, -ENOMEM, "filter '%s'", policy->name);
    }
    c->policy = policy;
    c->arch = arch;
    for (size_t i = 0; i < policy->n_rules; i++)
        c->by_nr[i] = &policy->rules[i];
    qsort(c->by_nr, policy->n_rules, sizeof *c->by_nr, by_nr_then_line);
    make_ranges(c, highest);
    emit_program(c);
    if (c->emit.failed)
        r = sc_err_set(err, SC_ERR_SANDBOX, -EINVAL, "filter '%s' needs more than %d instructions",
                       policy->name, SC_FILTER_INSNS_MAX);
    else
        sc_emit_finish(&c->emit, ret_program);
    free(c->by_nr);
    free(c);
    return r;
}
