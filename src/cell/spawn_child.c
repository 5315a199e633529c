/* Theory of operation.
 *
 * The child shares the supervisor's memory and stops it until exec (CLONE_VM | CLONE_VFORK): nothing is
 * copied, however large the program is that uses the library. So the child may only make system calls on
 * values that were ready before, and writes nothing but its order's answer. tools/check_signal_safety.py
 * holds that for this file's object.
 *
 * As root one clone makes the agent. An ordinary user's child first enters the user namespace that owns the
 * template, and clones the agent from there as its sister (CLONE_PARENT), so that the supervisor is its
 * parent either way.
 */
#include "cell/spawn_child.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sys.h"

#define STACK_SIZE (32 * 1024)
#define FRESH (CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS)
#define PARK 64 /* above every slot: a first place for descriptors, so that none is laid over another */

/* The child's stacks. Not in the caller's frame: the child must not run in it. */
struct stacks {
    char outer[STACK_SIZE] __attribute__((aligned(16)));
    char inner[STACK_SIZE] __attribute__((aligned(16)));
};

struct launch {
    struct sc_spawn_order *order;
    struct stacks *stacks;
};

SC_BORROWED_MEMORY static int fail(struct sc_spawn_order *order, const char *step, int code)
{
    order->failed = step;
    order->code = code;
    return 1;
}

SC_BORROWED_MEMORY static int arrange(struct sc_spawn_order *order)
{
    int parked[SC_SLOT_END];
    for (int i = 0; i < SC_SLOT_END; i++) {
        parked[i] = -1;
        if (order->slots[i] < 0)
            continue;
        parked[i] = fcntl(order->slots[i], F_DUPFD_CLOEXEC, PARK);
        if (parked[i] < 0)
            return -errno;
    }
    for (int i = 0; i < SC_SLOT_END; i++) {
        if (parked[i] < 0) {
            close(i);
            continue;
        }
        if (dup3(parked[i], i, i == SC_SLOT_AGENT ? O_CLOEXEC : 0) < 0)
            return -errno;
    }
    return sc_sys_close_range(SC_SLOT_END, ~0u, 0);
}

SC_BORROWED_MEMORY static int become_agent(void *data)
{
    struct launch *launch = data;
    struct sc_spawn_order *order = launch->order;
    char *const argv[] = {(char *)(order->is_midwife ? "midwife" : "init"), NULL};
    static char *const env[] = {NULL};
    int r = arrange(order);
    if (r < 0)
        return fail(order, "descriptors", r);
    /* Signals stay blocked: before exec their handlers are the caller's, in the caller's memory. The agent
     * lets them in. */
    syscall(SYS_execveat, SC_SLOT_AGENT, "", argv, env, AT_EMPTY_PATH);
    return fail(order, "agent", -errno);
}

SC_BORROWED_MEMORY static pid_t clone_agent(struct launch *launch, uint64_t more_flags)
{
    struct sc_spawn_order *order = launch->order;
    struct sc_clone_args args = {
        .flags = CLONE_VM | CLONE_VFORK | more_flags,
        .stack = (uintptr_t)launch->stacks->inner,
        .stack_size = STACK_SIZE,
    };
    if (order->cgroup >= 0) {
        args.flags |= SC_CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)order->cgroup;
    }
    long pid = sc_sys_clone3_call(&args, become_agent, launch);
    if (pid < 0)
        fail(order, "process 1", (int)pid);
    return (pid_t)pid;
}

SC_BORROWED_MEMORY static int join_and_clone(void *data)
{
    struct launch *launch = data;
    struct sc_spawn_order *order = launch->order;
    if (setns(order->user_ns, CLONE_NEWUSER) < 0)
        return fail(order, "owner's user namespace", -errno);
    if (setns(order->birth_ns, CLONE_NEWNS) < 0)
        return fail(order, "owner's mount namespace", -errno);
    order->pid = clone_agent(launch, CLONE_PARENT | FRESH);
    return order->pid < 0;
}

pid_t sc_spawn_agent(struct sc_spawn_order *order)
{
    struct stacks stacks;
    struct launch launch = {order, &stacks};
    sigset_t all, before;
    /* No handler of the caller's may run in the child, which is in the same memory. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    /* A child that changes credentials in our memory would leave us undumpable for good. */
    int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    order->failed = NULL;
    order->code = 0;
    if (order->user_ns < 0) {
        order->pid = clone_agent(&launch, order->is_midwife ? 0 : FRESH);
    } else {
        struct sc_clone_args args = {
            .flags = CLONE_VM | CLONE_VFORK, .stack = (uintptr_t)stacks.outer, .stack_size = STACK_SIZE};
        order->pid = -1;
        long helper = sc_sys_clone3_call(&args, join_and_clone, &launch);
        if (helper < 0)
            fail(order, "helper", (int)helper);
        else
            waitpid((pid_t)helper, NULL, __WALL);
    }
    if (dumpable == 1)
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (order->failed) {
        if (order->pid > 0)
            waitpid(order->pid, NULL, __WALL);
        return order->code;
    }
    return order->pid;
}
