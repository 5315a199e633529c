/* The compiled tree says what the rules say, and the built-in filters are those rules. */
#include "fixture.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/buf.h"
#include "plan/filter_built.h"

#define VECTORS 200

static const int ODD_NUMBERS[] = {-1,         -2,         INT32_MIN,  472,         500,
                                  600,        1023,       1024,       0x3fffffff,  0x40000000,
                                  0x40000001, 0x400001ff, 0x7fffffff, -0x40000000, -0x40000001};

static uint32_t ask(const struct sc_filter_program *program, uint32_t arch, int nr, const uint64_t args[6])
{
    const struct sc_filter filter = {.name = "t", .insns = program->insns, .n_insns = program->n_insns};

    return sc_filter_evaluate(&filter, arch, nr, args);
}

static void compare_one(const struct sc_filter_policy *policy, const struct sc_filter_program *program,
                        int nr, unsigned vectors)
{
    for (unsigned k = 0; k < vectors; k++) {
        uint64_t args[6];

        arguments_near(policy, nr, k, args);
        uint32_t expected = linear_verdict(policy, &f.arch, nr, args);
        uint32_t got = ask(program, AUDIT_ARCH_X86_64, nr, args);
        if (expected != got)
            fail_msg("%s: call %d, arguments %u (0x%llx 0x%llx 0x%llx): rules say 0x%x, program 0x%x",
                     policy->name, nr, k, (unsigned long long)args[0], (unsigned long long)args[1],
                     (unsigned long long)args[2], expected, got);
    }
}

static void compare_all(const struct sc_filter_policy *policy, const struct sc_filter_program *program,
                        unsigned vectors)
{
    check_program(program);
    for (int nr = 0; nr <= 600; nr++)
        compare_one(policy, program, nr, vectors);
    for (size_t i = 0; i < sizeof ODD_NUMBERS / sizeof *ODD_NUMBERS; i++)
        compare_one(policy, program, ODD_NUMBERS[i], 2);
}

static void compile_and_compare(const char *text, unsigned vectors)
{
    struct sc_filter_policy *policy = parse_or_fail(&f.arch, NULL, text);
    static struct sc_filter_program program;
    struct sc_err err = {0};

    if (sc_filter_compile(policy, &f.arch, &program, &err) < 0)
        fail_msg("%s", err.message);
    compare_all(policy, &program, vectors);
    sc_filter_policy_free(policy);
}

#define P "profile t  # r\nsection s  # r\n"

static void test_small_policies(void **state)
{
    (void)state;
    compile_and_compare("profile t  # r\n", 2);
    compile_and_compare(P "allow read  # r\n", 2);
    compile_and_compare(P "allow read, rseq_slice_yield  # r\nnotify mount  # r\ndeny ENOSYS clone3  # r\n",
                        2);
    compile_and_compare(P "deny read if arg0.32 == 7  # r\nallow read  # r\n", VECTORS);
    compile_and_compare(P "allow read if arg0.64 == 7  # r\n", VECTORS);
    compile_and_compare(P "allow read if arg0.64 & 0xff00000000000000 != 0  # r\n", VECTORS);
    compile_and_compare(P "allow read if arg1.64 & 0x100000002 not in 2, 0x100000000  # r\n", VECTORS);
    compile_and_compare(
        P "deny read if arg0.32 & 6 != 0 and arg1.32 not in 1, 2, 3  # r\nonce read if arg0.32 & 6 == 0 "
          "and arg0.32 in 1, 8, 9  # r\n",
        VECTORS);
    compile_and_compare(P "allow read, write, close if arg0.32 == 3  # r\nallow open if arg0.32 == 3  # r\n",
                        VECTORS);
}

static void test_real_policies(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        compare_all(f.policies[i], &f.programs[i], VECTORS);
}

static void test_built_in_filters_are_the_policy_files(void **state)
{
    (void)state;
    assert_int_equal(sc_filters_built_n, 4);
    for (int i = 0; i < 2; i++) {
        const struct sc_filter *built = sc_filter_for((enum sc_profile)i);
        assert_string_equal(built->name, f.filters[i].name);
        assert_int_equal(built->n_insns, f.filters[i].n_insns);
        assert_memory_equal(built->insns, f.filters[i].insns, built->n_insns * sizeof *built->insns);
    }
}

/* What a program that can be forked has beyond `default`: entering one namespace at a time, of those that can
 * be its child's, and a root. */
