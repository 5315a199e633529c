/* The serving half of process 1, spoken to by a supervisor that does everything wrong. Whatever comes: an
 * answer or an end, never a hang, and nothing written outside of the work folder. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/fd.h"
#include "base/frame.h"
#include "base/sys.h"

#define PATIENCE_MS 5000

/* An image with what serving needs: ids, argv and env. */
static struct {
    struct sc_image head;
    uint32_t argv[3], env[1];
    char texts[400];
} image;

static int stage_answer; /* of the made-up program stage */

static int enter_program(void *data, const struct sc_agent_entry *entry, struct sc_msg_failed *failed)
{
    (void)data;
    (void)entry;
    if (stage_answer < 0)
        sc_agent_describe(failed, "teststage", "test object", stage_answer);
    return stage_answer;
}

static void make_image(const char *program, const char *arg)
{
    memset(&image, 0, sizeof image);
    image.head.agent_uid = image.head.program_uid = geteuid();
    image.head.argv = offsetof(__typeof__(image), argv);
    image.head.env = offsetof(__typeof__(image), env);
    image.head.argc = 2;
    image.argv[0] = offsetof(__typeof__(image), texts);
    image.argv[1] = image.argv[0] + 200;
    snprintf(image.texts, 200, "%s", program);
    snprintf(image.texts + 200, 200, "%s", arg);
}

struct talk {
    int sock;
    pid_t pid;
    char *folder;
    struct sc_frame_reader *reader;
};

/* An ordinary user's id, the same inside. */
static void map_self(pid_t pid)
{
    static const char *const files[] = {"setgroups", "uid_map", "gid_map"};
    for (int i = 0; i < 3; i++) {
        char path[64], text[64] = "deny";
        snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, files[i]);
        if (i)
            snprintf(text, sizeof text, "%u %u 1", geteuid(), geteuid());
        assert_int_equal(sc_write_file(AT_FDCWD, path, text), 0);
    }
}

/* Process 1 of a pid namespace, as the agent always is: it ends by killing everybody. */
static pid_t fork_alone(void)
{
    struct sc_clone_args args = {.flags = CLONE_NEWPID | (geteuid() ? CLONE_NEWUSER : 0),
                                 .exit_signal = SIGCHLD};
    int from, to;
    char go;
    assert_int_equal(sc_pipe(&from, &to), 0);
    fflush(NULL);
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
    if (pid == 0 && read(from, &go, 1) != 1)
        _exit(98);
    if (pid > 0) {
        if (geteuid())
            map_self(pid);
        assert_int_equal(write(to, "g", 1), 1);
    }
    close(from);
    close(to);
    return pid;
}

static void open_talk(struct talk *talk)
{
    int ends[2];
    talk->folder = make_folder();
    talk->reader = calloc(1, sizeof *talk->reader);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    talk->pid = fork_alone();
    assert_true(talk->pid >= 0);
    if (talk->pid == 0) {
        if (getpid() != 1)
            _exit(99);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        struct sc_agent agent = {.image = &image.head,
                                 .control = ends[1],
                                 .supervisor = -1,
                                 .enter_program = enter_program,
                                 .work_fd = open(talk->folder, O_PATH | O_DIRECTORY | O_CLOEXEC),
                                 .pty_master = -1};
        sc_agent_serve(&agent);
    }
    close(ends[1]);
    talk->sock = ends[0];
}

/* The next frame's type, its payload in `payload`; 0 when the agent ended instead. */
static int next_frame(struct talk *talk, void *payload, size_t size, size_t *ret_len)
{
    struct sc_frame frame;
    const uint8_t *bytes;
    while (sc_frame_next(talk->reader, &frame, &bytes) == 0) {
        struct pollfd readable = {talk->sock, POLLIN, 0};
        if (poll(&readable, 1, PATIENCE_MS) != 1)
            fail_msg("the agent hangs");
        if (sc_frame_fill(talk->reader, talk->sock, NULL, NULL) <= 0)
            return 0;
    }
    assert_true(frame.len <= size);
    memcpy(payload, bytes, frame.len);
    *ret_len = frame.len;
    return frame.type;
}

static void expect_end(struct talk *talk)
{
    char rest[SC_FRAME_MAX];
    size_t len;
    int status;
    assert_int_equal(next_frame(talk, rest, sizeof rest, &len), 0);
    assert_int_equal(waitpid(talk->pid, &status, 0), talk->pid);
    assert_true(WIFEXITED(status));
    close(talk->sock);
    free(talk->reader);
}

static void close_talk(struct talk *talk)
{
    shutdown(talk->sock, SHUT_WR);
    expect_end(talk);
    remove_folder(talk->folder);
}

