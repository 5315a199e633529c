/* A living cell whose agent breaks the protocol, fails, or dies, at every point: the cell ends, for the right
 * reason, after every operation was told so. */
#include "live_stage.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

static uint8_t zeros[SC_FRAME_MAX];

/* A cell with a command in each state, and a file operation. */
struct five {
    struct stage s;
    struct told asked, started, exited, file, watching;
    uint16_t asked_id, started_id, exited_id, file_id, watching_id;
};

static void open_five(struct five *five)
{
    memset(five, 0, sizeof *five);
    open_stage(&five->s);
    say_good_ready(&five->s);
    five->started_id = start_command(&five->s, &five->started, SC_COMMAND_STDIN, 1000);
    five->exited_id = start_command(&five->s, &five->exited, 0, 1000);
    say_exit(&five->s, five->exited_id, 0);
    five->asked_id = give_command(&five->s, &five->asked, 0, 1000);
    five->file_id = give_file(&five->s, &five->file, SC_FILE_READ, 1000);
    five->watching_id = give_file(&five->s, &five->watching, SC_FILE_WATCH, 1000);
    say_started(&five->s, five->watching_id);
    pump(&five->s);
    assert_int_equal(five->exited.exited, 1);
    assert_int_equal(five->watching.started, 1);
}

/* Each was told the one end that fits it. */
static void close_five(struct five *five)
{
    assert_int_equal(five->asked.failed, 1);
    assert_int_equal(five->started.gone, 1);
    assert_int_equal(five->exited.gone, 1);
    assert_int_equal(five->file.failed, 1);
    assert_int_equal(five->watching.failed, 1);
    assert_int_equal(
        five->asked.ends + five->started.ends + five->exited.ends + five->file.ends + five->watching.ends, 5);
    close_stage(&five->s);
}

enum whom { CELL, ASKED, STARTED, EXITED, FILE_ASKED, WATCHING, STRANGER, HIGHEST };

static uint16_t channel_of(const struct five *five, enum whom whom)
{
    const uint16_t ids[] = {0,
                            five->asked_id,
                            five->started_id,
                            five->exited_id,
                            five->file_id,
                            five->watching_id,
                            (uint16_t)(five->started_id + SC_COMMANDS_MAX),
                            UINT16_MAX};
    return ids[whom];
}

