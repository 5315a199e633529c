/* Theory of operation: the birth of a child cell's agent.
 *
 * Its namespaces must belong to its own user namespace, because only then can a forked process, which has no
 * right but over that, enter them. And its mounts must belong to the owner of the template, over whom it has
 * no right. So four processes take part, all of this program, which has nothing in its memory that is worth
 * reading:
 *
 *   midwife   was started by the supervisor, with the owner's rights, outside of every cell
 *   second    forked by it into the parent cell's pid namespace, for a pid namespace is made from the one it
 * is to lie in; leaves the owner's rights for the child's user namespace agent     forked by the second as
 * process 1 of fresh pid, ipc and uts namespaces, and as the supervisor's child builder   forked by the
 * midwife into the agent's pid namespace, which a /proc takes; makes the mounts, hands them to the agent, and
 * ends
 *
 * The parent cell's programs see second, builder and agent among their processes. Agent and builder are not
 * dumpable and were started outside, so they cannot look into them; before Linux 6.12 they may stop or kill
 * them (rootless, or once in the child's user namespace): then the midwife, which waits for a limited time,
 * ends all of them, and the supervisor gives up the child.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/fd.h"
#include "base/sys.h"
#include "cell/enter.h"
#include "cell/midwife.h"

/* What the builder hands over, in this order; the last only where the plan has it. */
enum { BUILT_ROOT, BUILT_MOUNT_NS, BUILT_WORK, BUILT_TMP, BUILT_SHM, BUILT_PROC, BUILT_COUNT };

/* Less than the supervisor waits (make_child.c). */
#define BIRTH_SECONDS 4

struct built {
    int32_t code;
    char object[96];
};

struct birth {
    struct sc_enter *enter;
    int second_socket[2]; /* the second tells the midwife of the agent */
    int builder_end;      /* of the stream whose other end is SC_SLOT_BUILDER */
    int proc;             /* a /proc of the supervisor's, where each of us finds itself */
    int agent, pid_ns;    /* pidfd, and its pid namespace */
    int second;           /* pidfd */
    pid_t builder;
    struct sc_midwife_report report;
};

/* ---- words ---- */

__attribute__((noreturn)) static void tell_supervisor(struct birth *birth)
{
    const int fds[2] = {birth->agent, birth->pid_ns};
    size_t n = birth->agent < 0 ? 0 : birth->pid_ns < 0 ? 1 : 2;
    _exit(sc_send_fds(SC_SLOT_MIDWIFE, &birth->report, sizeof birth->report, fds, n) < 0);
}

/* A program of the parent cell may have stopped one of them: for who waits, they are dead then. */
static struct birth *held_up;
static void give_up(int number)
{
    (void)number;
    if (held_up->second >= 0)
        sc_sys_pidfd_kill(held_up->second, SIGKILL);
    if (held_up->agent >= 0)
        sc_sys_pidfd_kill(held_up->agent, SIGKILL);
    if (held_up->builder > 0)
        kill(held_up->builder, SIGKILL);
}

__attribute__((noreturn)) static void fail(struct birth *birth, const char *object, int code)
{
    sc_agent_describe(&birth->report.failed, "birth", object, code);
    give_up(0);
    tell_supervisor(birth);
}

/* In the second: what the midwife is to say. */
__attribute__((noreturn)) static void fail_second(struct birth *birth, const char *object, int code)
{
    sc_agent_describe(&birth->report.failed, "birth", object, code);
    sc_send_fds(birth->second_socket[1], &birth->report.failed, sizeof birth->report.failed, NULL, 0);
    _exit(1);
}

/* ---- the builder ---- */

static int build(struct sc_enter *enter, int fds[BUILT_COUNT])
{
    enter->boot.flags &= ~(uint32_t)SC_BOOT_CHILD;
    int r = sc_enter_stage(enter, "mounts", enter_mounts);
    if (r < 0)
        return r;
    enter->object = "/";
    fds[BUILT_ROOT] = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    fds[BUILT_MOUNT_NS] = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    if (fds[BUILT_ROOT] < 0 || fds[BUILT_MOUNT_NS] < 0)
        return -errno;
    fds[BUILT_WORK] = enter->work_fd;
    fds[BUILT_TMP] = enter->tmp_fd;
    fds[BUILT_SHM] = enter->shm_fd;
    fds[BUILT_PROC] = enter->proc_fd;
    return 0;
}

