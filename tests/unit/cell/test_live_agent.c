/* What the agent promises about commands and files, in whole living cells: whose rights, whose streams, whose
 * memory; trees that hide; archives of every writer. As root and as an ordinary user. */
#include "live_cell.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

static void expect_out(struct living *cell, const char *script, const char *out)
{
    struct operation op = {0};
    shell(cell, &op, script);
    assert_exit(&op, 0);
    assert_int_equal(op.out.len, strlen(out));
    assert_memory_equal(op.out.data ? (char *)op.out.data : "", out, op.out.len);
    forget(&op);
}

static void expect_code(struct living *cell, const struct sc_file_op *order, const char *input, int code)
{
    struct operation op = {.input = input, .input_len = input ? strlen(input) : 0};
    int r = file_op(cell, &op, order);
    if (r != code)
        fail_msg("kind %d of %s: %d (%s), not %d", (int)order->kind, order->path, r, op.done.object, code);
    forget(&op);
}

#define ORDER(kind_, path_, ...) (&(const struct sc_file_op){.kind = kind_, .path = path_, ##__VA_ARGS__})

static void what_a_command_has(void **state)
{
    (void)state;
    struct living cell;
    struct operation op = {0};
    int own, agent, shepherd;
    begin_living(&cell, NULL);
    expect_out(&cell, "pwd; id -u", "/home/user\n1000\n");
    /* Three streams, and the one that ls reads. */
    expect_out(&cell, "ls /proc/self/fd | wc -l; echo again > /dev/stdout", "4\nagain\n");
    /* Where memory is short, it goes before those who serve it. */
    shell(&cell, &op,
          "cat /proc/self/oom_score_adj /proc/1/oom_score_adj /proc/$PPID/oom_score_adj | tr '\\n' ' '");
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)op.out.len, op.out.data ? (char *)op.out.data : "");
    assert_int_equal(sscanf(text, "%d %d %d", &own, &agent, &shepherd), 3);
    assert_true(own >= 500 && own > agent && own > shepherd);
    forget(&op);
    end_living(&cell);
}

/* Whatever a tree does to get away, it is found and ended. */
static void trees_that_hide(void **state)
{
    (void)state;
    static const char *const scripts[] = {
        "(setsid sh -c 'sleep 1000 & sleep 1001' &) ; exit 0",
        "cp /bin/sleep './x) S 1 (y'; (setsid './x) S 1 (y' 1000 &); exit 0",
        "cp /bin/sleep './a\nb) R 1'; (setsid './a\nb) R 1' 1000 &); exit 0",
        "trap '' TERM INT HUP; (trap '' TERM; sleep 1000 &); exit 0",
    };
    struct living cell;
    struct operation op = {0};
    begin_living(&cell, NULL);
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        give_shell(&cell, &op, scripts[i], 0);
        step_until(&cell, &op.exited);
        assert_int_equal(op.end.wait_status, 0);
        assert_false(op.is_over);
        assert_int_equal(sc_live_signal(cell.live, op.id, SIGKILL, SC_SIGNAL_TREE), 0);
        step_until(&cell, &op.is_over);
        forget(&op);
    }
    end_living(&cell);
}

static void a_fork_bomb(void **state)
{
    (void)state;
    struct living cell;
    struct operation op = {0};
    const char *const argv[] = {"sh", "-c",
                                "f() { sleep 0.01; f & f & f; }; (f 2>/dev/null &); exec sleep 1000", NULL};
    begin_living(&cell, "tasks", "200", NULL);
    give(&cell, &op, &(struct sc_command){.argv = argv, .wall_ns = 300 * SC_NS_PER_MS});
    step_until(&cell, &op.is_over);
    assert_true(op.end.timed_out);
    assert_int_equal(op.end.wait_status, SIGKILL);
    forget(&op);
    expect_out(&cell, "echo alive", "alive\n"); /* there is room again */
    end_living(&cell);
}

