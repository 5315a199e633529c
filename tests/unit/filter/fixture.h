/* What the filter tests share: the real policies, and a reading of rules that knows nothing of the compiler.
 */
#ifndef SC_TESTS_FILTER_FIXTURE_H
#define SC_TESTS_FILTER_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "plan/filter_compile.h"
#include "plan/filter_parse.h"

struct fixture {
    struct sc_filter_arch arch;
    struct sc_filter_policy *policies[2]; /* by enum sc_profile */
    struct sc_filter_program programs[2];
    struct sc_filter filters[2]; /* made from the policy files now, not the built-in ones */
};

/* A policy of `text`, compiled: fails the test when it does not parse. */
struct sc_filter_policy *parse_or_fail(const struct sc_filter_arch *arch, const struct sc_filter_policy *base,
                                       const char *text);
/* Parses a policy that must be refused and checks that the message has `expected` in it. */
void parse_refused(const struct sc_filter_arch *arch, const struct sc_filter_policy *base, const char *text,
                   const char *expected);

/* Rule by rule, as docs/policy.md tells it: the SECCOMP_RET_* value for a call of the native ABI. */
uint32_t linear_verdict(const struct sc_filter_policy *policy, const struct sc_filter_arch *arch, int nr,
                        const uint64_t args[6]);
/* Arguments near what the policy's rules of `nr` compare with: number `k` of endlessly many, the same every
 * time. */
void arguments_near(const struct sc_filter_policy *policy, int nr, unsigned k, uint64_t ret_args[6]);
/* Jumps stay inside, the last instruction on each way is an answer: what the kernel checks at load. */
void check_program(const struct sc_filter_program *program);

uint64_t next_random(uint64_t *state);

/* The one of the test program, and what opens and closes it around its tests. */
extern struct fixture f;
int fixture_setup(void **state);
int fixture_teardown(void **state);

#endif
