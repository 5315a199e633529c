/* A living cell that dies, or whose command does, with something in the runner's stream: what is told of it.
 */
#include "live_stage.h"

#include <signal.h>
#include <sys/socket.h>

#include "base/fd.h"

static void say_exit_after(struct stage *s, uint16_t id, uint64_t runner_bytes, uint32_t flags)
{
    const struct sc_msg_command_exit report = {
        .wait_status = SIGKILL, .flags = flags, .runner_bytes = runner_bytes};
    say(s, SC_MSG_COMMAND_EXIT, id, &report, sizeof report);
    pump(s);
}

static void an_exit_tells_what_was_read(void **state)
{
    (void)state;
    static const struct {
        uint64_t passed;
        uint32_t flags;
        unsigned unread;
    } ends[] = {{4, 0, 0}, {4, SC_EXIT_UNREAD, 1}, {3, 0, 1}, {0, 0, 1}, {4, SC_EXIT_TIMED_OUT, 0}};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct stage s;
        struct told told = {0};
        open_stage(&s);
        say_good_ready(&s);
        uint16_t id = start_command(&s, &told, SC_COMMAND_RUNNER, 0);
        assert_int_equal(sc_live_write(s.live, id, SC_STREAM_RUNNER, "code", 4), 4);
        say_exit_after(&s, id, ends[i].passed, ends[i].flags);
        assert_int_equal(told.unread, ends[i].unread);
        assert_int_equal(told.exited, 1);
        close_stage(&s);
    }
}

static void more_than_was_sent_cannot_have_been_read(void **state)
{
    (void)state;
    struct stage s;
    struct told told = {0};
    open_stage(&s);
    say_good_ready(&s);
    uint16_t id = start_command(&s, &told, SC_COMMAND_RUNNER, 0);
    assert_int_equal(sc_live_write(s.live, id, SC_STREAM_RUNNER, "code", 4), 4);
    say_exit_after(&s, id, 5, 0);
    expect_broken(&s);
    assert_int_equal(told.unread + told.exited, 0);
    close_stage(&s);
}

enum last_moment { READ_NOTHING, READ_HALF, READ_ALL, SAID_MORE, CLOSED_BEFORE };

/* The cell dies; what its agent has read by then is known from its stream alone. */
static void a_dead_agent_tells_what_it_read(void **state)
{
    (void)state;
    static const unsigned unread[] = {
        [READ_NOTHING] = 1, [READ_HALF] = 1, [READ_ALL] = 0, [SAID_MORE] = 0, [CLOSED_BEFORE] = 1};
    for (enum last_moment moment = READ_NOTHING; moment <= CLOSED_BEFORE; moment++) {
        struct stage s;
        struct told told = {0}, other = {0};
        static uint8_t payload[SC_FRAME_MAX];
        open_stage(&s);
        say_good_ready(&s);
        uint16_t id = start_command(&s, &told, SC_COMMAND_RUNNER, 0);
        if (moment == CLOSED_BEFORE)
            sc_close(&s.agent);
        assert_int_equal(sc_live_write(s.live, id, SC_STREAM_RUNNER, "code", 4), 4);
        if (moment == READ_HALF)
            assert_int_equal(recv(s.agent, payload, sizeof(struct sc_frame) + 2, 0),
                             sizeof(struct sc_frame) + 2);
        if (moment == READ_ALL || moment == SAID_MORE)
            hear(&s, payload);
        if (moment == SAID_MORE) /* what is unread is not the run */
            give_command(&s, &other, 0, 0);
        sc_close(&s.agent);
        kill(s.process_1, SIGKILL);
        pump_to_the_end(&s);
        assert_int_equal(told.unread, unread[moment]);
        assert_int_equal(told.gone, 1);
        close_stage(&s);
    }
}

static void a_killed_cell_tells_it_too(void **state)
{
    (void)state;
    struct stage s;
    struct told told = {0};
    open_stage(&s);
    say_good_ready(&s);
    uint16_t id = start_command(&s, &told, SC_COMMAND_RUNNER, 0);
    assert_int_equal(sc_live_write(s.live, id, SC_STREAM_RUNNER, "code", 4), 4);
    sc_live_kill(s.live);
    sc_close(&s.agent);
    pump_to_the_end(&s);
    assert_int_equal(told.unread, 1);
    close_stage(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_exit_tells_what_was_read, note_traces, expect_no_traces),
        cmocka_unit_test_setup_teardown(more_than_was_sent_cannot_have_been_read, note_traces,
                                        expect_no_traces),
        cmocka_unit_test_setup_teardown(a_dead_agent_tells_what_it_read, note_traces, expect_no_traces),
        cmocka_unit_test_setup_teardown(a_killed_cell_tells_it_too, note_traces, expect_no_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
