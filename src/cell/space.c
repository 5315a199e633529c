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
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "cell/space_parts.h"

#define KIN_NAMESPACES                                                                                       \
    "1024" /* of each kind: more than a forkable cell has cells below it, with all of theirs */

struct space_order {
    const struct sc_plan *plan;
    int parent_user_ns; /* rootless; -1: already there */
    struct sc_space_helpers helpers;
};

uint64_t sc_space_clock_age_s(clockid_t clock)
{
    struct timespec age;
    clock_gettime(clock, &age);
    return (uint64_t)age.tv_sec;
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

static void inner(int socket, void *data)
{
    struct space_order *order = data;
    int fds[SC_SPACE_FDS_MAX], n_fds = sc_space_make_own(socket, &order->helpers, fds);
    if (unshare(CLONE_NEWUSER) < 0)
        sc_maker_fail(socket, "user namespace", "", -errno);
    sc_space_ask_for_map(&order->helpers);
    int r = forbid_namespaces(order->plan);
    if (r < 0)
        sc_maker_fail(socket, "user namespace", "/proc/sys/user", r);
    sc_space_hand_over(socket, fds, n_fds);
}

static void outer(int socket, void *data)
{
    struct space_order *order = data;
    if (order->parent_user_ns >= 0 && setns(order->parent_user_ns, CLONE_NEWUSER) < 0)
        sc_maker_fail(socket, "user namespace", "owner", -errno);
    /* The change of credentials made our own /proc entries root's: without this we could not write the
     * child's maps. */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    sc_space_have_inner(socket, &order->helpers, inner, order);
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
                                .parent_user_ns = tmpl->user_ns,
                                .helpers = {.table = table,
                                            .monotonic_s = sc_space_clock_age_s(CLOCK_MONOTONIC),
                                            .boot_s = sc_space_clock_age_s(CLOCK_BOOTTIME)}};
    struct sc_maker maker = {0};
    int fds[SC_SPACE_FDS_MAX], n_fds = table->len ? SC_SPACE_FDS_MAX : SC_SPACE_FDS;
    int r = take_ids(plan, &space, order.helpers.map, sizeof order.helpers.map, err);
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
    space.monotonic_s = order.helpers.monotonic_s;
    space.boot_s = order.helpers.boot_s;
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
