/* The order to fork, as the program above gets it: the child's streams, where it is to live, and what it is
 * to be. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "agent/fork_order.h"
#include "base/clock.h"
#include "cell/live_parts.h"
#include "cell/run.h"

struct packet {
    struct sc_fork_order order;
    char cwd[SC_FORK_CWD_MAX];
};

static void fill_order(struct sc_live *live, struct packet *packet)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    memset(&packet->order, 0, sizeof packet->order);
    packet->order.version = SC_FORK_VERSION;
    packet->order.id = live->fork.id;
    packet->order.flags = live->forkable ? SC_FORK_FORKABLE : 0;
    packet->order.nice = getpriority(PRIO_PROCESS, 0);
    packet->order.wall_ns = (int64_t)now.tv_sec * (int64_t)SC_NS_PER_S + now.tv_nsec;
#ifdef SC_MUTANTS
    const char *mutant = getenv("SC_FORK_MUTANT");
    if (mutant)
        strncpy(packet->order.mutant, mutant, sizeof packet->order.mutant - 1);
#endif
    memcpy(packet->cwd, live->fork.cwd, strlen(live->fork.cwd) + 1);
}

/* v1: `tasks`; v2: the process list, for there is no other way in for who is born already. */
static int open_groups(struct sc_live *live, int fds[SC_FORK_FDS_MAX])
{
    struct sc_space *space = &live->cell.space;
    if (!space->has_group)
        return 0;
    int n = sc_group_task_fds(&space->group, fds + SC_FORK_FD_GROUP);
    if (n < 0 || !space->group.v2)
        return n < 0 ? n : 0;
    if (SC_FORK_FD_GROUP + n >= SC_FORK_FDS_MAX)
        return -ENOSPC;
    int *procs = &fds[SC_FORK_FD_GROUP + n];
    *procs = openat(space->group.v2_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    return *procs < 0 ? -errno : 0;
}

static int open_own(struct sc_live *live, const struct sc_live_op *op, int fds[SC_FORK_FDS_MAX])
{
    const int on = 1;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    live->fork.report = ends[0];
    fds[SC_FORK_FD_REPORT] = ends[1];
    if (setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0)
        return -errno;
    if (op->flags & SC_COMMAND_SOCKET) {
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
            return -errno;
        live->fork.socket = ends[0];
        fds[SC_FORK_FD_SOCKET] = ends[1];
    }
    fds[SC_FORK_FD_IMAGE] = fcntl(live->works->image, F_DUPFD_CLOEXEC, 3);
    return fds[SC_FORK_FD_IMAGE] < 0 ? -errno : open_groups(live, fds);
}

/* The socket is never waited for: a program that takes no orders has many of them already. */
static int send_order(int socket, struct packet *packet, const int fds[SC_FORK_FDS_MAX])
{
    union {
        char space[CMSG_SPACE(sizeof(int) * SC_FORK_FDS_MAX)];
        struct cmsghdr align;
    } control;
    int list[SC_FORK_FDS_MAX];
    size_t n = 0;
    for (int i = 0; i < SC_FORK_FDS_MAX; i++)
        if (fds[i] >= 0) {
            packet->order.fds |= 1u << i;
            list[n++] = fds[i];
        }
    struct iovec part = {packet, sizeof packet->order + strlen(packet->cwd) + 1};
    struct msghdr msg = {.msg_iov = &part,
                         .msg_iovlen = 1,
                         .msg_control = control.space,
                         .msg_controllen = CMSG_SPACE(sizeof(int) * n)};
    memset(&control, 0, sizeof control);
    struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * n);
    memcpy(CMSG_DATA(c), list, sizeof(int) * n);
    ssize_t sent;
    do
        sent = sendmsg(socket, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : 0;
}

static int give_order(struct sc_live *live, struct sc_live_op *op, int fds[SC_FORK_FDS_MAX])
{
    struct packet packet;
    struct sc_live_op *program = live->parent ? sc_live_find(live->parent, live->fork.from) : NULL;
    if (!program || program->fork_socket < 0)
        return -ESRCH;
    int r = open_own(live, op, fds);
    if (r < 0)
        return r;
    live->fork.id = ++live->parent->orders;
    fill_order(live, &packet);
    r = getrandom(packet.order.randomness, sizeof packet.order.randomness, 0) ==
                sizeof packet.order.randomness
            ? 0
            : -EIO;
    if (r == 0)
        r = send_order(program->fork_socket, &packet, fds);
    explicit_bzero(packet.order.randomness, sizeof packet.order.randomness);
    return r;
}

/* By enum sc_adopt_fd. */
static const enum sc_fork_fd PLACES[SC_ADOPT_COUNT] = {
    SC_FORK_FD_IN,     SC_FORK_FD_OUT,  SC_FORK_FD_ERR,    SC_FORK_FD_RUNNER, SC_FORK_FD_USER,
    SC_FORK_FD_PID,    SC_FORK_FD_TIME, SC_FORK_FD_NET,    SC_FORK_FD_IPC,    SC_FORK_FD_UTS,
    SC_FORK_FD_CGROUP, SC_FORK_FD_ROOT, SC_FORK_FD_RULESET};

/* What is not there is told as nothing that any file is. */
static void note_places(struct sc_live *live, const int fds[SC_FORK_FDS_MAX])
{
    for (int i = SC_ADOPT_USER; i <= SC_ADOPT_ROOT; i++) {
        struct sc_live_place *place = &live->fork.places[i];
        if (fds[PLACES[i]] < 0 || !sc_live_fork_place(fds[PLACES[i]], "", place))
            *place = (struct sc_live_place){0};
    }
}

int sc_live_fork_lent(struct sc_live *live, struct sc_live_op *op, uint32_t mask)
{
    int fds[SC_FORK_FDS_MAX];
    size_t used = 0;
    if (live->fork.is_ordered || mask >> SC_ADOPT_COUNT || live->n_fds != (size_t)__builtin_popcount(mask))
        return -EPROTO;
    for (int i = 0; i < SC_FORK_FDS_MAX; i++)
        fds[i] = -1;
    for (int i = 0; i < SC_ADOPT_COUNT; i++)
        if (mask & 1u << i)
            fds[PLACES[i]] = live->fds[used++];
    live->n_fds = 0;
    note_places(live, fds);
    live->fork.is_ordered = true;
    int r = live->fork.has_failed ? 0 : give_order(live, op, fds);
    for (int i = 0; i < SC_FORK_FDS_MAX; i++)
        sc_close(&fds[i]);
    if (r < 0)
        sc_live_fork_fail(live, "fork",
                          r == -EAGAIN ? "the program has too many orders to fork already" : "order", r);
    return 0;
}
