/* The supervisor's half of the protocol of living cells: what goes well, and an agent that does everything
 * wrong. The cell then ends, every operation is told so, and nothing stays. */
#include "live_stage.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

static uint8_t zeros[SC_FRAME_MAX];

/* ---- what goes well ---- */

static void a_command(void **state)
{
    (void)state;
    struct stage s;
    struct told told = {0};
    open_stage(&s);
    say_good_ready(&s);
    uint16_t id = start_command(&s, &told, SC_COMMAND_STDIN | SC_COMMAND_RUNNER, 0);
    assert_int_equal(told.pid, 7);
    say(&s, SC_MSG_OUTPUT, id, "out ", 4);
    say(&s, SC_MSG_OUTPUT_ERR, id, "err ", 4);
    say(&s, SC_MSG_RUNNER_OUTPUT, id, "runner", 6);
    say_exit(&s, id, 3 << 8);
    say(&s, SC_MSG_OUTPUT, id, " late", 5); /* of a grandchild */
    pump(&s);
    assert_string_equal(told.text, "out err runner late");
    assert_int_equal(told.exited, 1);
    assert_int_equal(told.end.wait_status, 3 << 8);
    assert_int_equal(told.ends, 0);
    assert_int_equal(sc_live_cpu_ns(s.live), 11); /* no group counts here */
    say(&s, SC_MSG_COMMAND_GONE, id, NULL, 0);
    pump(&s);
    assert_int_equal(told.gone, 1);
    assert_int_equal(told.ends, 1);
    assert_int_equal(sc_live_write(s.live, id, SC_STREAM_IN, "x", 1), -EPIPE);
    assert_int_equal(sc_live_signal(s.live, id, SIGTERM, SC_SIGNAL_TREE), -EPIPE);
    assert_int_equal(sc_live_took(s.live, id, SC_STREAM_OUT, 1), -EPIPE);
    assert_true(sc_live_is_alive(s.live));
    close_stage(&s);
}

/* Commands may be given before the cell is sealed. */
static void before_ready(void **state)
{
    (void)state;
    struct stage s;
    struct told told = {0};
    open_stage(&s);
    uint16_t id = give_command(&s, &told, 0, 0);
    assert_true(sc_live_is_alive(s.live));
    assert_true(sc_live_next_ns(s.live) <= sc_now_ns() + 60 * SC_NS_PER_S);
    say_good_ready(&s);
    say_started(&s, id);
    pump(&s);
    assert_int_equal(told.started, 1);
    assert_true(sc_live_next_ns(s.live) == UINT64_MAX);
    close_stage(&s);
}

/* Texts of any length come out as they went in, in pieces with nothing in between. */
static void long_texts(void **state)
{
    (void)state;
    struct stage s;
    struct told told = {0}, other = {0};
    char *large = malloc(100 * 1024 + 1);
    static uint8_t payload[SC_FRAME_MAX], texts[SC_COMMAND_TEXT_MAX];
    memset(large, 'x', 100 * 1024);
    large[100 * 1024] = '\0';
    const char *const argv[] = {"echo", large, "", large, NULL}, *const env[] = {"A=1", "B=", NULL};
    const struct sc_command command = {.argv = argv, .env = env, .cwd = "/tmp", .wall_ns = 9};
    uint16_t id;
    open_stage(&s);
    say_good_ready(&s);
    assert_int_equal(sc_live_command(s.live, &command, &RECORD, &told, &id, &s.err), 0);
    uint16_t second = give_command(&s, &other, 0, 0);
    struct sc_frame frame = hear(&s, payload);
    struct sc_msg_command order;
    memcpy(&order, payload, sizeof order);
    assert_int_equal(frame.type, SC_MSG_COMMAND);
    assert_int_equal(order.argc, 4);
    assert_int_equal(order.envc, 2);
    assert_true(order.wall_ns == 9);
    size_t have = frame.len - sizeof order;
    memcpy(texts, payload + sizeof order, have);
    while (have < order.text_len) {
        frame = hear(&s, payload);
        assert_int_equal(frame.type, SC_MSG_MORE);
        assert_int_equal(frame.channel, id);
        assert_true(frame.len <= order.text_len - have);
        memcpy(texts + have, payload, frame.len);
        have += frame.len;
    }
    const char *at = (const char *)texts;
    const char *const all[] = {"echo", large, "", large, "A=1", "B=", "/tmp"};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        assert_string_equal(at, all[i]);
        at += strlen(at) + 1;
    }
    assert_int_equal(at - (const char *)texts, order.text_len);
    assert_int_equal(hear(&s, payload).channel, second);
    close_stage(&s);
    free(large);
}

