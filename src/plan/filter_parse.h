/* Reads policy/syscalls/NAME.policy. The grammar is told in docs/policy.md. */
#ifndef SC_PLAN_FILTER_PARSE_H
#define SC_PLAN_FILTER_PARSE_H

#include "base/err.h"
#include "plan/filter_rules.h"

#define SC_FILTER_POLICY_MAX (256u * 1024)

/* `file` is what messages call it. `base` is the profile that `within` may name, or NULL; it must outlive the
 * result, whose taken rules point into it. 0, or -EINVAL / -ENOMEM with "file:line: what, and what is
 * allowed". */
int sc_filter_parse(const char *file, const char *text, const struct sc_filter_arch *arch,
                    const struct sc_filter_policy *base, struct sc_filter_policy **ret_policy,
                    struct sc_err *err);
void sc_filter_policy_free(struct sc_filter_policy *policy);

#endif
