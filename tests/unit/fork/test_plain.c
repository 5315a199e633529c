/* Orders, answers and descriptors of the fork library, by forks that enter no cell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "zygote.h"

static int forks_before, forks_after;

static void before(void)
{
    forks_before++;
}

static void after(void)
{
    forks_after++;
}

/* What a child finds, as text on its stdout. */
static void describe(const struct sc_fork_birth *birth)
{
    char open_fds[128] = "";
    for (int fd = 0; fd < 256; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            snprintf(open_fds + strlen(open_fds), sizeof open_fds - strlen(open_fds), "%d ", fd);
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    dprintf(1, "fds %s session %d random %u wall %lld runner %d socket %d hooks %d %d blocked %d\n", open_fds,
            getsid(0) == getpid(), birth->randomness[0], (long long)birth->wall_ns, birth->has_runner,
            birth->has_socket, forks_before, forks_after, sigismember(&mask, SIGUSR1));
    char byte;
    ssize_t n = read(0, &byte, 1);
    _exit(n == 1 ? byte : 0);
}

/* Things that a child must not keep. */
static void hold_things(void)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_true(open("/dev/null", O_RDONLY) >= 0);
    assert_true(fcntl(pair[0], F_DUPFD, 200) >= 200);
}

static const struct sc_fork_hooks HOOKS = {NULL, before, after};
static const struct zygote_life ORDINARY = {.warm = hold_things, .hooks = &HOOKS, .child = describe};

static void child_has_what_was_ordered_and_nothing_else(void **state)
{
    (void)state;
    struct zygote zygote = zygote_start(&ORDINARY);
    for (uint32_t i = 0; i < 3; i++) {
        struct fork_parts parts;
        char text[512], expected[512];
        zygote_order(&zygote, i + 1, SC_FORK_PLAIN, &parts);
        struct sc_fork_answer answer = zygote_answer(&zygote);
        assert_int_equal(answer.code, 0);
        assert_int_equal(answer.id, i + 1);
        assert_true(answer.pid > 0);
        zygote_let_go(&parts);
        close(parts.in);
        parts.in = -1;
        read_to_end(parts.out, text, sizeof text);
        snprintf(expected, sizeof expected,
                 "fds 0 1 2 3  session 1 random %u wall 1234567 runner 1 socket 0 hooks %u %u blocked 0\n",
                 i + 1, i + 1, i);
        assert_string_equal(text, expected);
        zygote_parts_close(&parts);
    }
    assert_int_equal(zygote_stop(&zygote), 0);
}

static void child_does_nothing_before_go(void **state)
{
    (void)state;
    struct zygote zygote = zygote_start(&ORDINARY);
    struct fork_parts parts;
    char text[512];
    zygote_order(&zygote, 1, SC_FORK_PLAIN, &parts);
    assert_int_equal(zygote_answer(&zygote).code, 0);
    close(parts.report); /* nobody will say it */
    parts.report = -1;
    read_to_end(parts.out, text, sizeof text);
    assert_string_equal(text, "");
    zygote_parts_close(&parts);
    assert_int_equal(zygote_stop(&zygote), 0);
}

static void *sleep_long(void *unused)
{
    pause();
    return unused;
}

static void start_thread(void)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, sleep_long, NULL), 0);
}

static void share_memory(void)
{
    assert_true(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
}

static void share_for_reading(void)
{
    assert_true(mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
}

static int refuse(char *ret_reason, size_t size)
{
    snprintf(ret_reason, size, "a transaction is open");
    return 1;
}

static void expect_answer(const struct zygote_life *life, int code, const char *object)
{
    struct zygote zygote = zygote_start(life);
    struct fork_parts parts;
    char text[512];
    zygote_order(&zygote, 7, SC_FORK_PLAIN, &parts);
    struct sc_fork_answer answer = zygote_answer(&zygote);
    assert_int_equal(answer.code, code);
    assert_int_equal(answer.id, 7);
    assert_string_equal(answer.object, object);
    if (code < 0) {
        read_to_end(parts.out, text, sizeof text); /* no child holds it */
        assert_string_equal(text, "");
    }
    zygote_parts_close(&parts);
    kill(zygote.pid, SIGKILL);
    zygote_stop(&zygote);
}

static void what_a_fork_would_tear_apart_is_refused(void **state)
{
    (void)state;
    static const struct sc_fork_hooks unwilling = {.refuse = refuse};
    expect_answer(&(struct zygote_life){.warm = start_thread, .child = describe}, -EBUSY,
                  "it has more than one thread");
    expect_answer(&(struct zygote_life){.warm = share_memory, .child = describe}, -EBUSY,
                  "it has writable memory that is shared");
    expect_answer(&(struct zygote_life){.hooks = &unwilling, .child = describe}, -EBUSY,
                  "a transaction is open");
    expect_answer(&(struct zygote_life){.warm = share_for_reading, .child = describe}, 0, "");
    expect_answer(&(struct zygote_life){.child = describe, .take_one = true}, 0, "");
}

static void orders_that_are_not_understood_are_answered(void **state)
{
    (void)state;
    struct zygote zygote = zygote_start(&ORDINARY);
    struct fork_parts parts;
    zygote_order(&zygote, 1, SC_FORK_PLAIN | 1u << 9, &parts);
    assert_int_equal(zygote_answer(&zygote).code, -EPROTO);
    zygote_parts_close(&parts);
    zygote_order(&zygote, 2, 0, &parts); /* of a cell, without its descriptors */
    struct sc_fork_answer answer = zygote_answer(&zygote);
    assert_int_equal(answer.code, -EPROTO);
    assert_string_equal(answer.object, "descriptors");
    zygote_parts_close(&parts);
    assert_int_equal(send(zygote.socket, "short", 5, MSG_NOSIGNAL), 5);
    answer = zygote_answer(&zygote);
    assert_int_equal(answer.code, -EPROTO);
    assert_string_equal(answer.object, "size");
    /* It still serves. */
    zygote_order(&zygote, 3, SC_FORK_PLAIN, &parts);
    assert_int_equal(zygote_answer(&zygote).code, 0);
    zygote_parts_close(&parts);
    assert_int_equal(zygote_stop(&zygote), 0);
}

static void hundreds_of_forks_leave_nothing_open(void **state)
{
    (void)state;
    struct zygote zygote = zygote_start(&ORDINARY);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd", zygote.pid);
    int first = -1;
    for (uint32_t i = 0; i < 300; i++) {
        struct fork_parts parts;
        zygote_order(&zygote, i, SC_FORK_PLAIN, &parts);
        assert_int_equal(zygote_answer(&zygote).code, 0);
        zygote_let_go(&parts);
        assert_int_equal(write(parts.in, "\0", 1), 1);
        zygote_parts_close(&parts);
        int count = 0;
        DIR *fds = opendir(path);
        assert_non_null(fds);
        while (readdir(fds))
            count++;
        closedir(fds);
        first = first < 0 ? count : first;
        assert_int_equal(count, first);
    }
    assert_int_equal(zygote_stop(&zygote), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(child_has_what_was_ordered_and_nothing_else),
        cmocka_unit_test(child_does_nothing_before_go),
        cmocka_unit_test(what_a_fork_would_tear_apart_is_refused),
        cmocka_unit_test(orders_that_are_not_understood_are_answered),
        cmocka_unit_test(hundreds_of_forks_leave_nothing_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
