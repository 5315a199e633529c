/* Living cells as they are: many commands at once, streams with back-pressure, trees of processes, terminals,
 * memory, and every end. As root and as an ordinary user. */
#include "live_cell.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"

#define MIB (1024u * 1024u)

static void one_after_another(void **state)
{
    (void)state;
    struct living cell;
    struct operation op = {0};
    begin_living(&cell, NULL);
    shell(&cell, &op, "echo to stdout; echo to stderr >&2; echo kept >file; exit 3");
    assert_exit(&op, 3);
    assert_string_equal(op.out.data, "to stdout\n");
    assert_string_equal(op.err.data, "to stderr\n");
    forget(&op);
    op.input = "typed";
    op.input_len = 5;
    shell(&cell, &op, "cat; cat file");
    assert_exit(&op, 0);
    assert_string_equal(op.out.data, "typedkept\n");
    forget(&op);
    struct sc_usage usage;
    sc_live_usage(cell.live, &usage);
    assert_true(usage.start_ns > 0 && usage.disk_inodes > 0);
    assert_true(sc_live_cpu_ns(cell.live) > 0);
    assert_int_equal(sc_live_limits_hit(cell.live), 0);
    end_living(&cell);
}

static void of_a_cell_made_ahead(void **state)
{
    (void)state;
    struct living cell;
    struct operation op = {0};
    begin_living(&cell, NULL);
    sc_live_close(cell.live);
    cell.live = NULL;
    assert_int_equal(sc_works_ready(cell.works, 1, &cell.err), 0);
    assert_int_equal(sc_live_open(cell.works, &(struct sc_live_events){0}, &cell.live, &cell.err), 0);
    shell(&cell, &op, "true");
    assert_exit(&op, 0);
    forget(&op);
    end_living(&cell);
}

static void what_does_not_start(void **state)
{
    (void)state;
    struct living cell;
    struct operation op = {0};
    const char *const argv[] = {"no-such-program", NULL};
    begin_living(&cell, NULL);
    give(&cell, &op, &(struct sc_command){.argv = argv});
    step_until(&cell, &op.is_over);
    assert_true(op.failed);
    assert_int_equal(op.why.code, -ENOENT);
    assert_string_equal(op.why.stage, "exec");
    forget(&op);
    shell(&cell, &op, "true");
    assert_exit(&op, 0);
    forget(&op);
    end_living(&cell);
}

/* All of a cell's places at once, one more refused; each hears only its own. */
static void many_at_once(void **state)
{
    (void)state;
    struct living cell;
    static struct operation ops[SC_COMMANDS_MAX];
    const char *const argv[] = {"cat", NULL};
    const struct sc_command one_more = {.argv = argv};
    char text[SC_COMMANDS_MAX][16];
    uint16_t id;
    begin_living(&cell, "tasks", "256", NULL);
    memset(ops, 0, sizeof ops);
    for (int i = 0; i < SC_COMMANDS_MAX; i++)
        give(&cell, &ops[i], &(struct sc_command){.argv = argv, .flags = SC_COMMAND_STDIN});
    assert_int_equal(sc_live_command(cell.live, &one_more, NULL, NULL, &id, &cell.err), -EMFILE);
    for (int i = SC_COMMANDS_MAX - 1; i >= 0; i--) {
        snprintf(text[i], sizeof text[i], "I am %d", i);
        assert_int_equal(sc_live_write(cell.live, ops[i].id, SC_STREAM_IN, text[i], strlen(text[i])),
                         strlen(text[i]));
        assert_int_equal(sc_live_close_input(cell.live, ops[i].id), 0);
    }
    for (int i = 0; i < SC_COMMANDS_MAX; i++) {
        step_until(&cell, &ops[i].is_over);
        assert_exit(&ops[i], 0);
        assert_string_equal(ops[i].out.data, text[i]);
        forget(&ops[i]);
    }
    end_living(&cell);
}

/* ---- streams ---- */

static void large_output(void **state)
{
    (void)state;
    struct living cell;
    struct operation op = {.count_only = true};
    begin_living(&cell, "wall", "60s", NULL);
    shell(&cell, &op, "head -c 104857600 /dev/zero");
    assert_exit(&op, 0);
    assert_true(op.came == 100 * MIB);
    forget(&op);
    end_living(&cell);
}

