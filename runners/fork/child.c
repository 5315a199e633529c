/* The child, from its first instruction to "go": the stages of a cold cell (src/cell/stages.def) in their
 * order, where they can be by the same functions. It begins with every capability over the cell's user
 * namespace, and ends with none.
 *
 * Should: end as a program that the cell's own agent started. Must not: run anything of the caller's before
 * the last stage; keep any descriptor but those it was given; go on after a stage that failed. Verified by:
 * tests/unit/cell/test_fork.c and test_fork_stages.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sys.h"
#include "cell/enter.h"
#include "parts.h"

#define STREAMS 5 /* 0–2, the runner's, the fork socket */
#define ABOVE 32  /* where descriptors wait for their place */

struct birth {
    struct sc_fork_task *task;
    struct sc_enter enter;
    size_t image_size;
};

/* ---- the end of a child that cannot be sealed ---- */

__attribute__((noreturn)) static void give_up(const struct sc_fork_task *task, const char *step,
                                              const char *object, int code)
{
    struct sc_fork_report report = {0};
    report.code = sc_fork_note(report.step, report.object, step, object, code);
    send(task->fds[SC_FORK_FD_REPORT], &report, sizeof report, MSG_NOSIGNAL);
    _exit(1);
}

/* A step that no cold cell has, or has elsewhere; ends the child when it fails. */
static void take_step(struct birth *birth, const char *name, int (*step)(struct birth *))
{
    birth->enter.object = NULL;
    int mutant = sc_fork_mutant(&birth->task->order, name);
    int r = mutant ? mutant : step(birth);
    if (r < 0)
        give_up(birth->task, name, birth->enter.object, r);
}

/* ---- stages that a cold cell has elsewhere ---- */

/* Behind the step that saw to it: numbers may have begun again meanwhile. */
static int enter_own_number(struct birth *birth)
{
    birth->enter.object = "it is that of a process it comes from";
    return sc_fork_number_is_new() ? 0 : -EAGAIN;
}

/* A session of its own, so that the program's group is not the parent's. */
static int enter_own_session(struct birth *birth)
{
    birth->enter.object = "session";
    if (setsid() < 0)
        return -errno;
    umask(022);
    return 0;
}

/* 0–4 as ordered. What is needed until the end stands above them, close-on-exec. */
static int enter_streams(struct birth *birth)
{
    int *fds = birth->task->fds;
    birth->enter.object = "streams";
    for (int i = 0; i < SC_FORK_FDS_MAX; i++) {
        if (fds[i] < 0)
            continue;
        int above = fcntl(fds[i], F_DUPFD_CLOEXEC, ABOVE);
        if (above < 0)
            return -errno;
        close(fds[i]);
        fds[i] = above;
    }
    if (birth->task->socket >= STREAMS)
        close(birth->task->socket);
    for (int i = 0; i < STREAMS; i++) {
        int fd = fds[SC_FORK_FD_IN + i];
        if (fd < 0)
            close(i);
        else if (dup2(fd, i) < 0)
            return -errno;
    }
    return 0;
}

static int enter_namespaces(struct birth *birth)
{
    static const struct {
        enum sc_fork_fd fd;
        int kind;
        const char *name;
    } all[] = {{SC_FORK_FD_CGROUP, CLONE_NEWCGROUP, "cgroup namespace"},
               {SC_FORK_FD_TIME, CLONE_NEWTIME, "time namespace"},
               {SC_FORK_FD_NET, CLONE_NEWNET, "network namespace"},
               {SC_FORK_FD_IPC, CLONE_NEWIPC, "ipc namespace"},
               {SC_FORK_FD_UTS, CLONE_NEWUTS, "uts namespace"}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        birth->enter.object = all[i].name;
        if (sc_fork_mutant(&birth->task->order, all[i].name))
            continue;
        if (setns(birth->task->fds[all[i].fd], all[i].kind) < 0)
            return -errno;
    }
    return 0;
}

/* The mount namespace is vacant already, as that of every program. */
static int enter_root(struct birth *birth)
{
    birth->enter.object = "root";
    if (fchdir(birth->task->fds[SC_FORK_FD_ROOT]) < 0 || chroot(".") < 0)
        return -errno;
    return 0;
}

/* Entering the user namespace filled the bounding set again. */
static int enter_bounds(struct birth *birth)
{
    birth->enter.object = "bounding set";
    for (int cap = 0; cap < 64; cap++) {
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
            continue;
        return errno == EINVAL ? 0 : -errno; /* the first number this kernel does not know */
    }
    return 0;
}

/* no_new_privs stays with a process; dumpable went with the change of ids, and an ordinary program has it. */
static int enter_visible(struct birth *birth)
{
    birth->enter.object = "no_new_privs";
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
        return -EPERM;
    birth->enter.object = "dumpable";
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 ? -errno : 0;
}

/* ---- the order of all of them ---- */

#define OWN(name)                                                                                            \
    {                                                                                                        \
#name, enter_##name, NULL                                                                            \
    }
#define SHARED(name)                                                                                         \
    {                                                                                                        \
#name, NULL, enter_##name                                                                            \
    }
