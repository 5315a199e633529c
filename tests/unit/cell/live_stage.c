#include "live_stage.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"

/* ---- what is recorded ---- */

static void on_started(void *userdata, pid_t pid)
{
    struct told *told = userdata;
    told->started++;
    told->pid = pid;
}

static void on_output(void *userdata, enum sc_stream_number stream, const void *data, size_t len)
{
    struct told *told = userdata;
    size_t room = sizeof told->text - 1 - told->text_len, n = len < room ? len : room;
    told->bytes[stream] += len;
    memcpy(told->text + told->text_len, data, n);
    told->text_len += n;
    if (told->on_output)
        told->on_output(told);
}

static void on_room(void *userdata, enum sc_stream_number stream)
{
    struct told *told = userdata;
    told->rooms[stream]++;
}

static void on_exited(void *userdata, const struct sc_command_end *end)
{
    struct told *told = userdata;
    told->exited++;
    told->end = *end;
}

static void on_gone(void *userdata)
{
    struct told *told = userdata;
    told->gone++;
    told->ends++;
    if (told->on_gone)
        told->on_gone(told);
}

static void on_failed(void *userdata, const struct sc_msg_failed *failed)
{
    struct told *told = userdata;
    told->failed++;
    told->ends++;
    told->why = *failed;
}

static void on_done(void *userdata, const struct sc_msg_file_done *done)
{
    struct told *told = userdata;
    told->done++;
    told->ends++;
    told->result = *done;
}

static void on_unread(void *userdata)
{
    struct told *told = userdata;
    assert_int_equal(told->exited + told->ends, 0);
    told->unread++;
}

const struct sc_live_op_events RECORD = {.started = on_started,
                                         .output = on_output,
                                         .room = on_room,
                                         .unread = on_unread,
                                         .exited = on_exited,
                                         .gone = on_gone,
                                         .failed = on_failed,
                                         .done = on_done};

static void on_memory(void *userdata)
{
    struct stage *stage = userdata;
    stage->memory++;
}

static void on_ended(void *userdata, enum sc_status why, const char *message)
{
    struct stage *stage = userdata;
    stage->ended++;
    stage->why = why;
    snprintf(stage->message, sizeof stage->message, "%s", message);
    for (size_t i = 0; i < stage->n_watched; i++)
        stage->open_at_end += stage->watched[i]->ends == 0;
}

/* ---- the stage ---- */

void open_stage(struct stage *stage)
{
    int ends[2];
    struct sc_cell cell = SC_CELL_NONE;
    memset(stage, 0, sizeof *stage);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    stage->agent = ends[1];
    sc_spec_init(&stage->spec);
    stage->host.cpus = 1;
    stage->plan.host = &stage->host;
    stage->plan.spec = &stage->spec;
    stage->works.plan = &stage->plan;
    cell.control = ends[0];
    cell.pid = stage->process_1 = fork(); /* what stands for process 1: it lives until it is killed */
    if (cell.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sc_sys_close_range(3, ~0u, 0); /* of the stream it has no end */
        for (;;)
            pause();
    }
    cell.pidfd = sc_sys_pidfd_open(cell.pid);
    assert_true(cell.pidfd >= 0);
    const struct sc_live_events events = {.userdata = stage, .out_of_memory = on_memory, .ended = on_ended};
    assert_int_equal(sc_live_begin(&stage->works, &cell, &events, &stage->live, &stage->err), 0);
}

void close_stage(struct stage *stage)
{
    sc_live_close(stage->live);
    sc_works_bury(&stage->works, NULL);
    sc_close(&stage->agent);
    sc_spec_fini(&stage->spec);
}

static void step(struct stage *stage)
{
    if (sc_live_step(stage->live, &stage->err) < 0)
        fail_msg("step: %s", stage->err.message);
}

void pump(struct stage *stage)
{
    struct pollfd ready = {sc_live_fd(stage->live), POLLIN, 0};
    step(stage);
    for (int i = 0; i < 10000 && poll(&ready, 1, 0) == 1; i++)
        step(stage);
}

void pump_to_the_end(struct stage *stage)
{
    struct pollfd ready = {sc_live_fd(stage->live), POLLIN, 0};
    uint64_t begun = sc_now_ns();
    while (!stage->ended) {
        uint64_t now = sc_now_ns(), next = sc_live_next_ns(stage->live);
        assert_true(now - begun < 3 * SC_NS_PER_S);
        uint64_t wait = next > now ? (next - now) / SC_NS_PER_MS + 1 : 0;
        poll(&ready, 1, wait < 100 ? (int)wait : 100);
        step(stage);
    }
}

void expect_end(struct stage *stage, enum sc_status why, const char *part)
{
    pump_to_the_end(stage);
    if (stage->why != why || !strstr(stage->message, part))
        fail_msg("ended as %s: %s", SC_STATUS_NAMES[stage->why], stage->message);
    assert_int_equal(stage->ended, 1);
    assert_int_equal(stage->open_at_end, 0);
    assert_false(sc_live_is_alive(stage->live));
    assert_true(sc_live_next_ns(stage->live) == UINT64_MAX);
}

