/* Theory of operation: the namespaces of a child cell.
 *
 * A process without any right may enter a user namespace that its own id made, and the namespaces that belong
 * to that. So the inner helper first becomes the parent cell's program, by number only, and makes the user
 * namespace as such; then, within, what else the cell needs. The outer one stands in the parent cell's user
 * namespace, which it enters by the right of who made that, and writes the id map.
 *
 * Further namespaces are forbidden there by the cell's agent, when it has all of its own (enter_user.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "cell/space_parts.h"

struct child_order {
    int owner_ns;  /* rootless: the user namespace that owns the template; else -1 */
    int parent_ns; /* the parent cell's user namespace */
    struct sc_space_helpers helpers;
};

/* ---- in the helpers ---- */

/* Its own /proc entries belong to root after each change of credentials, and it has to write some. */
static void stay_visible(int socket)
{
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
        sc_maker_fail(socket, "user namespace", "dumpable", -errno);
}

static void make_user_namespace(int socket, struct child_order *order)
{
    uid_t uid = SC_CELL_UID;
    if (syscall(SYS_setresgid, uid, uid, uid) < 0 || syscall(SYS_setresuid, uid, uid, uid) < 0)
        sc_maker_fail(socket, "user namespace", "program id of the parent cell", -errno);
    if (unshare(CLONE_NEWUSER) < 0)
        sc_maker_fail(socket, "user namespace", "below the parent cell's", -errno);
    stay_visible(socket);
    sc_space_ask_for_map(&order->helpers);
}

static void inner(int socket, void *data)
{
    struct child_order *order = data;
    int fds[SC_SPACE_FDS_MAX];
    make_user_namespace(socket, order);
    sc_space_hand_over(socket, fds, sc_space_make_own(socket, &order->helpers, fds));
}

static void outer(int socket, void *data)
{
    struct child_order *order = data;
    if (order->owner_ns >= 0 && setns(order->owner_ns, CLONE_NEWUSER) < 0)
        sc_maker_fail(socket, "user namespace", "owner", -errno);
    if (setns(order->parent_ns, CLONE_NEWUSER) < 0)
        sc_maker_fail(socket, "user namespace", "of the parent cell", -errno);
    stay_visible(socket);
    sc_space_have_inner(socket, &order->helpers, inner, order);
}

/* ---- in the supervisor ---- */

static bool is_used(const struct sc_space *parent, uint32_t pair)
{
    return parent->kin_used[pair / 64] >> pair % 64 & 1;
}

static void mark(struct sc_space *parent, uint32_t first, uint32_t n, bool used)
{
    for (uint32_t pair = first; pair < first + n; pair++)
        if (used)
            parent->kin_used[pair / 64] |= 1ull << pair % 64;
        else
            parent->kin_used[pair / 64] &= ~(1ull << pair % 64);
}

/* The longest stretch of pairs that no cell below `parent` has: its length. */
static uint32_t longest(const struct sc_space *parent, uint32_t *ret_first)
{
    uint32_t run = 0, most = 0;
    for (uint32_t i = 0; i < parent->kin_pairs; i++) {
        run = is_used(parent, i) ? 0 : run + 1;
        if (run > most) {
            most = run;
            *ret_first = i + 1 - run;
        }
    }
    return most;
}

/* A single pair from the front, many from the back: so the stretches stay whole. */
static int find_pairs(const struct sc_space *parent, bool forkable, uint32_t *ret_first, uint32_t *ret_n)
{
    uint32_t first = 0, most = longest(parent, &first), n = most / SC_KIN_SHARE;
    if (forkable && n < 2)
        return -ENOSPC; /* nothing could be below it */
    if (!most)
        return -EAGAIN;
    *ret_n = forkable ? n : 1;
    *ret_first = forkable ? first + most - n : 0;
    while (!forkable && is_used(parent, *ret_first))
        ++*ret_first;
    return 0;
}

