/* base/fd.h: close-on-exec from birth, closed once, whole buffers, descriptors passed with their count. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

static void assert_cloexec(int fd)
{
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

/* The lowest free descriptor: unchanged when a test has left nothing open. */
static int lowest_free(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    close(fd);
    return fd;
}

static int before;

static int note_open(void **state)
{
    (void)state;
    before = lowest_free();
    return 0;
}

static int nothing_left_open(void **state)
{
    (void)state;
    return lowest_free() == before ? 0 : -1;
}

static void closes_once(void **state)
{
    (void)state;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), same = fd;
    errno = EXDEV;
    sc_close(&fd);
    assert_int_equal(fd, -1);
    assert_int_equal(errno, EXDEV);
    assert_int_equal(fcntl(same, F_GETFD), -1);
    sc_close(&fd);
    int a = 7, b = sc_steal_fd(&a);
    assert_int_equal(a, -1);
    assert_int_equal(b, 7);
}

static void pipes(void **state)
{
    (void)state;
    int in = -1, out = -1;
    char text[8] = "";
    assert_int_equal(sc_pipe(&in, &out), 0);
    assert_cloexec(in);
    assert_cloexec(out);
    assert_int_equal(sc_write_all(out, "hello", 5), 0);
    assert_int_equal(sc_read_all(in, text, 5), 0);
    assert_string_equal(text, "hello");
    assert_int_equal(sc_set_nonblocking(in), 0);
    assert_int_equal(sc_read_all(in, text, 1), -EAGAIN);
    assert_int_equal(sc_write_all(out, "abc", 3), 0);
    sc_close(&out);
    assert_int_equal(sc_read_all(in, text, 5), -ENODATA);
    sc_close(&in);
    assert_int_equal(sc_set_nonblocking(-1), -EBADF);
    assert_int_equal(sc_write_all(-1, "x", 1), -EBADF);
}

static void large_writes_go_through(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    int in = -1, out = -1;
    assert_int_equal(sc_pipe(&in, &out), 0);
    char *data = malloc(SIZE), *back = malloc(SIZE);
    for (int i = 0; i < SIZE; i++)
        data[i] = (char)(i * 7);
    pid_t pid = fork();
    if (pid == 0)
        _exit(sc_write_all(out, data, SIZE) == 0 ? 0 : 1);
    sc_close(&out);
    assert_int_equal(sc_read_all(in, back, SIZE), 0);
    assert_memory_equal(data, back, SIZE);
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    sc_close(&in);
    free(data);
    free(back);
}

static void small_files(void **state)
{
    (void)state;
    char dir[] = "/tmp/snapcell-test-fd-XXXXXX";
    assert_non_null(mkdtemp(dir));
    int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = openat(dirfd, "n", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    uint64_t value = 4711;
    assert_int_equal(sc_read_u64(dirfd, "n", &value), -EINVAL);
    assert_int_equal(sc_write_file(dirfd, "n", "18446744073709551615\n"), 0);
    assert_int_equal(sc_read_u64(dirfd, "n", &value), 0);
    assert_true(value == UINT64_MAX);
    char text[8] = "";
    assert_int_equal(sc_read_text(dirfd, "n", text, sizeof text), 7); /* what fits */
    assert_string_equal(text, "1844674");
    assert_int_equal(sc_read_text(dirfd, "absent", text, sizeof text), -ENOENT);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(sc_write_file(dirfd, "n", "max\n"), 0);
    value = 4711;
    assert_int_equal(sc_read_u64(dirfd, "n", &value), -EINVAL);
    assert_int_equal(sc_read_u64(dirfd, "absent", &value), -ENOENT);
    assert_int_equal(sc_write_file(dirfd, "absent", "1"), -ENOENT);
    assert_int_equal(value, 4711);
    close(fd);
    unlinkat(dirfd, "n", 0);
    close(dirfd);
    rmdir(dir);
}

static void sealed_memory(void **state)
{
    (void)state;
    char text[8] = "";
    int fd = sc_memfd_sealed("test", "sealed", 6);
    assert_true(fd >= 0);
    assert_cloexec(fd);
    assert_int_equal(pread(fd, text, sizeof text, 0), 6);
    assert_string_equal(text, "sealed");
    assert_int_equal(pwrite(fd, "x", 1, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(ftruncate(fd, 100), -1);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
    close(fd);
}

static void passes_descriptors(void **state)
{
    (void)state;
    int pair[2], in = -1, out = -1;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(sc_pipe(&in, &out), 0);
    assert_int_equal(sc_send_fds(pair[0], "two", 3, (int[]){in, out}, 2), 3);
    char text[8] = "";
    int got[2] = {-1, -1};
    size_t n = 2;
    assert_int_equal(sc_recv_fds(pair[1], text, sizeof text, got, &n), 3);
    assert_int_equal(n, 2);
    assert_string_equal(text, "two");
    assert_cloexec(got[0]);
    assert_cloexec(got[1]);
    assert_int_equal(sc_write_all(got[1], "x", 1), 0);
    assert_int_equal(sc_read_all(in, text, 1), 0);
    sc_close(&got[0]);
    sc_close(&got[1]);
    /* What the receiver has no room for is closed, not leaked: the teardown looks. */
    assert_int_equal(sc_send_fds(pair[0], "x", 1, (int[]){in, out, in}, 3), 1);
    n = 1;
    assert_int_equal(sc_recv_fds(pair[1], text, sizeof text, got, &n), 1);
    assert_int_equal(n, 1);
    sc_close(&got[0]);
    assert_int_equal(sc_send_fds(pair[0], "none", 4, NULL, 0), 4);
    n = 1;
    assert_int_equal(sc_recv_fds(pair[1], text, sizeof text, got, &n), 4);
    assert_int_equal(n, 0);
    int many[SC_FDS_MAX + 1] = {0};
    assert_int_equal(sc_send_fds(pair[0], "x", 1, many, SC_FDS_MAX + 1), -EINVAL);
    sc_close(&pair[1]);
    assert_int_equal(sc_send_fds(pair[0], "x", 1, NULL, 0), -EPIPE);
    sc_close(&pair[0]);
    sc_close(&in);
    sc_close(&out);
}

static void the_clock_goes_forward(void **state)
{
    (void)state;
    uint64_t last = sc_now_ns();
    assert_true(last > 0);
    for (int i = 0; i < 1000; i++) {
        uint64_t now = sc_now_ns();
        assert_true(now >= last);
        last = now;
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, note_open, nothing_left_open)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(closes_once),
        TEST(pipes),
        TEST(large_writes_go_through),
        TEST(small_files),
        TEST(sealed_memory),
        TEST(passes_descriptors),
        TEST(the_clock_goes_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
