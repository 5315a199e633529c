/* System-call filters: made from policy/syscalls/ when Snapcell is built, kept as ready BPF programs. */
#ifndef SC_PLAN_FILTER_H
#define SC_PLAN_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/filter.h>

#include "spec/spec.h"

/* What an argument must be for a rule to speak of the call: (argument & mask) is one of `values`, or none of
 * them. */
struct sc_filter_cond {
    uint8_t arg;  /* 0–5 */
    bool wide;    /* look at all 64 bits; else at the low 32, as the kernel does */
    bool negated; /* none of them */
    uint64_t mask;
    const uint64_t *values;
    size_t n_values;
};

/* What the supervisor does with a call that the filter reports. */
enum sc_filter_notice_kind {
    SC_NOTICE_REFUSE, /* answers `answer_errno` and records it */
    SC_NOTICE_ONCE,   /* lets the cell's first one go on (the first exec under `compute`); later ones are
                         refused */
    SC_NOTICE_ANSWER, /* answers in the kernel's place, for the cell */
};

/* A call that is reported to the supervisor (user notification). */
struct sc_filter_notice {
    int nr;             /* system-call number */
    const char *action; /* "unshare", "socket", … for the denial record */
    const char *rule;   /* policy line it comes from, e.g. "default:namespaces" */
    const char *hint;   /* advice, or "" */
    enum sc_filter_notice_kind kind;
    int answer_errno;                   /* positive errno of a refusal; 0 for ANSWER */
    const struct sc_filter_cond *conds; /* this notice is about calls for which all of these hold */
    size_t n_conds;
};

struct sc_filter {
    const char *name; /* profile */
    const struct sock_filter *insns;
    uint16_t n_insns;
    const struct sc_filter_notice *notices; /* by number; several of one number in policy order */
    size_t n_notices;
};

const struct sc_filter *sc_filter_for(enum sc_profile profile);
/* Of programs that can be forked, and of their cells' agents; loaded without a listener. Of those that
 * run anybody's code unless `zygote`. */
const struct sc_filter *sc_filter_forkable(bool zygote);
const struct sc_filter_notice *sc_filter_find_notice(const struct sc_filter *filter, int nr);
/* The notice a reported call belongs to, by its arguments as the kernel reported them; NULL when there is
 * none. */
const struct sc_filter_notice *sc_filter_notice_for(const struct sc_filter *filter, int nr,
                                                    const uint64_t args[6]);
/* What a reported call was about, for the denial's `resource`: "family 17, type 3, protocol 0", "command
 * 0x5412", or "" where the name says it all. 64 bytes are enough. */
void sc_filter_describe(int nr, const uint64_t args[6], char *ret_text, size_t size);

/* What the program says about one call: for tests, `plan` and the sweep. Returns the SECCOMP_RET_* value. */
uint32_t sc_filter_evaluate(const struct sc_filter *filter, uint32_t arch, int nr, const uint64_t args[6]);

#endif