/* A program whose output nobody takes is held up after its window and its pipe, and goes on when it is. */
static void output_waits_for_its_reader(void **state)
{
    (void)state;
    struct living cell;
    struct operation slow = {.hold = true}, other = {0};
    const char *const argv[] = {"sh", "-c", "head -c 3000000 /dev/zero; echo done >&2", NULL};
    begin_living(&cell, NULL);
    give(&cell, &slow, &(struct sc_command){.argv = argv, .window = 100000});
    shell(&cell, &other, "sleep 0.2; echo others go on");
    assert_exit(&other, 0);
    assert_true(slow.came == 100000);
    assert_false(slow.exited);
    assert_int_equal(sc_live_took(cell.live, slow.id, SC_STREAM_OUT, 100000), 0);
    slow.hold = false;
    step_until(&cell, &slow.is_over);
    assert_exit(&slow, 0);
    assert_int_equal(slow.out.len, 3000000);
    assert_string_equal(slow.err.data, "done\n");
    forget(&slow);
    forget(&other);
    end_living(&cell);
}

/* 10 MB of stdin to a program that takes its time. */
static void large_input(void **state)
{
    (void)state;
    struct living cell;
    char *input = malloc(10 * MIB);
    assert_non_null(input);
    memset(input, 'i', 10 * MIB);
    struct operation op = {.input = input, .input_len = 10 * MIB};
    begin_living(&cell, NULL);
    give_shell(&cell, &op, "sleep 0.3; wc -c", SC_COMMAND_STDIN);
    step_until(&cell, &op.started);
    assert_true(op.input_done <= SC_INPUT_CREDIT * 3); /* its ring and pipe, and what was given back */
    step_until(&cell, &op.is_over);
    assert_exit(&op, 0);
    assert_string_equal(op.out.data, "10485760\n");
    forget(&op);
    /* And to one that reads none of it. */
    op = (struct operation){.input = input, .input_len = 10 * MIB};
    shell(&cell, &op, "exec <&-; sleep 0.1; echo unread");
    assert_exit(&op, 0);
    assert_string_equal(op.out.data, "unread\n");
    forget(&op);
    end_living(&cell);
    free(input);
}

/* The end is told although a grandchild holds the pipes; gone is told when it is gone. */
static void pipes_held_by_grandchildren(void **state)
{
    (void)state;
    struct living cell;
    struct operation op = {0};
    begin_living(&cell, NULL);
    give_shell(&cell, &op, "(sleep 1000; echo never) & echo main", 0);
    step_until(&cell, &op.exited);
    assert_string_equal(op.out.data, "main\n");
    assert_false(op.is_over);
    assert_int_equal(sc_live_signal(cell.live, op.id, SIGKILL, SC_SIGNAL_TREE), 0);
    step_until(&cell, &op.is_over);
    forget(&op);
    end_living(&cell);
}

/* ---- trees ---- */

/* Grandchildren that left their session, group and parent are still of the command's tree. */
static void signals_reach_the_whole_tree(void **state)
{
    (void)state;
    struct living cell;
    struct operation op = {0}, other = {0}, count = {0};
    static const char script[] =
        "for i in 1 2 3 4 5; do setsid sh -c 'setsid sleep 1001 & setsid sleep 1001 & "
        "sleep 0.05' & done; wait; echo ready; sleep 1001";
    begin_living(&cell, "tasks", "128", NULL);
    give_shell(&cell, &other, "echo up; sleep 1002", 0);
    give_shell(&cell, &op, script, 0);
    while (!op.out.len || !other.out.len)
        step_once(&cell);
    assert_int_equal(sc_live_signal(cell.live, op.id, SIGTERM, SC_SIGNAL_TREE), 0);
    step_until(&cell, &op.is_over);
    assert_true(WIFSIGNALED(op.end.wait_status) && WTERMSIG(op.end.wait_status) == SIGTERM);
    shell(&cell, &count, "pgrep -fxc 'sleep 1001'; pgrep -fxc 'sleep 1002'");
    assert_string_equal(count.out.data, "0\n1\n");
    assert_false(other.is_over);
    forget(&op);
    forget(&count);
    forget(&other);
    end_living(&cell);
}

