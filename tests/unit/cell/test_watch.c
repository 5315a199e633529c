/* The supervisor's half of the agent protocol, spoken to by an agent that does everything wrong: an error or
 * a verdict, never a hang, and no descriptor stays. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"
#include "cell/run.h"

/* A run whose agent is us. */
struct stage {
    struct sc_run run;
    struct sc_works works;
    struct sc_plan plan;
    struct sc_spec spec;
    struct sc_host host;
    struct sc_result result;
    struct sc_err err;
    struct sc_callbacks callbacks;
    int agent; /* its end of the stream */
};

static void open_stage(struct stage *s)
{
    int ends[2];
    memset(s, 0, sizeof *s);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    s->agent = ends[1];
    sc_spec_init(&s->spec);
    sc_result_init(&s->result, 1000, 1000);
    s->host.cpus = 1;
    s->plan.host = &s->host;
    s->plan.spec = &s->spec;
    s->plan.limits.wall = 5 * SC_NS_PER_S;
    s->works.plan = &s->plan;
    s->callbacks.cancel_fd = -1;
    s->run = (struct sc_run){.works = &s->works,
                             .plan = &s->plan,
                             .callbacks = &s->callbacks,
                             .result = &s->result,
                             .cell = SC_CELL_NONE,
                             .begun_ns = sc_now_ns()};
    for (int i = 0; i < SC_READY_COUNT; i++)
        s->run.ready[i] = -1;
    s->run.reader = calloc(1, sizeof *s->run.reader);
    s->run.cell.control = ends[0];
    s->run.cell.pid = fork(); /* what stands for process 1: it lives until it is killed */
    if (s->run.cell.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sc_sys_close_range(3, ~0u, 0); /* of the stream it has no end */
        for (;;)
            pause();
    }
    s->run.cell.pidfd = sc_sys_pidfd_open(s->run.cell.pid);
    assert_true(s->run.cell.pidfd >= 0);
}

static void close_stage(struct stage *s)
{
    sc_close(&s->agent);
    sc_cell_end(&s->run.cell);
    for (int i = 0; i < SC_READY_COUNT; i++)
        sc_close(&s->run.ready[i]);
    free(s->run.reader);
    sc_result_fini(&s->result);
    sc_spec_fini(&s->spec);
}

static void say(struct stage *s, int type, const void *payload, size_t len)
{
    assert_int_equal(sc_frame_send(s->agent, (uint16_t)type, 0, payload, len), 0);
}

static void say_ready(struct stage *s, uint32_t mask, const int *fds, size_t n)
{
    struct {
        struct sc_frame head;
        struct sc_msg_ready ready;
    } message = {{sizeof message.ready, SC_MSG_READY, 0}, {mask}};
    assert_int_equal(sc_send_fds(s->agent, &message, sizeof message, fds, n), sizeof message);
}