static void too_much_text(void **state)
{
    (void)state;
    struct stage s;
    uint16_t id = 0;
    char *large = malloc(SC_COMMAND_TEXT_MAX);
    const char **many = calloc(SC_COMMAND_ARGS_MAX + 2, sizeof *many);
    memset(large, 'x', SC_COMMAND_TEXT_MAX - 1);
    large[SC_COMMAND_TEXT_MAX - 1] = '\0';
    for (int i = 0; i <= SC_COMMAND_ARGS_MAX; i++)
        many[i] = "a";
    const char *const one[] = {large, NULL}, *const none[] = {NULL};
    const char *const *const wrong[] = {one, many, none, NULL};
    open_stage(&s);
    for (size_t i = 0; i < 4; i++) {
        const struct sc_command command = {.argv = wrong[i]};
        assert_true(sc_live_command(s.live, &command, &RECORD, NULL, &id, &s.err) < 0);
        assert_int_equal(s.err.kind, SC_ERR_USAGE);
    }
    const struct sc_file_op files[] = {{.kind = SC_FILE_KINDS, .path = "a"},
                                       {.kind = SC_FILE_STAT, .path = ""},
                                       {.kind = SC_FILE_STAT, .path = large},
                                       {.kind = SC_FILE_STAT},
                                       {.kind = SC_FILE_RENAME, .path = "a"}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        assert_true(sc_live_file(s.live, &files[i], &RECORD, NULL, &id, &s.err) < 0);
        assert_int_equal(s.err.kind, SC_ERR_USAGE);
    }
    assert_true(sc_live_is_alive(s.live));
    struct pollfd quiet = {s.agent, POLLIN, 0};
    assert_int_equal(poll(&quiet, 1, 0), 0); /* and nothing was said */
    close_stage(&s);
    free(large);
    free(many);
}

static void file_operations(void **state)
{
    (void)state;
    struct stage s;
    struct told reading = {0}, writing = {0}, missing = {0};
    uint8_t payload[SC_FRAME_MAX];
    open_stage(&s);
    say_good_ready(&s);
    uint16_t read = give_file(&s, &reading, SC_FILE_READ, 100);
    hear(&s, payload);
    assert_string_equal((char *)payload + sizeof(struct sc_msg_file_op), "a");
    say(&s, SC_MSG_OUTPUT, read, "content", 7);
    say_done(&s, read, 0);
    uint16_t write = give_file(&s, &writing, SC_FILE_WRITE, 0);
    assert_int_equal(sc_live_write(s.live, write, SC_STREAM_IN, "bytes", 5), 5);
    assert_int_equal(sc_live_close_input(s.live, write), 0);
    hear(&s, payload);
    hear_only(&s, SC_MSG_INPUT, write, 5);
    hear_only(&s, SC_MSG_INPUT_END, write, 0);
    say_started(&s, write);
    say_done(&s, write, 0);
    uint16_t rename = give_file(&s, &missing, SC_FILE_RENAME, 0);
    assert_int_equal(hear(&s, payload).len, sizeof(struct sc_msg_file_op) + 4);
    say_done(&s, rename, -ENOENT);
    pump(&s);
    assert_string_equal(reading.text, "content");
    assert_int_equal(reading.done + writing.done + missing.done, 3);
    assert_int_equal(missing.result.code, -ENOENT);
    close_stage(&s);
}

/* ---- credit ---- */

