/* Answering a call for its caller: where the answer goes, and that it goes nowhere when the caller is gone,
 * whoever has its number by then. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <linux/sysinfo.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/notices.h"

#define MEMORY (123ull << 20)

/* A child under a filter that reports sysinfo, waiting in that call. */
struct caller {
    struct sc_notices notices;
    struct sc_space space;
    struct sc_plan plan;
    struct seccomp_notif notice;
    pid_t pid;
    struct sysinfo *info; /* where the child wants the answer: shared with it */
};

static int report_sysinfo(void)
{
    struct sock_filter insns[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sysinfo, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof insns / sizeof insns[0], .filter = insns};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static void open_caller(struct caller *c, bool bad_address)
{
    int ends[2], listener = -1;
    size_t n = 1;
    char byte = 0;
    memset(c, 0, sizeof *c);
    c->info = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(c->info, MAP_FAILED);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    c->pid = fork();
    if (c->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        listener = report_sysinfo();
        if (listener < 0 || sc_send_fds(ends[1], &byte, 1, &listener, 1) != 1)
            _exit(90);
        close(listener);
        _exit(syscall(SYS_sysinfo, bad_address ? NULL : c->info) == 0 ? 0 : errno);
    }
    close(ends[1]);
    assert_int_equal(sc_recv_fds(ends[0], &byte, 1, &listener, &n), 1);
    assert_int_equal(n, 1);
    close(ends[0]);
    c->plan.limits.memory = MEMORY;
    c->space = SC_SPACE_NONE;
    c->notices = (struct sc_notices){.plan = &c->plan, .space = &c->space, .listener = listener};
    assert_int_equal(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &c->notice), 0);
    assert_int_equal(c->notice.data.nr, SYS_sysinfo);
}

/* The child's errno, or 0. */
static int let_go(struct caller *c, int error)
{
    struct seccomp_notif_resp response = {.id = c->notice.id, .error = error};
    int status;
    ioctl(c->notices.listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
    assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void close_caller(struct caller *c)
{
    close(c->notices.listener);
    munmap(c->info, 4096);
}

static void test_the_answer_is_the_plans(void **state)
{
    struct caller c;
    (void)state;
    open_caller(&c, false);
    memset(c.info, 0xff, sizeof *c.info);
    assert_int_equal(sc_notices_answer(&c.notices, &c.notice), 0);
    assert_int_equal(let_go(&c, 0), 0);
    assert_true(c.info->totalram == MEMORY && c.info->freeram == MEMORY && c.info->mem_unit == 1);
    struct sysinfo wanted;
    memset(&wanted, 0, sizeof wanted); /* not a byte of it is anything else's, holes included */
    wanted.totalram = wanted.freeram = MEMORY;
    wanted.mem_unit = wanted.procs = 1;
    wanted.uptime = c.info->uptime;
    assert_memory_equal(c.info, &wanted, sizeof wanted);
    close_caller(&c);
}

static void test_uptime_is_the_cells(void **state)
{
    struct caller c;
    struct timespec now;
    (void)state;
    open_caller(&c, false);
    clock_gettime(CLOCK_BOOTTIME, &now);
    c.space.boot_s = (uint64_t)now.tv_sec - 100;
    assert_int_equal(sc_notices_answer(&c.notices, &c.notice), 0);
    assert_int_equal(let_go(&c, 0), 0);
    assert_in_range(c.info->uptime, 100, 103);
    close_caller(&c);
}

static void test_a_bad_pointer_is_efault(void **state)
{
    struct caller c;
    (void)state;
    open_caller(&c, true);
    int r = sc_notices_answer(&c.notices, &c.notice);
    assert_int_equal(r, -EFAULT);
    assert_int_equal(let_go(&c, r), EFAULT);
    close_caller(&c);
}

static void test_other_calls_are_not_answered(void **state)
{
    struct caller c;
    (void)state;
    open_caller(&c, false);
    c.notice.data.nr = SYS_uname;
    assert_int_equal(sc_notices_answer(&c.notices, &c.notice), -ENOSYS);
    assert_int_equal(c.info->totalram, 0);
    assert_int_equal(let_go(&c, -ENOSYS), ENOSYS);
    close_caller(&c);
}

/* The caller is dead, and its number somebody else's: here ours. */
static void test_nothing_is_written_for_the_dead(void **state)
{
    struct caller c;
    struct sysinfo ours;
    int status;
    (void)state;
    memset(&ours, 0x5a, sizeof ours);
    const struct sysinfo before = ours;
    open_caller(&c, false);
    kill(c.pid, SIGKILL);
    assert_int_equal(waitpid(c.pid, &status, 0), c.pid);
    c.notice.pid = (uint32_t)getpid();
    c.notice.data.args[0] = (uintptr_t)&ours;
    assert_int_equal(sc_notices_answer(&c.notices, &c.notice), 0);
    assert_memory_equal(&ours, &before, sizeof ours);
    close_caller(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_answer_is_the_plans),
        cmocka_unit_test(test_uptime_is_the_cells),
        cmocka_unit_test(test_a_bad_pointer_is_efault),
        cmocka_unit_test(test_other_calls_are_not_answered),
        cmocka_unit_test(test_nothing_is_written_for_the_dead),
    };
    return RUN_AS_BOTH(tests);
}
