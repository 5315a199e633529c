/* Policy → classic BPF: a binary search over ranges of call numbers, argument checks at its leaves. */
#ifndef SC_PLAN_FILTER_COMPILE_H
#define SC_PLAN_FILTER_COMPILE_H

#include <linux/filter.h>

#include "base/err.h"
#include "plan/filter_rules.h"

#define SC_FILTER_INSNS_MAX 4096 /* the kernel's BPF_MAXINSNS */

struct sc_filter_program {
    struct sock_filter insns[SC_FILTER_INSNS_MAX];
    uint16_t n_insns;
};

/* 0, or -EINVAL when the policy does not fit into a program. */
int sc_filter_compile(const struct sc_filter_policy *policy, const struct sc_filter_arch *arch,
                      struct sc_filter_program *ret_program, struct sc_err *err);

#endif