static void expect_failed(struct talk *talk, const char *stage, int code)
{
    struct sc_msg_failed failed;
    size_t len;
    int type = next_frame(talk, &failed, sizeof failed, &len);
    if (type != SC_MSG_FAILED)
        fail_msg("message %d where a failure was expected", type);
    assert_int_equal(len, sizeof failed);
    assert_string_equal(failed.stage, stage);
    if (failed.code != code)
        fail_msg("%s %s: %d", failed.stage, failed.object, failed.code);
    assert_int_equal(failed.object[sizeof failed.object - 1], 0);
    expect_end(talk);
    remove_folder(talk->folder);
}

static void say(struct talk *talk, int type, const void *payload, size_t len)
{
    assert_int_equal(sc_frame_send(talk->sock, (uint16_t)type, 0, payload, len), 0);
}

static void say_path(struct talk *talk, int type, const char *path, size_t len)
{
    char payload[8 + 5000] = {0};
    struct sc_msg_file head = {.mode = type == SC_MSG_DIR ? 0755 : 0644};
    memcpy(payload, &head, sizeof head);
    memcpy(payload + sizeof head, path, len);
    say(talk, type, payload, sizeof head + len);
}

static void say_file(struct talk *talk, const char *path)
{
    say_path(talk, SC_MSG_FILE, path, strlen(path) + 1);
}

static int before(void **state)
{
    (void)state;
    stage_answer = 0;
    make_image("/bin/sh", "-c");
    return 0;
}

static void good_talk(void **state)
{
    (void)state;
    struct talk t;
    struct sc_msg_exit report;
    size_t len;
    char path[300], text[16] = "";
    make_image("/bin/cat", "/dev/null");
    open_talk(&t);
    say_path(&t, SC_MSG_DIR, "sub", 4);
    say_path(&t, SC_MSG_DIR, "sub", 4); /* is there: fine */
    say_file(&t, "sub/a/file");
    say(&t, SC_MSG_DATA, "hello ", 6);
    say(&t, SC_MSG_DATA, "", 0);
    say(&t, SC_MSG_DATA, "you", 3);
    say(&t, SC_MSG_CLOSE, NULL, 0);
    say(&t, SC_MSG_START, NULL, 0);
    assert_int_equal(next_frame(&t, &report, sizeof report, &len), SC_MSG_STARTED);
    assert_int_equal(next_frame(&t, &report, sizeof report, &len), SC_MSG_EXIT);
    assert_int_equal(len, sizeof report);
    assert_int_equal(report.wait_status, 0);
    snprintf(path, sizeof path, "%s/sub/a/file", t.folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, text, sizeof text - 1), 9);
    assert_string_equal(text, "hello you");
    close(fd);
    close_talk(&t);
}

/* However the bytes are cut. */
static void byte_by_byte(void **state)
{
    (void)state;
    struct talk t;
    uint8_t bytes[64];
    struct sc_frame frame = {.len = sizeof(struct sc_msg_file) + 2, .type = SC_MSG_DIR};
    struct sc_msg_file head = {.mode = 0755};
    char report[64];
    size_t len;
    make_image("/bin/cat", "/dev/null");
    open_talk(&t);
    memcpy(bytes, &frame, sizeof frame);
    memcpy(bytes + sizeof frame, &head, sizeof head);
    memcpy(bytes + sizeof frame + sizeof head, "d", 2);
    for (size_t i = 0; i < sizeof frame + frame.len; i++)
        assert_int_equal(send(t.sock, bytes + i, 1, MSG_NOSIGNAL), 1);
    say(&t, SC_MSG_START, NULL, 0);
    assert_int_equal(next_frame(&t, report, sizeof report, &len), SC_MSG_STARTED);
    assert_int_equal(next_frame(&t, report, sizeof report, &len), SC_MSG_EXIT);
    char path[300];
    snprintf(path, sizeof path, "%s/d", t.folder);
    assert_int_equal(access(path, X_OK), 0);
    close_talk(&t);
}

static void the_stream_ends(void **state)
{
    (void)state;
    static const uint8_t half[] = {200, 0, 0, 0, SC_MSG_DATA, 0, 0, 0, 'x'};
    for (size_t n = 0; n <= sizeof half; n++) { /* anywhere in a frame */
        struct talk t;
        open_talk(&t);
        if (n)
            assert_int_equal(send(t.sock, half, n, MSG_NOSIGNAL), n);
        close_talk(&t);
    }
}

static void the_stream_ends_while_a_program_runs(void **state)
{
    (void)state;
    struct talk t;
    char rest[64];
    size_t len;
    make_image("/bin/sleep", "1000");
    open_talk(&t);
    say(&t, SC_MSG_START, NULL, 0);
    assert_int_equal(next_frame(&t, rest, sizeof rest, &len), SC_MSG_STARTED);
    close_talk(&t); /* and with process 1 the program */
}

