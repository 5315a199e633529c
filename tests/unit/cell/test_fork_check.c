/* Each thing that is looked at from outside before a fork may go on: a process that is as it has to be but
 * for this one thing is refused, and this is named. With processes of our own, which take no part in being
 * looked at: as a fork would that wants to pass for sealed.
 *
 * CapEff and CapAmb are looked at, too, and have no case: the kernel keeps both within CapPrm. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/sys.h"
#include "cell/live_parts.h"
#include "cell/run.h"

#define OWN_ID 54321 /* nobody's */

static const struct {
    const char *what;
    uint64_t namespaces; /* of its own */
    bool at_home;        /* where it is, is where it has to be */
} CASES[] = {
    {"ns/user", CLONE_NEWUSER, false},
    {"ns/pid", CLONE_NEWPID, false},
    {"ns/time", CLONE_NEWTIME, false},
    {"ns/net", CLONE_NEWNET, false},
    {"ns/ipc", CLONE_NEWIPC, false},
    {"ns/cgroup", CLONE_NEWCGROUP, false},
    {"ns/uts", CLONE_NEWUTS, false},
    {"root", 0, false},
    {"ns/mnt", CLONE_NEWNS, true}, /* its root is on a mount of its own, too, which is looked at first */
    {"user id", 0, false},
    {"group id", 0, false},
    {"supplementary groups", 0, false},
    {"CapInh", 0, false},
    {"CapPrm", 0, false},
    {"CapBnd", 0, false},
    {"no_new_privs", 0, false},
    {"system-call filter", 0, false},
    {"one thread", 0, false},
    {"process number", CLONE_NEWPID, true},
};

/* ---- the process ---- */

static void must(int r)
{
    if (r < 0)
        _exit(1);
}

/* While the bounding set still allows it; no change of ids takes it away. */
static void inherit_one(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2];
    must((int)syscall(SYS_capget, &header, sets));
    sets[0].inheritable = 1;
    must((int)syscall(SYS_capset, &header, sets));
}

static void set_capabilities(uint32_t permitted, uint32_t inheritable)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct sets[2] = {{0, permitted, inheritable}, {0}};
    must((int)syscall(SYS_capset, &header, sets));
}