void expect_broken(struct stage *stage)
{
    expect_end(stage, SC_STATUS_SANDBOX_ERROR, "broke the protocol");
}

/* ---- the agent ---- */

void say(struct stage *stage, uint16_t type, uint16_t channel, const void *payload, size_t len)
{
    assert_int_equal(sc_frame_send(stage->agent, type, channel, payload, len), 0);
}

void say_raw_ready(struct stage *stage, uint32_t mask, const int *fds, size_t n)
{
    struct {
        struct sc_frame head;
        struct sc_msg_ready ready;
    } message = {{sizeof message.ready, SC_MSG_READY, 0}, {mask}};
    assert_int_equal(sc_send_fds(stage->agent, &message, sizeof message, fds, n), sizeof message);
}

void say_good_ready(struct stage *stage)
{
    int work = open("/dev/shm", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(work >= 0);
    say_raw_ready(stage, 1u << SC_READY_WORK, &work, 1);
    close(work);
    pump(stage);
}

void say_started(struct stage *stage, uint16_t channel)
{
    const struct sc_msg_started started = {.pid = 7};
    say(stage, SC_MSG_COMMAND_STARTED, channel, &started, sizeof started);
}

void say_exit(struct stage *stage, uint16_t channel, int status)
{
    const struct sc_msg_command_exit report = {
        .wait_status = status, .user_ns = 5, .system_ns = 6, .rss_peak_bytes = 4096};
    say(stage, SC_MSG_COMMAND_EXIT, channel, &report, sizeof report);
}

void say_credit(struct stage *stage, uint16_t channel, uint32_t stream, uint32_t bytes)
{
    const struct sc_msg_credit credit = {stream, bytes};
    say(stage, SC_MSG_INPUT_CREDIT, channel, &credit, sizeof credit);
}

void say_done(struct stage *stage, uint16_t channel, int code)
{
    const struct sc_msg_file_done done = {.code = code, .bytes = 3};
    say(stage, SC_MSG_FILE_DONE, channel, &done, sizeof done);
}

struct sc_frame hear(struct stage *stage, void *payload)
{
    struct sc_frame frame;
    struct pollfd ready = {stage->agent, POLLIN, 0};
    if (poll(&ready, 1, 0) == 0)
        pump(stage);
    if (poll(&ready, 1, 0) == 0)
        fail_msg("the agent was told nothing");
    assert_int_equal(sc_read_all(stage->agent, &frame, sizeof frame), 0);
    assert_true(frame.len <= SC_FRAME_MAX);
    for (uint32_t done = 0; done < frame.len;) { /* the rest may still be queued */
        ssize_t n = recv(stage->agent, (char *)payload + done, frame.len - done, MSG_DONTWAIT);
        if (n > 0)
            done += (uint32_t)n;
        else
            pump(stage);
    }
    return frame;
}

void hear_only(struct stage *stage, uint16_t type, uint16_t channel, size_t len)
{
    static uint8_t payload[SC_FRAME_MAX];
    struct sc_frame frame = hear(stage, payload);
    if (frame.type != type || frame.channel != channel || frame.len != len)
        fail_msg("message %u of channel %u with %u bytes", frame.type, frame.channel, frame.len);
}

/* ---- operations ---- */

static void record(struct stage *stage, struct told *told)
{
    told->stage = stage;
    if (stage->n_watched < sizeof stage->watched / sizeof stage->watched[0])
        stage->watched[stage->n_watched++] = told;
}

#define TRUE_LEN (sizeof(struct sc_msg_command) + sizeof "true" + 1)

uint16_t give_command(struct stage *stage, struct told *told, uint32_t flags, uint32_t window)
{
    const char *const argv[] = {"true", NULL};
    const struct sc_command command = {.argv = argv, .flags = flags, .window = window};
    uint16_t id = 0;
    record(stage, told);
    if (sc_live_command(stage->live, &command, &RECORD, told, &id, &stage->err) < 0)
        fail_msg("%s", stage->err.message);
    return id;
}

uint16_t start_command(struct stage *stage, struct told *told, uint32_t flags, uint32_t window)
{
    uint16_t id = give_command(stage, told, flags, window);
    hear_only(stage, SC_MSG_COMMAND, id, TRUE_LEN);
    say_started(stage, id);
    pump(stage);
    assert_int_equal(told->started, 1);
    return id;
}

uint16_t give_file(struct stage *stage, struct told *told, enum sc_file_kind kind, uint32_t window)
{
    const struct sc_file_op op = {.kind = kind, .path = "a", .to = "b", .window = window};
    uint16_t id = 0;
    record(stage, told);
    if (sc_live_file(stage->live, &op, &RECORD, told, &id, &stage->err) < 0)
        fail_msg("%s", stage->err.message);
    return id;
}