static const struct {
    enum whom whom;
    uint16_t type;
    size_t len;
} WRONG[] = {
    {CELL, 0, 0},
    {CELL, UINT16_MAX, 10},
    {CELL, SC_MSG_READY, sizeof(struct sc_msg_ready)},
    {CELL, SC_MSG_STARTED, 0},
    {CELL, SC_MSG_EXIT, sizeof(struct sc_msg_exit)},
    {CELL, SC_MSG_LISTED, sizeof(struct sc_msg_listed)},
    {CELL, SC_MSG_OUTPUT, 1},
    {CELL, SC_MSG_FAILED, 3},
    {CELL, SC_MSG_FAILED, sizeof(struct sc_msg_failed)}, /* its code is none */
    {STRANGER, SC_MSG_OUTPUT, 1},
    {STRANGER, SC_MSG_COMMAND_GONE, 0},
    {HIGHEST, SC_MSG_OUTPUT, 1},
    {ASKED, SC_MSG_OUTPUT, 1},
    {ASKED, SC_MSG_OUTPUT_ERR, 1},
    {ASKED, SC_MSG_RUNNER_OUTPUT, 1},
    {ASKED, SC_MSG_COMMAND_EXIT, sizeof(struct sc_msg_command_exit)},
    {ASKED, SC_MSG_COMMAND_GONE, 0},
    {ASKED, SC_MSG_FILE_DONE, sizeof(struct sc_msg_file_done)},
    {ASKED, SC_MSG_COMMAND_STARTED, sizeof(struct sc_msg_started)}, /* as process 0 */
    {ASKED, SC_MSG_COMMAND_STARTED, 3},
    {ASKED, SC_MSG_COMMAND_FAILED, sizeof(struct sc_msg_failed)},
    {ASKED, SC_MSG_COMMAND_FAILED, 0},
    {STARTED, SC_MSG_COMMAND_STARTED, sizeof(struct sc_msg_started)},
    {STARTED, SC_MSG_COMMAND_FAILED, sizeof(struct sc_msg_failed)},
    {STARTED, SC_MSG_COMMAND_GONE, 0},
    {STARTED, SC_MSG_COMMAND_EXIT, sizeof(struct sc_msg_command_exit) - 1},
    {STARTED, SC_MSG_COMMAND_EXIT, sizeof(struct sc_msg_command_exit) + 1},
    {STARTED, SC_MSG_FILE_DONE, sizeof(struct sc_msg_file_done)},
    {STARTED, SC_MSG_OUTPUT, 0},
    {STARTED, SC_MSG_OUTPUT, 1001},
    {STARTED, SC_MSG_OUTPUT, SC_FRAME_MAX},
    {STARTED, SC_MSG_OUTPUT_ERR, 1001},
    {STARTED, SC_MSG_RUNNER_OUTPUT, 1},
    {STARTED, SC_MSG_INPUT, 1},
    {STARTED, SC_MSG_INPUT_CREDIT, 0},
    {EXITED, SC_MSG_COMMAND_EXIT, sizeof(struct sc_msg_command_exit)},
    {EXITED, SC_MSG_COMMAND_GONE, 1},
    {EXITED, SC_MSG_COMMAND_STARTED, sizeof(struct sc_msg_started)},
    {ASKED, SC_MSG_ADOPTING, sizeof(struct sc_msg_ready)},
    {ASKED, SC_MSG_ORPHAN, sizeof(struct sc_msg_orphan)},
    {STARTED, SC_MSG_ADOPTING, sizeof(struct sc_msg_ready)},
    {STARTED, SC_MSG_ORPHAN, sizeof(struct sc_msg_orphan)}, /* it has no fork socket */
    {FILE_ASKED, SC_MSG_COMMAND_GONE, 0},
    {FILE_ASKED, SC_MSG_COMMAND_EXIT, sizeof(struct sc_msg_command_exit)},
    {FILE_ASKED, SC_MSG_OUTPUT_ERR, 1},
    {FILE_ASKED, SC_MSG_OUTPUT, 1001},
    {FILE_ASKED, SC_MSG_FILE_DONE, 1},
    {WATCHING, SC_MSG_COMMAND_STARTED, sizeof(struct sc_msg_started)},
    {WATCHING, SC_MSG_COMMAND_FAILED, sizeof(struct sc_msg_failed)},
};

/* The news that a program with a fork socket has started, with so many descriptors. */
static void say_started_with(struct stage *s, uint16_t id, const int *fds, size_t n)
{
    struct {
        struct sc_frame head;
        struct sc_msg_started started;
    } message = {.head = {sizeof message.started, SC_MSG_COMMAND_STARTED, id}, .started = {.pid = 7}};
    assert_int_equal(sc_send_fds(s->agent, &message, sizeof message, fds, n), sizeof message);
}

static void a_fork_socket_comes_once_and_with_its_command(void **state)
{
    (void)state;
    for (size_t n = 0; n < 3; n++) {
        struct stage s;
        struct told told = {0}, other = {0};
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        open_stage(&s);
        say_good_ready(&s);
        uint16_t first = start_command(&s, &other, 0, 1000);
        uint16_t id = give_command(&s, &told, SC_COMMAND_SOCKET, 1000);
        say_started_with(&s, id, ends, n);
        if (n != 1) {
            expect_broken(&s);
        } else {
            pump(&s);
            assert_int_equal(told.started, 1);
            /* What is not an answer ends the socket, not the cell. */
            assert_int_equal(send(ends[1], "x", 1, MSG_NOSIGNAL), 1);
            pump(&s);
            assert_int_equal(s.ended, 0);
            say_exit(&s, first, 0);
            pump(&s);
            assert_int_equal(other.exited, 1);
        }
        close(ends[0]);
        close(ends[1]);
        close_stage(&s);
    }
}