static void output_credit(void **state)
{
    (void)state;
    struct stage s;
    struct told told = {0};
    struct pollfd quiet;
    open_stage(&s);
    say_good_ready(&s);
    uint16_t id = start_command(&s, &told, 0, 100);
    quiet = (struct pollfd){s.agent, POLLIN, 0};
    say(&s, SC_MSG_OUTPUT, id, zeros, 100);
    pump(&s);
    assert_int_equal(sc_live_took(s.live, id, SC_STREAM_OUT, 101), -EINVAL);
    assert_int_equal(sc_live_took(s.live, id, SC_STREAM_OUT, 49), 0);
    assert_int_equal(poll(&quiet, 1, 0), 0); /* less than half a window: no message yet */
    assert_int_equal(sc_live_took(s.live, id, SC_STREAM_OUT, 1), 0);
    uint8_t payload[SC_FRAME_MAX];
    struct sc_frame frame = hear(&s, payload);
    struct sc_msg_credit credit;
    assert_int_equal(frame.type, SC_MSG_CREDIT);
    memcpy(&credit, payload, sizeof credit);
    assert_int_equal(credit.bytes, 50);
    assert_int_equal(credit.stream, SC_STREAM_OUT);
    say(&s, SC_MSG_OUTPUT, id, zeros, 50);
    pump(&s);
    assert_int_equal(told.bytes[SC_STREAM_OUT], 150);
    say(&s, SC_MSG_OUTPUT, id, zeros, 1);
    expect_broken(&s);
    assert_int_equal(told.bytes[SC_STREAM_OUT], 150);
    close_stage(&s);
}

/* Whatever the window and however it is taken, the agent never waits for ever. */
static void windows_of_any_size(void **state)
{
    (void)state;
    for (uint32_t window = 1; window < 12; window++) {
        struct stage s;
        struct told told = {0};
        uint8_t payload[SC_FRAME_MAX];
        open_stage(&s);
        say_good_ready(&s);
        uint16_t id = start_command(&s, &told, 0, window);
        uint32_t have = window, sent = 0, taken = 0;
        while (sent < 100) {
            struct sc_msg_credit credit;
            for (; have > 0; have--, sent++)
                say(&s, SC_MSG_OUTPUT, id, "x", 1);
            pump(&s);
            assert_int_equal(told.bytes[SC_STREAM_OUT], sent);
            for (; taken < sent; taken++)
                assert_int_equal(sc_live_took(s.live, id, SC_STREAM_OUT, 1), 0);
            struct pollfd more = {s.agent, POLLIN, 0};
            while (poll(&more, 1, 0) == 1) {
                assert_int_equal(hear(&s, payload).type, SC_MSG_CREDIT);
                memcpy(&credit, payload, sizeof credit);
                have += credit.bytes;
            }
            assert_true(have > 0);
        }
        close_stage(&s);
    }
}

static void streams_that_are_not_there(void **state)
{
    (void)state;
    static const struct {
        uint32_t flags;
        uint16_t type;
    } cases[] = {{SC_COMMAND_MERGE, SC_MSG_OUTPUT_ERR},
                 {SC_COMMAND_PTY, SC_MSG_OUTPUT_ERR},
                 {0, SC_MSG_RUNNER_OUTPUT}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stage s;
        struct told told = {0};
        open_stage(&s);
        say_good_ready(&s);
        say(&s, cases[i].type, start_command(&s, &told, cases[i].flags, 0), "x", 1);
        expect_broken(&s);
        close_stage(&s);
    }
}

