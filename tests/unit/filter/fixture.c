#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <string.h>

#include "base/buf.h"
#include "mkfilter_calls.h"

static const char *const FILES[2] = {POLICY_DIR "/default.policy", POLICY_DIR "/compute.policy"};

uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

struct fixture f;

static void open_policy(int i)
{
    struct sc_buf text;
    struct sc_err err = {0};

    sc_buf_init(&text, SC_FILTER_POLICY_MAX);
    assert_int_equal(sc_buf_read_file(&text, AT_FDCWD, FILES[i]), 0);
    if (sc_filter_parse(FILES[i], (const char *)text.data, &f.arch, f.policies[0], &f.policies[i], &err) < 0)
        fail_msg("%s", err.message);
    sc_buf_fini(&text);
    if (sc_filter_compile(f.policies[i], &f.arch, &f.programs[i], &err) < 0)
        fail_msg("%s", err.message);
    f.filters[i] = (struct sc_filter){
        .name = f.policies[i]->name, .insns = f.programs[i].insns, .n_insns = f.programs[i].n_insns};
}

int fixture_setup(void **state)
{
    (void)state;
    memset(&f, 0, sizeof f);
    assert_int_equal(sc_mkfilter_arch_init("x86_64", &f.arch), 0);
    open_policy(0);
    open_policy(1);
    return 0;
}

int fixture_teardown(void **state)
{
    (void)state;
    sc_filter_policy_free(f.policies[1]);
    sc_filter_policy_free(f.policies[0]);
    sc_mkfilter_arch_fini(&f.arch);
    return 0;
}

struct sc_filter_policy *parse_or_fail(const struct sc_filter_arch *arch, const struct sc_filter_policy *base,
                                       const char *text)
{
    struct sc_filter_policy *policy = NULL;
    struct sc_err err = {0};

    if (sc_filter_parse("test.policy", text, arch, base, &policy, &err) < 0)
        fail_msg("%s", err.message);
    return policy;
}

void parse_refused(const struct sc_filter_arch *arch, const struct sc_filter_policy *base, const char *text,
                   const char *expected)
{
    struct sc_filter_policy *policy = NULL;
    struct sc_err err = {0};

    assert_int_equal(sc_filter_parse("test.policy", text, arch, base, &policy, &err), -EINVAL);
    assert_null(policy);
    assert_int_equal(err.kind, SC_ERR_USAGE);
    if (!strstr(err.message, expected))
        fail_msg("'%s' is not in: %s", expected, err.message);
}

static bool cond_holds(const struct sc_filter_cond *cond, const uint64_t args[6])
{
    uint64_t value = args[cond->arg];
    bool found = false;

    if (!cond->wide)
        value &= 0xffffffffu;
    for (size_t i = 0; i < cond->n_values; i++)
        found = found || (value & cond->mask) == cond->values[i];
    return found != cond->negated;
}

static uint32_t rule_verdict(const struct sc_filter_rule *rule)
{
    if (rule->verdict == SC_FILTER_ALLOW)
        return SECCOMP_RET_ALLOW;
    return rule->verdict == SC_FILTER_DENY ? SECCOMP_RET_ERRNO + (uint32_t)rule->error
                                           : SECCOMP_RET_USER_NOTIF;
}

uint32_t linear_verdict(const struct sc_filter_policy *policy, const struct sc_filter_arch *arch, int nr,
                        const uint64_t args[6])
{
    for (size_t i = 0; i < policy->n_rules; i++) {
        const struct sc_filter_rule *rule = &policy->rules[i];
        size_t held = 0;

        if (rule->nr != nr)
            continue;
        while (held < rule->n_conds && cond_holds(&rule->conds[held], args))
            held++;
        if (held == rule->n_conds)
            return rule_verdict(rule);
    }
    if (nr != -1 && (nr & 0x40000000))
        return SECCOMP_RET_KILL_PROCESS;
    return SECCOMP_RET_ERRNO + (uint32_t)(sc_filter_arch_by_nr(arch, nr) ? EPERM : ENOSYS);
}

/* Every condition of `nr`, one after the other, endlessly; NULL when there is none. */
static const struct sc_filter_cond *pick_cond(const struct sc_filter_policy *policy, int nr, unsigned arg,
                                              uint64_t *state)
{
    size_t seen = 0;
    const struct sc_filter_cond *picked = NULL;

    for (size_t i = 0; i < policy->n_rules; i++)
        for (size_t k = 0; policy->rules[i].nr == nr && k < policy->rules[i].n_conds; k++)
            if (policy->rules[i].conds[k].arg == arg && next_random(state) % ++seen == 0)
                picked = &policy->rules[i].conds[k];
    return picked;
}

void arguments_near(const struct sc_filter_policy *policy, int nr, unsigned k, uint64_t ret_args[6])
{
    uint64_t state = ((uint64_t)nr << 32) + k;

    for (unsigned arg = 0; arg < 6; arg++) {
        const struct sc_filter_cond *cond = pick_cond(policy, nr, arg, &state);
        uint64_t value = cond ? cond->values[next_random(&state) % cond->n_values] : next_random(&state);
        uint64_t noise = next_random(&state);

        if (k < 2)
            value = k ? UINT64_MAX : 0;
        else if (cond && noise % 8 == 0)
            value ^= 1ull << (noise >> 8) % 64; /* one bit off */
        else if (cond && noise % 8 == 1)
            value |= noise & ~cond->mask; /* bits the rule must not see */
        else if (cond && noise % 8 == 2)
            value |= 1ull << 32;
        ret_args[arg] = value;
    }
}

void check_program(const struct sc_filter_program *program)
{
    assert_true(program->n_insns > 0);
    for (uint32_t pc = 0; pc < program->n_insns; pc++) {
        const struct sock_filter *insn = &program->insns[pc];
        uint32_t next = pc + 1;

        if (BPF_CLASS(insn->code) == BPF_RET)
            continue;
        if (insn->code == (BPF_JMP | BPF_JA))
            next += insn->k;
        else if (BPF_CLASS(insn->code) == BPF_JMP)
            next += insn->jt > insn->jf ? insn->jt : insn->jf;
        assert_true(next < program->n_insns);
    }
}