static void wrong_messages(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
        struct five five;
        open_five(&five);
        say(&five.s, WRONG[i].type, channel_of(&five, WRONG[i].whom), zeros, WRONG[i].len);
        pump_to_the_end(&five.s);
        if (!strstr(five.s.message, "broke the protocol"))
            fail_msg("case %zu: %s", i, five.s.message);
        expect_broken(&five.s);
        close_five(&five);
    }
}

static void wrong_content(void **state)
{
    (void)state;
    static const int statuses[] = {0x137f, 0xffff, -1}; /* stopped, continued, nothing */
    static const int32_t codes[] = {1, INT32_MAX, INT32_MIN, -4096};
    static const uint32_t streams[] = {SC_STREAM_IN, SC_STREAM_OUT, SC_STREAM_ERR, 4, UINT32_MAX};
    struct five five;
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        open_five(&five);
        say_exit(&five.s, five.started_id, statuses[i]);
        expect_broken(&five.s);
        close_five(&five);
    }
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        open_five(&five);
        say_done(&five.s, five.file_id, codes[i]);
        expect_broken(&five.s);
        close_five(&five);
    }
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        open_five(&five);
        say_credit(&five.s, five.started_id, streams[i], 0);
        expect_broken(&five.s);
        close_five(&five);
    }
}

/* Texts that do not end are ended. */
static void texts_without_end(void **state)
{
    (void)state;
    struct five five;
    struct sc_msg_failed failed = {.code = -ENOEXEC};
    struct sc_msg_file_done done = {.code = -EACCES};
    memset(failed.stage, 's', sizeof failed.stage);
    memset(failed.object, 'o', sizeof failed.object);
    memset(done.object, 'o', sizeof done.object);
    open_five(&five);
    say(&five.s, SC_MSG_COMMAND_FAILED, five.asked_id, &failed, sizeof failed);
    say(&five.s, SC_MSG_FILE_DONE, five.file_id, &done, sizeof done);
    pump(&five.s);
    assert_int_equal(strlen(five.asked.why.stage), sizeof failed.stage - 1);
    assert_int_equal(strlen(five.asked.why.object), sizeof failed.object - 1);
    assert_int_equal(strlen(five.file.result.object), sizeof done.object - 1);
    say(&five.s, SC_MSG_FAILED, 0, &failed, sizeof failed);
    expect_end(&five.s, SC_STATUS_SANDBOX_ERROR, strerror(ENOEXEC));
    close_stage(&five.s);
}

static void oversize(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {SC_FRAME_MAX + 1, UINT32_MAX};
    for (size_t i = 0; i < 2; i++) {
        struct five five;
        open_five(&five);
        const struct sc_frame frame = {sizes[i], SC_MSG_OUTPUT, five.started_id};
        assert_int_equal(send(five.s.agent, &frame, sizeof frame, 0), sizeof frame);
        expect_broken(&five.s);
        close_five(&five);
    }
}

/* Nothing but READY and FAILED before READY. */
static void too_early(void **state)
{
    (void)state;
    struct stage s;
    struct told told = {0};
    open_stage(&s);
    say_started(&s, give_command(&s, &told, 0, 0));
    expect_broken(&s);
    assert_int_equal(told.failed, 1);
    close_stage(&s);
    open_stage(&s);
    const struct sc_msg_failed failed = {.code = -EPERM, .stage = "mounts", .object = "/proc"};
    say(&s, SC_MSG_FAILED, 0, &failed, sizeof failed);
    expect_end(&s, SC_STATUS_SANDBOX_ERROR, "stage mounts: /proc: ");
    close_stage(&s);
}