static void compare_forkable(bool zygote)
{
    const struct sc_filter *ordinary = sc_filter_for(SC_PROFILE_DEFAULT),
                           *forkable = sc_filter_forkable(zygote);
    static const uint64_t kinds[] = {0x10000000, 0x20000000, 0x80,      0x40000000,
                                     0x08000000, 0x04000000, 0x02000000};
    static const uint64_t others[] = {0, 0x00020000, 0x30000000, 0x10020000, 1};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const uint64_t args[6] = {3, kinds[i]};
        assert_int_equal(sc_filter_evaluate(forkable, AUDIT_ARCH_X86_64, SYS_setns, args), SECCOMP_RET_ALLOW);
        assert_int_equal(sc_filter_evaluate(ordinary, AUDIT_ARCH_X86_64, SYS_setns, args),
                         SECCOMP_RET_USER_NOTIF);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const uint64_t args[6] = {3, others[i]};
        assert_int_equal(sc_filter_evaluate(forkable, AUDIT_ARCH_X86_64, SYS_setns, args),
                         SECCOMP_RET_USER_NOTIF);
    }
    for (int nr = 0; nr < 600; nr++)
        for (uint64_t flags = 0; flags < 64; flags++) {
            const uint64_t args[6] = {flags << 25, flags, flags};
            if (nr != SYS_setns && nr != SYS_chroot)
                assert_int_equal(sc_filter_evaluate(forkable, AUDIT_ARCH_X86_64, nr, args),
                                 sc_filter_evaluate(ordinary, AUDIT_ARCH_X86_64, nr, args));
        }
}

static void test_forkable_allows_entering_and_nothing_else(void **state)
{
    (void)state;
    static const uint64_t route[6] = {16, 3, 0}, tcp[6] = {2, 1, 0};
    for (int zygote = 0; zygote < 2; zygote++) {
        compare_forkable(zygote);
        const struct sc_filter *forkable = sc_filter_forkable(zygote);
        assert_int_equal(sc_filter_evaluate(forkable, AUDIT_ARCH_X86_64, SYS_socket, tcp), SECCOMP_RET_ALLOW);
        assert_int_equal(sc_filter_evaluate(forkable, AUDIT_ARCH_X86_64, SYS_socket, route),
                         zygote ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EPROTONOSUPPORT);
    }
}

static void test_foreign_abis_end_the_process(void **state)
{
    const uint64_t args[6] = {0};

    (void)state;
    for (int i = 0; i < 2; i++)
        for (int nr = -1; nr <= 600; nr++) {
            assert_int_equal(ask(&f.programs[i], AUDIT_ARCH_I386, nr, args), SECCOMP_RET_KILL_PROCESS);
            assert_int_equal(ask(&f.programs[i], AUDIT_ARCH_AARCH64, nr, args), SECCOMP_RET_KILL_PROCESS);
            if (nr >= 0)
                assert_int_equal(ask(&f.programs[i], AUDIT_ARCH_X86_64, nr | 0x40000000, args),
                                 SECCOMP_RET_KILL_PROCESS);
        }
}

/* What `compute` lets go on, once or always, `default` allows. */
static void test_compute_lies_within_default(void **state)
{
    (void)state;
    for (int nr = 0; nr <= 600; nr++)
        for (unsigned k = 0; k < 2 * VECTORS; k++) {
            uint64_t args[6];

            arguments_near(f.policies[k % 2], nr, k / 2, args);
            uint32_t compute = ask(&f.programs[1], AUDIT_ARCH_X86_64, nr, args);
            bool once = compute == SECCOMP_RET_USER_NOTIF && (nr == SYS_execve || nr == SYS_execveat);
            if ((compute == SECCOMP_RET_ALLOW || once) &&
                ask(&f.programs[0], AUDIT_ARCH_X86_64, nr, args) != SECCOMP_RET_ALLOW)
                fail_msg("compute lets call %d through, default does not", nr);
        }
}

