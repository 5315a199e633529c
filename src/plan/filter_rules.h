/* A system-call policy in memory: what the parser makes and the compiler reads. Used when Snapcell is built
 * and by tests; a cell only ever sees the finished program (plan/filter.h). */
#ifndef SC_PLAN_FILTER_RULES_H
#define SC_PLAN_FILTER_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/filter.h"

/* More numbers than any kernel has; bounds the tables made from them. */
#define SC_FILTER_NR_MAX 1024
#define SC_FILTER_CONDS_MAX 4
#define SC_FILTER_VALUES_MAX 48

struct sc_filter_call {
    const char *name;
    int nr;
};

/* One table of system calls. Arguments are read as on a little-endian machine. */
struct sc_filter_arch {
    const char *name;
    uint32_t audit_arch;
    bool has_x32; /* numbers with bit 30 belong to a second ABI, which ends the process */
    const struct sc_filter_call *calls;
    size_t n_calls;
};

enum sc_filter_verdict {
    SC_FILTER_ALLOW,
    SC_FILTER_DENY,   /* refused with `error` */
    SC_FILTER_NOTIFY, /* refused with `error` by the supervisor, who records it */
    SC_FILTER_ONCE,   /* the supervisor lets the first one go on, and refuses the rest with `error` */
    SC_FILTER_ANSWER, /* the supervisor answers in the kernel's place */
};

struct sc_filter_rule {
    int nr;
    const char *call; /* the arch's name for it */
    enum sc_filter_verdict verdict;
    int error;                                        /* positive errno; 0 for ALLOW and ANSWER */
    struct sc_filter_cond conds[SC_FILTER_CONDS_MAX]; /* all must hold */
    size_t n_conds;
    size_t section;
    unsigned line;
    const struct sc_filter_rule *taken_from; /* the base's rule, or NULL for one of its own */
};

struct sc_filter_section {
    char name[24];
    char hint[160];
};

/* Rules in file order: the first of a call whose conditions hold decides. A call without one that holds is
 * refused with EPERM, or with ENOSYS when the arch has no such number. */
struct sc_filter_policy {
    char name[24];
    struct sc_filter_section *sections;
    size_t n_sections;
    struct sc_filter_rule *rules;
    size_t n_rules;
    uint64_t **value_lists; /* what the rules' conditions point into */
    size_t n_value_lists;
};

/* The arch's highest number; the call of that name or number, or NULL. */
int sc_filter_arch_highest(const struct sc_filter_arch *arch);
const struct sc_filter_call *sc_filter_arch_by_name(const struct sc_filter_arch *arch, const char *name);
const struct sc_filter_call *sc_filter_arch_by_nr(const struct sc_filter_arch *arch, int nr);

/* Whether the supervisor knows how to answer this call (src/cell/notices_answer.c does it). */
bool sc_filter_answerable(const char *call);

/* Names that policies may use instead of numbers ("AF_UNIX"), and of errors ("ENOSYS"). 0, or -ENOENT. */
int sc_filter_constant(const char *name, uint64_t *ret_value);
int sc_filter_errno(const char *name, int *ret_error);

#endif
