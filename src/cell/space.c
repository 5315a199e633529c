/* Theory of operation.
 *
 * Two helpers. The outer one stands in the namespace that owns the template (root's own, or the ordinary
 * user's); the inner one leaves it step by step: a fresh network namespace with `lo` up, a time namespace, a
 * user namespace. The outer one writes the inner one's id map, which takes a right over the parent namespace.
 * The inner one then forbids all further namespaces in its user namespace and hands both descriptors out.
 * Nothing of either process lives on.
 */
#include "cell/space.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "cell/maker.h"

#define N_FDS 5 /* what inner() hands over; with a network SC_NET_FD_COUNT more stand before the last */
#define N_FDS_MAX (N_FDS + SC_NET_FD_COUNT)

struct space_order {
    const struct sc_plan *plan;
    const struct sc_buf *table;
    int parent_user_ns;           /* rootless; -1: already there */
    uint64_t monotonic_s, boot_s; /* age of our clocks, which the cell's are taken back by */
    char map[64];                 /* for uid_map and gid_map alike */
    int inner_ready[2], inner_go[2];
};

static int loopback_up(void)
{
    struct ifreq request = {.ifr_flags = IFF_UP | IFF_RUNNING};
    memcpy(request.ifr_name, "lo", 3);
    int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (sock < 0)
        return -errno;
    int r = ioctl(sock, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
    close(sock);
    return r;
}

static uint64_t clock_age_s(clockid_t clock)
{
    struct timespec age;
    clock_gettime(clock, &age);
    return (uint64_t)age.tv_sec;
}

/* Only a namespace that nobody has entered can be told so. */
static int start_clocks(const struct space_order *order)
{
    char text[96];
    snprintf(text, sizeof text, "monotonic -%" PRIu64 " 0\nboottime -%" PRIu64 " 0\n", order->monotonic_s,
             order->boot_s);
    return sc_write_file(AT_FDCWD, "/proc/self/timens_offsets", text);
}

/* No namespace can be made inside the cell's user namespace, whatever its processes may get hold of. */
static int forbid_namespaces(void)
{
    static const char *const kinds[] = {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        char path[64] = "/proc/sys/user/max_";
        strncat(path, kinds[i], 8);
        strncat(path, "_namespaces", 12);
        int r = sc_write_file(AT_FDCWD, path, "0");
        if (r < 0)
            return r;
    }
    return 0;
}

/* The open file belongs to the namespace, not to the process it was found by. Where the kernel has no IPv6
 * there is no snmp6, and nothing to count. */
static int open_counts(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 && errno == ENOENT ? open("/dev/null", O_RDONLY | O_CLOEXEC) : fd;
}

static void inner(int socket, struct space_order *order)
{
    char byte;
    bool whole = true;
    if (unshare(CLONE_NEWNET) < 0)
        sc_maker_fail(socket, "network namespace", "", -errno);
    int r = loopback_up();
    if (r < 0)
        sc_maker_fail(socket, "network namespace", "lo", r);
    if (unshare(CLONE_NEWTIME) < 0)
        sc_maker_fail(socket, "time namespace", "", -errno);
    r = start_clocks(order);
    if (r < 0)
        sc_maker_fail(socket, "time namespace", "/proc/self/timens_offsets", r);
    int fds[N_FDS_MAX] = {open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC),
                          open("/proc/thread-self/ns/time_for_children", O_RDONLY | O_CLOEXEC),
                          open_counts("/proc/thread-self/net/snmp"),
                          open_counts("/proc/thread-self/net/snmp6"), -1};
    int n_fds = N_FDS;
    if (order->table->len) {
        const char *step = "";
        r = sc_net_space_make(order->table->data, order->table->len, fds + N_FDS - 1, &step);
        if (r < 0)
            sc_maker_fail(socket, "network rules:", step, r);
        n_fds = N_FDS_MAX;
    }
    if (unshare(CLONE_NEWUSER) < 0)
        sc_maker_fail(socket, "user namespace", "", -errno);
    if (write(order->inner_ready[1], "r", 1) != 1 || read(order->inner_go[0], &byte, 1) != 1)
        _exit(1);
    r = forbid_namespaces();
    if (r < 0)
        sc_maker_fail(socket, "user namespace", "/proc/sys/user", r);
    fds[n_fds - 1] = open("/proc/thread-self/ns/user", O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < n_fds; i++)
        whole = whole && fds[i] >= 0;
    if (!whole)
        sc_maker_fail(socket, "namespace descriptors", "", -errno);
    sc_maker_send(socket, fds, (size_t)n_fds);
    _exit(0);
}

static int write_map(pid_t pid, const char *file, const char *text)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    return sc_write_file(AT_FDCWD, path, text);
}

