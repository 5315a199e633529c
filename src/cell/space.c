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
#include "cell/space_parts.h"

#define N_FDS_MAX (SC_SPACE_FDS + SC_NET_FD_COUNT) /* with a network these stand before the last */

#define KIN_NAMESPACES                                                                                       \
    "1024" /* of each kind: more than a forkable cell has cells below it, with all of theirs */

struct space_order {
    const struct sc_plan *plan;
    const struct sc_buf *table;
    int parent_user_ns;           /* rootless; -1: already there */
    uint64_t monotonic_s, boot_s; /* age of our clocks, which the cell's are taken back by */
    char map[SC_SPACE_MAP];       /* for uid_map and gid_map alike */
    int inner_ready[2], inner_go[2];
};

int sc_space_loopback_up(void)
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

uint64_t sc_space_clock_age_s(clockid_t clock)
{
    struct timespec age;
    clock_gettime(clock, &age);
    return (uint64_t)age.tv_sec;
}

/* Only a namespace that nobody has entered can be told so. */
int sc_space_start_clocks(uint64_t monotonic_s, uint64_t boot_s)
{
    char text[96];
    snprintf(text, sizeof text, "monotonic -%" PRIu64 " 0\nboottime -%" PRIu64 " 0\n", monotonic_s, boot_s);
    return sc_write_file(AT_FDCWD, "/proc/self/timens_offsets", text);
}

/* No namespace can be made inside the cell's user namespace, whatever its processes may get hold of. Of a
 * forkable cell they are those of the cells below it, which the supervisor makes: only its filter and its
 * lack of rights keep its own programs from it (docs/limits-of-isolation.md). */
static int forbid_namespaces(const struct sc_plan *plan)
{
    static const char *const kinds[] = {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        char path[64] = "/proc/sys/user/max_";
        strncat(path, kinds[i], 8);
        strncat(path, "_namespaces", 12);
        bool of_kin = plan->forkable && strcmp(kinds[i], "mnt") != 0;
        int r = sc_write_file(AT_FDCWD, path, of_kin ? KIN_NAMESPACES : "0");
        if (r < 0)
            return r;
    }
    return 0;
}

/* The open file belongs to the namespace, not to the process it was found by. Where the kernel has no IPv6
 * there is no snmp6, and nothing to count. */
int sc_space_open_counts(const char *path)
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
    int r = sc_space_loopback_up();
    if (r < 0)
        sc_maker_fail(socket, "network namespace", "lo", r);
    if (unshare(CLONE_NEWTIME) < 0)
        sc_maker_fail(socket, "time namespace", "", -errno);
    r = sc_space_start_clocks(order->monotonic_s, order->boot_s);
    if (r < 0)
        sc_maker_fail(socket, "time namespace", "/proc/self/timens_offsets", r);
    int fds[N_FDS_MAX] = {open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC),
                          open("/proc/thread-self/ns/time_for_children", O_RDONLY | O_CLOEXEC),
                          sc_space_open_counts("/proc/thread-self/net/snmp"),
                          sc_space_open_counts("/proc/thread-self/net/snmp6"), -1};
    int n_fds = SC_SPACE_FDS;
    if (order->table->len) {
        const char *step = "";
        r = sc_net_space_make(order->table->data, order->table->len, fds + SC_SPACE_FDS - 1, &step);
        if (r < 0)
            sc_maker_fail(socket, "network rules:", step, r);
        n_fds = N_FDS_MAX;
    }
    if (unshare(CLONE_NEWUSER) < 0)
        sc_maker_fail(socket, "user namespace", "", -errno);
    if (write(order->inner_ready[1], "r", 1) != 1 || read(order->inner_go[0], &byte, 1) != 1)
        _exit(1);
    r = forbid_namespaces(order->plan);
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

int sc_space_write_map(pid_t pid, const char *file, const char *text)
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
        int r = sc_space_write_map(pid, "setgroups", "deny");
        if (r == 0)
            r = sc_space_write_map(pid, "gid_map", order->map);
        if (r == 0)
            r = sc_space_write_map(pid, "uid_map", order->map);
        if (r < 0)
            sc_maker_fail(socket, "id map", order->map, r);
        if (write(order->inner_go[1], "g", 1) != 1)
            sc_maker_fail(socket, "pipe", "", -errno);
    }
    waitpid(pid, NULL, __WALL);
}