static void test_compute_allows_what_it_names(void **state)
{
    static const int refused[] = {SYS_socket,   SYS_socketpair, SYS_connect, SYS_bind,
                                  SYS_listen,   SYS_accept,     SYS_accept4, SYS_execve,
                                  SYS_execveat, SYS_shmget,     SYS_mq_open, SYS_ptrace};
    static const int agent[] = {SYS_fork,
                                SYS_vfork,
                                SYS_clone,
                                SYS_setresuid,
                                SYS_setresgid,
                                SYS_setgroups,
                                SYS_capset,
                                SYS_dup2,
                                SYS_dup3,
                                SYS_sendmsg,
                                SYS_recvmsg,
                                SYS_read,
                                SYS_write,
                                SYS_ppoll,
                                SYS_poll,
                                SYS_waitid,
                                SYS_wait4,
                                SYS_kill,
                                SYS_exit,
                                SYS_signalfd4,
                                SYS_openat,
                                SYS_close_range,
                                SYS_pidfd_open,
                                SYS_landlock_create_ruleset,
                                SYS_landlock_add_rule,
                                SYS_landlock_restrict_self,
                                SYS_exit_group,
                                SYS_rt_sigaction,
                                SYS_rt_sigprocmask,
                                SYS_pidfd_send_signal};
    const uint64_t args[6] = {0};

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_int_not_equal(ask(&f.programs[1], AUDIT_ARCH_X86_64, refused[i], args), SECCOMP_RET_ALLOW);
    for (size_t i = 0; i < sizeof agent / sizeof *agent; i++)
        assert_int_equal(ask(&f.programs[1], AUDIT_ARCH_X86_64, agent[i], args), SECCOMP_RET_ALLOW);
}

/* --- random policies --- */

static const char *const ERRNOS[] = {"EPERM", "ENOSYS", "EINVAL", "EACCES"};

static void random_cond(struct sc_buf *text, uint64_t *state)
{
    bool wide = next_random(state) % 3 == 0;
    uint64_t mask = wide ? UINT64_MAX : UINT32_MAX;
    unsigned values = next_random(state) % 4 == 0 ? 1 + next_random(state) % 12 : 1;

    sc_buf_printf(text, "arg%u.%s", (unsigned)(next_random(state) % 3), wide ? "64" : "32");
    if (next_random(state) % 2) {
        mask &= next_random(state) | 1;
        sc_buf_printf(text, " & 0x%llx", (unsigned long long)mask);
    }
    sc_buf_add_str(text, next_random(state) % 2 ? " not in " : " in ");
    for (unsigned i = 0; i < values; i++) {
        uint64_t small = next_random(state) % 3 ? next_random(state) % 4 : next_random(state);
        sc_buf_printf(text, "%s0x%llx", i ? ", " : "", (unsigned long long)(small & mask));
    }
}

/* A rule for one call; tells whether it decided the call for good. */
static bool random_rule(struct sc_buf *text, const char *call, uint64_t *state)
{
    static const char *const verdicts[] = {"allow", "deny", "notify", "once", "answer"};
    bool answerable = sc_filter_answerable(call);
    unsigned verdict = next_random(state) % (answerable ? 5 : 4), conds = next_random(state) % 4;

    sc_buf_printf(text, "%s %s %s", verdicts[verdict],
                  verdict == 1 || verdict == 2 ? ERRNOS[next_random(state) % 4] : "", call);
    for (unsigned i = 0; i < conds; i++) {
        sc_buf_add_str(text, i ? " and " : " if ");
        random_cond(text, state);
    }
    sc_buf_add_str(text, "  # r\n");
    return conds == 0;
}

static void random_policy(struct sc_buf *text, unsigned rules, uint64_t seed)
{
    bool decided[600] = {false};
    uint64_t state = seed;

    sc_buf_add_str(text, P);
    while (rules-- > 0) {
        /* few calls get many rules, and some lie next to each other */
        size_t i = next_random(&state) % 3 ? next_random(&state) % 20 : next_random(&state) % f.arch.n_calls;
        if (!decided[i])
            decided[i] = random_rule(text, f.arch.calls[i].name, &state);
    }
}

static void test_random_policies(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        struct sc_buf text;

        sc_buf_init(&text, SC_FILTER_POLICY_MAX);
        random_policy(&text, 1 + round * 4, round);
        compile_and_compare((const char *)text.data, 30);
        sc_buf_fini(&text);
    }
}

/* Argument checks far longer than a jump reaches, on both sides of the tree. */
static void long_policy(struct sc_buf *text, unsigned rules)
{
    sc_buf_add_str(text, P);
    for (unsigned i = 0; i < rules; i++) {
        sc_buf_printf(text, "deny EINVAL %s if arg1.64 in ", i % 2 ? "open" : "listns");
        for (unsigned k = 0; k < 40; k++)
            sc_buf_printf(text, "%s0x%x", k ? ", " : "", 100 * i + k);
        sc_buf_add_str(text, "  # r\n");
    }
    sc_buf_add_str(text, "allow open, listns, close  # r\n");
}

