/* Cells above and below each other. The kernel ends a cell with the one it lies in, and lets that one end
 * only when process 1 of each cell within was waited for: by us, whose children they all are. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "cell/live_parts.h"
#include "cell/run.h"

static void leave_parent(struct sc_live *live)
{
    struct sc_live **at = &live->parent->children;
    while (*at != live)
        at = &(*at)->other;
    *at = live->other;
    live->parent = live->other = NULL;
}

int sc_live_open_child(struct sc_works *works, struct sc_live *parent, bool forkable,
                       const struct sc_live_events *events, struct sc_live **ret_live, struct sc_err *err)
{
    struct sc_cell cell = SC_CELL_NONE;
    if (!parent->forkable || works != parent->works)
        return sc_err_usage(err, "forkable", "forkable: the cell above was not started forkable");
    if (parent->phase != SC_LIVE_LIVES)
        return sc_err_set(err, SC_ERR_SANDBOX, -ESHUTDOWN, "the cell above has ended");
    if (!parent->has_ready)
        return sc_err_set(err, SC_ERR_SANDBOX, -EAGAIN, "the cell above is not sealed yet");
    int r = sc_cell_make_child(works, &parent->cell, forkable, &cell, err);
    if (r < 0)
        return r;
    struct sc_space ids = cell.space; /* begin takes the cell, also on failure */
    r = sc_live_begin(works, &cell, events, ret_live, err);
    if (r < 0) {
        sc_space_release(&parent->cell.space, &ids);
        return r;
    }
    struct sc_live *live = *ret_live;
    live->forkable = forkable;
    live->parent = parent;
    live->other = parent->children;
    parent->children = live;
    return 0;
}

static bool is_idle(const struct sc_live *live)
{
    for (size_t i = 0; i < SC_COMMANDS_MAX; i++)
        if (live->ops[i].state != SC_OP_FREE)
            return false;
    return !live->fork.op && !live->children;
}

bool sc_live_is_blank(const struct sc_live *live)
{
    struct pollfd dead = {live->cell.pidfd, POLLIN, 0};
    if (live->phase != SC_LIVE_LIVES || !live->has_ready || live->has_failed || !is_idle(live))
        return false;
    if (poll(&dead, 1, 0) != 0)
        return false;
    const struct sc_space *space = &live->cell.space;
    return !space->has_group || sc_group_has_only(&space->group, live->cell.pid);
}

void sc_live_reap_children(struct sc_live *live)
{
    for (struct sc_live *child = live->children; child; child = child->other) {
        struct pollfd dead = {child->cell.pidfd, POLLIN, 0};
        sc_live_reap_children(child);
        if (child->cell.pid > 0 && poll(&dead, 1, 0) == 1)
            sc_cell_reap(&child->cell, &child->death);
    }
}

static void end_child(struct sc_live *child)
{
    static const struct sc_mourner nobody = {NULL, NULL};
    while (child->children)
        end_child(child->children);
    sc_live_end(child, SC_STATUS_CANCELLED, "the cell above was closed");
    sc_cell_bury(&child->cell, &nobody, &child->death, NULL);
    sc_space_release(&child->parent->cell.space, &child->cell.space);
    leave_parent(child);
}

void sc_live_leave_kin(struct sc_live *live)
{
    static const struct sc_mourner nobody = {NULL, NULL};
    while (live->children)
        end_child(live->children);
    if (!live->parent)
        return;
    /* Its ids are free only when nobody has them. */
    sc_cell_bury(&live->cell, &nobody, &live->death, NULL);
    sc_space_release(&live->parent->cell.space, &live->cell.space);
    leave_parent(live);
}
