/* The policy language: what it takes, and what it says to what it does not take. */
#include "fixture.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "mkfilter_calls.h"

#define P "profile t  # r\nsection s \"a hint\"  # r\n"

static void test_a_rule_is_read_whole(void **state)
{
    (void)state;
    struct sc_filter_policy *p = parse_or_fail(
        &f.arch, NULL,
        "# comment\n\n" P
        "deny ENOSYS clone, socket if arg0.32 & 0x30 == 0x10|0x20 and arg5.64 not in 1, AF_INET6  # why\n");

    assert_string_equal(p->name, "t");
    assert_int_equal(p->n_sections, 1);
    assert_string_equal(p->sections[0].name, "s");
    assert_string_equal(p->sections[0].hint, "a hint");
    assert_int_equal(p->n_rules, 2);
    const struct sc_filter_rule *rule = &p->rules[1];
    assert_string_equal(rule->call, "socket");
    assert_int_equal(rule->nr, 41);
    assert_int_equal(rule->verdict, SC_FILTER_DENY);
    assert_int_equal(rule->error, ENOSYS);
    assert_int_equal(rule->line, 5);
    assert_int_equal(rule->n_conds, 2);
    assert_int_equal(rule->conds[0].mask, 0x30);
    assert_int_equal(rule->conds[0].values[0], 0x30);
    assert_false(rule->conds[0].wide);
    assert_false(rule->conds[0].negated);
    assert_int_equal(rule->conds[1].arg, 5);
    assert_true(rule->conds[1].wide);
    assert_true(rule->conds[1].negated);
    assert_int_equal(rule->conds[1].mask, UINT64_MAX);
    assert_int_equal(rule->conds[1].n_values, 2);
    assert_int_equal(rule->conds[1].values[1], 10);
    sc_filter_policy_free(p);
}

static void test_default_error_is_eperm(void **state)
{
    (void)state;
    struct sc_filter_policy *p = parse_or_fail(
        &f.arch, NULL,
        P "deny mount  # r\nnotify bpf  # r\nallow read  # r\nonce execve  # r\nanswer sysinfo  # r\n");

    assert_int_equal(p->rules[0].error, EPERM);
    assert_int_equal(p->rules[1].error, EPERM);
    assert_int_equal(p->rules[2].error, 0);
    assert_int_equal(p->rules[3].error, EPERM); /* of the second and all later ones */
    assert_int_equal(p->rules[4].verdict, SC_FILTER_ANSWER);
    assert_int_equal(p->rules[4].error, 0);
    sc_filter_policy_free(p);
}

