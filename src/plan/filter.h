/* System-call filters: made from policy/syscalls/ when Snapcell is built, kept as ready BPF programs. */
#ifndef SC_PLAN_FILTER_H
#define SC_PLAN_FILTER_H

#include <stddef.h>
#include <stdint.h>
#include <linux/filter.h>

#include "spec/spec.h"

/* A refused call that is reported to the supervisor (user notification); the supervisor answers `answer_errno`. */
struct sc_filter_notice {
    int nr;             /* system-call number */
    const char *action; /* "unshare", "socket", … for the denial record */
    const char *rule;   /* policy line it comes from, e.g. "default:namespaces" */
    const char *hint;   /* advice, or "" */
    int answer_errno;   /* positive errno; 0: the call may go on once (the first exec under `compute`) */
};

struct sc_filter {
    const char *name; /* profile */
    const struct sock_filter *insns;
    uint16_t n_insns;
    const struct sc_filter_notice *notices;
    size_t n_notices;
};

const struct sc_filter *sc_filter_for(enum sc_profile profile);
const struct sc_filter_notice *sc_filter_find_notice(const struct sc_filter *filter, int nr);

/* What the program says about one call: for tests, `plan` and the sweep. Returns the SECCOMP_RET_* value. */
uint32_t sc_filter_evaluate(const struct sc_filter *filter, uint32_t arch, int nr, const uint64_t args[6]);

#endif