static int no_pairs(const struct sc_space *parent, int r, struct sc_err *err)
{
    if (r == -ENOSPC)
        return sc_err_set(
            err, SC_ERR_USAGE, -EOPNOTSUPP,
            "session: nothing could be forked from another forkable cell below it: it is a late copy of "
            "copies, or has many already, and has %u ids left for them",
            longest(parent, &(uint32_t){0}));
    return sc_err_set(err, SC_ERR_HOST, r, "no free id for a cell below this one: all of its %u are in use",
                      parent->kin_pairs);
}

static int take_pairs(struct sc_space *parent, bool forkable, struct sc_space *space, struct sc_err *err)
{
    uint32_t first = 0, n = 0;
    int r = find_pairs(parent, forkable, &first, &n);
    if (r < 0)
        return no_pairs(parent, r, err);
    space->id_lock = fcntl(parent->id_lock, F_DUPFD_CLOEXEC, 3);
    if (space->id_lock < 0)
        return sc_err_sys(err, -errno, "the lock of the cell's ids");
    mark(parent, first, n, true);
    space->own_pair = first;
    space->own_pairs = n;
    space->host_uid = parent->kin_host + 2 * first;
    space->kin_pairs = n - 1;
    space->kin_host = space->host_uid + 2;
    return 0;
}

void sc_space_release(struct sc_space *parent, struct sc_space *child)
{
    mark(parent, child->own_pair, child->own_pairs, false);
    child->own_pairs = 0;
}

/* Rootless the parent's own ids are handed down: they are all there are. */
static void write_map(const struct sc_plan *plan, const struct sc_space *space, char *map, size_t size)
{
    uint32_t own = SC_KIN_FIRST + 2 * space->own_pair;
    if (!plan->rootless)
        sc_space_map(map, size, own, own + 2, space->kin_pairs);
    else if (plan->agent_shares_uid)
        snprintf(map, size, "%d %d 1\n", SC_CELL_UID, SC_CELL_UID);
    else
        snprintf(map, size, "%d %d 1\n%d %d 1\n", SC_CELL_AGENT_UID, SC_CELL_AGENT_UID, SC_CELL_UID,
                 SC_CELL_UID);
}

static int make_namespaces(const struct sc_template *tmpl, const struct sc_space *parent,
                           struct child_order *order, struct sc_space *space, struct sc_err *err)
{
    struct sc_maker maker = {0};
    int fds[SC_SPACE_FDS_MAX], n_fds = order->helpers.table->len ? SC_SPACE_FDS_MAX : SC_SPACE_FDS;
    order->owner_ns = tmpl->user_ns;
    order->parent_ns = parent->user_ns;
    order->helpers.monotonic_s = space->monotonic_s = parent->monotonic_s;
    order->helpers.boot_s = space->boot_s = sc_space_clock_age_s(CLOCK_BOOTTIME);
    int r = sc_maker_start(&maker, outer, order, err);
    if (r == 0)
        r = sc_maker_take(&maker, fds, (size_t)n_fds, err);
    sc_maker_end(&maker);
    if (r < 0)
        return sc_err_wrap(err, r, "making namespaces below a cell");
    sc_space_take(space, fds, n_fds);
    return 0;
}

int sc_space_open_child(const struct sc_plan *plan, const struct sc_template *tmpl,
                        const struct sc_buf *table, struct sc_space *parent, bool forkable,
                        struct sc_space *ret_space, struct sc_err *err)
{
    struct sc_space space = SC_SPACE_NONE;
    struct child_order order = {.owner_ns = -1, .helpers.table = table};
    int r = plan->rootless ? 0 : take_pairs(parent, forkable, &space, err);
    if (r < 0)
        return r;
    write_map(plan, &space, order.helpers.map, sizeof order.helpers.map);
    r = make_namespaces(tmpl, parent, &order, &space, err);
    if (r == 0)
        r = sc_space_open_group(&space, plan, err);
    if (r < 0) {
        sc_space_release(parent, &space);
        sc_space_close(&space);
        return r;
    }
    *ret_space = space;
    return 0;
}