/* Descriptors that READY does not name are refused; later ones never reach us. */
static void wrong_descriptors(void **state)
{
    (void)state;
    int work = open("/dev/shm", O_PATH | O_DIRECTORY | O_CLOEXEC),
        null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const struct {
        uint32_t mask;
        int first;
        size_t n;
    } cases[] = {{1, null, 1}, {3, work, 1}, {0, work, 1}, {1, work, 2}, {~0u, work, 3}, {0, -1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stage s;
        const int fds[3] = {cases[i].first, null, null};
        open_stage(&s);
        say_raw_ready(&s, cases[i].mask, fds, cases[i].n);
        expect_broken(&s);
        close_stage(&s);
    }
    struct five five;
    struct {
        struct sc_frame head;
        char text[1];
    } output = {{1, SC_MSG_OUTPUT, 0}, "x"};
    open_five(&five);
    output.head.channel = five.started_id;
    const int fds[2] = {work, null};
    assert_int_equal(sc_send_fds(five.s.agent, &output, 9, fds, 2), 9);
    pump(&five.s);
    assert_int_equal(five.started.bytes[SC_STREAM_OUT], 1);
    sc_live_kill(five.s.live);
    expect_end(&five.s, SC_STATUS_CANCELLED, "");
    close_five(&five);
    close(work);
    close(null);
}

/* The stream ends within a message, after any number of its bytes. */
static void ends_anywhere(void **state)
{
    (void)state;
    static const uint8_t frame[] = {24, 0, 0, 0, SC_MSG_OUTPUT, 0, 1, 0, 1, 2, 3};
    for (size_t n = 0; n <= sizeof frame; n++) {
        struct five five;
        open_five(&five);
        if (n)
            assert_int_equal(send(five.s.agent, frame, n, 0), n);
        sc_close(&five.s.agent);
        expect_end(&five.s, SC_STATUS_SANDBOX_ERROR, "without a report");
        close_five(&five);
    }
}

static void process_1_dies(void **state)
{
    (void)state;
    struct five five;
    open_five(&five);
    say(&five.s, SC_MSG_OUTPUT, five.started_id, "last words", 10);
    assert_int_equal(kill(five.s.process_1, SIGKILL), 0); /* we hold the stream open */
    expect_end(&five.s, SC_STATUS_SANDBOX_ERROR, "without a report");
    assert_string_equal(five.started.text, "last words");
    close_five(&five);
}

/* Its stream is closed, but it lives on: it is killed. */
static void process_1_hangs_up(void **state)
{
    (void)state;
    struct five five;
    open_five(&five);
    sc_close(&five.s.agent);
    expect_end(&five.s, SC_STATUS_SANDBOX_ERROR, "without a report");
    assert_int_equal(kill(five.s.process_1, 0), -1);
    close_five(&five);
}

/* A death, or a failure, soon after the kernel had counted a kill for memory; and one long after. */
static void dies_for_memory(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        struct five five;
        open_five(&five);
        five.s.live->memory_kills = 1;
        five.s.live->memory_ns = sc_now_ns() - (late ? 60 * SC_NS_PER_S : 0);
        assert_int_equal(kill(five.s.process_1, SIGKILL), 0);
        expect_end(&five.s, late ? SC_STATUS_SANDBOX_ERROR : SC_STATUS_OUT_OF_MEMORY, "");
        close_five(&five);
        const struct sc_msg_failed failed = {.code = -ECHILD, .stage = "shepherd"};
        open_five(&five);
        five.s.live->memory_kills = 1;
        five.s.live->memory_ns = sc_now_ns() - (late ? 60 * SC_NS_PER_S : 0);
        say(&five.s, SC_MSG_FAILED, 0, &failed, sizeof failed);
        expect_end(&five.s, late ? SC_STATUS_SANDBOX_ERROR : SC_STATUS_OUT_OF_MEMORY, "");
        close_five(&five);
    }
}