static void test_messages_name_line_token_and_what_is_allowed(void **state)
{
    static const char *const bad[][2] = {
        {"", "no 'profile NAME'"},
        {"section s  # r\n", "test.policy:1: 'section' before 'profile NAME'"},
        {"profile t\n", "test.policy:1: no reason: end the line with '# why'"},
        {"profile t  #  \n", "no reason"},
        {"profile t  # r\nallow read  # r\n", "test.policy:2: a rule before the first 'section'"},
        {"profile t  # r\nprofile u  # r\n", "a second 'profile'"},
        {"profile t under u  # r\n", "'under' after the profile's name: 'within' and 'over' are allowed"},
        {"profile t over u  # r\n", "over 'u': '(nothing)' is allowed"},
        {"profile t within u  # r\n", "within 'u': '(nothing)' is allowed"},
        {"profile aaaaaaaaaaaaaaaaaaaaaaaaa  # r\n", "too long: at most 23 bytes"},
        {P "section s  # r\n", "a second section 's'"},
        {P "section \"s\"  # r\n", "where a section's name is expected"},
        {P "section q \"open  # r\n", "'\"' is missing"},
        {P "alow read  # r\n", "test.policy:3: 'alow' is no statement: allow, deny, notify, once, answer, "
                               "section, take are allowed"},
        {P "answer uname  # r\n", "test.policy:3: 'answer' for 'uname', which the supervisor cannot answer"},
        {P "answer sysinfo, read  # r\n", "'answer' for 'read', which the supervisor cannot answer"},
        {P "answer EPERM sysinfo  # r\n", "only 'deny' and 'notify' have an error"},
        {P "allow raed  # r\n", "'raed' is no system call of x86_64"},
        {P "allow  # r\n", "the end of the line where a system call is expected"},
        {P "allow read,  # r\n", "the end of the line where a system call is expected"},
        {P "allow read write  # r\n", "'write' after the call: ',' or 'if' are allowed"},
        {P "allow EPERM read  # r\n", "only 'deny' and 'notify' have an error"},
        {P "deny EWHAT read  # r\n", "'EWHAT' is no error"},
        {P "allow read  # r\nallow read  # r\n", "'read' is never asked here: line 3 has decided it"},
        {P "allow read if arg0 == 1  # r\n", "'arg0' is no argument: arg0 to arg5 with .32"},
        {P "allow read if arg6.32 == 1  # r\n", "'arg6.32' is no argument"},
        {P "allow read if arg0.32 = 1  # r\n",
         "'=' is no comparison: '==', '!=', 'in' and 'not in' are allowed"},
        {P "allow read if arg0.32 not 1  # r\n", "'not in' is allowed"},
        {P "allow read if arg0.32 == 1, 2  # r\n", "',' is too much in this statement"},
        {P "allow read if arg0.32 == 12x  # r\n", "'12x' is no number"},
        {P "allow read if arg0.32 == 0x10000000000000000  # r\n", "is no number"},
        {P "allow read if arg0.32 == AF_VSOKC  # r\n", "'AF_VSOKC' is no constant"},
        {P "allow read if arg0.32 == 0x100000000  # r\n", "has bits outside of 0xffffffff"},
        {P "allow read if arg0.32 & 6 == 1  # r\n", "has bits outside of 0x6 and could never match"},
        {P "allow read if arg0.32 & 0 == 0  # r\n", "a mask of 0 looks at nothing"},
        {P "allow read if arg0.32 ==  # r\n", "the end of the line where a number or a constant is expected"},
        {P "allow read if arg0.32 == 1 or arg1.32 == 2  # r\n", "'or' is too much"},
        {P "allow read if arg0.32 == 0 and arg1.32 == 0 and arg2.32 == 0 and arg3.32 == 0 and arg4.32 == 0  "
           "# r\n",
         "more than 4 conditions"},
        {P "take files  # r\n", "'take' in a profile that is not 'within' another"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        parse_refused(&f.arch, NULL, bad[i][0], bad[i][1]);
}

static void test_long_lines_and_lists_are_refused(void **state)
{
    struct sc_buf text;

    (void)state;
    sc_buf_init(&text, 4096);
    sc_buf_printf(&text, P "%1500s", "a");
    parse_refused(&f.arch, NULL, (const char *)text.data, "a line of 1500 bytes: at most 1023");
    sc_buf_fini(&text);

    sc_buf_init(&text, 4096);
    sc_buf_add_str(&text, P "allow read if arg0.32 in 0");
    for (int i = 0; i < SC_FILTER_VALUES_MAX; i++)
        sc_buf_add_str(&text, ", 1");
    sc_buf_add_str(&text, "  # r\n");
    parse_refused(&f.arch, NULL, (const char *)text.data, "more than 48 values: split the rule");
    sc_buf_fini(&text);
}

static void test_a_bound_profile_can_only_take_and_refuse(void **state)
{
    struct sc_filter_policy *base =
        parse_or_fail(&f.arch, NULL,
                      "profile base  # r\nsection guard  # r\nnotify clone if arg0.32 & 2 != 0  # r\n"
                      "section run  # r\nallow clone, fork  # r\nsection io  # r\nallow read, execve  # "
                      "r\ndeny mount  # r\n");
#define B "profile t within base  # r\nsection s  # r\n"
    (void)state;
    parse_refused(&f.arch, base, B "allow read  # r\n", "'allow' in a profile within 'base'");
    parse_refused(&f.arch, base, B "answer sysinfo  # r\n", "'answer' in a profile within 'base'");
    parse_refused(&f.arch, base, B "once mount  # r\n", "'once' for 'mount', which 'base' does not allow");
    parse_refused(&f.arch, base, B "once write  # r\n", "'once' for 'write', which 'base' does not allow");
    parse_refused(&f.arch, base, B "once clone  # r\n", "'once' for 'clone', which 'base' does not allow");
    parse_refused(&f.arch, base, B "take nothing  # r\n", "'nothing' is no section of 'base'");
    parse_refused(&f.arch, base, B "take io  # r\ntake io  # r\n", "a second section 'io'");
    parse_refused(&f.arch, base, B "take run  # r\n",
                  "'clone' is taken in part or in another order: section 'guard' of 'base' speaks of it too");
    parse_refused(&f.arch, base, B "take guard  # r\n", "'clone' is taken in part");
    parse_refused(&f.arch, base, B "take run  # r\ntake guard  # r\n", "'clone' is never asked here");
    parse_refused(&f.arch, base, B "take io  # r\ndeny read  # r\n", "'read' is never asked here");
    parse_refused(&f.arch, base, "profile t within other  # r\n", "within 'other': 'base' is allowed");

    struct sc_filter_policy *p =
        parse_or_fail(&f.arch, base, B "once execve  # r\ndeny clone  # r\ntake run  # r\ntake io  # r\n");
    const uint64_t args[6] = {0};
    assert_int_equal(p->n_rules, 5); /* execve, clone, fork, read, mount */
    assert_int_equal(linear_verdict(p, &f.arch, 56, args), 0x00050001);
    assert_int_equal(linear_verdict(p, &f.arch, 57, args), 0x7fff0000);
    sc_filter_policy_free(p);
    sc_filter_policy_free(base);
}

static void test_a_profile_over_another_is_all_of_it_behind_its_own(void **state)
{
    (void)state;
    struct sc_filter_policy *base = parse_or_fail(
        &f.arch, NULL,
        "profile base  # r\nsection guard \"hint\"  # r\nnotify clone if arg0.32 & 2 != 0  # r\n"
        "deny mount  # r\nsection run  # r\nallow clone, fork  # r\n");
#define O "profile t over base  # r\n"
    parse_refused(&f.arch, base, O "take run  # r\n", "'take' in a profile that is not 'within' another");
    parse_refused(&f.arch, base, "profile t over other  # r\n", "over 'other': 'base' is allowed");
    parse_refused(&f.arch, base, O "section run  # r\nallow read  # r\n", "a second section 'run'");
    struct sc_filter_policy *p = parse_or_fail(
        &f.arch, base, O "section own  # r\nallow clone if arg0.32 == 2  # r\nallow mount  # r\n");
    const uint64_t plain[6] = {0}, marked[6] = {2}, both[6] = {3};
    assert_int_equal(linear_verdict(p, &f.arch, 56, plain), 0x7fff0000);
    assert_int_equal(linear_verdict(p, &f.arch, 56, marked), 0x7fff0000); /* its own rule comes first */
    assert_int_equal(linear_verdict(p, &f.arch, 56, both), 0x7fc00000);   /* and then the base's */
    assert_int_equal(linear_verdict(p, &f.arch, 165, plain), 0x7fff0000);
    assert_int_equal(linear_verdict(p, &f.arch, 57, plain), 0x7fff0000);
    sc_filter_policy_free(p);
    sc_filter_policy_free(base);
}

static void test_constants_are_the_headers(void **state)
{
#define C(name)                                                                                              \
    {                                                                                                        \
#name, (uint32_t)name                                                                                \
    }
    static const struct {
        const char *name;
        uint32_t value;
    } known[] = {
        C(CLONE_NEWNS),
        C(CLONE_NEWCGROUP),
        C(CLONE_NEWUTS),
        C(CLONE_NEWIPC),
        C(CLONE_NEWUSER),
        C(CLONE_NEWPID),
        C(CLONE_NEWNET),
        C(AF_UNIX),
        C(AF_INET),
        C(AF_INET6),
        C(AF_NETLINK),
        C(AF_PACKET),
        C(SOCK_STREAM),
        C(SOCK_DGRAM),
        C(SOCK_RAW),
        C(SOCK_SEQPACKET),
        C(IPPROTO_TCP),
        C(IPPROTO_UDP),
        C(IPPROTO_MPTCP),
        C(S_IFMT),
        C(S_IFREG),
        C(S_IFIFO),
        C(S_IFSOCK),
        C(MADV_MERGEABLE),
        C(ADDR_NO_RANDOMIZE),
        C(SCHED_OTHER),
        C(SCHED_BATCH),
        C(SCHED_IDLE),
        C(PRIO_PROCESS),
        C(PR_SET_PDEATHSIG),
        C(PR_SET_DUMPABLE),
        C(PR_SET_NAME),
        C(PR_GET_SECCOMP),
        C(PR_SET_SECCOMP),
        C(PR_CAPBSET_READ),
        C(PR_CAPBSET_DROP),
        C(PR_SET_SECUREBITS),
        C(PR_SET_TIMERSLACK),
        C(PR_SET_MM),
        C(PR_SET_CHILD_SUBREAPER),
        C(PR_SET_NO_NEW_PRIVS),
        C(PR_GET_TID_ADDRESS),
        C(PR_SET_THP_DISABLE),
        C(PR_CAP_AMBIENT),
        C(PR_GET_SPECULATION_CTRL),
        C(PR_SET_IO_FLUSHER),
        C(PR_SCHED_CORE),
        C(PR_SET_VMA),
        C(PR_SET_PTRACER),
        C(TIOCSTI),
        C(TIOCLINUX),
        C(TIOCCONS),
        C(TIOCSSERIAL),
        C(TIOCSETD),
        C(TIOCVHANGUP),
        C(TIOCSERCONFIG),
        C(FIOSETOWN),
        C(SIOCSPGRP),
        C(FIOGETOWN),
        C(SIOCGPGRP),
        C(SIOCATMARK),
        C(SIOCGSTAMP_OLD),
        C(SIOCGSTAMPNS_OLD),
        C(SIOCGIFNAME),
        C(SIOCGIFCONF),
        C(SIOCGIFFLAGS),
        C(SIOCGIFADDR),
        C(SIOCGIFDSTADDR),
        C(SIOCGIFBRDADDR),
        C(SIOCGIFNETMASK),
        C(SIOCGIFMETRIC),
        C(SIOCGIFMTU),
        C(SIOCGIFHWADDR),
        C(SIOCGIFINDEX),
        C(SIOCGIFTXQLEN),
        C(SIOCETHTOOL),
        C(SIOCOUTQNSD),
        C(SIOCGIFMAP),
        C(FIBMAP),
        C(FICLONE),
        C(FICLONERANGE),
        C(FIDEDUPERANGE),
        C(FIFREEZE),
        C(FITHAW),
        C(FITRIM),
        C(FS_IOC_GETFLAGS),
        C(FS_IOC_FIEMAP),
        C(FS_IOC_FSSETXATTR),
    };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint64_t value = 0;
        if (sc_filter_constant(known[i].name, &value) < 0 || value != known[i].value)
            fail_msg("%s is 0x%x, not 0x%llx", known[i].name, known[i].value, (unsigned long long)value);
    }
}

static void test_call_table(void **state)
{
    struct sc_filter_arch other;

    (void)state;
    assert_int_equal(sc_filter_arch_highest(&f.arch), 471);
    assert_int_equal(sc_filter_arch_by_name(&f.arch, "read")->nr, 0);
    assert_int_equal(sc_filter_arch_by_name(&f.arch, "uretprobe")->nr, 335);
    assert_int_equal(sc_filter_arch_by_name(&f.arch, "open_tree_attr")->nr, 467);
    assert_string_equal(sc_filter_arch_by_nr(&f.arch, 435)->name, "clone3");
    assert_null(sc_filter_arch_by_nr(&f.arch, 400)); /* never given out */
    for (int nr = 424; nr <= 471; nr++)
        assert_non_null(sc_filter_arch_by_nr(&f.arch, nr));
    assert_int_equal(sc_mkfilter_arch_init("aarch64", &other), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_rule_is_read_whole),
        cmocka_unit_test(test_default_error_is_eperm),
        cmocka_unit_test(test_messages_name_line_token_and_what_is_allowed),
        cmocka_unit_test(test_long_lines_and_lists_are_refused),
        cmocka_unit_test(test_a_bound_profile_can_only_take_and_refuse),
        cmocka_unit_test(test_a_profile_over_another_is_all_of_it_behind_its_own),
        cmocka_unit_test(test_constants_are_the_headers),
        cmocka_unit_test(test_call_table),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
