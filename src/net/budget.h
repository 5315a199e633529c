/* How much may pass: the budgets of the cell, and of each rule that has some. A connection is charged to the
 * rules by which it is allowed, one of each layer. */
#ifndef SC_NET_BUDGET_H
#define SC_NET_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/rules.h"

enum sc_net_way { SC_NET_OUT, SC_NET_IN };

/* Bytes that may pass now, each way; filled as time passes. */
struct sc_bucket {
    uint64_t tokens[2], refilled_ns;
};

/* What of one rule's budgets is in use. */
struct sc_use {
    const struct sc_net_rule *rule;
    uint64_t connections, bytes[2];
    struct sc_bucket bucket;
};

struct sc_budgets {
    const struct sc_net *net; /* whose budgets these are; borrowed */
    uint64_t bytes[2];
    struct sc_bucket bucket;
    struct sc_use *uses; /* of rules that have budgets, in all layers */
    size_t n_uses;
};

/* What one connection is charged to. Meaningless after sc_budgets_renew. */
struct sc_charged {
    struct sc_use *list[SC_NET_LAYERS_MAX];
    size_t n;
};

/* A budget that is used up. `why` NULL: none is. */
struct sc_spent {
    const char *rule, *why; /* borrowed from the rules, or static */
};

/* Other rules, or the first ones. What passed by a rule that had the same text before counts on; connections
 * have to be charged again. 0 or -ENOMEM, and then nothing is changed. The old rules are needed until it
 * returns. */
int sc_budgets_renew(struct sc_budgets *budgets, const struct sc_net *net);
/* Charges a connection that is charged to nothing. Where a rule has no room it stays so. */
struct sc_spent sc_budgets_charge(struct sc_budgets *budgets, struct sc_charged *charged,
                                  const struct sc_net_rule *const *rules, size_t n_rules);
void sc_budgets_release(struct sc_charged *charged);
struct sc_spent sc_budgets_spent(const struct sc_budgets *budgets, const struct sc_charged *charged);
/* How many bytes, at most `most`, may pass this way now; 0 where it is only for a while is told by
 * sc_budgets_wait. */
size_t sc_budgets_allowance(const struct sc_budgets *budgets, const struct sc_charged *charged,
                            enum sc_net_way way, size_t most);
bool sc_budgets_wait(const struct sc_budgets *budgets, const struct sc_charged *charged, enum sc_net_way way);
void sc_budgets_count(struct sc_budgets *budgets, const struct sc_charged *charged, enum sc_net_way way,
                      size_t moved);
void sc_budgets_refill(struct sc_budgets *budgets, uint64_t now_ns);

#endif