/* How many pairs a forkable cell gets: less where the host's range is small. */
static uint32_t kin_of(const struct sc_plan *plan)
{
    uint32_t n = SC_KIN_MAX;
    while (n > 2 && plan->host->cell_uid_count / 2 / n < 4)
        n /= 2;
    return n;
}

static int take_ids(const struct sc_plan *plan, struct sc_space *space, char *map, size_t size,
                    struct sc_err *err)
{
    uint32_t pairs = plan->forkable ? kin_of(plan) : 1;
    if (plan->rootless) {
        if (plan->agent_shares_uid)
            snprintf(map, size, "%d 0 1\n", SC_CELL_UID);
        else
            snprintf(map, size, "%d 1 1\n%d 0 1\n", SC_CELL_AGENT_UID, SC_CELL_UID);
        return 0;
    }
    space->id_lock = sc_ids_take(plan->host, pairs, &space->host_uid, err);
    if (space->id_lock < 0)
        return space->id_lock;
    space->kin_pairs = pairs - 1;
    space->kin_host = space->host_uid + 2;
    sc_space_map(map, size, space->host_uid, space->kin_host, space->kin_pairs);
    return 0;
}

void sc_space_map(char *map, size_t size, uint32_t own, uint32_t kin, uint32_t kin_pairs)
{
    int n = snprintf(map, size, "%d %u 1\n%d %u 1\n", SC_CELL_AGENT_UID, own + 1, SC_CELL_UID, own);
    if (kin_pairs && n > 0 && (size_t)n < size)
        snprintf(map + n, size - (size_t)n, "%d %u %u\n", SC_KIN_FIRST, kin, 2 * kin_pairs);
}

void sc_space_take(struct sc_space *space, const int *fds, int n_fds)
{
    space->net_ns = fds[0];
    space->time_ns = fds[1];
    space->net_counts[0] = fds[2];
    space->net_counts[1] = fds[3];
    space->user_ns = fds[n_fds - 1];
    space->has_egress = n_fds > SC_SPACE_FDS;
    for (int i = 0; space->has_egress && i < SC_NET_FD_COUNT; i++)
        space->egress[i] = fds[SC_SPACE_FDS - 1 + i];
}

int sc_space_open_group(struct sc_space *space, const struct sc_plan *plan, struct sc_err *err)
{
    int r = sc_group_open(&space->group, plan, err);
    space->has_group = r == 0;
    if (r < 0)
        return r;
    r = sc_group_task_fds(&space->group, space->tasks);
    space->n_tasks = r < 0 ? 0 : r;
    return r < 0 ? sc_err_sys(err, r, "cgroup: opening the tasks of %s", space->group.name) : 0;
}

int sc_space_open(const struct sc_plan *plan, const struct sc_template *tmpl, const struct sc_buf *table,
                  struct sc_space *ret_space, struct sc_err *err)
{
    struct sc_space space = SC_SPACE_NONE;
    struct space_order order = {.plan = plan,
                                .table = table,
                                .parent_user_ns = tmpl->user_ns,
                                .monotonic_s = sc_space_clock_age_s(CLOCK_MONOTONIC),
                                .boot_s = sc_space_clock_age_s(CLOCK_BOOTTIME)};
    struct sc_maker maker = {0};
    int fds[N_FDS_MAX], n_fds = table->len ? N_FDS_MAX : SC_SPACE_FDS;
    int r = take_ids(plan, &space, order.map, sizeof order.map, err);
    if (r < 0)
        return r;
    r = sc_maker_start(&maker, outer, &order, err);
    if (r == 0)
        r = sc_maker_take(&maker, fds, (size_t)n_fds, err);
    sc_maker_end(&maker);
    if (r < 0) {
        sc_space_close(&space);
        return sc_err_wrap(err, r, "making namespaces");
    }
    sc_space_take(&space, fds, n_fds);
    space.monotonic_s = order.monotonic_s;
    space.boot_s = order.boot_s;
    r = sc_space_open_group(&space, plan, err);
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
