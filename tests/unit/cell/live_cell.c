#include "live_cell.h"

#include <poll.h>
#include <sys/wait.h>

#include "base/clock.h"

/* A busy machine is no failure, nor is an emulated one, which says how much slower it is. */
static uint64_t patience_ns(void)
{
    const char *scale = getenv("SNAPCELL_TEST_SCALE");
    return 30 * SC_NS_PER_S * (scale && atoi(scale) > 1 ? (uint64_t)atoi(scale) : 1);
}

static void on_denial(void *userdata, const struct sc_denial *denial)
{
    struct living *cell = userdata;
    cell->denials++;
    cell->denial = *denial;
}

static void on_memory(void *userdata)
{
    struct living *cell = userdata;
    cell->memory++;
}

static void on_ended(void *userdata, enum sc_status why, const char *message)
{
    struct living *cell = userdata;
    cell->ended++;
    cell->why = why;
    snprintf(cell->message, sizeof cell->message, "%s", message);
}

static void prepare(struct living *cell)
{
    memset(cell, 0, sizeof *cell);
    cell->begun_ns = sc_now_ns();
    sc_spec_init(&cell->spec);
    cell->spec.session = true;
    if (*to_accept())
        assert_int_equal(sc_spec_add(&cell->spec, "allow-degraded", to_accept(), NULL), 0);
}

static void open_living(struct living *cell)
{
    const struct sc_live_events events = {cell, on_denial, on_memory, on_ended};
    if (sc_spec_check(&cell->spec, the_host()->memory_bytes, &cell->err) < 0 ||
        sc_plan_make(&cell->spec, the_host(), &cell->plan, &cell->err) < 0 ||
        sc_works_new(cell->plan, &cell->works, &cell->err) < 0 ||
        sc_live_open(cell->works, &events, &cell->live, &cell->err) < 0)
        fail_msg("%s", cell->err.message);
}

void begin_forkable(struct living *cell)
{
    prepare(cell);
    cell->spec.forkable = true;
    open_living(cell);
}

void begin_forkable_with(struct living *cell, const char *option, const char *value)
{
    prepare(cell);
    cell->spec.forkable = true;
    assert_int_equal(sc_spec_set(&cell->spec, option, value, NULL), 0);
    open_living(cell);
}

int try_below(struct living *cell, struct living *above, bool forkable)
{
    const struct sc_live_events events = {cell, on_denial, on_memory, on_ended};
    memset(cell, 0, sizeof *cell);
    cell->begun_ns = sc_now_ns();
    cell->above = above;
    cell->plan = above->plan;
    cell->works = above->works;
    return sc_live_open_child(above->works, above->live, forkable, &events, &cell->live, &cell->err);
}

void begin_below(struct living *cell, struct living *above, bool forkable)
{
    if (try_below(cell, above, forkable) < 0)
        fail_msg("%s", cell->err.message);
}

void end_below(struct living *cell)
{
    sc_live_close(cell->live);
    cell->live = NULL;
}

void begin_living(struct living *cell, ...)
{
    va_list options;
    prepare(cell);
    va_start(options, cell);
    for (const char *option; (option = va_arg(options, const char *));)
        assert_int_equal(sc_spec_set(&cell->spec, option, va_arg(options, const char *), NULL), 0);
    va_end(options);
    open_living(cell);
}

void end_living(struct living *cell)
{
    sc_live_close(cell->live);
    sc_works_free(cell->works);
    sc_plan_free(cell->plan);
    sc_spec_fini(&cell->spec);
}

/* What the operation has still to be told, whenever there may be room. */
static void feed(struct operation *op)
{
    while (op->input && op->input_done < op->input_len) {
        ssize_t n = sc_live_write(op->cell->live, op->id, SC_STREAM_IN, op->input + op->input_done,
                                  op->input_len - op->input_done);
        if (n <= 0)
            return;
        op->input_done += (size_t)n;
    }
    if (op->input)
        sc_live_close_input(op->cell->live, op->id);
    op->input = NULL;
}

static void on_started(void *userdata, pid_t pid)
{
    struct operation *op = userdata;
    (void)pid;
    op->started = true;
}

static void on_output(void *userdata, enum sc_stream_number stream, const void *data, size_t len)
{
    struct operation *op = userdata;
    op->came += len;
    if (!op->count_only)
        assert_int_equal(sc_buf_add(stream == SC_STREAM_ERR ? &op->err : &op->out, data, len), 0);
    if (!op->hold)
        assert_int_equal(sc_live_took(op->cell->live, op->id, stream, len), 0);
}

static void on_room(void *userdata, enum sc_stream_number stream)
{
    (void)stream;
    feed(userdata);
}