static void outer(int socket, void *data)
{
    struct space_order *order = data;
    char byte;
    if (order->parent_user_ns >= 0 && setns(order->parent_user_ns, CLONE_NEWUSER) < 0)
        sc_maker_fail(socket, "user namespace", "owner", -errno);
    /* The change of credentials made our own /proc entries root's: without this we could not write the
     * child's maps. */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    if (pipe2(order->inner_ready, O_CLOEXEC) < 0 || pipe2(order->inner_go, O_CLOEXEC) < 0)
        sc_maker_fail(socket, "pipe", "", -errno);
    pid_t pid = sc_maker_fork();
    if (pid < 0)
        sc_maker_fail(socket, "fork", "", pid);
    if (pid == 0) {
        close(order->inner_ready[0]);
        close(order->inner_go[1]);
        inner(socket, order);
    }
    close(order->inner_ready[1]);
    close(order->inner_go[0]);
    if (read(order->inner_ready[0], &byte, 1) == 1) {
        int r = write_map(pid, "setgroups", "deny");
        if (r == 0)
            r = write_map(pid, "gid_map", order->map);
        if (r == 0)
            r = write_map(pid, "uid_map", order->map);
        if (r < 0)
            sc_maker_fail(socket, "id map", order->map, r);
        if (write(order->inner_go[1], "g", 1) != 1)
            sc_maker_fail(socket, "pipe", "", -errno);
    }
    waitpid(pid, NULL, __WALL);
}

int sc_space_open(const struct sc_plan *plan, const struct sc_template *tmpl, const struct sc_buf *table,
                  struct sc_space *ret_space, struct sc_err *err)
{
    struct sc_space space = SC_SPACE_NONE;
    struct space_order order = {.plan = plan,
                                .table = table,
                                .parent_user_ns = tmpl->user_ns,
                                .monotonic_s = clock_age_s(CLOCK_MONOTONIC),
                                .boot_s = clock_age_s(CLOCK_BOOTTIME)};
    struct sc_maker maker = {0};
    int fds[N_FDS_MAX], n_fds = table->len ? N_FDS_MAX : N_FDS, r = 0;
    if (!plan->rootless) {
        space.id_lock = sc_ids_take(plan->host, &space.host_uid, err);
        if (space.id_lock < 0)
            return space.id_lock;
        snprintf(order.map, sizeof order.map, "%d %u 1\n%d %u 1\n", SC_CELL_AGENT_UID, space.host_uid + 1,
                 SC_CELL_UID, space.host_uid);
    } else if (plan->agent_shares_uid) {
        snprintf(order.map, sizeof order.map, "%d 0 1\n", SC_CELL_UID);
    } else {
        snprintf(order.map, sizeof order.map, "%d 1 1\n%d 0 1\n", SC_CELL_AGENT_UID, SC_CELL_UID);
    }
    r = sc_maker_start(&maker, outer, &order, err);
    if (r == 0)
        r = sc_maker_take(&maker, fds, (size_t)n_fds, err);
    sc_maker_end(&maker);
    if (r < 0) {
        sc_space_close(&space);
        return sc_err_wrap(err, r, "making namespaces");
    }
    space.net_ns = fds[0];
    space.time_ns = fds[1];
    space.boot_s = order.boot_s;
    space.net_counts[0] = fds[2];
    space.net_counts[1] = fds[3];
    space.user_ns = fds[n_fds - 1];
    space.has_egress = table->len != 0;
    for (int i = 0; space.has_egress && i < SC_NET_FD_COUNT; i++)
        space.egress[i] = fds[N_FDS - 1 + i];
    r = sc_group_open(&space.group, plan, err);
    space.has_group = r == 0;
    if (r == 0) {
        r = sc_group_task_fds(&space.group, space.tasks);
        space.n_tasks = r < 0 ? 0 : r;
        if (r < 0)
            sc_err_sys(err, r, "cgroup: opening the tasks of %s", space.group.name);
    }
    if (r < 0) {
        sc_space_close(&space);
        return r;
    }
    *ret_space = space;
    return 0;
}

void sc_space_shed(struct sc_space *space)
{
    for (int i = 0; i < space->n_tasks; i++)
        sc_close(&space->tasks[i]);
    space->n_tasks = 0;
    sc_close(&space->net_ns);
    sc_close(&space->net_counts[0]);
    sc_close(&space->net_counts[1]);
    for (int i = 0; space->has_egress && i < SC_NET_FD_COUNT; i++)
        sc_close(&space->egress[i]);
    space->has_egress = false;
    sc_close(&space->time_ns);
    sc_close(&space->user_ns);
    sc_close(&space->id_lock);
}

int sc_space_close(struct sc_space *space)
{
    sc_space_shed(space);
    int r = space->has_group ? sc_group_close(&space->group) : 0;
    space->has_group = false;
    return r;
}
