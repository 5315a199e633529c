/* base/sys.h and base/cpus.h: the calls that libc lacks answer with errno values; processor lists. What needs
 * rights of its own (mounts, Landlock) is shown by the claim tests, in real cells. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/sys.h"

#define STACK (64 * 1024)

static int child(void *arg)
{
    /* A child that shares memory shows that it ran, and with which argument. */
    *(int *)arg += 1;
    return 42;
}

static void clone3_runs_a_function(void **state)
{
    (void)state;
    int seen = 7, status = 0;
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    assert_true(stack != MAP_FAILED);
    struct sc_clone_args args = {.flags = CLONE_VM | CLONE_VFORK,
                                 .exit_signal = SIGCHLD,
                                 .stack = (uint64_t)(uintptr_t)stack,
                                 .stack_size = STACK};
    long pid = sc_sys_clone3_call(&args, child, &seen);
    assert_true(pid > 0);
    assert_int_equal(seen, 8);
    assert_int_equal(waitpid((pid_t)pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);
    args.flags = CLONE_SIGHAND; /* not without CLONE_VM */
    assert_int_equal(sc_sys_clone3_call(&args, child, &seen), -EINVAL);
    assert_int_equal(seen, 8);
    munmap(stack, STACK);
}

static void processes_by_descriptor(void **state)
{
    (void)state;
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    int pidfd = sc_sys_pidfd_open(pid);
    assert_true(pidfd >= 0);
    assert_int_equal(fcntl(pidfd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(sc_sys_pidfd_kill(pidfd, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_int_equal(sc_sys_pidfd_kill(pidfd, SIGKILL), -ESRCH);
    close(pidfd);
    assert_int_equal(sc_sys_pidfd_open(-1), -EINVAL);
}

static void a_range_is_closed(void **state)
{
    (void)state;
    int a = fcntl(0, F_DUPFD_CLOEXEC, 200), b = fcntl(0, F_DUPFD_CLOEXEC, 300);
    assert_int_equal(a, 200);
    assert_int_equal(b, 300);
    assert_int_equal(sc_sys_close_range(200, 299, 0), 0);
    assert_int_equal(fcntl(200, F_GETFD), -1);
    assert_true(fcntl(300, F_GETFD) >= 0);
    close(300);
    assert_int_equal(sc_sys_close_range(5, 4, 0), -EINVAL);
}

static void paths_stay_below(void **state)
{
    (void)state;
    char dir[] = "/tmp/snapcell-test-sys-XXXXXX";
    assert_non_null(mkdtemp(dir));
    int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(mkdirat(at, "in", 0700), 0);
    assert_int_equal(symlinkat("/etc/passwd", at, "out"), 0);
    assert_int_equal(symlinkat("in", at, "link"), 0);
    uint64_t beneath = SC_RESOLVE_BENEATH | SC_RESOLVE_NO_MAGICLINKS;
    int fd = sc_sys_openat2(at, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, beneath);
    assert_true(fd >= 0);
    close(fd);
    fd = sc_sys_openat2(at, "link", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, beneath);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(sc_sys_openat2(at, "link", O_RDONLY | O_CLOEXEC, 0, beneath | SC_RESOLVE_NO_SYMLINKS),
                     -ELOOP);
    assert_int_equal(sc_sys_openat2(at, "out", O_RDONLY | O_CLOEXEC, 0, beneath), -EXDEV);
    assert_int_equal(sc_sys_openat2(at, "../", O_RDONLY | O_CLOEXEC, 0, beneath), -EXDEV);
    assert_int_equal(sc_sys_openat2(at, "/etc", O_RDONLY | O_CLOEXEC, 0, beneath), -EXDEV);
    assert_int_equal(sc_sys_openat2(at, "none", O_RDONLY | O_CLOEXEC, 0, beneath), -ENOENT);
    unlinkat(at, "out", 0);
    unlinkat(at, "link", 0);
    unlinkat(at, "in", AT_REMOVEDIR);
    close(at);
    rmdir(dir);
}

static void refused_calls_give_their_errno(void **state)
{
    (void)state;
    assert_true(sc_sys_fsconfig_string(-1, "k", "v") < 0);
    assert_true(sc_sys_fsconfig_create(-1) < 0);
    assert_true(sc_sys_fsmount(-1, 0) < 0);
    assert_true(sc_sys_move_mount(-1, -1, "/nowhere") < 0);
    assert_true(sc_sys_open_tree(-1, "nowhere", 0) < 0);
    assert_true(sc_sys_fsopen("no-such-type") < 0);
    assert_true(sc_sys_mount_setattr(-1, 0, SC_MOUNT_ATTR_RDONLY, 0) < 0);
    assert_true(sc_sys_pivot_root("/nowhere", "/nowhere") < 0);
    assert_true(sc_sys_landlock_add_path(-1, -1, 1) < 0);
    assert_true(sc_sys_landlock_restrict(-1) < 0);
}

static void processor_lists(void **state)
{
    (void)state;
    cpu_set_t set;
    assert_int_equal(sc_parse_cpu_list("0,2-3,1023", &set), 0);
    assert_int_equal(CPU_COUNT(&set), 4);
    assert_true(CPU_ISSET(0, &set) && CPU_ISSET(2, &set) && CPU_ISSET(3, &set) && CPU_ISSET(1023, &set));
    static const char *const bad[] = {"x", "3-1", "1024", "0-", "0-9999", "0;1", "0-1-2", "0x", "1,,2"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(sc_parse_cpu_list(bad[i], &set), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clone3_runs_a_function),
        cmocka_unit_test(processes_by_descriptor),
        cmocka_unit_test(a_range_is_closed),
        cmocka_unit_test(paths_stay_below),
        cmocka_unit_test(refused_calls_give_their_errno),
        cmocka_unit_test(processor_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
