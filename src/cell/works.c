#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "cell/image_pack.h"
#include "cell/run.h"

extern const unsigned char sc_agent_image[];
extern const size_t sc_agent_image_len;

int sc_works_new(const struct sc_plan *plan, struct sc_works **ret_works, struct sc_err *err)
{
    struct sc_works *works = calloc(1, sizeof *works);
    if (!works)
        return sc_err_sys(err, -ENOMEM, "works");
    *works = (struct sc_works){.plan = plan,
                               .tmpl = SC_TEMPLATE_NONE,
                               .egress = SC_EGRESS_KIT_NONE,
                               .agent = -1,
                               .image = -1,
                               .null = -1,
                               .self = -1};
    sc_group_sweep(plan->host);
    works->null = open("/dev/null", O_RDWR | O_CLOEXEC);
    works->agent = sc_memfd_sealed("snapcell-agent", sc_agent_image, sc_agent_image_len);
    works->self = sc_sys_pidfd_open(getpid());
    int r = works->null < 0 ? sc_err_sys(err, -errno, "/dev/null") : 0;
    if (r == 0 && works->self < 0)
        r = sc_err_sys(err, works->self, "pidfd_open");
    if (r == 0 && works->agent < 0)
        r = sc_err_sys(err, works->agent, "the agent's image");
    if (r == 0) {
        works->image = sc_image_pack(plan, err);
        r = works->image < 0 ? works->image : 0;
    }
    if (r == 0)
        r = sc_egress_kit_open(plan, &works->egress, err);
    if (r == 0)
        r = sc_template_start(plan, &works->tmpl, err);
    if (r < 0) {
        sc_works_free(works);
        return r;
    }
    *ret_works = works;
    return 0;
}

int sc_works_take(struct sc_works *works, struct sc_cell *ret_cell, struct sc_err *err)
{
    while (works->n_cells > 0) {
        struct sc_cell cell = works->cells[0];
        memmove(works->cells, works->cells + 1, --works->n_cells * sizeof works->cells[0]);
        struct pollfd dead = {cell.pidfd, POLLIN, 0};
        if (poll(&dead, 1, 0) == 0) {
            *ret_cell = cell;
            return 0;
        }
        sc_cell_end(&cell);
        sc_space_close(&cell.space);
    }
    return sc_cell_make(works, ret_cell, err);
}

/* That an earlier cell's group does not go is not this one's failure: the sweep at the next start sees to it.
 */
void sc_works_release(struct sc_works *works, struct sc_cell *cell)
{
    if (works->n_graves == SC_GRAVES_MAX)
        sc_works_bury(works, NULL);
    sc_cell_end(cell);
    sc_space_shed(&cell->space);
    works->graves[works->n_graves++] = cell->space;
    cell->space = SC_SPACE_NONE;
}

size_t sc_works_ended(const struct sc_works *works)
{
    return works->n_graves;
}

int sc_works_bury(struct sc_works *works, struct sc_err *err)
{
    int r = 0;
    for (; works->n_graves > 0; works->n_graves--) {
        int closed = sc_space_close(&works->graves[works->n_graves - 1]);
        r = r < 0 ? r : closed;
    }
    return r < 0 ? sc_err_sys(err, r, "removing an ended cell's control groups") : 0;
}

void sc_works_free(struct sc_works *works)
{
    if (!works)
        return;
    sc_works_bury(works, NULL);
    for (size_t i = 0; i < works->n_cells; i++) {
        sc_cell_end(&works->cells[i]);
        sc_space_close(&works->cells[i].space);
    }
    free(works->cells);
    sc_template_close(&works->tmpl);
    sc_egress_kit_close(&works->egress);
    sc_close(&works->agent);
    sc_close(&works->image);
    sc_close(&works->null);
    sc_close(&works->self);
    free(works);
}

int sc_works_ready(struct sc_works *works, unsigned cells, struct sc_err *err)
{
    int buried = sc_works_bury(works, err);
    if (buried < 0)
        return buried;
    if (cells > works->n_cells) {
        struct sc_cell *list = reallocarray(works->cells, cells, sizeof *list);
        if (!list)
            return sc_err_sys(err, -ENOMEM, "cells");
        works->cells = list;
    }
    while (works->n_cells < cells) {
        int r = sc_cell_make(works, &works->cells[works->n_cells], err);
        if (r < 0)
            return r;
        works->n_cells++;
    }
    return 0;
}
