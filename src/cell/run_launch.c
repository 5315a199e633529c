#include <errno.h>
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
#include "cell/run.h"
#include "cell/spawn_child.h"

/* An agent that does not take its orders within this time is broken. */
#define ORDER_SECONDS 30

static void fill_slots(struct sc_run *run, struct sc_spawn_order *order, int control, int workdisk)
{
    struct sc_works *works = run->works;
    for (int i = 0; i < SC_SLOT_END; i++)
        order->slots[i] = -1;
    order->slots[0] = order->slots[1] = order->slots[2] = works->null;
    order->slots[SC_SLOT_CONTROL] = control;
    order->slots[SC_SLOT_IMAGE] = works->image;
    order->slots[SC_SLOT_STDIN] = run->child_in;
    order->slots[SC_SLOT_STDOUT] = run->child_out;
    order->slots[SC_SLOT_STDERR] = run->child_err;
    order->slots[SC_SLOT_TEMPLATE] = works->tmpl.mount_ns;
    order->slots[SC_SLOT_VACANT] = works->tmpl.vacant_ns;
    order->slots[SC_SLOT_NET] = run->cell.space.net_ns;
    order->slots[SC_SLOT_TIME] = run->cell.space.time_ns;
    order->slots[SC_SLOT_USER] = run->cell.space.user_ns;
    order->slots[SC_SLOT_ID_LOCK] = run->cell.space.id_lock;
    order->slots[SC_SLOT_WORKDISK] = workdisk;
    for (int i = 0; i < run->cell.space.n_tasks; i++)
        order->slots[SC_SLOT_GROUP + i] = run->cell.space.tasks[i];
    order->slots[SC_SLOT_AGENT] = works->agent;
    order->user_ns = works->tmpl.user_ns;
    order->birth_ns = works->tmpl.birth_ns;
    /* Where v1 and v2 are mixed the first directory may be a v1 one. */
    order->cgroup = run->cell.space.group.v2 ? run->cell.space.group.v2_fd : -1;
}

static int send_boot(struct sc_run *run)
{
    struct sc_boot boot = {
        .version = SC_PROTO_VERSION,
        .n_groups = (uint32_t)run->cell.space.n_tasks,
        .host_uid = run->cell.space.host_uid,
        .host_gid = run->cell.space.host_uid,
        .rows = 24,
        .cols = 80,
    };
#ifdef SC_MUTANTS
    const char *mutant = getenv("SC_MUTANT");
    if (mutant)
        strncpy(boot.mutant, mutant, sizeof boot.mutant - 1);
#endif
    return sc_frame_send(run->cell.control, SC_MSG_BOOT, 0, &boot, sizeof boot);
}

/* An ordinary user's child changes credentials in our memory, which makes the whole process undumpable for a moment: another
 * thread that looked just then would take that for what its caller wants, and leave it so. The property is the process's, so
 * the order is, too. */
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

int sc_run_launch(struct sc_run *run, struct sc_err *err)
{
    struct sc_spawn_order order;
    const struct timeval patience = {.tv_sec = ORDER_SECONDS};
    int ends[2], workdisk = -1;
    int r = run->plan->disk_image ? sc_disk_open(run->plan, run->cell.space.host_uid, &workdisk, err) : 0;
    if (r < 0)
        return r;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        sc_close(&workdisk);
        return sc_err_sys(err, -errno, "socketpair");
    }
    run->cell.control = ends[0];
    setsockopt(run->cell.control, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    fill_slots(run, &order, ends[1], workdisk);
    /* In the stream before the agent looks: it never waits for us. */
    r = send_boot(run);
    if (r < 0)
        sc_err_sys(err, r, "boot message");
    else if ((r = spawn(&order)) < 0)
        sc_err_sys(err, r, "starting the agent (%s)", order.failed ? order.failed : "clone");
    close(ends[1]);
    sc_close(&workdisk);
    sc_close(&run->child_in);
    sc_close(&run->child_out);
    sc_close(&run->child_err);
    if (r < 0)
        return r;
    run->cell.pid = r;
    /* Ours and not yet waited for, so the number cannot have gone to another process. */
    run->cell.pidfd = sc_sys_pidfd_open(run->cell.pid);
    if (run->cell.pidfd >= 0)
        return 0;
    kill(run->cell.pid, SIGKILL);
    waitpid(run->cell.pid, NULL, __WALL);
    return sc_err_sys(err, run->cell.pidfd, "pidfd_open");
}