static void oversize(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {SC_FRAME_MAX + 1, 0x7fffffff, 0x80000000, 0xffffffff};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct talk t;
        struct sc_frame frame = {.len = sizes[i], .type = SC_MSG_DATA};
        open_talk(&t);
        assert_int_equal(send(t.sock, &frame, sizeof frame, MSG_NOSIGNAL), sizeof frame);
        expect_failed(&t, "protocol", -EPROTO);
    }
}

static void largest(void **state)
{
    (void)state;
    static char data[SC_FRAME_MAX];
    struct talk t;
    char path[300];
    struct stat st;
    open_talk(&t);
    say_file(&t, "big");
    for (int i = 0; i < 4; i++)
        say(&t, SC_MSG_DATA, data, sizeof data);
    say(&t, SC_MSG_CLOSE, NULL, 0);
    say(&t, SC_MSG_CLOSE, NULL, 0); /* one too many: tells us that all before it was done */
    struct sc_msg_failed failed;
    size_t len;
    assert_int_equal(next_frame(&t, &failed, sizeof failed, &len), SC_MSG_FAILED);
    snprintf(path, sizeof path, "%s/big", t.folder);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 4 * sizeof data);
    close_talk(&t);
}

static void wrong_order(void **state)
{
    (void)state;
    static const struct {
        int first, second; /* 0: none */
        const char *stage;
    } cases[] = {
        {SC_MSG_DATA, 0, "file"},
        {SC_MSG_CLOSE, 0, "file"},
        {SC_MSG_FILE, SC_MSG_FILE, "file"},
        {SC_MSG_FILE, SC_MSG_START, "protocol"},
        {SC_MSG_RESIZE, 0, "protocol"},
        {SC_MSG_BOOT, 0, "protocol"},
        {SC_MSG_READY, 0, "protocol"},
        {SC_MSG_EXIT, 0, "protocol"},
        {0, 0, "protocol"},
        {255, 0, "protocol"},
        {65535, 0, "protocol"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct talk t;
        const int types[2] = {cases[i].first, cases[i].second};
        open_talk(&t);
        for (int j = 0; j < 2; j++)
            if (types[j] == SC_MSG_FILE)
                say_file(&t, j ? "b" : "a");
            else if (types[j] || j == 0)
                say(&t, types[j], NULL, 0); /* the first of two is never the wrong one */
        expect_failed(&t, cases[i].stage, -EPROTO);
    }
}

static void after_the_start(void **state)
{
    (void)state;
    static const int types[] = {SC_MSG_START, SC_MSG_FILE,   SC_MSG_DATA, SC_MSG_CLOSE,
                                SC_MSG_DIR,   SC_MSG_RESIZE, SC_MSG_BOOT};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct talk t;
        char rest[64];
        size_t len;
        make_image("/bin/sleep", "1000");
        open_talk(&t);
        say(&t, SC_MSG_START, NULL, 0);
        assert_int_equal(next_frame(&t, rest, sizeof rest, &len), SC_MSG_STARTED);
        say_path(&t, types[i], "late", 5);
        expect_failed(&t, "protocol", -EPROTO);
    }
}

static void paths(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int file, dir; /* answers; 0: goes through */
    } cases[] = {
        {"..", -EEXIST, 0}, /* exists, and stays what it is */
        {"../x", -EXDEV, -EXDEV},
        {"sub/../../x", -EXDEV, -EXDEV},
        {"/etc/x", -ENOENT, -ENOENT},
        {"", -EPROTO, -EPROTO},
        {"a//b", -ENOENT, -ENOENT},
        {"a/", -ENOENT, -ENOENT},
        {"link/x", -ELOOP, -ELOOP},
        {"link", -EEXIST, 0},
        {"dangling", -EEXIST, 0},
        {"there", -EEXIST, 0},
        {"there/x", -ENOTDIR, -ENOTDIR},
        {"fifo", -EEXIST, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int dir = 0; dir < 2; dir++) {
            struct talk t;
            struct sc_msg_failed failed;
            size_t len;
            char path[300], *victim = make_folder();
            make_image("/bin/cat", "/dev/null");
            open_talk(&t);
            snprintf(path, sizeof path, "%s/link", t.folder);
            assert_int_equal(symlink(victim, path), 0);
            snprintf(path, sizeof path, "%s/dangling", t.folder);
            assert_int_equal(symlink("nowhere", path), 0);
            snprintf(path, sizeof path, "%s/there", t.folder);
            close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
            snprintf(path, sizeof path, "%s/fifo", t.folder);
            assert_int_equal(mkfifo(path, 0666), 0);
            say_path(&t, dir ? SC_MSG_DIR : SC_MSG_FILE, cases[i].path, strlen(cases[i].path) + 1);
            int expected = dir ? cases[i].dir : cases[i].file;
            sc_frame_send(t.sock, SC_MSG_START, 0, NULL, 0); /* it may have ended already */
            int type = next_frame(&t, &failed, sizeof failed, &len);
            if (expected == 0) {
                assert_int_equal(type, SC_MSG_STARTED);
                while (next_frame(&t, &failed, sizeof failed, &len))
                    ;
            } else {
                assert_int_equal(type, SC_MSG_FAILED);
                /* Which of the ways of saying no is the kernel's to choose between ".." of two kinds. */
                if (failed.code != expected && !(failed.code == -EISDIR || failed.code == -EXDEV))
                    fail_msg("%s as %s: %d, not %d", cases[i].path, dir ? "folder" : "file", failed.code,
                             expected);
                assert_string_equal(failed.stage, "file");
            }
            assert_int_equal(rmdir(victim), 0);
            free(victim);
            close_talk(&t);
        }
}