static void on_exited(void *userdata, const struct sc_command_end *end)
{
    struct operation *op = userdata;
    op->exited = true;
    op->end = *end;
    op->memory_before_exit = op->cell->memory;
}

static void on_gone(void *userdata)
{
    struct operation *op = userdata;
    op->is_over = true;
}

static void on_failed(void *userdata, const struct sc_msg_failed *failed)
{
    struct operation *op = userdata;
    op->is_over = op->failed = true;
    op->why = *failed;
}

static void on_done(void *userdata, const struct sc_msg_file_done *done)
{
    struct operation *op = userdata;
    op->is_over = true;
    op->done = *done;
}

static const struct sc_live_op_events EVENTS = {.started = on_started,
                                                .output = on_output,
                                                .room = on_room,
                                                .exited = on_exited,
                                                .gone = on_gone,
                                                .failed = on_failed,
                                                .done = on_done};

#define GENERATIONS 4

static void step(struct living *cell)
{
    struct pollfd ready[GENERATIONS];
    nfds_t n = 0;
    uint64_t now = sc_now_ns(), next = UINT64_MAX;
    for (struct living *each = cell; each; each = each->above) {
        uint64_t own = sc_live_next_ns(each->live);
        ready[n++] = (struct pollfd){sc_live_fd(each->live), POLLIN, 0};
        next = own < next ? own : next;
    }
    uint64_t wait = next > now ? (next - now) / SC_NS_PER_MS + 1 : 0;
    if (now > cell->begun_ns + patience_ns())
        fail_msg("not in time");
    poll(ready, n, wait < 1000 ? (int)wait : 1000);
    for (struct living *each = cell; each; each = each->above)
        if (sc_live_step(each->live, &each->err) < 0)
            fail_msg("%s", each->err.message);
}

void step_once(struct living *cell)
{
    if (cell->ended)
        fail_msg("the cell has ended: %s", cell->message);
    step(cell);
}

void step_until(struct living *cell, const bool *flag)
{
    while (!*flag)
        step_once(cell);
}

void step_until_ended(struct living *cell)
{
    while (!cell->ended)
        step(cell);
}

static void init(struct living *cell, struct operation *op)
{
    *op = (struct operation){.cell = cell,
                             .hold = op->hold,
                             .count_only = op->count_only,
                             .input = op->input,
                             .input_len = op->input_len};
    sc_buf_init(&op->out, 64 << 20);
    sc_buf_init(&op->err, 1 << 20);
}

void give(struct living *cell, struct operation *op, const struct sc_command *command)
{
    init(cell, op);
    if (sc_live_command(cell->live, command, &EVENTS, op, &op->id, &cell->err) < 0)
        fail_msg("%s", cell->err.message);
    feed(op);
}

void give_fork(struct living *cell, struct operation *op, const struct operation *program,
               const struct sc_command *like)
{
    init(cell, op);
    if (sc_live_adopt(cell->live, program->cell->live, program->id, like, &EVENTS, op, &op->id, &cell->err) <
        0)
        fail_msg("%s", cell->err.message);
    feed(op);
}

void give_file_op(struct living *cell, struct operation *op, const struct sc_file_op *order)
{
    init(cell, op);
    if (sc_live_file(cell->live, order, &EVENTS, op, &op->id, &cell->err) < 0)
        fail_msg("%s", cell->err.message);
    feed(op);
}

void give_shell(struct living *cell, struct operation *op, const char *script, uint32_t flags)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    give(cell, op, &(struct sc_command){.argv = argv, .flags = flags});
}

void shell(struct living *cell, struct operation *op, const char *script)
{
    give_shell(cell, op, script, op->input ? SC_COMMAND_STDIN : 0);
    step_until(cell, &op->is_over);
    if (op->failed)
        fail_msg("stage %s: %s: %s", op->why.stage, op->why.object, strerror(-op->why.code));
}

int file_op(struct living *cell, struct operation *op, const struct sc_file_op *order)
{
    give_file_op(cell, op, order);
    step_until(cell, &op->is_over);
    return op->failed ? op->why.code : op->done.code;
}

void forget(struct operation *op)
{
    sc_buf_fini(&op->out);
    sc_buf_fini(&op->err);
    *op = (struct operation){0};
}

void assert_exit(const struct operation *op, int code)
{
    assert_true(op->exited && op->is_over);
    if (!WIFEXITED(op->end.wait_status) || WEXITSTATUS(op->end.wait_status) != code)
        fail_msg("wait status 0x%x, on stderr: %s", (unsigned)op->end.wait_status,
                 op->err.data ? (char *)op->err.data : "");
}