static void load_filter(void)
{
    struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {1, all};
    must((int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

static void drop_bounds(void)
{
    for (int cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
        ;
}

static void *stay(void *unused)
{
    pause();
    return unused;
}

/* All that a sealed process is, but for one thing. */
static void become(const char *but)
{
    const gid_t group = OWN_ID;
    pthread_t thread;
#define IF_NOT(name) if (strcmp(but, name) != 0)
    if (!strcmp(but, "ns/user"))
        return; /* it has no such id there, and this is looked at first */
    if (!strcmp(but, "root"))
        must(chroot("/tmp"));
    if (!strcmp(but, "CapInh"))
        inherit_one();
    IF_NOT("no_new_privs") must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    IF_NOT("system-call filter") load_filter();
    IF_NOT("CapBnd") drop_bounds();
    must(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0));
    must(setgroups(strcmp(but, "supplementary groups") ? 0 : 1, &group));
    IF_NOT("group id") must(setresgid(OWN_ID, OWN_ID, OWN_ID));
    IF_NOT("user id") must(setresuid(OWN_ID, OWN_ID, OWN_ID));
    set_capabilities(strcmp(but, "CapPrm") ? 0 : 1, strcmp(but, "CapInh") ? 0 : 1);
    IF_NOT("one thread") return;
    must(-pthread_create(&thread, NULL, stay, NULL));
#undef IF_NOT
}

/* Returns its number when it has become what it is to be. */
static pid_t start(const char *but, uint64_t namespaces)
{
    struct sc_clone_args args = {.flags = namespaces, .exit_signal = SIGCHLD};
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
    assert_true(pid >= 0);
    if (pid == 0) {
        become(but);
        must((int)write(ready[1], "r", 1));
        stay(NULL);
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1)
        fail_msg("%s: it did not come so far", but);
    close(ready[0]);
    return pid;
}

static void end_process(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* ---- the look ---- */

static void note_places(struct sc_live *live, pid_t pid)
{
    static const char *const places[SC_ADOPT_COUNT] = {
        [SC_ADOPT_USER] = "ns/user", [SC_ADOPT_PID] = "ns/pid", [SC_ADOPT_TIME] = "ns/time",
        [SC_ADOPT_NET] = "ns/net",   [SC_ADOPT_IPC] = "ns/ipc", [SC_ADOPT_CGROUP] = "ns/cgroup",
        [SC_ADOPT_UTS] = "ns/uts",   [SC_ADOPT_ROOT] = "root"};
    char path[32];
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(folder >= 0);
    for (int i = SC_ADOPT_USER; i <= SC_ADOPT_ROOT; i++)
        assert_true(sc_live_fork_place(folder, places[i], &live->fork.places[i]));
    close(folder);
}

/* A cell whose agent and programs are where we are. */
static void begin_live(struct sc_live *live, struct sc_works *works, struct sc_plan *plan)
{
    memset(live, 0, sizeof *live);
    memset(works, 0, sizeof *works);
    memset(plan, 0, sizeof *plan);
    plan->host = the_host();
    works->tmpl.vacant_ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    assert_true(works->tmpl.vacant_ns >= 0);
    live->works = works;
    live->plan = plan;
    live->cell.pid = getpid();
    live->cell.space.host_uid = OWN_ID;
    note_places(live, getpid());
}

static void each_thing_is_looked_at(void **state)
{
    struct sc_live live;
    struct sc_works works;
    struct sc_plan plan;
    (void)state;
    need_root();
    begin_live(&live, &works, &plan);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const char *what = "nothing";
        pid_t inside, pid = start(CASES[i].what, CASES[i].namespaces);
        note_places(&live, CASES[i].at_home ? pid : getpid());
        int r = sc_live_fork_check(&live, pid, &inside, &what);
        end_process(pid);
        assert_string_equal(what, CASES[i].what);
        assert_int_equal(r, -EPERM);
    }
    close(works.tmpl.vacant_ns);
}

/* The twin: with nothing amiss it may go on, and its number is told. */
static void who_is_all_that_may_go_on(void **state)
{
    struct sc_live live;
    struct sc_works works;
    struct sc_plan plan;
    const char *what = "nothing";
    pid_t inside = 0;
    (void)state;
    need_root();
    begin_live(&live, &works, &plan);
    pid_t pid = start("nothing", 0);
    int r = sc_live_fork_check(&live, pid, &inside, &what);
    end_process(pid);
    assert_string_equal(what, "nothing");
    assert_int_equal(r, 0);
    assert_int_equal(inside, pid);
    assert_int_equal(sc_live_fork_check(&live, pid, &inside, &what), -ESRCH);
    close(works.tmpl.vacant_ns);
}

/* Where cells have a profile, who has none may not go on, also where the kernel has no word of profiles. */
static void who_has_no_profile_may_not_go_on(void **state)
{
    struct sc_live live;
    struct sc_works works;
    struct sc_plan plan;
    const char *what = "nothing";
    pid_t inside = 0;
    (void)state;
    need_root();
    begin_live(&live, &works, &plan);
    plan.apparmor = true;
    pid_t pid = start("nothing", 0);
    int r = sc_live_fork_check(&live, pid, &inside, &what);
    end_process(pid);
    close(works.tmpl.vacant_ns);
    assert_string_equal(what, the_host()->apparmor_enabled ? "AppArmor profile" : "nothing");
    assert_int_equal(r, the_host()->apparmor_enabled ? -EPERM : -EINVAL);
    assert_int_equal(inside, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, note_traces, expect_no_traces)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_thing_is_looked_at),
        TEST(who_is_all_that_may_go_on),
        TEST(who_has_no_profile_may_not_go_on),
    };
    return _cmocka_run_group_tests("fork check", tests, sizeof tests / sizeof tests[0], NULL, NULL);
}