static const struct {
    const char *name;
    int (*own)(struct birth *);
    int (*shared)(struct sc_enter *);
} STAGES[] = {OWN(namespaces), OWN(root),
              /* The order of stages.def, whose reasons hold here, too. */
              SHARED(limits), SHARED(pin), SHARED(program_priority), SHARED(domain), OWN(bounds),
              SHARED(program_ids), OWN(visible), SHARED(cwd), SHARED(filter)};

static int run_stage(struct birth *birth, size_t i)
{
    const struct sc_fork_order *order = &birth->task->order;
    birth->enter.object = NULL;
    int mutant = sc_fork_mutant(order, STAGES[i].name);
    if (mutant)
        return mutant < 0 ? mutant : 0;
    /* A child that can be forked again lives under the filter that its parent has. */
    if (STAGES[i].shared == enter_filter && order->flags & SC_FORK_FORKABLE)
        return 0;
    return STAGES[i].own ? STAGES[i].own(birth) : STAGES[i].shared(&birth->enter);
}

static int map_image(struct birth *birth)
{
    struct stat st;
    int fd = birth->task->fds[SC_FORK_FD_IMAGE];
    birth->enter.object = "image";
    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_size < (off_t)sizeof(struct sc_image))
        return -EINVAL;
    const struct sc_image *image = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (image == MAP_FAILED)
        return -errno;
    birth->enter.image = image;
    birth->image_size = (size_t)st.st_size;
    if (image->magic != SC_IMAGE_MAGIC || image->version != SC_IMAGE_VERSION || image->size != st.st_size)
        return -EINVAL;
    return 0;
}

static void seal(struct birth *birth)
{
    const struct sc_fork_task *task = birth->task;
    int r = map_image(birth);
    if (r < 0)
        give_up(task, "image", birth->enter.object, r);
    for (size_t i = 0; i < sizeof STAGES / sizeof STAGES[0]; i++) {
        r = run_stage(birth, i);
        if (r < 0)
            give_up(task, STAGES[i].name, birth->enter.object, r);
    }
    munmap((void *)birth->enter.image, birth->image_size);
}

/* Everything but the streams, the report's socket and the listener, which goes with the report. */
static int close_rest(struct birth *birth)
{
    int report = birth->task->fds[SC_FORK_FD_REPORT], listener = birth->enter.listener;
    const int kept[] = {report < listener ? report : listener, report < listener ? listener : report};
    unsigned from = STREAMS;
    birth->enter.object = "closing the others";
    for (int i = 0; i < 2; i++) {
        if (kept[i] < (int)from)
            continue; /* there is no listener, or it has the number of a stream that is not there */
        int r = kept[i] > (int)from ? sc_sys_close_range(from, (unsigned)kept[i] - 1, 0) : 0;
        if (r < 0)
            return r;
        from = (unsigned)kept[i] + 1;
    }
    return sc_sys_close_range(from, ~0u, 0);
}

static void forget_rest(struct sc_fork_task *task)
{
    int report = task->fds[SC_FORK_FD_REPORT];
    for (int i = 0; i < SC_FORK_FDS_MAX; i++)
        task->fds[i] = -1;
    task->fds[SC_FORK_FD_REPORT] = report;
    task->socket = -1;
}

static void tell(struct birth *birth)
{
    const struct sc_fork_report report = {0};
    union {
        char space[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct iovec part = {(void *)&report, sizeof report};
    struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
    if (birth->enter.listener >= 0) {
        msg.msg_control = control.space;
        msg.msg_controllen = sizeof control.space;
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &birth->enter.listener, sizeof(int));
    }
    if (sendmsg(birth->task->fds[SC_FORK_FD_REPORT], &msg, MSG_NOSIGNAL) != (ssize_t)sizeof report)
        _exit(1);
    /* It may stand at the number of a stream that this process does not have, which nobody closes. */
    if (birth->enter.listener >= 0)
        close(birth->enter.listener);
    birth->enter.listener = -1;
}

static void wait_for_go(int report)
{
    char go;
    ssize_t n;
    do
        n = recv(report, &go, 1, 0);
    while (n < 0 && errno == EINTR);
    if (n != 1)
        _exit(1);
}

void sc_fork_become(struct sc_fork_task *task)
{
    struct birth birth = {
        .task = task,
        .enter = {.mount_ns = -1,
                  .work_fd = -1,
                  .tmp_fd = -1,
                  .shm_fd = -1,
                  .proc_fd = -1,
                  .ruleset = -1,
                  .listener = -1,
                  .pty_master = -1,
                  .pty_slave = -1,
                  .nice = task->order.nice,
                  .cwd = task->cwd[0] ? task->cwd : NULL},
    };
    if (!(task->order.flags & SC_FORK_PLAIN))
        take_step(&birth, "own number", enter_own_number);
    take_step(&birth, "session", enter_own_session);
    take_step(&birth, "streams", enter_streams);
    birth.enter.ruleset = task->fds[SC_FORK_FD_RULESET];
    if (!(task->order.flags & SC_FORK_PLAIN))
        seal(&birth);
    take_step(&birth, "rest", close_rest);
    forget_rest(task);
    tell(&birth); /* the supervisor alone answers for refused calls: with its copy gone they fail */
    wait_for_go(task->fds[SC_FORK_FD_REPORT]);
    close(task->fds[SC_FORK_FD_REPORT]);
    task->fds[SC_FORK_FD_REPORT] = -1;
}
