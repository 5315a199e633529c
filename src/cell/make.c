#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "cell/disk.h"
#include "cell/make_parts.h"
#include "cell/run.h"
#include "cell/spawn_child.h"

/* An agent that does not take its orders within this time is broken. */
#define ORDER_SECONDS 30
/* Where commands' output comes over the agent's stream. The socket calls for more only when three quarters of
 * it are free: of the usual size, frame by frame. The kernel gives what its own limit allows. */
#define ROOM_FOR_OUTPUT (512 * 1024)

/* Both ends belong to the cell's user, so that /dev/stdout and its kin can be opened again inside. */
static int open_pipe(const struct sc_works *works, const struct sc_cell *cell, int *ret_read, int *ret_write)
{
    int r = sc_pipe(ret_read, ret_write);
    if (r < 0)
        return r;
    uid_t uid = cell->space.host_uid;
    if (!works->plan->rootless && (fchown(*ret_read, uid, uid) < 0 || fchown(*ret_write, uid, uid) < 0))
        return -errno;
    return 0;
}

static int open_stdin(const struct sc_works *works, struct sc_cell *cell, struct sc_cell_start *start)
{
    const struct sc_spec *spec = works->plan->spec;
    if (!spec->stdin_data && spec->stdin_fd < 0) {
        start->in = fcntl(works->null, F_DUPFD_CLOEXEC, 3);
        return start->in < 0 ? -errno : 0;
    }
    int r = open_pipe(works, cell, &start->in, &cell->in);
    return r < 0 ? r : sc_set_nonblocking(cell->in);
}

static int open_streams(const struct sc_works *works, struct sc_cell *cell, struct sc_cell_start *start)
{
    if (works->plan->pty || works->plan->stay)
        return 0;
    int r = open_stdin(works, cell, start);
    if (r == 0)
        r = open_pipe(works, cell, &cell->out, &start->out);
    if (r == 0)
        r = open_pipe(works, cell, &cell->err, &start->err);
    if (r == 0)
        r = sc_set_nonblocking(cell->out);
    return r == 0 ? sc_set_nonblocking(cell->err) : r;
}

void sc_cell_fill_slots(const struct sc_works *works, const struct sc_cell *cell,
                        const struct sc_cell_start *start, struct sc_spawn_order *order)
{
    for (int i = 0; i < SC_SLOT_END; i++)
        order->slots[i] = -1;
    order->slots[0] = order->slots[1] = order->slots[2] = works->null;
    order->slots[SC_SLOT_CONTROL] = start->control;
    order->slots[SC_SLOT_IMAGE] = works->image;
    order->slots[SC_SLOT_STDIN] = start->in;
    order->slots[SC_SLOT_STDOUT] = start->out;
    order->slots[SC_SLOT_STDERR] = start->err;
    order->slots[SC_SLOT_TEMPLATE] = works->tmpl.mount_ns;
    order->slots[SC_SLOT_VACANT] = works->tmpl.vacant_ns;
    order->slots[SC_SLOT_NET] = cell->space.net_ns;
    order->slots[SC_SLOT_TIME] = cell->space.time_ns;
    order->slots[SC_SLOT_USER] = cell->space.user_ns;
    order->slots[SC_SLOT_SUPERVISOR] = works->self;
    order->slots[SC_SLOT_ID_LOCK] = cell->space.id_lock;
    order->slots[SC_SLOT_WORKDISK] = start->workdisk;
    for (int i = 0; i < cell->space.n_tasks; i++)
        order->slots[SC_SLOT_GROUP + i] = cell->space.tasks[i];
    order->slots[SC_SLOT_AGENT] = works->agent;
    order->user_ns = works->tmpl.user_ns;
    order->birth_ns = works->tmpl.birth_ns;
    order->is_midwife = false;
    /* Where v1 and v2 are mixed the first directory may be a v1 one. */
    order->cgroup = cell->space.group.v2 ? cell->space.group.v2_fd : -1;
}