__attribute__((noreturn)) static void be_builder(struct birth *birth)
{
    struct sc_enter *enter = birth->enter;
    struct built built = {0};
    int fds[BUILT_COUNT];
    built.code = build(enter, fds);
    if (built.code < 0 && enter->object)
        strncpy(built.object, enter->object, sizeof built.object - 1);
    size_t n = built.code < 0 ? 0 : fds[BUILT_PROC] < 0 ? BUILT_PROC : BUILT_COUNT;
    _exit(sc_send_fds(birth->builder_end, &built, sizeof built, fds, n) < 0);
}

int sc_enter_take_mounts(struct sc_enter *enter)
{
    static struct built built; /* the report points into it */
    int fds[BUILT_COUNT];
    size_t n = BUILT_COUNT;
    enter->object = "builder";
    ssize_t size = sc_recv_fds(SC_SLOT_BUILDER, &built, sizeof built, fds, &n);
    close(SC_SLOT_BUILDER);
    if (size != (ssize_t)sizeof built)
        return size < 0 ? (int)size : -EPIPE;
    if (built.code < 0) {
        enter->object = built.object;
        return built.code;
    }
    if (n < BUILT_PROC)
        return -EMFILE;
    enter->root_fd = fds[BUILT_ROOT];
    enter->mount_ns = fds[BUILT_MOUNT_NS];
    enter->work_fd = fds[BUILT_WORK];
    enter->tmp_fd = fds[BUILT_TMP];
    enter->shm_fd = fds[BUILT_SHM];
    enter->proc_fd = n > BUILT_PROC ? fds[BUILT_PROC] : -1;
    return 0;
}

/* ---- the second ---- */

/* Nobody else may open its namespaces: it is not dumpable, and was started where we have no right. It is left
 * only what an agent has. */
static void be_agent(struct birth *birth)
{
    static const int done[] = {SC_SLOT_TEMPLATE, SC_SLOT_VACANT,  SC_SLOT_USER,
                               SC_SLOT_WORKDISK, SC_SLOT_MIDWIFE, SC_SLOT_PARENT,
                               SC_SLOT_OWNER,    SC_SLOT_BIRTH,   SC_SLOT_V2};
    int own = openat(birth->proc, "self/ns/pid", O_RDONLY | O_CLOEXEC);
    if (own < 0)
        sc_agent_fail(SC_SLOT_CONTROL, "birth", "pid namespace", -errno);
    if (sc_send_fds(SC_SLOT_BUILDER, "p", 1, &own, 1) != 1)
        sc_agent_end(); /* the midwife is gone */
    for (size_t i = 0; i < sizeof done / sizeof done[0]; i++)
        close(done[i]);
    sc_sys_close_range(SC_SLOT_END, ~0u, 0);
    birth->agent = -1;
}

/* Returns in the agent. */
static void be_second(struct birth *birth)
{
    struct sc_clone_args args = {.flags =
                                     CLONE_PARENT | CLONE_PIDFD | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS,
                                 .pidfd = (uintptr_t)&birth->agent};
    if (fcntl(SC_SLOT_V2, F_GETFD) >= 0) {
        args.flags |= SC_CLONE_INTO_CGROUP;
        args.cgroup = SC_SLOT_V2;
    }
    if (setns(SC_SLOT_VACANT, CLONE_NEWNS) < 0)
        fail_second(birth, "mount namespace", -errno);
    if (setns(SC_SLOT_USER, CLONE_NEWUSER) < 0)
        fail_second(birth, "user namespace", -errno);
    long pid = syscall(SYS_clone3, &args, sizeof args);
    if (pid < 0)
        fail_second(birth, "process 1", -errno);
    if (pid == 0) {
        be_agent(birth);
        return;
    }
    _exit(sc_send_fds(birth->second_socket[1], &birth->report.failed, sizeof birth->report.failed,
                      &birth->agent, 1) < 0);
}

/* ---- the midwife ---- */

