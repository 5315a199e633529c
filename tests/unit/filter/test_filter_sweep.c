/* The real kernel under the real filters: every number a profile refuses is called and answers as the policy
 * says, what it allows works, and nothing but a foreign ABI ends the process.
 *
 * Theory of operation: a child without privileges loads the built-in filter, hands the listener to this
 * process, and does the calls; this process answers what is reported, as the keeper will. What the keeper
 * carries out itself (`answer`) is told here by a number no such call returns. A child tells by its exit
 * status. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

#define VECTORS 40
#define NOBODY 65534
#define ANSWERED 4711

/* --- the supervised child --- */

static unsigned failures;

static void complain(const char *what, long got, int got_errno, int expected)
{
    fprintf(stderr, "    %s: returned %ld (%s), expected %s\n", what, got,
            got < 0 ? strerror(got_errno) : "no error", expected ? strerror(expected) : "success");
    failures++;
}

/* Calls for real; `expected` 0: must not be refused by a filter, i.e. succeed. */
static void expect(const char *what, int expected, long nr, long a, long b, long c, long d)
{
    errno = 0;
    long got = syscall(nr, a, b, c, d, 0, 0);
    int got_errno = errno;

    if (expected ? got != -1 || got_errno != expected : got < 0)
        complain(what, got, got_errno, expected);
}

static void call_refused(enum sc_profile profile, int nr, const uint64_t args[6])
{
    const struct sc_filter_policy *policy = f.policies[profile];
    uint32_t verdict = linear_verdict(policy, &f.arch, nr, args);
    int expected = (int)(verdict & SECCOMP_RET_DATA);
    bool answered = false;
    char what[64];

    if (verdict == SECCOMP_RET_USER_NOTIF) {
        const struct sc_filter_notice *notice = sc_filter_notice_for(sc_filter_for(profile), nr, args);
        answered = notice && notice->kind == SC_NOTICE_ANSWER;
        expected = !notice ? -1 : notice->kind == SC_NOTICE_ONCE ? 0 : notice->answer_errno;
    }
    if (verdict == SECCOMP_RET_ALLOW || (expected == 0 && !answered))
        return;
    errno = 0;
    long got = syscall(nr, args[0], args[1], args[2], args[3], args[4], args[5]);
    if (answered ? got != ANSWERED : got != -1 || errno != expected) {
        int got_errno = errno;
        snprintf(what, sizeof what, "%s: call %d", policy->name, nr);
        complain(what, got, got_errno, expected);
    }
}

static void sweep(enum sc_profile profile)
{
    for (int nr = 0; nr <= 600; nr++)
        for (unsigned k = 0; k < VECTORS; k++) {
            uint64_t args[6];

            arguments_near(f.policies[profile], nr, k, args);
            call_refused(profile, nr, args);
        }
    expect("no call", ENOSYS, -1, 0, 0, 0, 0);
}

static void drop_privileges(void)
{
    if (geteuid() != 0)
        return;
    if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
        setresuid(NOBODY, NOBODY, NOBODY) < 0)
        _exit(90);
}