/* A file operation may what a program may: also where the program has locked itself out. */
static void rights_of_file_operations(void **state)
{
    (void)state;
    struct living cell;
    begin_living(&cell, NULL);
    expect_code(&cell, ORDER(SC_FILE_WRITE, "a/b/c", .flags = SC_FILE_PARENTS), "one\n", 0);
    expect_code(&cell, ORDER(SC_FILE_APPEND, "/home/user/a/b/c"), "two\n", 0);
    expect_out(&cell, "cat a/b/c; stat -c '%a %U' a/b/c; ls -A a/b", "one\ntwo\n644 user\nc\n");
    expect_code(&cell, ORDER(SC_FILE_WRITE, "/usr/x"), "no", -EROFS);
    expect_code(&cell, ORDER(SC_FILE_READ, "/proc/1/environ"), NULL, -EACCES);
    expect_code(&cell, ORDER(SC_FILE_READ, "/dev/zero"), NULL, -EINVAL);
    expect_out(&cell, "chmod 0 a/b", "");
    expect_code(&cell, ORDER(SC_FILE_READ, "a/b/c"), NULL, -EACCES);
    expect_code(&cell, ORDER(SC_FILE_CHMOD, "a/b", .mode = 0755), NULL, 0);
    expect_code(&cell, ORDER(SC_FILE_REMOVE, "a", .flags = SC_FILE_RECURSIVE), NULL, 0);
    expect_out(&cell, "ls -A; chmod 700 .", "");
    expect_code(&cell, ORDER(SC_FILE_WRITE, "private"), "x", 0);
    expect_out(&cell, "chmod 0 .", "");
    expect_code(&cell, ORDER(SC_FILE_READ, "private"), NULL, -EACCES);
    expect_code(&cell, ORDER(SC_FILE_WRITE, "/tmp/x"), "x", 0);
    expect_code(&cell, ORDER(SC_FILE_CHMOD, "/home/user", .mode = 0755), NULL, 0);
    end_living(&cell);
}

/* The archive that `kind` gives of `path` is unpacked into `folder`; its bytes are the caller's. */
static void unpack(struct living *cell, enum sc_file_kind kind, const char *path, const char *folder)
{
    struct operation from = {0}, to = {0};
    assert_int_equal(file_op(cell, &from, ORDER(kind, path)), 0);
    to.input = (const char *)from.out.data;
    to.input_len = from.out.len;
    if (file_op(cell, &to, ORDER(SC_FILE_TAR_IN, folder, .flags = SC_FILE_PARENTS)) < 0)
        fail_msg("%s: %d %s", path, to.done.code, to.done.object);
    forget(&to);
    forget(&from);
}

/* Long names, links of both kinds, modes and times: of each writer, and ours by another's reader. */
static void archives_of_every_writer(void **state)
{
    (void)state;
    struct living cell;
    begin_living(&cell, NULL);
    expect_out(&cell,
               "n=$(printf %0120d 7); mkdir -p src/deep/$n/$n src/empty; "
               "for i in 1 2 3 7 9; do echo $i > src/f$i; done; ln -s ../f1 src/deep/link; "
               "ln -s $n/$n/x src/deep/$n/$n/long; echo x > src/deep/$n/$n/x; ln src/f2 src/twin; "
               "chmod 700 src/f7; touch -d '2001-02-03 04:05:06' src/f9; tar cf gnu.tar -C src .; "
               "tar cf pax.tar -H pax -C src .; tar cf ustar.tar -H ustar -C src f1 empty",
               "");
    unpack(&cell, SC_FILE_TAR_OUT, "src", "ours/new");
    unpack(&cell, SC_FILE_READ, "gnu.tar", "gnu");
    unpack(&cell, SC_FILE_READ, "pax.tar", "pax");
    unpack(&cell, SC_FILE_READ, "ustar.tar", "ustar");
    expect_out(
        &cell,
        "for d in ours/new gnu pax; do diff -r --no-dereference src $d || exit 1; done; cmp src/f1 ustar/f1",
        "");
    expect_out(
        &cell,
        "stat -c '%a %h' gnu/f7 gnu/twin ours/new/f7; stat -c %Y src/f9 pax/f9 ours/new/f9 | uniq | wc -l",
        "700 1\n644 2\n700 1\n1\n");
    struct operation tar = {0}, put = {0};
    assert_int_equal(file_op(&cell, &tar, ORDER(SC_FILE_TAR_OUT, "src")), 0);
    put.input = (const char *)tar.out.data;
    put.input_len = tar.out.len;
    assert_int_equal(file_op(&cell, &put, ORDER(SC_FILE_WRITE, "ours.tar")), 0);
    forget(&put);
    forget(&tar);
    expect_out(&cell, "mkdir theirs && tar xf ours.tar -C theirs && diff -r --no-dereference src theirs", "");
    end_living(&cell);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, note_traces, expect_no_traces)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_a_command_has),        TEST(trees_that_hide),          TEST(a_fork_bomb),
        TEST(rights_of_file_operations), TEST(archives_of_every_writer),
    };
    return RUN_AS_BOTH(tests);
}
