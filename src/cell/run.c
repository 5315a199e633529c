#include "cell/run.h"

#include <errno.h>
#include <stdlib.h>

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

/* A call was refused. */
static void note_denial(void *userdata, const struct sc_filter_notice *rule, const char *resource)
{
    struct sc_run *run = userdata;
    struct sc_result *result = run->result;
    size_t before = result->n_denials;
    sc_result_deny(result, "seccomp", rule->action, resource, rule->rule, rule->hint);
    if (result->n_denials > before && run->callbacks->denial)
        run->callbacks->denial(run->callbacks->userdata, &result->denials[before]);
}

static void note_network(void *userdata, const char *action, const char *resource, const char *rule,
                         const char *hint, uint64_t count)
{
    struct sc_run *run = userdata;
    struct sc_result *result = run->result;
    size_t before = result->n_denials;
    sc_result_deny_many(result, "network", action, resource, rule, hint, count);
    if (result->n_denials > before && run->callbacks->denial)
        run->callbacks->denial(run->callbacks->userdata, &result->denials[before]);
}

void sc_run_hear_egress(struct sc_run *run)
{
    sc_egress_listen(&run->cell.egress, note_network, run);
}

static void set_stdin(struct sc_run *run)
{
    const struct sc_spec *spec = run->plan->spec;
    const struct sc_run_input *input = run->callbacks->input;
    bool own = input && input->stdin_data;
    run->stdin_data = own ? input->stdin_data : spec->stdin_data;
    run->stdin_len = own ? input->stdin_len : spec->stdin_len;
    sc_buf_init(&run->stdin_chunk, 64 * 1024);
}

static int take(struct sc_run *run, struct sc_err *err)
{
    run->begun_ns = sc_now_ns();
    run->reader = calloc(1, sizeof *run->reader);
    return run->reader ? sc_works_take(run->works, &run->cell, err) : sc_err_sys(err, -ENOMEM, "run");
}

static void release(struct sc_run *run)
{
    sc_works_release(run->works, &run->cell);
    for (int i = 0; i < SC_READY_COUNT; i++)
        sc_close(&run->ready[i]);
    sc_buf_fini(&run->stdin_chunk);
    free(run->reader);
}

/* Files, then START. An agent that is gone is not an error here: watch will see it. */
static int feed(struct sc_run *run, struct sc_err *err)
{
    const struct sc_run_input *input = run->callbacks->input;
    int r = sc_feed(run->cell.control, run->plan->spec, err);
    if (r == 0 && input)
        r = sc_feed_files(run->cell.control, input->files, input->n_files, err);
    if (r == 0 && run->cell.space.has_group && !(run->plan->degraded & SC_DEGRADE_CPU))
        (void)sc_group_cpu_ns(&run->cell.space.group, &run->cpu_fed_ns); /* 0 where it is not known */
    if (r == 0)
        r = sc_egress_await(&run->cell.egress, err);
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

static void read_stream(void *userdata, int stream)
{
    struct sc_run *run = userdata;
    sc_run_read_stream(run, stream == 1 ? &run->cell.out : &run->cell.err, stream);
}

/* Afterwards no process of the cell is left, and nothing in its pipes. */
static int bury(struct sc_run *run, struct sc_err *err)
{
    const struct sc_mourner mourner = {read_stream, run};
    sc_run_end(run, SC_END_CANCEL); /* no reason yet: an error of ours on the way */
    int r = sc_cell_bury(&run->cell, &mourner, &run->death, err);
    if (r < 0)
        return r;
    sc_run_drain(run);
    sc_close(&run->cell.in);
    return 0;
}

static int run_in_cell(struct sc_run *run, struct sc_err *err)
{
    int r = feed(run, err);
    if (r == 0)
        r = sc_run_watch(run, err);
    /* Whatever happened, the cell ends here. */
    int buried = bury(run, r < 0 ? NULL : err);
    if (r == 0)
        r = buried;
    if (r == 0)
        sc_egress_report(&run->cell.egress, run->result, note_network, run);
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
        .notices = {.plan = works->plan, .listener = -1, .refused = note_denial, .userdata = &run},
    };
    run.notices.space = &run.cell.space;
    for (int i = 0; i < SC_READY_COUNT; i++)
        run.ready[i] = -1;
    set_stdin(&run);
    result->usage.queue_ns = queue_ns;
    int r = take(&run, err);
    if (r == 0)
        r = run_in_cell(&run, err);
    release(&run);
    return r;
}
