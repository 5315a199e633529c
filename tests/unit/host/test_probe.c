/* This host, whatever it is: what must hold everywhere, as root and as an ordinary user. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "host/cgroup.h"
#include "host/probe.h"
#include "made_up.h"

static int count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* Probes in a child under another uid, because ids do not come back. */
static void probe_as(uid_t uid, const struct sc_host_options *options, struct sc_host *ret_host,
                     struct sc_err *ret_err)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct sc_host host = {0};
        struct sc_err err = {0};
        int r = 0;
        if (uid != geteuid() && (setgid(uid) < 0 || setuid(uid) < 0))
            _exit(3);
        r = sc_host_probe(&host, options, &err);
        if (r < 0)
            memset(&host, 0, sizeof host);
        sc_write_all(ends[1], &host, sizeof host);
        sc_write_all(ends[1], &err, sizeof err);
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(sc_read_all(ends[0], ret_host, sizeof *ret_host), 0);
    assert_int_equal(sc_read_all(ends[0], ret_err, sizeof *ret_err), 0);
    close(ends[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_leaves_nothing(void **state)
{
    (void)state;
    struct sc_host host;
    struct sc_err err = {0};
    struct sc_host_options options = {.thorough = true, .cgroup_parent = NULL};
    int before = count_fds();
    assert_int_equal(sc_host_probe(&host, &options, &err), 0);
    assert_int_equal(count_fds(), before);
    assert_int_equal(waitpid(-1, NULL, __WALL), -1);
    assert_int_equal(errno, ECHILD);
    assert_true(host.userns_tried);
    assert_true(host.kernel_major >= 3);
    assert_true(host.memory_bytes > 1 << 20);
    assert_true(host.cpus >= 1);
    assert_int_equal(host.maker_pid, getpid());
    assert_true(host.maker_start > 0 && host.maker_pid_ns > 0);
    for (int i = 0; i < SC_CTL_COUNT; i++)
        assert_int_equal(host.controllers[i].version == SC_CGROUP_NONE, host.controllers[i].why[0] != '\0');
}

static void test_quick_as_root(void **state)
{
    (void)state;
    struct sc_host host;
    if (geteuid() != 0)
        skip();
    assert_int_equal(sc_host_probe(&host, NULL, NULL), 0);
    if (!host.root)
        skip();
    assert_false(host.userns_tried);
    assert_false(host.bare_uid0);
    assert_true(host.cell_uid_base > 1000 && host.cell_uid_count >= 256);
}

/* Nothing delegated: reasons, no error. (Ids that no account has.) */
static void test_ordinary_user(void **state)
{
    (void)state;
    struct sc_host host;
    struct sc_err err = {0};
    struct sc_host_options options = {0};
    if (geteuid() != 0)
        skip();
    probe_as(1879048001, &options, &host, &err);
    assert_int_equal(err.kind, SC_ERR_NONE);
    assert_false(host.root);
    assert_false(host.bare_uid0);
    assert_true(host.userns_tried);
    assert_true(host.sub_uid == (uid_t)-1);
    for (int i = 0; i < SC_CTL_COUNT; i++) {
        assert_int_equal(host.controllers[i].version, SC_CGROUP_NONE);
        assert_true(strlen(host.controllers[i].why) > 10);
    }
    /* Asked for by name it is an error. */
    options.cgroup_parent = "/snapcell-test-nobody";
    probe_as(1879048001, &options, &host, &err);
    assert_int_equal(err.kind, SC_ERR_HOST);
    assert_string_equal(err.field, "cgroup-parent");
}

static void count_signal(int signal)
{
    (void)signal;
    _exit(9);
}

static void report_seven(void *arg, int fd)
{
    int seven = 7;
    (void)arg;
    sc_write_all(fd, &seven, sizeof seven);
}

static void die_silently(void *arg, int fd)
{
    (void)arg, (void)fd;
    raise(SIGKILL);
}

/* A caller's SIGCHLD handler never hears of our children. */
static void test_try(void **state)
{
    (void)state;
    int report = 0;
    void (*before)(int) = signal(SIGCHLD, count_signal);
    assert_int_equal(sc_host_try(report_seven, NULL, &report, sizeof report), 0);
    assert_int_equal(report, 7);
    assert_int_equal(sc_host_try(die_silently, NULL, &report, sizeof report), -ENODATA);
    assert_int_equal(report, 7);
    signal(SIGCHLD, before);
}

static void test_start_time(void **state)
{
    (void)state;
    uint64_t mine, again, first;
    assert_int_equal(sc_host_start_time(getpid(), &mine), 0);
    assert_int_equal(sc_host_start_time(getpid(), &again), 0);
    assert_int_equal(mine, again);
    assert_int_equal(sc_host_start_time(1, &first), 0);
    assert_true(first <= mine);
    assert_int_equal(sc_host_start_time(0x3fffff, &first), -ENOENT);
}

/* Without a manager that answers, asking is a clean failure. */
static void test_scope_refused(void **state)
{
    (void)state;
    char why[160] = "";
    if (access("/run/systemd/system", F_OK) == 0)
        skip();
    assert_true(sc_scope_enter(1879048001, why, sizeof why) < 0);
    assert_true(strlen(why) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leaves_nothing), cmocka_unit_test(test_quick_as_root),
        cmocka_unit_test(test_ordinary_user),  cmocka_unit_test(test_try),
        cmocka_unit_test(test_start_time),     cmocka_unit_test(test_scope_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
