/* The program's side: an order, a fork, an answer. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parts.h"

/* The step runs other libraries' pthread_atfork handlers. */
#define STACK_SIZE (256 * 1024)

static struct sc_fork_task task;
static char stack[STACK_SIZE] __attribute__((aligned(16)));
/* Where the child leaves the step's stack for its parent's, which it has a copy of. */
static void *way_back[5];
static sigset_t signals_before;

int sc_fork_version(void)
{
    return SC_FORK_VERSION;
}

/* ---- the step: in the program's memory, which it must leave as it found it ---- */

static int fail(const char *step, const char *about, int code)
{
    task.answer.code = sc_fork_note(task.answer.step, task.answer.object, step, about, code);
    return 1;
}

static int enter_user_namespace(void)
{
    if (setns(task.fds[SC_FORK_FD_USER], CLONE_NEWUSER) < 0)
        return fail("user", "user namespace", -errno);
    return 0;
}

/* Before the child is there, so that all it has is counted in them. A process of one thread moves itself by
 * "0". */
static int join_groups(void)
{
    for (int i = SC_FORK_FD_GROUP; i < SC_FORK_FDS_MAX; i++)
        if (task.fds[i] >= 0 && write(task.fds[i], "0", 1) != 1)
            return fail("group", "tasks", -errno);
    return 0;
}

static int enter_pid_namespace(void)
{
    if (setns(task.fds[SC_FORK_FD_PID], CLONE_NEWPID) < 0)
        return fail("pid", "pid namespace", -errno);
    return 0;
}

static int skip_numbers(void)
{
    int r = sc_fork_skip_numbers();
    return r < 0 ? fail("number", "process", r) : 0;
}

static int join(void)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } stages[] = {{"user", enter_user_namespace},
                  {"group", join_groups},
                  {"pid", enter_pid_namespace},
                  {"number", skip_numbers}};
    int r = 0;
    for (size_t i = 0; i < sizeof stages / sizeof stages[0] && r == 0; i++) {
        int mutant = sc_fork_mutant(&task.order, stages[i].name);
        if (mutant < 0)
            r = fail(stages[i].name, "", mutant);
        else if (mutant == 0)
            r = stages[i].run();
    }
    return r;
}

static int step(void *unused)
{
    (void)unused;
    if (!(task.order.flags & SC_FORK_PLAIN) && join())
        _exit(1);
    pid_t pid = fork();
    if (pid == 0)
        __builtin_longjmp(way_back, 1);
    if (pid < 0)
        fail("fork", "process", -errno);
    else
        task.answer.pid = pid;
    _exit(pid < 0);
}

/* ---- the program ---- */

/* glibc takes its processor from memory that the kernel writes for each thread; the step, which borrowed
 * ours, has none, and so its child. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));
static void register_rseq(void)
{
#define RSEQ_SIGNATURE 0x53053053
#define RSEQ_BYTES 32
    if (&__rseq_offset && &__rseq_size && __rseq_size)
        syscall(SYS_rseq, (char *)__builtin_thread_pointer() + __rseq_offset, RSEQ_BYTES, 0, RSEQ_SIGNATURE);
}

/* 1 in the child, 0 in the program. Never inlined: the child comes back into this frame. */
static __attribute__((noinline)) int split(void)
{
    int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &signals_before); /* no handler may run in borrowed memory */
    if (__builtin_setjmp(way_back))
        return 1;
    /* Without an exit signal: nobody in the program learns of the step. */
    int pid = clone(step, stack + sizeof stack, CLONE_VM | CLONE_VFORK, NULL);
    if (pid < 0)
        fail("fork", "first process", -errno);
    else
        while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
            ;
    if (task.answer.code == 0 && task.answer.pid == 0)
        fail("fork", "the step before it was killed", -ECHILD);
    /* The step changed its credentials in our memory. */
    if (dumpable == 1)
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    sigprocmask(SIG_SETMASK, &signals_before, NULL);
    return 0;
}

static void tell_birth(struct sc_fork_birth *ret_birth)
{
    memcpy(ret_birth->randomness, task.order.randomness, sizeof ret_birth->randomness);
    ret_birth->wall_ns = task.order.wall_ns;
    ret_birth->has_runner = (task.order.fds >> SC_FORK_FD_RUNNER) & 1;
    ret_birth->has_socket = (task.order.fds >> SC_FORK_FD_SOCKET) & 1;
    memset(task.order.randomness, 0, sizeof task.order.randomness);
}

/* The caller is asked first: it knows better words for what hinders it. */
static int may_fork(const struct sc_fork_hooks *hooks, int look_at_memory)
{
    if (task.answer.code < 0)
        return 0;
    char reason[SC_FORK_OBJECT_MAX] = "";
    if (hooks && hooks->refuse && hooks->refuse(reason, sizeof reason) != 0) {
        reason[sizeof reason - 1] = '\0';
        fail("fork", *reason ? reason : "it refused", -EBUSY);
        return 0;
    }
    if (sc_fork_look(&task, hooks ? hooks->idle_threads : 0, look_at_memory) < 0)
        return 0;
    int r = sc_fork_remember_number();
    if (r < 0)
        fail("number", "process", r);
    return r == 0;
}

/* True in the child. */
static int obey(const struct sc_fork_hooks *hooks)
{
    if (hooks && hooks->before)
        hooks->before();
    if (split()) {
        register_rseq();
        sc_fork_become(&task);
        sigprocmask(SIG_SETMASK, &signals_before, NULL);
        return 1;
    }
    if (hooks && hooks->parent)
        hooks->parent();
    return 0;
}

static int take(int socket, const struct sc_fork_hooks *hooks, struct sc_fork_birth *ret_birth,
                int look_at_memory)
{
    int r = sc_fork_receive(socket, &task);
    if (r <= 0)
        return r < 0 ? r : SC_FORK_END;
    if (may_fork(hooks, look_at_memory) && obey(hooks)) {
        tell_birth(ret_birth);
        return SC_FORK_CHILD;
    }
    sc_fork_close(&task);
    memset(task.order.randomness, 0, sizeof task.order.randomness); /* the child's alone */
    ssize_t n;
    do
        n = send(socket, &task.answer, sizeof task.answer, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EPIPE ? SC_FORK_END : -errno;
    return SC_FORK_PARENT;
}

int sc_fork_take(int socket, const struct sc_fork_hooks *hooks, struct sc_fork_birth *ret_birth)
{
    return take(socket, hooks, ret_birth, 1);
}

int sc_fork_serve(int socket, const struct sc_fork_hooks *hooks, struct sc_fork_birth *ret_birth)
{
    int r = take(socket, hooks, ret_birth, 1);
    while (r == SC_FORK_PARENT)
        r = take(socket, hooks, ret_birth, 0);
    return r;
}