static void input_credit(void **state)
{
    (void)state;
    struct stage s;
    struct told told = {0};
    open_stage(&s);
    say_good_ready(&s);
    uint16_t id = start_command(&s, &told, SC_COMMAND_STDIN, 0);
    assert_int_equal(sc_live_write(s.live, id, SC_STREAM_OUT, "x", 1), -EPIPE);
    assert_int_equal(sc_live_write(s.live, id, SC_STREAM_RUNNER, "x", 1), -EPIPE);
    assert_int_equal(sc_live_write(s.live, id, SC_STREAM_IN, zeros, 10), 10);
    assert_int_equal(sc_live_write(s.live, id, SC_STREAM_IN, zeros, sizeof zeros), sizeof zeros - 10);
    assert_int_equal(sc_live_write(s.live, id, SC_STREAM_IN, zeros, 1), 0);
    hear_only(&s, SC_MSG_INPUT, id, 10);
    hear_only(&s, SC_MSG_INPUT, id, sizeof zeros - 10);
    say_credit(&s, id, SC_STREAM_IN, 1000);
    pump(&s);
    assert_int_equal(told.rooms[SC_STREAM_IN], 1);
    assert_int_equal(sc_live_write(s.live, id, SC_STREAM_IN, zeros, 1000), 1000);
    hear_only(&s, SC_MSG_INPUT, id, 1000);
    assert_int_equal(sc_live_close_input(s.live, id), 0);
    assert_int_equal(sc_live_close_input(s.live, id), -EPIPE);
    assert_int_equal(sc_live_write(s.live, id, SC_STREAM_IN, zeros, 1), -EPIPE);
    hear_only(&s, SC_MSG_INPUT_END, id, 0);
    say_credit(&s, id, SC_STREAM_IN, SC_INPUT_CREDIT); /* what it held; nobody wants room now */
    pump(&s);
    assert_int_equal(told.rooms[SC_STREAM_IN], 1);
    say_credit(&s, id, SC_STREAM_IN, 1); /* more than it can ever hold */
    expect_broken(&s);
    close_stage(&s);
}

/* Commands until no more are taken, first large ones and then smaller; how many. */
static size_t fill_the_queue(struct stage *s, struct told *told)
{
    static char large[1 << 20];
    const char *const argv[] = {large, NULL};
    const struct sc_command command = {.argv = argv};
    uint16_t id;
    size_t n = 0;
    memset(large, 'x', sizeof large - 1);
    for (size_t len = sizeof large - 1; len > 40000; len /= 2) {
        int r;
        large[len] = '\0';
        while ((r = sc_live_command(s->live, &command, &RECORD, told, &id, &s->err)) == 0)
            n++;
        assert_int_equal(r, -EAGAIN);
    }
    return n;
}

/* An agent that reads nothing costs a bounded amount of memory: what can wait is refused, and what cannot
 * ends the cell. */
static void an_agent_that_does_not_listen(void **state)
{
    (void)state;
    struct stage s;
    struct told told = {0}, others = {0};
    open_stage(&s);
    say_good_ready(&s);
    uint16_t id = start_command(&s, &told, SC_COMMAND_STDIN, 0);
    size_t n = fill_the_queue(&s, &others);
    assert_true(n > 16);
    assert_int_equal(sc_live_write(s.live, id, SC_STREAM_IN, "x", 1), 0);
    assert_true(sc_live_is_alive(s.live));
    for (size_t i = 0; i < (4u << 20) / 16 && sc_live_is_alive(s.live); i++)
        sc_live_signal(s.live, id, SIGTERM, SC_SIGNAL_MAIN);
    expect_end(&s, SC_STATUS_SANDBOX_ERROR, "leaves too much");
    assert_int_equal(others.failed, n);
    close_stage(&s);
}

/* When the queue is emptied, those that had to wait are told. */
static void room_in_the_queue(void **state)
{
    (void)state;
    struct stage s;
    struct told told = {0}, others = {0};
    uint8_t payload[SC_FRAME_MAX];
    open_stage(&s);
    say_good_ready(&s);
    uint16_t id = start_command(&s, &told, SC_COMMAND_STDIN, 0);
    fill_the_queue(&s, &others);
    assert_int_equal(sc_live_write(s.live, id, SC_STREAM_IN, "x", 1), 0);
    assert_int_equal(told.rooms[SC_STREAM_IN], 0);
    while (told.rooms[SC_STREAM_IN] == 0)
        hear(&s, payload);
    assert_int_equal(sc_live_write(s.live, id, SC_STREAM_IN, "x", 1), 1);
    close_stage(&s);
}

/* ---- channels ---- */