static void malformed_paths(void **state)
{
    (void)state;
    static char long_path[4200], unended[SC_FRAME_MAX];
    memset(long_path, 'a', sizeof long_path - 1);
    memset(unended, 'b', sizeof unended);
    static const struct {
        const char *payload;
        size_t len;
    } cases[] = {
        {"", 0},        {"1234567", 7},         {"12345678", 8}, {"12345678", 9}, {"12345678name", 12},
        {unended, 200}, {unended, SC_FRAME_MAX}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct talk t;
        open_talk(&t);
        say(&t, SC_MSG_FILE, cases[i].payload, cases[i].len);
        expect_failed(&t, "file", -EPROTO);
    }
    struct talk t;
    open_talk(&t);
    say_path(&t, SC_MSG_DIR, long_path, 4097); /* one more than any path has */
    expect_failed(&t, "file", -EPROTO);
    open_talk(&t);
    say_path(&t, SC_MSG_DIR, long_path, 257);
    expect_failed(&t, "file", -EPROTO); /* not ended where it says */
    long_path[256] = '\0';
    open_talk(&t);
    say_path(&t, SC_MSG_DIR, long_path, 257);
    expect_failed(&t, "file", -ENAMETOOLONG);
}

static void programs_that_do_not_start(void **state)
{
    (void)state;
    static const struct {
        const char *program;
        int code;
    } cases[] = {
        {"/nonexistent", -ENOENT}, {"no-such-name", -ENOENT}, {"/etc/passwd", -EACCES}, {"/", -EACCES}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct talk t;
        make_image(cases[i].program, "");
        open_talk(&t);
        say(&t, SC_MSG_START, NULL, 0);
        expect_failed(&t, "exec", cases[i].code);
    }
    struct talk t;
    make_image("/bin/cat", "");
    image.head.argc = 0;
    open_talk(&t);
    say(&t, SC_MSG_START, NULL, 0);
    expect_failed(&t, "exec", -E2BIG);
    make_image("/bin/cat", "");
    stage_answer = -EXDEV;
    open_talk(&t);
    say(&t, SC_MSG_START, NULL, 0);
    expect_failed(&t, "teststage", -EXDEV);
}

/* Hundreds of orphans that die as fast as they can do not keep the report, or the end, from coming. */
static void a_storm_of_orphans(void **state)
{
    (void)state;
    struct talk t;
    struct sc_msg_exit report;
    size_t len;
    make_image(INSIDE, "");
    image.head.argc = 3;
    image.argv[1] = image.argv[0] + 190; /* "" */
    image.argv[2] = image.argv[0] + 200;
    snprintf(image.texts + 200, 200, "storm");
    open_talk(&t);
    say(&t, SC_MSG_START, NULL, 0);
    assert_int_equal(next_frame(&t, &report, sizeof report, &len), SC_MSG_STARTED);
    assert_int_equal(next_frame(&t, &report, sizeof report, &len), SC_MSG_EXIT);
    assert_int_equal(report.wait_status, 5 << 8);
    close_talk(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(good_talk, before),
        cmocka_unit_test_setup(byte_by_byte, before),
        cmocka_unit_test_setup(the_stream_ends, before),
        cmocka_unit_test_setup(the_stream_ends_while_a_program_runs, before),
        cmocka_unit_test_setup(oversize, before),
        cmocka_unit_test_setup(largest, before),
        cmocka_unit_test_setup(wrong_order, before),
        cmocka_unit_test_setup(after_the_start, before),
        cmocka_unit_test_setup(paths, before),
        cmocka_unit_test_setup(malformed_paths, before),
        cmocka_unit_test_setup(programs_that_do_not_start, before),
        cmocka_unit_test_setup(a_storm_of_orphans, before),
    };
    return RUN_AS_BOTH(tests);
}