/* Loads the profile; returns the listener. */
static int enter_filter(enum sc_profile profile)
{
    const struct sc_filter *filter = sc_filter_for(profile);
    struct sock_fprog program = {.len = filter->n_insns, .filter = (struct sock_filter *)filter->insns};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        _exit(91);
    int listener =
        (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    if (listener < 0)
        _exit(92);
    return listener;
}

/* --- the supervisor --- */

struct tally {
    unsigned reported, let_on, answered;
};

static void answer(int listener, enum sc_profile profile, struct tally *tally)
{
    struct seccomp_notif request = {0};
    struct seccomp_notif_resp response = {0};
    uint64_t args[6];

    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
        return; /* the caller has died meanwhile */
    for (int i = 0; i < 6; i++)
        args[i] = request.data.args[i];
    const struct sc_filter_notice *notice =
        sc_filter_notice_for(sc_filter_for(profile), request.data.nr, args);
    assert_non_null(notice);
    tally->reported++;
    response.id = request.id;
    if (notice->kind == SC_NOTICE_ONCE && tally->let_on == 0) {
        tally->let_on++;
        response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    } else if (notice->kind == SC_NOTICE_ANSWER) {
        tally->answered++;
        response.val = ANSWERED;
    } else {
        response.error = -notice->answer_errno;
    }
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

static struct tally supervise(int listener, enum sc_profile profile)
{
    struct tally tally = {0};
    struct pollfd poll_fd = {.fd = listener, .events = POLLIN};

    while (poll(&poll_fd, 1, -1) >= 0 || errno == EINTR) {
        if (poll_fd.revents & POLLIN)
            answer(listener, profile, &tally);
        else if (poll_fd.revents)
            break; /* nobody is left under the filter */
    }
    return tally;
}

/* Runs `body` in a child under the filter, answers its reports, and checks that it ends well. */
static struct tally run_supervised(enum sc_profile profile, void (*body)(enum sc_profile))
{
    int pair[2], listener = -1, status;
    size_t n = 1;
    char byte = 0;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        drop_privileges();
        listener = enter_filter(profile);
        if (sc_send_fds(pair[1], &byte, 1, &listener, 1) != 1)
            _exit(93);
        close(listener);
        body(profile);
        _exit(failures ? 1 : 0);
    }
    close(pair[1]);
    assert_int_equal(sc_recv_fds(pair[0], &byte, 1, &listener, &n), 1);
    assert_int_equal(n, 1);
    struct tally tally = supervise(listener, profile);
    close(listener);
    close(pair[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    return tally;
}

/* --- tests --- */

static void test_everything_refused_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct tally tally = run_supervised((enum sc_profile)i, sweep);
        assert_true(tally.reported > 60);
        assert_int_equal(tally.answered, VECTORS); /* sysinfo, with whatever pointer */
    }
}

static void twins(enum sc_profile profile)
{
    char name[16] = "twin";
    struct rlimit limit;

    (void)profile;
    expect("socket unix", 0, SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, 0);
    expect("socket raw", EPERM, SYS_socket, AF_INET, SOCK_RAW, 255, 0);
    expect("socket ping", EPERM, SYS_socket, AF_INET, SOCK_DGRAM, 1, 0);
    expect("socket raw, high bits", EPERM, SYS_socket, AF_INET | 1L << 32, SOCK_RAW, 1, 0);
    expect("socket tcp", 0, SYS_socket, AF_INET, SOCK_STREAM, 6, 0);
    expect("socket udp", 0, SYS_socket, AF_INET, SOCK_DGRAM, 0, 0);
    expect("socket sctp", EPERM, SYS_socket, AF_INET, SOCK_SEQPACKET, 132, 0);
    expect("socket mptcp", EPROTONOSUPPORT, SYS_socket, AF_INET, SOCK_STREAM, 262, 0);
    expect("socket packet", EPERM, SYS_socket, AF_PACKET, SOCK_RAW, 0, 0);
    expect("socket vsock", EAFNOSUPPORT, SYS_socket, 40, SOCK_STREAM, 0, 0);
    expect("socket route", 0, SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0, 0);
    expect("socket audit", EPROTONOSUPPORT, SYS_socket, AF_NETLINK, SOCK_RAW, 9, 0);
    expect("personality query", 0, SYS_personality, 0xffffffff, 0, 0, 0);
    expect("personality no randomize", 0, SYS_personality, ADDR_NO_RANDOMIZE, 0, 0, 0);
    expect("personality exec", EPERM, SYS_personality, ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC, 0, 0, 0);
    expect("personality linux32", EPERM, SYS_personality, PER_LINUX32, 0, 0, 0);
    expect("prctl name", 0, SYS_prctl, PR_SET_NAME, (long)name, 0, 0);
    expect("prctl mm", EPERM, SYS_prctl, PR_SET_MM, PR_SET_MM_BRK, 0, 0);
    expect("prctl merge", EPERM, SYS_prctl, 67, 0, 0, 0);
    expect("prlimit own", 0, SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit);
    expect("prlimit other", EPERM, SYS_prlimit64, getppid(), RLIMIT_NOFILE, (long)&limit, 0);
    expect("nice", 0, SYS_setpriority, PRIO_PROCESS, 0, 19, 0);
    expect("nice other", EPERM, SYS_setpriority, PRIO_PROCESS, getpid(), 19, 0);
    expect("nice user", EPERM, SYS_setpriority, PRIO_USER, 0, 19, 0);
    expect("mkfifo", ENOENT, SYS_mknod, (long)"/nonexistent/fifo", S_IFIFO | 0600, 0, 0);
    expect("mknod", EPERM, SYS_mknod, (long)"/nonexistent/null", S_IFCHR | 0600, 0x103, 0);
    expect("tiocsti", EPERM, SYS_ioctl, 0, TIOCSTI, (long)name, 0);
    expect("tiocsti, high bits", EPERM, SYS_ioctl, 0, TIOCSTI | 1L << 32, (long)name, 0);
    expect("clone namespaces", EPERM, SYS_clone, 0x10000000 | SIGCHLD, 0, 0, 0);
    expect("clone namespaces, high bits", EPERM, SYS_clone, 1L << 40 | 0x10000000 | SIGCHLD, 0, 0, 0);
    expect("clone3", ENOSYS, 435, 0, 0, 0, 0);
}

static void test_denied_and_allowed_twins(void **state)
{
    (void)state;
    run_supervised(SC_PROFILE_DEFAULT, twins);
}

static void *thread_body(void *arg)
{
    *(int *)arg = 1;
    return NULL;
}

static void work(enum sc_profile profile)
{
    pthread_t thread;
    int ran = 0, status, fds[2];

    (void)profile;
    if (pthread_create(&thread, NULL, thread_body, &ran) != 0 || pthread_join(thread, NULL) != 0 || !ran)
        complain("a thread", -1, errno, 0);
    if (pipe2(fds, O_CLOEXEC) < 0 || write(fds[1], "x", 1) != 1)
        complain("a pipe", -1, errno, 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(7);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7)
        complain("a child", pid, errno, 0);
}

static void test_threads_and_children_work(void **state)
{
    (void)state;
    run_supervised(SC_PROFILE_DEFAULT, work);
    run_supervised(SC_PROFILE_COMPUTE, work);
}

/* Exit status of a child that starts /bin/true; 100 + errno when it could not. */
static int start_program(void)
{
    char *argv[] = {"true", NULL};
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        execve("/bin/true", argv, argv + 1);
        _exit(100 + errno);
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void start_three(enum sc_profile profile)
{
    for (int i = 0; i < 3; i++) {
        int expected = i == 0 || profile == SC_PROFILE_DEFAULT ? 0 : 100 + EPERM, got = start_program();
        if (got != expected) {
            fprintf(stderr, "    start %d: %d, expected %d\n", i, got, expected);
            failures++;
        }
    }
}

static void test_compute_starts_one_program(void **state)
{
    (void)state;
    struct tally tally = run_supervised(SC_PROFILE_COMPUTE, start_three);
    assert_int_equal(tally.let_on, 1);
    assert_int_equal(tally.reported, 3);
    tally = run_supervised(SC_PROFILE_DEFAULT, start_three);
    assert_int_equal(tally.reported, 0);
}

/* --- foreign ABIs --- */

static void call_i386(void)
{
    long result;

    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20 /* getpid */) : "memory", "r8", "r9", "r10", "r11");
}

static void call_x32(void)
{
    syscall(SYS_getpid | 0x40000000);
}

/* How a child that does this call ends: its signal, or 0. */
static int signal_of(void (*call)(void), bool filtered, enum sc_profile profile)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        drop_privileges();
        if (filtered)
            close(enter_filter(profile));
        call();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void test_foreign_abis_end_the_process(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(signal_of(call_x32, true, (enum sc_profile)i), SIGSYS);
        if (signal_of(call_i386, false, (enum sc_profile)i) == 0)
            assert_int_equal(signal_of(call_i386, true, (enum sc_profile)i), SIGSYS);
        else
            print_message("this kernel has no i386 entry: nothing to refuse\n");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_refused_is_refused),
        cmocka_unit_test(test_denied_and_allowed_twins),
        cmocka_unit_test(test_threads_and_children_work),
        cmocka_unit_test(test_compute_starts_one_program),
        cmocka_unit_test(test_foreign_abis_end_the_process),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
