/* Programs that are forked into cells of their own: what such a process is, how it ends, and what is left. As
 * root and as an ordinary user. */
#include "family.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"

static void as_a_command_of_the_cell(void **state)
{
    (void)state;
    struct family family;
    struct living cell;
    struct operation fork = {0}, cold = {0};
    begin_family(&family);
    begin_below(&cell, &family.zygote, false);
    shell(&cell, &cold, SELF);
    assert_exit(&cold, 0);
    run_script(&cell, &fork, &family, SELF);
    assert_exit(&fork, 0);
    assert_non_null(strstr((char *)fork.out.data, "CapBnd:\t0000000000000000\n"));
    assert_string_equal((char *)fork.out.data, (char *)cold.out.data);
    forget(&fork);
    forget(&cold);
    end_below(&cell);
    end_family(&family);
}

/* It may write where its cell's programs may, and nowhere else. */
static void writes_where_its_cell_writes(void **state)
{
    (void)state;
    struct family family;
    struct living cell;
    struct operation fork = {0}, cold = {0};
    static const char script[] =
        "for at in /home/user /home/user/sub /tmp /dev/shm / /etc /snapcell /dev /proc; do\n"
        "    mkdir -p $at 2>/dev/null; echo x 2>/dev/null >$at/new && cat $at/new && mv $at/new $at/newer && "
        "rm $at/newer\n"
        "    echo $at $?\n"
        "done 2>/dev/null\n"
        "echo y >/dev/null; echo z >/proc/self/comm; echo $?\n"
        "mkfifo /tmp/fifo; ln -s a /tmp/link; mkdir /home/user/a; mv /home/user/a /home/user/b; echo $?\n"
        "mkdir -p /home/user/sub; python3 -c 'import os; open(\"f\", \"w\"); os.rename(\"f\", \"sub/f\")'; "
        "echo $?\n"
        "rm -r /tmp/fifo /tmp/link /home/user/b /home/user/sub\n";
    begin_family(&family);
    begin_below(&cell, &family.zygote, false);
    shell(&cell, &cold, script);
    run_script(&cell, &fork, &family, script);
    assert_non_null(strstr((char *)cold.out.data, "x\n/home/user 0\n"));
    assert_string_equal((char *)fork.out.data, (char *)cold.out.data);
    forget(&fork);
    forget(&cold);
    end_below(&cell);
    end_family(&family);
}

/* ---- how it ends ---- */

static void true_status_and_usage(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        int exited, killed;
    } cases[] = {{"exit 7", 7, 0}, {"kill -TERM $$", 0, SIGTERM}, {"exec true", 0, 0}};
    struct family family;
    struct living cell;
    begin_pair(&family, &cell);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct operation op = {0};
        run_script(&cell, &op, &family, cases[i].script);
        int status = op.end.wait_status;
        assert_true(op.exited);
        assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : 0, cases[i].killed);
        assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : 0, cases[i].exited);
        assert_true(op.end.rss_peak_bytes > 100000);
        forget(&op);
    }
    end_pair(&family, &cell);
}

/* What was said before the end is told before it, also what others of the tree hold back. */
static void output_comes_before_the_end(void **state)
{
    (void)state;
    struct family family;
    struct living cell;
    struct operation op = {0};
    begin_pair(&family, &cell);
    run_script(&cell, &op, &family, "seq 1 20000; echo done");
    assert_exit(&op, 0);
    assert_non_null(strstr((char *)op.out.data, "20000\ndone\n"));
    forget(&op);
    end_pair(&family, &cell);
}

/* Grandchildren in sessions of their own outlive the main process: it has exited, and is gone when they are.
 * The commands of the cell are not of its tree. */
static void the_tree_is_killed_and_nobody_else(void **state)
{
    (void)state;
    struct family family;
    struct living cell;
    struct operation op = {0}, other = {0};
    begin_pair(&family, &cell);
    give_shell(&cell, &other, "echo up; sleep 1000 & sleep 1000", 0);
    while (other.came == 0)
        step_once(&cell);
    give_script(&cell, &op, &family,
                "for i in 1 2 3; do (setsid sleep 1000 &) ; done; setsid sh -c 'sleep 1000 & sleep 1000' & "
                "echo up; exit 3");
    step_until(&cell, &op.exited);
    /* Until five of its tree sleep, and two of the other command's. */
    for (bool all = false; !all;) {
        struct operation count = {0};
        shell(&cell, &count, "ps -e -o comm= | grep -c sleep");
        all = !strcmp((char *)count.out.data, "7\n");
        forget(&count);
    }
    assert_false(op.is_over);
    assert_int_equal(sc_live_signal(cell.live, op.id, SIGKILL, SC_SIGNAL_TREE), 0);
    step_until(&cell, &op.is_over);
    assert_exit(&op, 3);
    assert_false(other.is_over);
    /* And the next fork finds the cell as empty as the first. */
    struct operation next = {0};
    run_script(&cell, &next, &family, "ps -e -o comm= | grep -c sleep || true");
    assert_string_equal((char *)next.out.data, "2\n"); /* the other command's */
    forget(&next);
    forget(&op);
    forget(&other);
    end_pair(&family, &cell);
}

static void its_time_is_limited(void **state)
{
    (void)state;
    struct family family;
    struct living cell;
    struct operation op = {.input = "sleep 1000", .input_len = 10};
    begin_pair(&family, &cell);
    give_fork(&cell, &op, &family.program,
              &(struct sc_command){.argv = NAME, .flags = SC_COMMAND_STDIN, .wall_ns = 50000000});
    step_until(&cell, &op.is_over);
    assert_true(op.exited && op.end.timed_out);
    assert_int_equal(WTERMSIG(op.end.wait_status), SIGKILL);
    forget(&op);
    end_pair(&family, &cell);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, note_traces, expect_no_traces)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(as_a_command_of_the_cell),
        TEST(writes_where_its_cell_writes),
        TEST(true_status_and_usage),
        TEST(output_comes_before_the_end),
        TEST(the_tree_is_killed_and_nobody_else),
        TEST(its_time_is_limited),
    };
    return RUN_AS_BOTH(tests);
}
