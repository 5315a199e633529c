/* Real groups with real processes in them; needs root (or a delegated group named in SNAPCELL_CGROUP_PARENT).
 *
 * Every test makes its groups below a parent of its own, "<SNAPCELL_CGROUP_PARENT or /snapcell>/unit-<pid>",
 * and ends by proving that nothing is left there. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"
#include "cell/group.h"
#include "plan/cgroup_values.h"

#define MIB (1024 * 1024)

static struct sc_host host;
static struct sc_plan plan;
static bool usable;

static void make_plan(uint64_t memory, uint64_t tasks, const char *pin)
{
    struct sc_limits limits = {
        .memory = memory, .tasks = tasks, .cpus = 2000, .io_read = SC_UNSET, .io_write = SC_UNSET};
    struct sc_err err = {0};
    memset(&plan, 0, sizeof plan);
    plan.host = &host;
    int n = sc_plan_cgroup_values(&host, &limits, pin, false, plan.cgroup, SC_PLAN_CGROUP_MAX, &err);
    if (n < 0)
        fail_msg("%s", err.message);
    plan.n_cgroup = (size_t)n;
}

static void open_group(struct sc_group *group)
{
    struct sc_err err = {0};
    if (sc_group_open(group, &plan, &err) < 0)
        fail_msg("%s", err.message);
}

/* A child that is in the group when this returns; 0 in the child. */
static pid_t fork_into(struct sc_group *group)
{
    int fds[SC_CTL_COUNT], n = sc_group_task_fds(group, fds), joined[2];
    char byte;
    assert_true(n >= 0);
    assert_int_equal(pipe2(joined, O_CLOEXEC), 0);
    struct sc_clone_args args = {.exit_signal = SIGCHLD};
    if (group->v2) {
        args.flags = SC_CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)group->v2_fd;
    }
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int i = 0; i < n; i++)
            if (write(fds[i], "0", 1) != 1)
                _exit(99);
        if (write(joined[1], "j", 1) != 1)
            _exit(98);
    } else {
        assert_int_equal(read(joined[0], &byte, 1), 1);
    }
    close(joined[0]);
    close(joined[1]);
    for (int i = 0; i < n; i++)
        close(fds[i]);
    return pid;
}

