/* The serving half of process 1, spoken to by a supervisor that does everything wrong. Whatever comes: an
 * answer or an end, never a hang, and nothing written outside of the work folder. */
#include "talk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int before(void **state)
{
    (void)state;
    prepare_talk();
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