static void killed(void **state)
{
    (void)state;
    struct five five;
    open_five(&five);
    sc_live_kill(five.s.live);
    sc_live_kill(five.s.live);
    assert_false(sc_live_is_alive(five.s.live));
    assert_int_equal(sc_live_write(five.s.live, five.started_id, SC_STREAM_IN, "x", 1), -EPIPE);
    assert_int_equal(sc_live_signal(five.s.live, five.started_id, SIGTERM, SC_SIGNAL_TREE), -EPIPE);
    assert_int_equal(five.started.ends, 0); /* told by a step only */
    expect_end(&five.s, SC_STATUS_CANCELLED, "ended");
    close_five(&five);
}

static void closed_in_the_middle(void **state)
{
    (void)state;
    struct five five;
    open_five(&five);
    close_stage(&five.s);
    assert_int_equal(five.s.ended, 0);
}

/* One that hangs in the kernel: its end is told all the same, some time. A descriptor that never becomes
 * readable stands for it. */
static void never_dies(void **state)
{
    (void)state;
    struct stage s;
    struct told told = {0};
    open_stage(&s);
    int never = eventfd(0, EFD_CLOEXEC), real = s.live->cell.pidfd;
    pid_t pid = s.live->cell.pid;
    assert_int_equal(epoll_ctl(s.live->epoll, EPOLL_CTL_DEL, real, NULL), 0);
    s.live->watched[SC_LIVE_PIDFD] = SC_LIVE_UNWATCHED;
    s.live->cell.pidfd = never;
    give_command(&s, &told, 0, 0);
    sc_live_kill(s.live);
    pump(&s);
    assert_int_equal(s.ended, 0);
    s.live->over_ns -= 31 * SC_NS_PER_S;
    expect_end(&s, SC_STATUS_SANDBOX_ERROR, "do not die");
    assert_int_equal(told.failed, 1);
    s.live->cell.pidfd = real;
    assert_int_equal(s.live->cell.pid, pid); /* still to be buried */
    close_stage(&s);
    close(never);
}

/* Time passes: the moments are set back. */
static void patience(void **state)
{
    (void)state;
    struct stage s;
    struct told told = {0};
    open_stage(&s);
    s.live->begun_ns -= 59 * SC_NS_PER_S;
    pump(&s);
    assert_true(sc_live_is_alive(s.live));
    s.live->begun_ns -= 2 * SC_NS_PER_S;
    expect_end(&s, SC_STATUS_SANDBOX_ERROR, "not sealed in time");
    close_stage(&s);

    char *large = calloc(1, 1 << 20);
    memset(large, 'x', (1 << 20) - 1);
    const char *const argv[] = {large, NULL};
    const struct sc_command command = {.argv = argv};
    uint16_t id;
    open_stage(&s);
    say_good_ready(&s);
    assert_int_equal(sc_live_command(s.live, &command, &RECORD, &told, &id, &s.err), 0);
    assert_true(sc_live_queued(s.live) > 0);
    pump(&s);
    s.live->ready_ns -= 31 * SC_NS_PER_S;
    s.live->queue_ns -= 29 * SC_NS_PER_S;
    pump(&s);
    assert_true(sc_live_is_alive(s.live));
    s.live->queue_ns -= 2 * SC_NS_PER_S;
    expect_end(&s, SC_STATUS_SANDBOX_ERROR, "does not take what it is told");
    close_stage(&s);
    free(large);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, note_traces, expect_no_traces)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_fork_socket_comes_once_and_with_its_command),
        TEST(wrong_messages),
        TEST(wrong_content),
        TEST(texts_without_end),
        TEST(oversize),
        TEST(too_early),
        TEST(wrong_descriptors),
        TEST(ends_anywhere),
        TEST(process_1_dies),
        TEST(process_1_hangs_up),
        TEST(dies_for_memory),
        TEST(killed),
        TEST(closed_in_the_middle),
        TEST(never_dies),
        TEST(patience),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