int sc_cell_send_boot(const struct sc_cell *cell, uint32_t flags)
{
    struct sc_boot boot = {
        .version = SC_PROTO_VERSION,
        .n_groups = (uint32_t)cell->space.n_tasks,
        .flags = flags,
        .host_uid = cell->space.host_uid,
        .host_gid = cell->space.host_uid,
        .rows = 24,
        .cols = 80,
    };
#ifdef SC_MUTANTS
    const char *mutant = getenv(flags & SC_BOOT_CHILD ? "SC_CHILD_MUTANT" : "SC_MUTANT");
    if (mutant)
        strncpy(boot.mutant, mutant, sizeof boot.mutant - 1);
#endif
    return sc_frame_send(cell->control, SC_MSG_BOOT, 0, &boot, sizeof boot);
}

/* An ordinary user's child changes credentials in our memory, which makes the whole process undumpable for a
 * moment: another thread that looked just then would take that for what its caller wants, and leave it so.
 * The property is the process's, so the order is, too. */
static pid_t spawn(struct sc_spawn_order *order)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    if (order->user_ns < 0)
        return sc_spawn_agent(order);
    pthread_mutex_lock(&one_at_a_time);
    pid_t pid = sc_spawn_agent(order);
    pthread_mutex_unlock(&one_at_a_time);
    return pid;
}

static int start_agent(const struct sc_works *works, struct sc_cell *cell, const struct sc_cell_start *start,
                       struct sc_err *err)
{
    struct sc_spawn_order order;
    sc_cell_fill_slots(works, cell, start, &order);
    /* In the stream before the agent looks: it never waits for us. */
    int r = sc_cell_send_boot(cell, works->plan->forkable ? SC_BOOT_FORKABLE : 0);
    if (r < 0)
        return sc_err_sys(err, r, "boot message");
    r = spawn(&order);
    if (r < 0)
        return sc_err_sys(err, r, "starting the agent (%s)", order.failed ? order.failed : "clone");
    cell->pid = r;
    /* Ours and not yet waited for, so the number cannot have gone to another process. */
    cell->pidfd = sc_sys_pidfd_open(cell->pid);
    return cell->pidfd < 0 ? sc_err_sys(err, cell->pidfd, "pidfd_open") : 0;
}

static int open_control(const struct sc_works *works, struct sc_cell *cell, struct sc_cell_start *start)
{
    const struct timeval patience = {.tv_sec = ORDER_SECONDS};
    const int room = ROOM_FOR_OUTPUT;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    cell->control = ends[0];
    start->control = ends[1];
    if (works->plan->stay && setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof room) < 0)
        return -errno;
    return setsockopt(cell->control, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) < 0 ? -errno : 0;
}

/* The work folder's own disk has the io limits of the others. */
static int open_disk(const struct sc_plan *plan, struct sc_cell *cell, struct sc_cell_start *start,
                     struct sc_err *err)
{
    struct sc_host_disk disk;
    int r = sc_disk_open(plan, cell->space.host_uid, &start->workdisk, &disk, err);
    return r < 0 ? r : sc_group_limit_disk(&cell->space.group, plan, &disk, err);
}

/* Before anything can run that would ask for it. */
static int lay_trust(struct sc_works *works, struct sc_cell *cell, struct sc_err *err)
{
    int r = sc_egress_await_authority(&cell->egress, err);
    return r < 0 ? r : sc_trust_lay(cell->control, &works->egress.trust, cell->egress.authority, err);
}

