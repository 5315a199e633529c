/* The same rules given to libseccomp, whose compiler has nothing in common with ours: same verdicts. It has
 * no order of rules and one default, so each call is asked of the one of two programs that can express it. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"

#define VECTORS 200

/* How libseccomp can say what the rules of a call say. */
enum form {
    FORM_PLAIN,   /* one verdict whatever the arguments: in `by_default_refused`, exactly */
    FORM_ALLOWED, /* allowed in listed cases: in `by_default_refused`, whether it is allowed */
    FORM_REFUSED, /* refused in listed cases: in `by_default_allowed`, whether it is allowed */
    FORM_NONE,    /* both kinds mixed */
};

struct oracle {
    scmp_filter_ctx ctx;
    struct sc_buf code;
    struct sc_filter filter;
};

/* libseccomp refuses notify for some calls; tracing stands for it here, and is not used otherwise. */
#define STANDS_FOR_NOTIFY SCMP_ACT_TRACE(1)
/* Unknown numbers. libseccomp takes no rule that says the same as its default. */
#define BY_DEFAULT SCMP_ACT_ERRNO(ENOSYS)

static uint32_t action_of(const struct sc_filter_rule *rule)
{
    if (!rule)
        return SCMP_ACT_ERRNO(EPERM);
    if (rule->verdict == SC_FILTER_ALLOW)
        return SCMP_ACT_ALLOW;
    return rule->verdict == SC_FILTER_DENY ? SCMP_ACT_ERRNO((uint32_t)rule->error) : STANDS_FOR_NOTIFY;
}

static enum form form_of(const struct sc_filter_policy *policy, int nr)
{
    bool allows = false, refuses = false, ends_allowed = false;

    for (size_t i = 0; i < policy->n_rules; i++) {
        const struct sc_filter_rule *rule = &policy->rules[i];
        if (rule->nr != nr)
            continue;
        ends_allowed = rule->verdict == SC_FILTER_ALLOW && rule->n_conds == 0;
        if (rule->verdict != SC_FILTER_ALLOW)
            refuses = refuses || rule->n_conds;
        else if (rule->n_conds && refuses)
            return FORM_NONE; /* an allowing rule behind a refusing one: order matters */
        else
            allows = allows || rule->n_conds;
    }
    if (ends_allowed && allows)
        return FORM_NONE;
    return ends_allowed && refuses ? FORM_REFUSED : allows ? FORM_ALLOWED : refuses ? FORM_NONE : FORM_PLAIN;
}

static void add(struct oracle *o, uint32_t action, int nr, unsigned n, const struct scmp_arg_cmp *cmps)
{
    int r = seccomp_rule_add_exact_array(o->ctx, action, nr, n, cmps);

    if (r < 0)
        fail_msg("libseccomp: call %d: %s", nr, strerror(-r));
}

/* Every combination of values, since libseccomp has no lists; "has any of these bits" is one rule a bit. */
static void add_combinations(struct oracle *o, const struct sc_filter_rule *rule, size_t at,
                             struct scmp_arg_cmp *cmps)
{
    const struct sc_filter_cond *cond;

    if (at >= rule->n_conds || at >= SC_FILTER_CONDS_MAX) {
        add(o, action_of(rule), rule->nr, (unsigned)at, cmps);
        return;
    }
    cond = &rule->conds[at];
    if (cond->negated) {
        assert_true(cond->n_values == 1 && cond->values[0] == 0);
        for (unsigned bit = 0; bit < 64; bit++)
            if (cond->mask >> bit & 1) {
                cmps[at] = SCMP_CMP64(cond->arg, SCMP_CMP_MASKED_EQ, 1ull << bit, 1ull << bit);
                add_combinations(o, rule, at + 1, cmps);
            }
        return;
    }
    for (size_t i = 0; i < cond->n_values; i++) {
        cmps[at] = SCMP_CMP64(cond->arg, SCMP_CMP_MASKED_EQ, cond->mask, cond->values[i]);
        add_combinations(o, rule, at + 1, cmps);
    }
}