static void test_long_jumps(void **state)
{
    struct sc_buf text;

    (void)state;
    sc_buf_init(&text, SC_FILTER_POLICY_MAX);
    long_policy(&text, 16);
    compile_and_compare((const char *)text.data, 100);
    sc_buf_fini(&text);
}

static void test_too_long_is_an_error(void **state)
{
    static struct sc_filter_program program;
    struct sc_err err = {0};
    struct sc_buf text;

    (void)state;
    sc_buf_init(&text, SC_FILTER_POLICY_MAX);
    long_policy(&text, 60);
    struct sc_filter_policy *policy = parse_or_fail(&f.arch, NULL, (const char *)text.data);
    assert_int_equal(sc_filter_compile(policy, &f.arch, &program, &err), -EINVAL);
    assert_non_null(strstr(err.message, "more than 4096 instructions"));
    assert_int_equal(program.n_insns, 0);
    sc_filter_policy_free(policy);
    sc_buf_fini(&text);
}

static unsigned longest_path(const struct sc_filter_program *program)
{
    unsigned longest = 0;

    for (int nr = 0; nr <= 471; nr++) {
        unsigned pc = 0, steps = 0;
        uint32_t a = 0;
        for (;; steps++) {
            const struct sock_filter *i = &program->insns[pc];
            if (BPF_CLASS(i->code) == BPF_RET || (BPF_CLASS(i->code) == BPF_LD && i->k >= 16))
                break;
            if (BPF_CLASS(i->code) == BPF_LD)
                a = i->k == 4 ? AUDIT_ARCH_X86_64 : (uint32_t)nr;
            pc += 1 + (i->code == BPF_JMP + BPF_JA ? i->k
                       : BPF_OP(i->code) == BPF_JGE && BPF_CLASS(i->code) == BPF_JMP
                           ? (a >= i->k ? i->jt : i->jf)
                           : (BPF_CLASS(i->code) == BPF_JMP ? (a == i->k ? i->jt : i->jf) : 0));
        }
        longest = steps > longest ? steps : longest;
    }
    return longest;
}

/* The kernel walks this path for each number at load: the figure that the tree is built for. */
static void test_paths_stay_short(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_true(longest_path(&f.programs[i]) <= 16);
        assert_true(f.programs[i].n_insns <= 512);
    }
}

/* --- notices --- */

static void check_notice(enum sc_profile profile, int nr, uint64_t a0, uint64_t a1, const char *rule,
                         int error, const char *about)
{
    const uint64_t args[6] = {a0, a1};
    const struct sc_filter_notice *notice = sc_filter_notice_for(sc_filter_for(profile), nr, args);
    char text[64];

    assert_int_equal(sc_filter_evaluate(sc_filter_for(profile), AUDIT_ARCH_X86_64, nr, args),
                     SECCOMP_RET_USER_NOTIF);
    assert_non_null(notice);
    assert_string_equal(notice->rule, rule);
    assert_int_equal(notice->answer_errno, error);
    sc_filter_describe(nr, args, text, sizeof text);
    assert_string_equal(text, about);
}

static void test_notices_tell_rule_and_errno(void **state)
{
    (void)state;
    check_notice(SC_PROFILE_DEFAULT, SYS_unshare, 0x10000000, 0, "default:namespaces", EPERM,
                 "flags 0x10000000");
    check_notice(SC_PROFILE_DEFAULT, SYS_clone, 0x20011, 0, "default:namespaces", EPERM, "flags 0x20011");
    check_notice(SC_PROFILE_DEFAULT, SYS_socket, 40, 1, "default:sockets", EAFNOSUPPORT,
                 "family 40, type 1, protocol 0");
    check_notice(SC_PROFILE_DEFAULT, SYS_socket, 2, 3 | 0x80000, "default:sockets", EPERM,
                 "family 2, type 3, protocol 0");
    check_notice(SC_PROFILE_DEFAULT, SYS_ioctl, 0, 0x100005412, "default:terminal", EPERM, "command 0x5412");
    check_notice(SC_PROFILE_DEFAULT, SYS_ioctl, 3, 0x8914, "default:network-setup", EPERM, "command 0x8914");
    check_notice(SC_PROFILE_DEFAULT, SYS_mknod, 0, 020600, "default:special-files", EPERM, "mode 020600");
    check_notice(SC_PROFILE_COMPUTE, SYS_socket, 1, 1, "compute:no-network", EPERM,
                 "family 1, type 1, protocol 0");
    check_notice(SC_PROFILE_COMPUTE, SYS_execve, 1, 1, "compute:no-programs", EPERM, "");
    check_notice(SC_PROFILE_COMPUTE, SYS_bpf, 0, 0, "compute:kernel-access", EPERM, "command 0");
}