/* A signal that meets a command's own end, at any moment of it, harms nobody. */
static void signals_meet_the_end(void **state)
{
    (void)state;
    struct living cell;
    struct operation op = {0};
    const char *const argv[] = {"true", NULL};
    begin_living(&cell, NULL);
    for (int i = 0; i < 400; i++) {
        give(&cell, &op, &(struct sc_command){.argv = argv});
        while (!op.exited)
            step_once(&cell);
        for (int n = 0; n <= i % 3; n++)
            sc_live_signal(cell.live, op.id, SIGKILL, SC_SIGNAL_TREE);
        while (!op.is_over)
            step_once(&cell);
        assert_exit(&op, 0);
        forget(&op);
    }
    end_living(&cell);
}

static void own_time_out(void **state)
{
    (void)state;
    struct living cell;
    struct operation op = {0};
    const char *const argv[] = {"sh", "-c",
                                "setsid sleep 1000 & trap '' TERM INT HUP; while :; do sleep 1; done", NULL};
    begin_living(&cell, NULL);
    give(&cell, &op, &(struct sc_command){.argv = argv, .wall_ns = 300 * SC_NS_PER_MS});
    step_until(&cell, &op.is_over);
    assert_true(op.end.timed_out);
    assert_true(WIFSIGNALED(op.end.wait_status) && WTERMSIG(op.end.wait_status) == SIGKILL);
    /* The agent's clock began a little before the program did. */
    assert_true(op.end.wall_ns > 200 * SC_NS_PER_MS && op.end.wall_ns < 10 * SC_NS_PER_S);
    forget(&op);
    shell(&cell, &op, "pgrep -c sleep");
    assert_string_equal(op.out.data, "0\n");
    forget(&op);
    end_living(&cell);
}

/* ---- terminals ---- */

static void terminals(void **state)
{
    (void)state;
    struct living cell;
    struct operation op = {0};
    const char *const argv[] = {"sh", "-c", "tty; stty size; read line; stty size; echo got $line >&2", NULL};
    begin_living(&cell, NULL);
    give(&cell, &op, &(struct sc_command){.argv = argv, .flags = SC_COMMAND_PTY, .rows = 30, .cols = 100});
    while (!op.out.len || !strstr((char *)op.out.data, "30 100"))
        step_once(&cell);
    assert_non_null(strstr((char *)op.out.data, "/dev/pts/"));
    assert_int_equal(sc_live_resize(cell.live, op.id, 50, 60), 0);
    assert_int_equal(sc_live_write(cell.live, op.id, SC_STREAM_IN, "hello\n", 6), 6);
    step_until(&cell, &op.is_over);
    assert_exit(&op, 0);
    assert_non_null(strstr((char *)op.out.data, "50 60"));
    assert_non_null(strstr((char *)op.out.data, "got hello"));
    assert_int_equal(op.err.len, 0);
    forget(&op);
    end_living(&cell);
}

/* ---- limits ---- */

static void outlives_a_kill_for_memory(void **state)
{
    (void)state;
    struct living cell;
    struct operation kept = {0}, greedy = {0}, op = {0};
    if (!the_host()->controllers[SC_CTL_MEMORY].version)
        skip();
    begin_living(&cell, "memory", "96M", NULL);
    give_shell(&cell, &kept, "read line; echo still $line", SC_COMMAND_STDIN);
    for (int round = 1; round <= 2; round++) {
        shell(&cell, &greedy, "exec python3 -c 'x = bytearray(1 << 28)'");
        assert_true(WIFSIGNALED(greedy.end.wait_status) && WTERMSIG(greedy.end.wait_status) == SIGKILL);
        assert_int_equal(cell.memory, round);
        assert_int_equal(greedy.memory_before_exit, round); /* who asks why it died finds it told */
        forget(&greedy);
    }
    assert_true(sc_live_limits_hit(cell.live) & SC_HIT_MEMORY);
    struct sc_live_counts counts;
    sc_live_counts(cell.live, &counts);
    assert_int_equal(counts.memory_kills, 2);
    assert_int_equal(sc_live_write(cell.live, kept.id, SC_STREAM_IN, "here\n", 5), 5);
    step_until(&cell, &kept.is_over);
    assert_string_equal(kept.out.data, "still here\n");
    shell(&cell, &op, "kill -9 $$"); /* by itself: memory is not to blame */
    assert_int_equal(cell.memory, 2);
    assert_int_equal(cell.ended, 0);
    forget(&kept);
    forget(&op);
    end_living(&cell);
}