static void sixty_four_at_once(void **state)
{
    (void)state;
    struct stage s;
    struct told told = {0};
    uint16_t ids[SC_COMMANDS_MAX], id;
    bool seen[SC_CHANNEL_MAX + 1] = {false};
    const char *const argv[] = {"true", NULL};
    const struct sc_command command = {.argv = argv};
    open_stage(&s);
    say_good_ready(&s);
    for (size_t i = 0; i < SC_COMMANDS_MAX; i++) {
        ids[i] = start_command(&s, &(struct told){0}, 0, 0);
        s.n_watched = 0;
        assert_true(ids[i] >= 1 && ids[i] <= SC_CHANNEL_MAX && !seen[ids[i]]);
        seen[ids[i]] = true;
        s.live->ops[i].userdata = &told;
    }
    assert_int_equal(sc_live_command(s.live, &command, &RECORD, &told, &id, &s.err), -EMFILE);
    assert_int_equal(s.err.kind, SC_ERR_USAGE);
    /* One ends: its place is free, under a number that was not used before. */
    for (int i = 0; i < SC_CHANNEL_MAX / SC_COMMANDS_MAX - 1; i++) {
        say_exit(&s, ids[9], 0);
        say(&s, SC_MSG_COMMAND_GONE, ids[9], NULL, 0);
        pump(&s);
        ids[9] = start_command(&s, &(struct told){0}, 0, 0);
        s.n_watched = 0;
        s.live->ops[9].userdata = &told;
        assert_true(ids[9] >= 1 && ids[9] <= SC_CHANNEL_MAX && !seen[ids[9]]);
        seen[ids[9]] = true;
    }
    sc_live_kill(s.live);
    expect_end(&s, SC_STATUS_CANCELLED, "");
    assert_int_equal(told.gone, SC_COMMANDS_MAX + SC_CHANNEL_MAX / SC_COMMANDS_MAX - 1);
    close_stage(&s);
}

/* ---- callbacks that act ---- */

static void kill_from_inside(struct told *told)
{
    sc_live_kill(told->stage->live);
}

static void killed_by_a_callback(void **state)
{
    (void)state;
    struct stage s;
    struct told told = {.on_output = kill_from_inside};
    open_stage(&s);
    say_good_ready(&s);
    uint16_t id = start_command(&s, &told, 0, 0);
    say(&s, SC_MSG_OUTPUT, id, "x", 1);
    say(&s, SC_MSG_OUTPUT, id, "y", 1);
    say_exit(&s, id, 0);
    expect_end(&s, SC_STATUS_CANCELLED, "");
    assert_int_equal(told.bytes[SC_STREAM_OUT], 1); /* what came after is not looked at */
    assert_int_equal(told.exited, 0);
    assert_int_equal(told.gone, 1);
    close_stage(&s);
}

static struct told next_told;

static void another_one(struct told *told)
{
    give_command(told->stage, &next_told, 0, 0);
}

static void refused_one(struct told *told)
{
    const char *const argv[] = {"true", NULL};
    const struct sc_command command = {.argv = argv};
    uint16_t id;
    assert_int_equal(sc_live_command(told->stage->live, &command, &RECORD, &next_told, &id, NULL),
                     -ESHUTDOWN);
}

static void a_command_from_a_callback(void **state)
{
    (void)state;
    struct stage s;
    struct told told = {.on_gone = another_one};
    memset(&next_told, 0, sizeof next_told);
    open_stage(&s);
    say_good_ready(&s);
    uint16_t id = start_command(&s, &told, 0, 0);
    say_exit(&s, id, 0);
    say(&s, SC_MSG_COMMAND_GONE, id, NULL, 0);
    pump(&s);
    assert_int_equal(told.gone, 1);
    next_told.on_gone = refused_one;
    uint8_t payload[SC_FRAME_MAX];
    struct sc_frame frame = hear(&s, payload);
    assert_int_equal(frame.type, SC_MSG_COMMAND);
    say_started(&s, frame.channel);
    pump(&s);
    sc_live_kill(s.live);
    expect_end(&s, SC_STATUS_CANCELLED, "");
    assert_int_equal(next_told.gone, 1);
    close_stage(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, note_traces, expect_no_traces)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_command),
        TEST(before_ready),
        TEST(long_texts),
        TEST(too_much_text),
        TEST(file_operations),
        TEST(output_credit),
        TEST(windows_of_any_size),
        TEST(streams_that_are_not_there),
        TEST(input_credit),
        TEST(an_agent_that_does_not_listen),
        TEST(room_in_the_queue),
        TEST(sixty_four_at_once),
        TEST(killed_by_a_callback),
        TEST(a_command_from_a_callback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