static enum sc_filter_notice_kind kind_of(enum sc_profile profile, int nr)
{
    const struct sc_filter_notice *notice = sc_filter_find_notice(sc_filter_for(profile), nr);

    assert_non_null(notice);
    return notice->kind;
}

static void test_notices_tell_what_to_do(void **state)
{
    (void)state;
    assert_int_equal(kind_of(SC_PROFILE_DEFAULT, SYS_mount), SC_NOTICE_REFUSE);
    assert_int_equal(kind_of(SC_PROFILE_COMPUTE, SYS_execve), SC_NOTICE_ONCE);
    for (int i = 0; i < 2; i++) {
        const struct sc_filter *filter = sc_filter_for((enum sc_profile)i);
        assert_int_equal(kind_of((enum sc_profile)i, SYS_sysinfo), SC_NOTICE_ANSWER);
        for (size_t n = 0; n < filter->n_notices; n++) {
            const struct sc_filter_notice *notice = &filter->notices[n];
            bool answered = notice->kind == SC_NOTICE_ANSWER;
            assert_int_equal(answered, notice->answer_errno == 0);
            assert_true(!answered || sc_filter_answerable(notice->action));
        }
    }
}

/* Whatever the program reports, there is a notice for, and the other way round; texts fit into a denial. */
static void test_every_report_has_its_notice(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct sc_filter *filter = sc_filter_for((enum sc_profile)i);
        for (int nr = 0; nr <= 600; nr++)
            for (unsigned k = 0; k < VECTORS; k++) {
                uint64_t args[6];

                arguments_near(f.policies[i], nr, k, args);
                if (sc_filter_evaluate(filter, AUDIT_ARCH_X86_64, nr, args) != SECCOMP_RET_USER_NOTIF)
                    continue;
                assert_non_null(sc_filter_notice_for(filter, nr, args));
                assert_non_null(sc_filter_find_notice(filter, nr));
            }
        for (size_t n = 0; n < filter->n_notices; n++) {
            assert_true(strlen(filter->notices[n].rule) < 64 && strlen(filter->notices[n].hint) < 160);
            assert_true(strlen(filter->notices[n].action) < 48);
        }
        assert_null(sc_filter_find_notice(filter, SYS_read));
    }
}

static void test_odd_programs_end_the_process(void **state)
{
    static const struct sock_filter unknown[] = {{BPF_ALU | BPF_MUL | BPF_K, 0, 0, 3},
                                                 {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
    static const struct sock_filter open_end[] = {{BPF_JMP | BPF_JA, 0, 0, 9}};
    const struct sc_filter a = {.insns = unknown, .n_insns = 2}, b = {.insns = open_end, .n_insns = 1};
    const uint64_t args[6] = {0};

    (void)state;
    assert_int_equal(sc_filter_evaluate(&a, AUDIT_ARCH_X86_64, 0, args), SECCOMP_RET_KILL_PROCESS);
    assert_int_equal(sc_filter_evaluate(&b, AUDIT_ARCH_X86_64, 0, args), SECCOMP_RET_KILL_PROCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_policies),
        cmocka_unit_test(test_real_policies),
        cmocka_unit_test(test_built_in_filters_are_the_policy_files),
        cmocka_unit_test(test_forkable_allows_entering_and_nothing_else),
        cmocka_unit_test(test_foreign_abis_end_the_process),
        cmocka_unit_test(test_compute_lies_within_default),
        cmocka_unit_test(test_compute_allows_what_it_names),
        cmocka_unit_test(test_random_policies),
        cmocka_unit_test(test_long_jumps),
        cmocka_unit_test(test_too_long_is_an_error),
        cmocka_unit_test(test_paths_stay_short),
        cmocka_unit_test(test_notices_tell_rule_and_errno),
        cmocka_unit_test(test_notices_tell_what_to_do),
        cmocka_unit_test(test_every_report_has_its_notice),
        cmocka_unit_test(test_odd_programs_end_the_process),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