static int tmpfs_folder(void)
{
    int fs = open("/dev/shm", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(fs >= 0);
    return fs;
}

static void say_good_ready(struct stage *s)
{
    int work = tmpfs_folder();
    say_ready(s, 1u << SC_READY_WORK, &work, 1);
    close(work);
}

static void say_exit(struct stage *s, int status)
{
    const struct sc_msg_exit report = {.wait_status = status, .user_ns = 7};
    say(s, SC_MSG_EXIT, &report, sizeof report);
}

/* Must come to `r` and, when that is 0, to `end`, long before the wall clock does. */
static void watch(struct stage *s, int r, enum sc_end end)
{
    uint64_t begun = sc_now_ns();
    int got = sc_run_watch(&s->run, &s->err);
    if (got != r || (r == 0 && s->run.end != end))
        fail_msg("%d (%s), end %d", got, s->err.message, s->run.end);
    if (r < 0)
        assert_int_equal(s->err.kind, SC_ERR_SANDBOX);
    assert_true(sc_now_ns() - begun < 3 * SC_NS_PER_S);
}

static void good(void **state)
{
    (void)state;
    struct stage s;
    open_stage(&s);
    say_good_ready(&s);
    say(&s, SC_MSG_STARTED, NULL, 0);
    say_exit(&s, 3 << 8);
    watch(&s, 0, SC_END_EXIT);
    assert_int_equal(s.run.exit.wait_status, 3 << 8);
    assert_true(s.run.ready[SC_READY_WORK] >= 0);
    assert_int_equal(s.run.ready[SC_READY_TMP], -1);
    close_stage(&s);
}

static void ends_anywhere(void **state)
{
    (void)state;
    static const uint8_t frame[] = {24, 0, 0, 0, SC_MSG_EXIT, 0, 0, 0, 1, 2, 3};
    for (size_t n = 0; n <= sizeof frame; n++) {
        struct stage s;
        open_stage(&s);
        if (n)
            assert_int_equal(send(s.agent, frame, n, 0), n);
        sc_close(&s.agent);
        watch(&s, 0, SC_END_AGENT);
        close_stage(&s);
    }
}

static void dies_silently(void **state)
{
    (void)state;
    struct stage s;
    open_stage(&s);
    assert_int_equal(kill(s.run.cell.pid, SIGKILL), 0); /* we hold the stream open */
    watch(&s, 0, SC_END_AGENT);
    close_stage(&s);
}

static void oversize(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {SC_FRAME_MAX + 1, 0xffffffff};
    for (size_t i = 0; i < 2; i++) {
        struct stage s;
        const struct sc_frame frame = {sizes[i], SC_MSG_FAILED, 0};
        open_stage(&s);
        assert_int_equal(send(s.agent, &frame, sizeof frame, 0), sizeof frame);
        watch(&s, -EPROTO, SC_END_NONE);
        close_stage(&s);
    }
}

static void wrong_messages(void **state)
{
    (void)state;
    static const uint8_t zeros[256];
    static const struct {
        bool ready, started;
        int type;
        size_t len;
    } cases[] = {
        {false, false, 0, 0},
        {false, false, SC_MSG_START, 0},
        {false, false, 65535, 100},
        {false, false, SC_MSG_STARTED, 0},
        {false, false, SC_MSG_EXIT, sizeof(struct sc_msg_exit)},
        {true, false, SC_MSG_EXIT, sizeof(struct sc_msg_exit)},
        {true, true, SC_MSG_STARTED, 0},
        {true, true, SC_MSG_EXIT, sizeof(struct sc_msg_exit) - 1},
        {true, true, SC_MSG_EXIT, sizeof(struct sc_msg_exit) + 1},
        {true, true, SC_MSG_FAILED, 0},
        {true, true, SC_MSG_FAILED, sizeof(struct sc_msg_failed) + 1},
        {true, false, SC_MSG_READY, sizeof(struct sc_msg_ready)},
        {false, false, SC_MSG_READY, 0},
        {false, false, SC_MSG_READY, 200},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stage s;
        open_stage(&s);
        if (cases[i].ready)
            say_good_ready(&s);
        if (cases[i].started)
            say(&s, SC_MSG_STARTED, NULL, 0);
        say(&s, cases[i].type, zeros, cases[i].len);
        watch(&s, -EPROTO, SC_END_NONE);
        close_stage(&s);
    }
}

/* Descriptors that are not what READY says, or too many, or where none belong: refused, and none stays open
 * here. */
static void wrong_descriptors(void **state)
{
    (void)state;
    int work = tmpfs_folder(), null = open("/dev/null", O_RDWR | O_CLOEXEC),
        proc = open("/proc", O_PATH | O_CLOEXEC);
    int file = memfd_create("file", MFD_CLOEXEC); /* on a tmpfs, but no folder */
    const int workers[SC_FDS_MAX] = {work, work, work, work, work, work, work, work,
                                     work, work, work, work, work, work, work, work};
    const struct {
        uint32_t mask;
        int first;
        size_t n;
    } cases[] = {
        {1, null, 1},
        {1, proc, 1},
        {1, file, 1},
        {1, -1, 0},
        {0, work, 1},
        {3, work, 1},
        {1, work, 2},
        {2, work, 1},
        {0, -1, 0},
        {~0u, work, 5},
        {~0u, work, SC_FDS_MAX},
        {0xff00, work, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stage s;
        int fds[SC_FDS_MAX];
        memcpy(fds, workers, sizeof fds);
        fds[0] = cases[i].first;
        open_stage(&s);
        say_ready(&s, cases[i].mask, fds, cases[i].n);
        watch(&s, -EPROTO, SC_END_NONE);
        close_stage(&s);
    }
    struct stage s;
    open_stage(&s);
    say_good_ready(&s);
    const struct sc_frame started = {0, SC_MSG_STARTED, 0};
    assert_int_equal(sc_send_fds(s.agent, &started, sizeof started, workers, SC_FDS_MAX), sizeof started);
    say_exit(&s, 0);
    watch(&s, 0, SC_END_EXIT);
    close_stage(&s);
    close(work);
    close(null);
    close(proc);
    close(file);
}

static void failure_is_told(void **state)
{
    (void)state;
    struct stage s;
    struct sc_msg_failed failed = {.code = -EXDEV};
    memset(failed.stage, 's', sizeof failed.stage); /* not ended */
    memset(failed.object, 'o', sizeof failed.object);
    open_stage(&s);
    say(&s, SC_MSG_FAILED, &failed, sizeof failed);
    watch(&s, 0, SC_END_FAILED);
    assert_int_equal(strlen(s.run.failed.stage), sizeof failed.stage - 1);
    assert_int_equal(strlen(s.run.failed.object), sizeof failed.object - 1);
    assert_int_equal(sc_run_judge(&s.run, &s.err), 0);
    assert_int_equal(s.result.status, SC_STATUS_SANDBOX_ERROR);
    close_stage(&s);
}

/* A failure whose code is none must not come out as a success. */
static void failure_without_a_code(void **state)
{
    (void)state;
    static const int32_t codes[] = {0, 1, INT32_MAX, INT32_MIN, -4096};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        struct stage s;
        const struct sc_msg_failed failed = {.code = codes[i], .stage = "file", .object = "x"};
        open_stage(&s);
        say(&s, SC_MSG_FAILED, &failed, sizeof failed);
        watch(&s, -EPROTO, SC_END_NONE);
        close_stage(&s);
    }
}

/* The first end stays, whatever comes after. */
static void more_than_one_end(void **state)
{
    (void)state;
    struct stage s;
    const struct sc_msg_failed failed = {.code = -EIO, .stage = "late"};
    open_stage(&s);
    say_good_ready(&s);
    say(&s, SC_MSG_STARTED, NULL, 0);
    say_exit(&s, 1 << 8);
    say_exit(&s, 2 << 8);
    say(&s, SC_MSG_FAILED, &failed, sizeof failed);
    say(&s, 12345, "junk", 4);
    watch(&s, 0, SC_END_EXIT);
    assert_int_equal(s.run.exit.wait_status, 1 << 8);
    assert_int_equal(s.run.failed.code, 0);
    close_stage(&s);
}

static void byte_by_byte(void **state)
{
    (void)state;
    struct stage s;
    struct {
        struct sc_frame head;
        struct sc_msg_failed failed;
    } message = {{sizeof message.failed, SC_MSG_FAILED, 0}, {.code = -E2BIG, .stage = "slow"}};
    open_stage(&s);
    pid_t pid = fork();
    if (pid == 0) {
        for (size_t i = 0; i < sizeof message; i++)
            if (send(s.agent, (char *)&message + i, 1, MSG_NOSIGNAL) != 1)
                _exit(1);
        _exit(0);
    }
    watch(&s, 0, SC_END_FAILED);
    assert_int_equal(s.run.failed.code, -E2BIG);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close_stage(&s);
}

/* Frames without end do not keep the wall clock from ending the run. */
static void babbles(void **state)
{
    (void)state;
    struct stage s;
    open_stage(&s);
    s.plan.limits.wall = 100 * SC_NS_PER_MS;
    say_good_ready(&s);
    say(&s, SC_MSG_STARTED, NULL, 0);
    pid_t pid = fork();
    if (pid == 0) {
        static const uint8_t header[] = {255, 255, 0, 0, SC_MSG_EXIT, 0, 0, 0};
        static const uint8_t more[60000];
        send(s.agent, header, sizeof header, MSG_NOSIGNAL);
        send(s.agent, more, sizeof more, MSG_NOSIGNAL); /* 5,535 bytes short of a frame */
        for (;;)
            pause();
    }
    watch(&s, 0, SC_END_WALL);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close_stage(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, note_traces, expect_no_traces)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(good),
        TEST(ends_anywhere),
        TEST(dies_silently),
        TEST(oversize),
        TEST(wrong_messages),
        TEST(wrong_descriptors),
        TEST(failure_is_told),
        TEST(failure_without_a_code),
        TEST(more_than_one_end),
        TEST(byte_by_byte),
        TEST(babbles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