static void add_call(struct oracle *refused, struct oracle *allowed, const struct sc_filter_policy *policy,
                     int nr)
{
    enum form form = form_of(policy, nr);
    struct scmp_arg_cmp cmps[SC_FILTER_CONDS_MAX];
    const struct sc_filter_rule *plain = NULL;

    for (size_t i = 0; i < policy->n_rules; i++) {
        const struct sc_filter_rule *rule = &policy->rules[i];
        if (rule->nr != nr)
            continue;
        if (rule->n_conds == 0)
            plain = rule;
        else if (form == FORM_ALLOWED && rule->verdict == SC_FILTER_ALLOW)
            add_combinations(refused, rule, 0, cmps);
        else if (form == FORM_REFUSED)
            add_combinations(allowed, rule, 0, cmps);
    }
    if (form == FORM_PLAIN && action_of(plain) != BY_DEFAULT)
        add(refused, action_of(plain), nr, 0, NULL);
}

static void oracle_open(struct oracle *o, uint32_t by_default)
{
    o->ctx = seccomp_init(by_default);
    assert_non_null(o->ctx);
    assert_int_equal(seccomp_attr_set(o->ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS), 0);
}

static void oracle_export(struct oracle *o)
{
    int fd = memfd_create("oracle", MFD_CLOEXEC);
    char path[32];

    assert_true(fd >= 0);
    assert_int_equal(seccomp_export_bpf(o->ctx, fd), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    sc_buf_init(&o->code, 1u << 20);
    assert_int_equal(sc_buf_read_file(&o->code, AT_FDCWD, path), 0);
    close(fd);
    o->filter = (struct sc_filter){.name = "oracle",
                                   .insns = (const struct sock_filter *)(const void *)o->code.data,
                                   .n_insns = (uint16_t)(o->code.len / sizeof(struct sock_filter))};
}

static void oracle_close(struct oracle *o)
{
    sc_buf_fini(&o->code);
    seccomp_release(o->ctx);
}

static void compare(const struct sc_filter_policy *policy, const struct sc_filter *ours,
                    const struct oracle *oracle, int nr, bool exactly)
{
    for (unsigned k = 0; k < VECTORS; k++) {
        uint64_t args[6];

        arguments_near(policy, nr, k, args);
        uint32_t got = sc_filter_evaluate(ours, AUDIT_ARCH_X86_64, nr, args);
        uint32_t expected = sc_filter_evaluate(&oracle->filter, AUDIT_ARCH_X86_64, nr, args);
        if (got == SECCOMP_RET_USER_NOTIF)
            got = STANDS_FOR_NOTIFY;
        if (exactly ? got != expected : (got == SECCOMP_RET_ALLOW) != (expected == SECCOMP_RET_ALLOW))
            fail_msg("%s: call %d, arguments %u: libseccomp 0x%x, we 0x%x", policy->name, nr, k, expected,
                     got);
    }
}

static void compare_profile(const struct sc_filter_policy *policy, const struct sc_filter *ours)
{
    struct oracle refused, allowed;

    oracle_open(&refused, BY_DEFAULT);
    oracle_open(&allowed, SCMP_ACT_ALLOW);
    for (size_t i = 0; i < f.arch.n_calls; i++)
        add_call(&refused, &allowed, policy, f.arch.calls[i].nr);
    oracle_export(&refused);
    oracle_export(&allowed);
    for (int nr = -1; nr <= 600; nr++) {
        enum form form = form_of(policy, nr);
        if (form == FORM_NONE)
            assert_int_equal(nr, SYS_ioctl); /* the one call that needs order; test_filter_compile has it */
        else
            compare(policy, ours, form == FORM_REFUSED ? &allowed : &refused, nr, form == FORM_PLAIN);
    }
    for (int nr = 0; nr <= 600; nr++)
        compare(policy, ours, &refused, nr | 0x40000000, true); /* x32 */
    oracle_close(&refused);
    oracle_close(&allowed);
}

static void test_default_as_libseccomp_has_it(void **state)
{
    (void)state;
    compare_profile(f.policies[0], &f.filters[0]);
}

static void test_compute_as_libseccomp_has_it(void **state)
{
    (void)state;
    compare_profile(f.policies[1], &f.filters[1]);
}

/* Our own table of newer calls says what a libseccomp that knows them says. */
static void test_numbers_are_libseccomps(void **state)
{
    (void)state;
    for (size_t i = 0; i < f.arch.n_calls; i++) {
        int nr = seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, f.arch.calls[i].name);
        if (nr != __NR_SCMP_ERROR)
            assert_int_equal(nr, f.arch.calls[i].nr);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_as_libseccomp_has_it),
        cmocka_unit_test(test_compute_as_libseccomp_has_it),
        cmocka_unit_test(test_numbers_are_libseccomps),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