/* With the owner's rights and nobody's groups; not to be looked into from the parent cell. */
static int stand_with_owner(struct birth *birth)
{
    struct sc_enter *enter = birth->enter;
    enter->object = "owner of the template";
    if (enter->image->flags & SC_IMAGE_ROOTLESS) {
        if (setns(SC_SLOT_OWNER, CLONE_NEWUSER) < 0 || setns(SC_SLOT_BIRTH, CLONE_NEWNS) < 0)
            return -errno;
    } else if (setgroups(0, NULL) < 0) {
        return -errno;
    }
    enter->object = "dumpable";
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return -errno;
    enter->boot.flags &= ~(uint32_t)SC_BOOT_CHILD;
    int r = sc_enter_stage(enter, "priority", enter_priority);
    enter->boot.flags |= SC_BOOT_CHILD;
    return r;
}

/* Above the slots, some of which are free: the agent closes all that is there. */
static int open_pair(int ret_ends[2])
{
    int low[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, low) < 0)
        return -errno;
    for (int i = 0; i < 2; i++) {
        ret_ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, SC_SLOT_END);
        if (ret_ends[i] < 0)
            return -errno;
    }
    close(low[0]);
    close(low[1]);
    return 0;
}

static int open_sockets(struct birth *birth)
{
    int stream[2];
    birth->enter->object = "/proc";
    int low = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    birth->proc = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, SC_SLOT_END);
    if (birth->proc < 0)
        return -errno;
    close(low);
    birth->enter->object = "sockets";
    int r = open_pair(birth->second_socket);
    if (r == 0)
        r = open_pair(stream);
    if (r < 0)
        return r;
    birth->builder_end = stream[0];
    if (dup2(stream[1], SC_SLOT_BUILDER) < 0)
        return -errno;
    close(stream[1]);
    return 0;
}

/* True in the agent. */
static int bear(struct birth *birth)
{
    if (setns(SC_SLOT_PARENT, CLONE_NEWPID) < 0)
        fail(birth, "parent's pid namespace", -errno);
    struct sc_clone_args args = {.flags = CLONE_PARENT | CLONE_PIDFD, .pidfd = (uintptr_t)&birth->second};
    long pid = syscall(SYS_clone3, &args, sizeof args);
    if (pid < 0)
        fail(birth, "second process", -errno);
    if (pid == 0) {
        be_second(birth);
        return 1;
    }
    birth->report.second = (int32_t)pid;
    close(birth->second_socket[1]);
    size_t n = 1;
    ssize_t size = sc_recv_fds(birth->second_socket[0], &birth->report.failed, sizeof birth->report.failed,
                               &birth->agent, &n);
    /* It has said all that it has to say; whatever holds it up, nobody waits for it. */
    sc_sys_pidfd_kill(birth->second, SIGKILL);
    if (size != (ssize_t)sizeof birth->report.failed)
        fail(birth, "second process ended", -ECHILD);
    if (birth->report.failed.code < 0)
        tell_supervisor(birth);
    if (n != 1)
        fail(birth, "process 1", -EMFILE);
    return 0;
}

static void have_built(struct birth *birth)
{
    char byte;
    int status;
    size_t n = 1;
    close(SC_SLOT_BUILDER); /* the agent alone has it: when there is no builder, it learns so */
    ssize_t size = sc_recv_fds(birth->builder_end, &byte, 1, &birth->pid_ns, &n);
    if (size != 1 || n != 1) {
        birth->pid_ns = -1;
        fail(birth, "process 1 ended", -ECHILD);
    }
    if (setns(birth->pid_ns, CLONE_NEWPID) < 0)
        fail(birth, "pid namespace", -errno);
    pid_t pid = birth->builder = fork();
    if (pid == 0)
        be_builder(birth);
    if (pid < 0)
        fail(birth, "builder", -errno);
    close(birth->builder_end);
    while (waitpid(pid, &status, __WALL) < 0)
        if (errno != EINTR)
            fail(birth, "builder", -errno);
    birth->builder = 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail(birth, "builder ended", -ECHILD);
}

void sc_enter_be_born(struct sc_enter *enter)
{
    struct birth birth = {.enter = enter, .agent = -1, .pid_ns = -1, .second = -1};
    held_up = &birth;
    int r = stand_with_owner(&birth);
    if (r == 0)
        r = open_sockets(&birth);
    if (r < 0)
        fail(&birth, enter->object, r);
    signal(SIGALRM, give_up);
    alarm(BIRTH_SECONDS);
    if (bear(&birth)) {
        signal(SIGALRM, SIG_DFL);
        return;
    }
    have_built(&birth);
    tell_supervisor(&birth);
}