static int wait_for(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static int count_groups(void)
{
    int n = 0;
    for (int i = 0; i < SC_CTL_COUNT; i++) {
        DIR *dir = host.controllers[i].version ? opendir(host.controllers[i].dir) : NULL;
        for (struct dirent *entry; dir && (entry = readdir(dir));)
            n += !strncmp(entry->d_name, "snapcell-", 9);
        if (dir)
            closedir(dir);
    }
    return n;
}

static int count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static uint64_t value_in(struct sc_group *group, enum sc_controller controller, const char *v1,
                         const char *v2)
{
    uint64_t value = 0;
    bool is_v2 = group->versions[controller] == SC_CGROUP_V2;
    assert_int_equal(sc_read_u64(group->dir_fds[controller], is_v2 ? v2 : v1, &value), 0);
    return value;
}

static void test_open_and_close(void **state)
{
    (void)state;
    struct sc_group group;
    struct sc_group_usage usage = {0};
    int before = count_fds();
    make_plan(64 * MIB, 10, NULL);
    open_group(&group);
    assert_true(count_groups() > 0);
    assert_int_equal(value_in(&group, SC_CTL_MEMORY, "memory.limit_in_bytes", "memory.max"), 64 * MIB);
    assert_int_equal(value_in(&group, SC_CTL_PIDS, "pids.max", "pids.max"), 11);
    assert_int_equal(sc_group_empty(&group), 1);
    assert_false(sc_group_oom(&group));
    assert_int_equal(sc_group_usage(&group, &usage), 0);
    assert_int_equal(usage.cpu_user_ns + usage.cpu_system_ns, 0);
    assert_int_equal(usage.tasks_refused, 0);
    assert_int_equal(sc_group_close(&group), 0);
    assert_int_equal(sc_group_close(&group), 0); /* twice does no harm */
    assert_int_equal(sc_group_close(NULL), 0);
    assert_int_equal(count_groups(), 0);
    assert_int_equal(count_fds(), before);
}

static void test_many_names(void **state)
{
    (void)state;
    struct sc_group groups[8];
    make_plan(64 * MIB, 10, NULL);
    for (int i = 0; i < 8; i++)
        open_group(&groups[i]);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(groups[i].name, groups[j].name);
    for (int i = 0; i < 8; i++)
        assert_int_equal(sc_group_close(&groups[i]), 0);
}

static void test_cpu_clock(void **state)
{
    (void)state;
    struct sc_group group;
    struct sc_group_usage usage;
    uint64_t ns;
    make_plan(64 * MIB, 10, NULL);
    open_group(&group);
    pid_t pid = fork_into(&group);
    if (pid == 0) {
        struct timespec t;
        do
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        while (t.tv_sec == 0 && t.tv_nsec < 60000000);
        _exit(0);
    }
    assert_int_equal(wait_for(pid), 0);
    assert_int_equal(sc_group_cpu_ns(&group, &ns), 0);
    assert_in_range(ns, 50 * SC_NS_PER_MS, 200 * SC_NS_PER_MS);
    assert_int_equal(sc_group_usage(&group, &usage), 0);
    assert_in_range(usage.cpu_user_ns + usage.cpu_system_ns, 50 * SC_NS_PER_MS, 200 * SC_NS_PER_MS);
    assert_true(usage.memory_peak_bytes > 0 || access("/sys/fs/cgroup/memory.peak", F_OK) < 0);
    assert_int_equal(sc_group_close(&group), 0);
}

/* The limit and one more for the agent. */
static void test_fork_bomb(void **state)
{
    (void)state;
    struct sc_group group;
    struct sc_group_usage usage;
    make_plan(64 * MIB, 7, NULL);
    open_group(&group);
    pid_t pid = fork_into(&group);
    if (pid == 0) {
        int made = 0;
        for (; made < 100; made++) {
            pid_t child = fork();
            if (child == 0) {
                pause();
                _exit(0);
            }
            if (child < 0)
                break;
        }
        _exit(errno == EAGAIN ? made : 98);
    }
    int status = wait_for(pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7); /* itself and seven */
    assert_int_equal(sc_group_empty(&group), 0);
    assert_int_equal(sc_group_usage(&group, &usage), 0);
    assert_true(usage.tasks_refused > 0);
    assert_true(usage.tasks_peak == 0 || usage.tasks_peak == 8);
    assert_int_equal(sc_group_kill(&group), 0);
    assert_int_equal(sc_group_close(&group), 0);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    struct sc_group group;
    struct sc_group_usage usage;
    make_plan(16 * MIB, 10, NULL);
    open_group(&group);
    struct pollfd event = {.fd = group.oom_event_fd, .events = POLLIN};
    assert_true(group.oom_event_fd >= 0);
    assert_int_equal(poll(&event, 1, 0), 0);
    pid_t pid = fork_into(&group);
    if (pid == 0) {
        char *at = mmap(NULL, 128 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (size_t i = 0; at != MAP_FAILED && i < 128 * MIB; i += 4096)
            at[i] = 1;
        _exit(0);
    }
    assert_int_equal(poll(&event, 1, 10000), 1);
    int status = wait_for(pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_true(sc_group_oom(&group));
    assert_int_equal(sc_group_usage(&group, &usage), 0);
    assert_true(usage.memory_peak_bytes == 0 || usage.memory_peak_bytes > 15 * MIB);
    /* Asking has quieted it. */
    assert_int_equal(poll(&event, 1, 0), 0);
    assert_int_equal(sc_group_close(&group), 0);
}

/* A kill from elsewhere is no evidence of memory. */
static void test_killed_is_not_oom(void **state)
{
    (void)state;
    struct sc_group group;
    make_plan(64 * MIB, 10, NULL);
    open_group(&group);
    pid_t pid = fork_into(&group);
    if (pid == 0) {
        raise(SIGKILL);
        _exit(0);
    }
    assert_true(WIFSIGNALED(wait_for(pid)));
    assert_false(sc_group_oom(&group));
    assert_int_equal(sc_group_close(&group), 0);
}

static void test_kill(void **state)
{
    (void)state;
    struct sc_group group;
    pid_t pids[20];
    make_plan(64 * MIB, 32, NULL);
    open_group(&group);
    for (int i = 0; i < 20; i++)
        if ((pids[i] = fork_into(&group)) == 0) {
            signal(SIGTERM, SIG_IGN);
            setsid();
            pause();
            _exit(0);
        }
    assert_int_equal(sc_group_empty(&group), 0);
    assert_int_equal(sc_group_kill(&group), 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(WTERMSIG(wait_for(pids[i])), SIGKILL);
    assert_int_equal(sc_group_empty(&group), 1);
    assert_int_equal(sc_group_close(&group), 0);
}

/* Forks as fast as it can, and each child does the same. */
static void test_kill_fork_bomb(void **state)
{
    (void)state;
    struct sc_group group;
    make_plan(64 * MIB, 64, NULL);
    open_group(&group);
    pid_t pid = fork_into(&group);
    if (pid == 0) {
        for (;;)
            fork();
    }
    uint64_t end = sc_now_ns() + 5 * SC_NS_PER_S;
    struct sc_group_usage usage = {0};
    while (!usage.tasks_refused && sc_now_ns() < end)
        assert_int_equal(sc_group_usage(&group, &usage), 0);
    assert_int_equal(sc_group_kill(&group), 0);
    assert_int_equal(WTERMSIG(wait_for(pid)), SIGKILL);
    assert_int_equal(sc_group_close(&group), 0);
}

static void test_pin(void **state)
{
    (void)state;
    struct sc_group group;
    if (!host.controllers[SC_CTL_CPUSET].version)
        skip();
    make_plan(64 * MIB, 10, "0");
    open_group(&group);
    pid_t pid = fork_into(&group);
    if (pid == 0) {
        cpu_set_t set;
        _exit(sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) == 1 && CPU_ISSET(0, &set) ? 0
                                                                                                        : 1);
    }
    assert_int_equal(wait_for(pid), 0);
    assert_int_equal(sc_group_close(&group), 0);
}

static void test_refused_value(void **state)
{
    (void)state;
    struct sc_group group;
    struct sc_err err = {0};
    int before = count_fds();
    make_plan(64 * MIB, 10, NULL);
    snprintf(plan.cgroup[plan.n_cgroup - 1].value, sizeof plan.cgroup[0].value, "nonsense");
    assert_int_equal(sc_group_open(&group, &plan, &err), -EINVAL);
    assert_int_equal(err.kind, SC_ERR_SANDBOX);
    assert_non_null(strstr(err.message, "nonsense"));
    assert_int_equal(count_groups(), 0);
    assert_int_equal(count_fds(), before);
}

static void test_missing_file(void **state)
{
    (void)state;
    struct sc_group group;
    struct sc_err err = {0};
    make_plan(64 * MIB, 10, NULL);
    plan.cgroup[plan.n_cgroup - 1].file = "no.such.file";
    assert_int_equal(sc_group_open(&group, &plan, &err), -ENOENT);
    assert_int_equal(count_groups(), 0);
}

/* A group with a process in it stays, is reported, and the next sweep does not take it from its living maker.
 */
static void test_sweep_spares_the_living(void **state)
{
    (void)state;
    struct sc_group group;
    make_plan(64 * MIB, 10, NULL);
    open_group(&group);
    int before = count_groups();
    assert_int_equal(sc_group_sweep(&host), 0);
    assert_int_equal(count_groups(), before);
    assert_int_equal(sc_group_close(&group), 0);
}

/* The maker dies without a word and leaves a process in its group. */
static void test_sweep_takes_the_stale(void **state)
{
    (void)state;
    make_plan(64 * MIB, 10, NULL);
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t maker = fork();
    if (maker == 0) {
        struct sc_group group;
        if (sc_group_open(&group, &plan, NULL) < 0)
            _exit(1);
        close(ends[0]);
        int fds[SC_CTL_COUNT], n = sc_group_task_fds(&group, fds);
        struct sc_clone_args args = {.flags = group.v2 ? SC_CLONE_INTO_CGROUP : 0,
                                     .exit_signal = SIGCHLD,
                                     .cgroup = group.v2 ? (uint64_t)group.v2_fd : 0};
        if (syscall(SYS_clone3, &args, sizeof args) == 0) {
            for (int i = 0; i < n; i++)
                if (write(fds[i], "0", 1) != 1)
                    _exit(2);
            sc_write_all(ends[1], "x", 1);
            pause();
        }
        raise(SIGKILL);
    }
    close(ends[1]);
    assert_true(WIFSIGNALED(wait_for(maker)));
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_true(count_groups() > 0);
    assert_true(sc_group_sweep(&host) > 0);
    assert_int_equal(count_groups(), 0);
    /* The survivor held the other end. */
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
}

static void test_foreign_names(void **state)
{
    (void)state;
    static const char *const names[] = {"snapcell-x", "snapcell-1", "snapcell-0-1-1-1",
                                        "snapcell-999999-1-1-1", "other"};
    int memory = open(host.controllers[SC_CTL_MEMORY].dir, O_RDONLY | O_DIRECTORY);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(mkdirat(memory, names[i], 0755), 0);
    assert_int_equal(sc_group_sweep(&host), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(unlinkat(memory, names[i], AT_REMOVEDIR), 0);
    close(memory);
}

static char parent[128];

static void set_up(void)
{
    const char *below = getenv("SNAPCELL_CGROUP_PARENT");
    struct sc_host_options options = {.cgroup_parent = parent};
    struct sc_err err = {0};
    snprintf(parent, sizeof parent, "%s/unit-%d", below ? below : "/snapcell", (int)getpid());
    if (sc_host_probe(&host, &options, &err) < 0) {
        print_message("SKIP: %s\n", err.message);
        return;
    }
    usable = host.controllers[SC_CTL_MEMORY].version && host.controllers[SC_CTL_PIDS].version &&
             host.controllers[SC_CTL_CPU].version;
    if (!usable)
        print_message("SKIP: memory: %s; pids: %s; cpu: %s\n", host.controllers[SC_CTL_MEMORY].why,
                      host.controllers[SC_CTL_PIDS].why, host.controllers[SC_CTL_CPU].why);
}

/* Orphans come to us (main makes us their reaper): each test's were killed by then. */
static int tear_down(void **state)
{
    (void)state;
    while (waitpid(-1, NULL, 0) > 0)
        ;
    int left = count_groups();
    for (int i = 0; i < SC_CTL_COUNT; i++)
        if (host.controllers[i].version)
            rmdir(host.controllers[i].dir);
    return left;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_and_close),
        cmocka_unit_test(test_many_names),
        cmocka_unit_test(test_cpu_clock),
        cmocka_unit_test(test_fork_bomb),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_killed_is_not_oom),
        cmocka_unit_test(test_kill),
        cmocka_unit_test(test_kill_fork_bomb),
        cmocka_unit_test(test_pin),
        cmocka_unit_test(test_refused_value),
        cmocka_unit_test(test_missing_file),
        cmocka_unit_test(test_sweep_spares_the_living),
        cmocka_unit_test(test_sweep_takes_the_stale),
        cmocka_unit_test(test_foreign_names),
    };
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    set_up();
    if (!usable)
        return 77;
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
