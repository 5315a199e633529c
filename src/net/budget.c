#include "net/budget.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"

#define BURST_NS (100 * SC_NS_PER_MS) /* of a bandwidth limit */
#define BURST_LEAST 1500

static bool has_budget(const struct sc_net_rule *rule)
{
    return rule->connections || rule->bytes_out || rule->bytes_in || rule->bytes_per_second;
}

/* ---- rules come and go ---- */

static void add_uses(struct sc_budgets *budgets, const struct sc_net *net)
{
    for (const struct sc_net *layer = net; layer; layer = layer->within)
        for (size_t i = 0; i < layer->n_rules; i++)
            if (has_budget(&layer->rules[i]))
                budgets->uses[budgets->n_uses++] = (struct sc_use){.rule = &layer->rules[i]};
}

static void carry_over(struct sc_use *use, const struct sc_budgets *before)
{
    for (size_t i = 0; i < before->n_uses; i++)
        for (int way = SC_NET_OUT; way <= SC_NET_IN && !strcmp(before->uses[i].rule->text, use->rule->text);
             way++)
            use->bytes[way] = sc_max_u64(use->bytes[way], before->uses[i].bytes[way]);
}

int sc_budgets_renew(struct sc_budgets *budgets, const struct sc_net *net)
{
    struct sc_budgets renewed = *budgets;
    size_t room = 1;
    for (const struct sc_net *layer = net; layer; layer = layer->within)
        room += layer->n_rules;
    renewed.net = net;
    renewed.n_uses = 0;
    renewed.uses = calloc(room, sizeof *renewed.uses);
    if (!renewed.uses)
        return -ENOMEM;
    add_uses(&renewed, net);
    for (size_t i = 0; i < renewed.n_uses; i++)
        carry_over(&renewed.uses[i], budgets);
    free(budgets->uses);
    *budgets = renewed;
    return 0;
}

/* ---- what a connection is charged to ---- */

static struct sc_use *use_of(struct sc_budgets *budgets, const struct sc_net_rule *rule)
{
    for (size_t i = 0; i < budgets->n_uses; i++)
        if (budgets->uses[i].rule == rule)
            return &budgets->uses[i];
    return NULL;
}

void sc_budgets_release(struct sc_charged *charged)
{
    while (charged->n)
        charged->list[--charged->n]->connections--;
}

struct sc_spent sc_budgets_charge(struct sc_budgets *budgets, struct sc_charged *charged,
                                  const struct sc_net_rule *const *rules, size_t n_rules)
{
    for (size_t i = 0; i < n_rules; i++) {
        struct sc_use *use = use_of(budgets, rules[i]);
        if (!use)
            continue;
        if (use->rule->connections && use->connections >= use->rule->connections) {
            sc_budgets_release(charged);
            return (struct sc_spent){use->rule->text, "this rule's budget of connections is used up"};
        }
        use->connections++;
        charged->list[charged->n++] = use;
    }
    return sc_budgets_spent(budgets, charged);
}

/* ---- bytes ---- */

static bool is_spent(uint64_t budget, uint64_t used)
{
    return budget && used >= budget;
}

struct sc_spent sc_budgets_spent(const struct sc_budgets *budgets, const struct sc_charged *charged)
{
    if (is_spent(budgets->net->bytes_out, budgets->bytes[SC_NET_OUT]))
        return (struct sc_spent){"bytes_out", "this budget of the cell is used up"};
    if (is_spent(budgets->net->bytes_in, budgets->bytes[SC_NET_IN]))
        return (struct sc_spent){"bytes_in", "this budget of the cell is used up"};
    for (size_t i = 0; i < charged->n; i++) {
        const struct sc_use *use = charged->list[i];
        if (is_spent(use->rule->bytes_out, use->bytes[SC_NET_OUT]))
            return (struct sc_spent){use->rule->text, "this rule's budget of bytes_out is used up"};
        if (is_spent(use->rule->bytes_in, use->bytes[SC_NET_IN]))
            return (struct sc_spent){use->rule->text, "this rule's budget of bytes_in is used up"};
    }
    return (struct sc_spent){0};
}

static uint64_t left_of(uint64_t most, uint64_t budget, uint64_t used)
{
    return budget ? sc_min_u64(most, budget - sc_min_u64(budget, used)) : most;
}

size_t sc_budgets_allowance(const struct sc_budgets *budgets, const struct sc_charged *charged,
                            enum sc_net_way way, size_t most)
{
    const struct sc_net *net = budgets->net;
    uint64_t left = left_of(most, way == SC_NET_OUT ? net->bytes_out : net->bytes_in, budgets->bytes[way]);
    if (net->bytes_per_second)
        left = sc_min_u64(left, budgets->bucket.tokens[way]);
    for (size_t i = 0; i < charged->n; i++) {
        const struct sc_use *use = charged->list[i];
        left = left_of(left, way == SC_NET_OUT ? use->rule->bytes_out : use->rule->bytes_in, use->bytes[way]);
        if (use->rule->bytes_per_second)
            left = sc_min_u64(left, use->bucket.tokens[way]);
    }
    return (size_t)left;
}

bool sc_budgets_wait(const struct sc_budgets *budgets, const struct sc_charged *charged, enum sc_net_way way)
{
    if (budgets->net->bytes_per_second && budgets->bucket.tokens[way] == 0)
        return true;
    for (size_t i = 0; i < charged->n; i++)
        if (charged->list[i]->rule->bytes_per_second && charged->list[i]->bucket.tokens[way] == 0)
            return true;
    return false;
}

static void take(struct sc_bucket *bucket, enum sc_net_way way, size_t moved)
{
    bucket->tokens[way] -= sc_min_u64(bucket->tokens[way], moved);
}

void sc_budgets_count(struct sc_budgets *budgets, const struct sc_charged *charged, enum sc_net_way way,
                      size_t moved)
{
    budgets->bytes[way] += moved;
    take(&budgets->bucket, way, moved);
    for (size_t i = 0; i < charged->n; i++) {
        charged->list[i]->bytes[way] += moved;
        take(&charged->list[i]->bucket, way, moved);
    }
}

static void refill(struct sc_bucket *bucket, uint64_t rate, uint64_t now_ns)
{
    uint64_t passed = sc_min_u64(now_ns - bucket->refilled_ns, BURST_NS);
    uint64_t add = rate / 1000000 * passed / 1000 + rate % 1000000 * passed / SC_NS_PER_S;
    uint64_t most = sc_max_u64(rate / 10, BURST_LEAST);
    if (!add)
        return;
    bucket->refilled_ns = now_ns;
    for (int way = SC_NET_OUT; way <= SC_NET_IN; way++)
        bucket->tokens[way] = sc_min_u64(bucket->tokens[way] + add, most);
}

void sc_budgets_refill(struct sc_budgets *budgets, uint64_t now_ns)
{
    refill(&budgets->bucket, budgets->net->bytes_per_second, now_ns);
    for (size_t i = 0; i < budgets->n_uses; i++)
        refill(&budgets->uses[i].bucket, budgets->uses[i].rule->bytes_per_second, now_ns);
}
