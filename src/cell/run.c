#include "cell/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/sys.h"

void sc_run_end(struct sc_run *run, enum sc_end why)
{
    if (run->end != SC_END_NONE)
        return;
    run->end = why;
    run->ended_ns = sc_now_ns();
}

/* A space that was made ahead, or one made now. */
static int take_space(struct sc_run *run, struct sc_err *err)
{
    struct sc_works *works = run->works;
    if (works->n_spaces == 0)
        return sc_space_open(run->plan, &works->tmpl, &run->space, err);
    run->space = works->spaces[--works->n_spaces];
    return 0;
}

static int begin(struct sc_run *run, struct sc_err *err)
{
    run->begun_ns = sc_now_ns();
    run->reader = calloc(1, sizeof *run->reader);
    if (!run->reader)
        return sc_err_sys(err, -ENOMEM, "run");
    int r = take_space(run, err);
    return r == 0 ? sc_run_open_streams(run, err) : r;
}

static void release(struct sc_run *run)
{
    int *const fds[] = {&run->pidfd, &run->control, &run->in, &run->out, &run->err,
                        &run->child_in, &run->child_out, &run->child_err};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        sc_close(fds[i]);
    for (int i = 0; i < SC_READY_COUNT; i++)
        sc_close(&run->ready[i]);
    sc_close(&run->net_counts[0]);
    sc_close(&run->net_counts[1]);
    sc_buf_fini(&run->stdin_chunk);
    free(run->reader);
}

static int run_in_cell(struct sc_run *run, struct sc_err *err)
{
    int r = sc_run_feed(run, err);
    if (r == 0)
        r = sc_run_watch(run, err);
    /* Whatever happened, the cell ends here. */
    int buried = sc_run_bury(run, r < 0 ? NULL : err);
    if (r == 0)
        r = buried;
    if (r == 0)
        r = sc_run_collect(run, err);
    return r == 0 ? sc_run_judge(run, err) : r;
}

int sc_cell_run(struct sc_works *works, const struct sc_callbacks *callbacks, uint64_t queue_ns,
                struct sc_result *result, struct sc_err *err)
{
    static const struct sc_callbacks none = {.cancel_fd = -1};
    struct sc_run run = {
        .works = works, .plan = works->plan, .callbacks = callbacks ? callbacks : &none, .result = result,
        .space = SC_SPACE_NONE,
        .pidfd = -1, .control = -1, .in = -1, .out = -1, .err = -1, .child_in = -1, .child_out = -1, .child_err = -1,
        .net_counts = {-1, -1},
    };
    for (int i = 0; i < SC_READY_COUNT; i++)
        run.ready[i] = -1;
    sc_buf_init(&run.stdin_chunk, 64 * 1024);
    result->usage.queue_ns = queue_ns;
    int r = begin(&run, err);
    if (r == 0)
        r = sc_run_launch(&run, err);
    if (r == 0)
        r = run_in_cell(&run, err);
    if (works->n_graves == SC_GRAVES_MAX) {
        int buried = sc_works_bury(works, r < 0 ? NULL : err);
        r = r < 0 ? r : buried;
    }
    works->graves[works->n_graves++] = run.space;
    release(&run);
    return r;
}
