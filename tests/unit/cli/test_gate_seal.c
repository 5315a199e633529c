/* What the gate can do once it is sealed: each forbidden thing is tried, with its exact errno, beside an
 * allowed twin. Each test is sealed in a child of its own. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/gate_seal.h"

#define DESCRIPTORS 64
#define NOBODY 65534

static int pair[2];

/* Runs `attempt` in a sealed child: 0, or the positive errno it answers; 255: it could not be sealed. */
static int sealed(int (*attempt)(void))
{
    int status = 0;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (sc_gate_seal(geteuid() == 0 ? NOBODY : 0, DESCRIPTORS, NULL) < 0)
            _exit(255);
        _exit(attempt());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(pair[0]);
    close(pair[1]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

#define FAILS(call) ((call) < 0 ? errno : 0)

static int open_file(void)
{
    return FAILS(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
}
static int open_at(void)
{
    return FAILS(syscall(SYS_openat2, AT_FDCWD, "/", NULL, 0));
}
static int stat_file(void)
{
    return FAILS(access("/etc/passwd", F_OK));
}
static int inet_socket(void)
{
    return FAILS(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}
static int unix_socket(void)
{
    return FAILS(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}
static int connect_somewhere(void)
{
    const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/run/x"};
    return FAILS(connect(pair[0], (const struct sockaddr *)&address, sizeof address));
}
static int other_pair(void)
{
    int fds[2];
    return FAILS(socketpair(AF_TIPC, SOCK_STREAM, 0, fds));
}
static int fork_child(void)
{
    return FAILS(syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL));
}
static int new_thread(void)
{
    return FAILS(syscall(SYS_clone3, NULL, 0));
}
static int run_program(void)
{
    char *const argv[] = {"true", NULL};
    return FAILS(execv("/bin/true", argv));
}
static int map_code(void)
{
    void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? errno : 0;
}
static int make_code(void)
{
    void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? 254 : FAILS(mprotect(at, 4096, PROT_READ | PROT_EXEC));
}
static int signal_parent(void)
{
    return FAILS(kill(getppid(), 0));
}
static int trace_parent(void)
{
    return FAILS(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}
static int become_root(void)
{
    return FAILS(syscall(SYS_setresuid, 0, 0, 0));
}
static int new_namespace(void)
{
    return FAILS(syscall(SYS_unshare, 0x10000000 /* CLONE_NEWUSER */));
}
static int dumpable_again(void)
{
    return FAILS(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}
static int terminal_input(void)
{
    char c = 'x';
    return FAILS(syscall(SYS_ioctl, pair[0], 0x5412 /* TIOCSTI */, &c));
}
static int duplicate(void)
{
    return FAILS(fcntl(pair[0], F_DUPFD_CLOEXEC, 10));
}
static int listen_again(void)
{
    return FAILS(listen(pair[0], 1));
}

static void test_refused(void **state)
{
    static int (*const attempts[])(void) = {open_file,      open_at,           stat_file,     inet_socket,
                                            unix_socket,    connect_somewhere, other_pair,    fork_child,
                                            run_program,    map_code,          make_code,     signal_parent,
                                            trace_parent,   become_root,       new_namespace, dumpable_again,
                                            terminal_input, duplicate,         listen_again};
    (void)state;
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++)
        assert_int_equal(sealed(attempts[i]), EPERM);
    /* As everywhere: libc then falls back to clone, which is refused. */
    assert_int_equal(sealed(new_thread), ENOSYS);
}

static int link_pair(void)
{
    int fds[2];
    return FAILS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds));
}
static int speak(void)
{
    char c = 'x';
    return send(pair[0], &c, 1, MSG_NOSIGNAL) == 1 && recv(pair[1], &c, 1, 0) == 1 ? 0 : errno;
}
static int who_is_there(void)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    return FAILS(getsockopt(pair[0], SOL_SOCKET, SO_PEERCRED, &peer, &len));
}
static int wait_for(void)
{
    struct epoll_event event = {.events = EPOLLOUT};
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &event) < 0)
        return errno;
    return epoll_wait(epoll, &event, 1, 1000) == 1 ? 0 : 254;
}
static int more_memory(void)
{
    char *at = malloc((size_t)64 << 20);
    if (!at)
        return 254;
    at[1 << 20] = 1;
    free(at);
    return 0;
}
static int nonblocking(void)
{
    int flags = fcntl(pair[0], F_GETFL);
    return flags < 0 ? errno : FAILS(fcntl(pair[0], F_SETFL, flags | O_NONBLOCK));
}

static void test_allowed(void **state)
{
    static int (*const attempts[])(void) = {link_pair, speak,       who_is_there,
                                            wait_for,  more_memory, nonblocking};
    (void)state;
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++)
        assert_int_equal(sealed(attempts[i]), 0);
}

static int too_many_descriptors(void)
{
    int fds[2];
    for (int i = 0; i < DESCRIPTORS; i++)
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
            return errno;
    return 0;
}

static int abort_now(void)
{
    abort();
}

static void test_limits_and_the_end(void **state)
{
    (void)state;
    assert_int_equal(sealed(too_many_descriptors), EMFILE);
    assert_int_equal(sealed(abort_now), 1000 + SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused), cmocka_unit_test(test_allowed),
                                       cmocka_unit_test(test_limits_and_the_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
