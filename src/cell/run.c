#include "cell/run.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "cell/artifacts.h"
#include "cell/feed.h"

void sc_run_end(struct sc_run *run, enum sc_end why)
{
    if (run->end != SC_END_NONE)
        return;
    run->end = why;
    run->ended_ns = sc_now_ns();
}

/* The oldest cell that was made ahead and is still alive, or one made now. */
static int take(struct sc_run *run, struct sc_err *err)
{
    struct sc_works *works = run->works;
    run->begun_ns = sc_now_ns();
    run->reader = calloc(1, sizeof *run->reader);
    if (!run->reader)
        return sc_err_sys(err, -ENOMEM, "run");
    while (works->n_cells > 0) {
        run->cell = works->cells[0];
        memmove(works->cells, works->cells + 1, --works->n_cells * sizeof works->cells[0]);
        struct pollfd dead = {run->cell.pidfd, POLLIN, 0};
        if (poll(&dead, 1, 0) == 0)
            return 0;
        sc_cell_end(&run->cell);
        sc_space_close(&run->cell.space);
    }
    return sc_cell_make(works, &run->cell, err);
}

/* The groups go to their grave; everything else is closed now. That an earlier cell's group does not go is
 * not this run's failure: the sweep at the next start sees to it. */
static void release(struct sc_run *run)
{
    struct sc_works *works = run->works;
    if (works->n_graves == SC_GRAVES_MAX)
        sc_works_bury(works, NULL);
    sc_cell_end(&run->cell);
    sc_space_shed(&run->cell.space);
    works->graves[works->n_graves++] = run->cell.space;
    for (int i = 0; i < SC_READY_COUNT; i++)
        sc_close(&run->ready[i]);
    sc_buf_fini(&run->stdin_chunk);
    free(run->reader);
}

/* Files, then START. An agent that is gone is not an error here: watch will see it. */
static int feed(struct sc_run *run, struct sc_err *err)
{
    int r = sc_feed(run->cell.control, run->plan->spec, err);
    if (r == 0)
        r = sc_frame_send(run->cell.control, SC_MSG_START, 0, NULL, 0);
    return r == -EPIPE || r == -ECONNRESET ? 0 : r;
}

static int collect(struct sc_run *run, struct sc_err *err)
{
    /* Nothing ran: what lies there is what was put in. */
    if (!run->started_ns)
        return 0;
    return sc_artifacts_collect(run->plan, run->callbacks, run->ready[SC_READY_WORK], run->result, err);
}

static int run_in_cell(struct sc_run *run, struct sc_err *err)
{
    int r = feed(run, err);
    if (r == 0)
        r = sc_run_watch(run, err);
    /* Whatever happened, the cell ends here. */
    int buried = sc_run_bury(run, r < 0 ? NULL : err);
    if (r == 0)
        r = buried;
    if (r == 0)
        r = collect(run, err);
    return r == 0 ? sc_run_judge(run, err) : r;
}

int sc_cell_run(struct sc_works *works, const struct sc_callbacks *callbacks, uint64_t queue_ns,
                struct sc_result *result, struct sc_err *err)
{
    static const struct sc_callbacks none = {.cancel_fd = -1};
    struct sc_run run = {
        .works = works,
        .plan = works->plan,
        .callbacks = callbacks ? callbacks : &none,
        .result = result,
        .cell = SC_CELL_NONE,
    };
    for (int i = 0; i < SC_READY_COUNT; i++)
        run.ready[i] = -1;
    sc_buf_init(&run.stdin_chunk, 64 * 1024);
    result->usage.queue_ns = queue_ns;
    int r = take(&run, err);
    if (r == 0)
        r = run_in_cell(&run, err);
    release(&run);
    return r;
}