/* Takes `cell`, which has its space: streams, the agent's order, process 1. */
static int finish(struct sc_works *works, struct sc_cell *cell, const struct sc_kin *kin, struct sc_err *err)
{
    struct sc_cell_start start = {-1, -1, -1, -1, -1};
    int r = open_streams(works, cell, &start);
    if (r == 0)
        r = open_control(works, cell, &start);
    if (r < 0)
        sc_err_sys(err, r, "the cell's streams");
    if (r == 0 && works->plan->disk_image)
        r = open_disk(works->plan, cell, &start, err);
    if (r == 0)
        r = kin ? sc_cell_start_child(works, cell, kin, &start, err) : start_agent(works, cell, &start, err);
    int *const ends[] = {&start.in, &start.out, &start.err, &start.control, &start.workdisk};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        sc_close(ends[i]);
    if (r == 0 && works->plan->own_authority)
        r = lay_trust(works, cell, err);
    if (r < 0)
        sc_cell_end(cell);
    return r;
}

/* The process that lets the cell's network out, if it is to have any. */
static int start_egress(struct sc_works *works, struct sc_cell *cell, struct sc_err *err)
{
    if (!cell->space.has_egress)
        return 0;
    int r = sc_egress_start(works->plan, &works->egress, cell->space.egress, &cell->egress, err);
    cell->space.has_egress = false;
    return r;
}

/* One that failed before is begun anew: what its helper died of may not come again, and no cell has come of
 * it. */
static int begin_tree(struct sc_works *works, struct sc_err *err)
{
    bool is_there = works->tmpl.mount_ns >= 0 || works->tmpl.maker.pid > 0;
    return is_there ? 0 : sc_template_start(works->plan, &works->tmpl, err);
}

static int finish_tree(struct sc_works *works, struct sc_err *err)
{
    int r = sc_template_finish(&works->tmpl, err);
    if (r < 0)
        sc_template_close(&works->tmpl);
    return r;
}

int sc_cell_make(struct sc_works *works, struct sc_cell *ret_cell, struct sc_err *err)
{
    struct sc_cell cell = SC_CELL_NONE;
    int r = begin_tree(works, err);
    if (r == 0)
        r = sc_space_open(works->plan, &works->tmpl, &works->egress.table, &cell.space, err);
    if (r < 0)
        return r;
    /* Only now: the tree and the cell's own namespaces are made at the same time. */
    r = finish_tree(works, err);
    if (r == 0)
        r = start_egress(works, &cell, err);
    if (r == 0)
        r = finish(works, &cell, NULL, err);
    if (r < 0) {
        sc_space_close(&cell.space);
        return r;
    }
    *ret_cell = cell;
    return 0;
}

int sc_cell_make_child(struct sc_works *works, struct sc_cell *parent, bool forkable,
                       struct sc_cell *ret_cell, struct sc_err *err)
{
    struct sc_cell cell = SC_CELL_NONE;
    const struct sc_kin kin = {parent, forkable};
    int r = sc_space_open_child(works->plan, &works->tmpl, &works->egress.table, &parent->space, forkable,
                                &cell.space, err);
    if (r < 0)
        return r;
    r = start_egress(works, &cell, err);
    if (r == 0)
        r = finish(works, &cell, &kin, err);
    if (r < 0) {
        sc_space_release(&parent->space, &cell.space);
        sc_space_close(&cell.space);
        return r;
    }
    *ret_cell = cell;
    return 0;
}

void sc_cell_end(struct sc_cell *cell)
{
    /* Without our end of its stream the agent ends, and the kernel ends the namespace with it. */
    sc_close(&cell->control);
    if (cell->pid > 0) {
        /* By descriptor: where the caller ignores SIGCHLD or waits for any child, the number may be another's
         * by now. */
        if (cell->pidfd >= 0)
            sc_sys_pidfd_kill(cell->pidfd, SIGKILL);
        else
            kill(cell->pid, SIGKILL);
        while (waitpid(cell->pid, NULL, __WALL) < 0 && errno == EINTR)
            ;
    }
    cell->pid = 0;
    sc_egress_end(&cell->egress);
    sc_close(&cell->pidfd);
    sc_close(&cell->pid_ns);
    sc_close(&cell->in);
    sc_close(&cell->out);
    sc_close(&cell->err);
}