/* Many that together take too much: they die, who serves them does not. */
static void outlives_many_kills_for_memory(void **state)
{
    (void)state;
    struct living cell;
    struct operation op = {0};
    if (!the_host()->controllers[SC_CTL_MEMORY].version)
        skip();
    begin_living(&cell, "memory", "32M", NULL);
    give_shell(&cell, &op,
               "for i in $(seq 30); do sh -c 'x=$(head -c 3000000 /dev/zero | tr \"\\0\" x); sleep 0.1' & "
               "done; wait",
               0);
    step_until(&cell, &op.is_over);
    forget(&op);
    assert_true(cell.memory > 0);
    shell(&cell, &op, "echo serves on");
    assert_string_equal(op.out.data, "serves on\n");
    forget(&op);
    end_living(&cell);
}

static void refusals_are_told(void **state)
{
    (void)state;
    struct living cell;
    struct operation op = {0};
    struct sc_live_counts counts;
    begin_living(&cell, "tasks", "16", NULL);
    shell(&cell, &op, "for i in 1 2 3; do unshare -U true 2>/dev/null; done; true");
    assert_exit(&op, 0);
    forget(&op);
    assert_int_equal(cell.denials, 3);
    assert_string_equal(cell.denial.action, "unshare");
    assert_int_equal(cell.denial.count, 1);
    shell(&cell, &op, "for i in $(seq 40); do sleep 0.2 & done 2>/dev/null; true");
    forget(&op);
    sc_live_counts(cell.live, &counts);
    if (the_host()->controllers[SC_CTL_PIDS].version)
        assert_true(counts.tasks > 0);
    end_living(&cell);
}

/* ---- ends ---- */

static void killed_in_the_middle(void **state)
{
    (void)state;
    struct living cell;
    struct operation running = {0}, flooding = {.count_only = true}, waiting = {0}, file = {.hold = true};
    begin_living(&cell, NULL);
    give_shell(&cell, &running, "sleep 1000", 0);
    give_shell(&cell, &flooding, "cat /dev/zero", 0);
    give_file_op(&cell, &file, &(struct sc_file_op){.kind = SC_FILE_READ, .path = "/dev/zero"});
    step_until(&cell, &running.started);
    step_until(&cell, &flooding.started);
    give_shell(&cell, &waiting, "true", 0);
    sc_live_kill(cell.live);
    step_until_ended(&cell);
    assert_int_equal(cell.why, SC_STATUS_CANCELLED);
    assert_true(running.is_over && flooding.is_over && waiting.is_over && file.is_over);
    forget(&running);
    forget(&flooding);
    forget(&waiting);
    forget(&file);
    end_living(&cell);
}

static void closed_in_the_middle(void **state)
{
    (void)state;
    struct living cell;
    struct operation op = {.count_only = true};
    begin_living(&cell, NULL);
    give_shell(&cell, &op, "cat /dev/zero", 0);
    step_until(&cell, &op.started);
    end_living(&cell);
    forget(&op);
    begin_living(&cell, NULL);
    end_living(&cell); /* and before anything was said */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, note_traces, expect_no_traces)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_after_another),
        TEST(of_a_cell_made_ahead),
        TEST(what_does_not_start),
        TEST(many_at_once),
        TEST(large_output),
        TEST(output_waits_for_its_reader),
        TEST(large_input),
        TEST(pipes_held_by_grandchildren),
        TEST(signals_reach_the_whole_tree),
        TEST(signals_meet_the_end),
        TEST(own_time_out),
        TEST(terminals),
        TEST(outlives_a_kill_for_memory),
        TEST(outlives_many_kills_for_memory),
        TEST(refusals_are_told),
        TEST(killed_in_the_middle),
        TEST(closed_in_the_middle),
    };
    return RUN_AS_BOTH(tests);
}
