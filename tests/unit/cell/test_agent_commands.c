/* Commands in a cell that stays: the agent's half of protocol 2, spoken to as a supervisor does. */
#include "talk_commands.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"

static int before(void **state)
{
    (void)state;
    prepare_talk();
    return 0;
}

static void one_command(void **state)
{
    (void)state;
    struct talk t;
    struct story s[2] = {0};
    open_talk(&t);
    shell(&t, 1, PLENTY, "echo out; echo err >&2; read x || echo ended; exit 7");
    until(&t, s, SC_MSG_COMMAND_GONE);
    assert_int_equal(s[1].started, 1);
    assert_true(s[1].start.pid > 1);
    assert_string_equal(s[1].out, "out\nended\n");
    assert_string_equal(s[1].err, "err\n");
    assert_int_equal(s[1].exit.wait_status, 7 << 8);
    assert_int_equal(s[1].exited, 1);
    assert_true(s[1].exit.rss_peak_bytes > 0 && s[1].exit.wall_ns > 0);
    close_talk(&t);
}

static void many_at_once(void **state)
{
    (void)state;
    struct talk t;
    static struct story s[SC_COMMANDS_MAX + 1];
    memset(s, 0, sizeof s);
    open_talk(&t);
    for (uint16_t i = 1; i <= SC_COMMANDS_MAX; i++)
        shell(&t, i, with(SC_COMMAND_STDIN), "read x; echo $x");
    for (uint16_t i = 1; i <= SC_COMMANDS_MAX; i++) {
        char line[16];
        snprintf(line, sizeof line, "%d\n", i);
        say_on(&t, i, SC_MSG_INPUT, line, strlen(line));
    }
    for (int gone = 0; gone < SC_COMMANDS_MAX;)
        gone += follow(&t, s) == SC_MSG_COMMAND_GONE;
    for (int i = 1; i <= SC_COMMANDS_MAX; i++)
        assert_int_equal(atoi(s[i].out), i);
    memset(&s[1], 0, sizeof s[1]);
    shell(&t, 1, PLENTY, "true"); /* its channel is free again */
    until(&t, s, SC_MSG_COMMAND_GONE);
    assert_int_equal(s[1].gone, 1);
    close_talk(&t);
}

static void texts_in_pieces(void **state)
{
    (void)state;
    static const char texts[] = "/bin/echo\0one\0two words\0X=1\0";
    static const size_t pieces[] = {1, 2, 7, sizeof texts};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        struct talk t;
        struct story s[3] = {0};
        struct sc_msg_command head = PLENTY;
        head.argc = 3;
        head.envc = 1;
        head.text_len = sizeof texts;
        open_talk(&t);
        shell(&t, 1, with(SC_COMMAND_STDIN), "cat");
        say_on(&t, 2, SC_MSG_COMMAND, &head, sizeof head);
        say_on(&t, 1, SC_MSG_INPUT, "x", 1); /* another channel may speak in between */
        for (size_t at = 0; at < sizeof texts; at += pieces[i]) {
            size_t n = sizeof texts - at < pieces[i] ? sizeof texts - at : pieces[i];
            say_on(&t, 2, SC_MSG_MORE, texts + at, n);
        }
        until(&t, s, SC_MSG_COMMAND_GONE);
        assert_string_equal(s[2].out, "one two words\n");
        close_talk(&t);
    }
}

static void environment_and_folder(void **state)
{
    (void)state;
    struct talk t;
    struct story s[2] = {0};
    image.head.envc = 1;
    image.env[0] = offsetof(struct image, texts) + 300;
    snprintf(image.texts + 300, 50, "KEPT=image");
    open_talk(&t);
    command(&t, 1, PLENTY, (const char *const[]){"sh", "-c", "echo $KEPT $NEW; pwd", NULL},
            (const char *const[]){"NEW=mine", "PATH=/bin:/usr/bin", NULL}, "/usr");
    until(&t, s, SC_MSG_COMMAND_GONE);
    assert_string_equal(s[1].out, "image mine\n/usr\n");
    memset(s, 0, sizeof s);
    command(&t, 1, PLENTY, (const char *const[]){"/usr/bin/env", NULL},
            (const char *const[]){"KEPT=", "KEP=1", "KEPT2=2", NULL}, "");
    until(&t, s, SC_MSG_COMMAND_GONE);
    assert_string_equal(s[1].out, "KEPT=\nKEP=1\nKEPT2=2\n");
    close_talk(&t);
}

static void commands_that_do_not_start(void **state)
{
    (void)state;
    static const struct {
        const char *program, *cwd, *stage, *object;
        int code;
    } cases[] = {
        {"/nonexistent", "", "exec", "/nonexistent", -ENOENT},
        {"no-such-name", "", "exec", "no-such-name", -ENOENT},
        {"/etc/passwd", "", "exec", "/etc/passwd", -EACCES},
        {"/bin/true", "/nowhere", "cwd", "/nowhere", -ENOENT},
        {"/bin/true", "/etc/passwd", "cwd", "/etc/passwd", -ENOTDIR},
    };
    struct talk t;
    open_talk(&t);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct story s[2] = {0};
        command(&t, 1, PLENTY, (const char *const[]){cases[i].program, NULL}, NULL, cases[i].cwd);
        until(&t, s, SC_MSG_COMMAND_FAILED);
        assert_int_equal(s[1].failed.code, cases[i].code);
        assert_string_equal(s[1].failed.stage, cases[i].stage);
        assert_string_equal(s[1].failed.object, cases[i].object);
        assert_int_equal(s[1].started, 0);
    }
    close_talk(&t);
}

/* ---- streams ---- */

static void merged(void **state)
{
    (void)state;
    struct talk t;
    struct story s[2] = {0};
    open_talk(&t);
    shell(&t, 1, with(SC_COMMAND_MERGE), "echo a; echo b >&2; echo c");
    until(&t, s, SC_MSG_COMMAND_GONE);
    assert_string_equal(s[1].out, "a\nb\nc\n");
    assert_int_equal(s[1].err_len, 0);
    close_talk(&t);
}

static void nothing_beyond_the_credit(void **state)
{
    (void)state;
    struct talk t;
    struct story s[3] = {0};
    struct sc_msg_command head = {.credit = {0, 10, 0, 0}};
    struct sc_msg_credit more = {.stream = SC_STREAM_OUT, .bytes = 5};
    open_talk(&t);
    shell(&t, 1, head, "yes");
    while (s[1].total < 10)
        follow(&t, s);
    shell(&t, 2, PLENTY, "sleep 0.05"); /* meanwhile nothing comes */
    until(&t, s, SC_MSG_COMMAND_GONE);
    assert_int_equal(s[2].gone, 1);
    assert_int_equal(s[1].total, 10);
    say_on(&t, 1, SC_MSG_CREDIT, &more, sizeof more);
    while (s[1].total < 15)
        follow(&t, s);
    say_on(&t, 1, SC_MSG_SIGNAL, &(struct sc_msg_signal){SIGKILL, SC_SIGNAL_TREE},
           sizeof(struct sc_msg_signal));
    more.bytes = 1 << 20;
    say_on(&t, 1, SC_MSG_CREDIT, &more, sizeof more);
    until(&t, s, SC_MSG_COMMAND_GONE);
    assert_int_equal(s[1].exit.wait_status, SIGKILL);
    close_talk(&t);
}

/* What the program does not take stays within the credit, and comes back as it is taken. */
static void input_in_credit(void **state)
{
    (void)state;
    static char bytes[SC_INPUT_CREDIT];
    struct talk t;
    struct story s[2] = {0};
    uint64_t sent = 0;
    open_talk(&t);
    shell(&t, 1, with(SC_COMMAND_STDIN), "wc -c");
    while (sent < 10 * SC_INPUT_CREDIT) {
        size_t n = SC_INPUT_CREDIT - (size_t)(sent - s[1].input_credit);
        say_on(&t, 1, SC_MSG_INPUT, bytes, n);
        sent += n;
        while (sent - s[1].input_credit == SC_INPUT_CREDIT)
            follow(&t, s);
    }
    say_on(&t, 1, SC_MSG_INPUT_END, NULL, 0);
    until(&t, s, SC_MSG_COMMAND_GONE);
    assert_int_equal(atoll(s[1].out), sent);
    close_talk(&t);
}

static void input_that_nobody_reads(void **state)
{
    (void)state;
    static char bytes[SC_INPUT_CREDIT];
    struct talk t;
    struct story s[2] = {0};
    open_talk(&t);
    shell(&t, 1, with(SC_COMMAND_STDIN), "exec <&-; echo closed; sleep 0.2");
    while (!strstr(s[1].out, "closed"))
        follow(&t, s);
    for (int i = 0; i < 3; i++) {
        say_on(&t, 1, SC_MSG_INPUT, bytes, sizeof bytes);
        while (s[1].input_credit < (unsigned)(i + 1) * sizeof bytes) /* thrown away, and given back */
            follow(&t, s);
    }
    until(&t, s, SC_MSG_COMMAND_GONE);
    close_talk(&t);
}

static void grandchildren_hold_the_pipes(void **state)
{
    (void)state;
    struct talk t;
    struct story s[2] = {0};
    open_talk(&t);
    shell(&t, 1, with(SC_COMMAND_STDIN), "exec 5<&0; (read x <&5; echo late $x) & echo first; exit 4");
    until(&t, s, SC_MSG_COMMAND_EXIT);
    assert_string_equal(s[1].out, "first\n");
    assert_int_equal(s[1].exit.wait_status, 4 << 8);
    say_on(&t, 1, SC_MSG_INPUT, "word\n", 5);
    until(&t, s, SC_MSG_COMMAND_GONE);
    assert_string_equal(s[1].out, "first\nlate word\n");
    close_talk(&t);
}

/* What was written to stdout and stderr before the runner's stream is told before. */
static void the_runner_comes_last(void **state)
{
    (void)state;
    struct talk t;
    struct story s[2] = {0};
    open_talk(&t);
    shell(&t, 1, with(SC_COMMAND_RUNNER),
          "head -c 200000 /dev/zero; echo err >&2; echo done >&3; read x <&3; echo got $x >&3; exec sleep "
          "1000");
    while (s[1].runner_len == 0)
        follow(&t, s);
    assert_int_equal(s[1].total, 200000);
    assert_string_equal(s[1].err, "err\n");
    say_on(&t, 1, SC_MSG_RUNNER_INPUT, "this\n", 5);
    while (!strstr(s[1].runner, "got this\n"))
        follow(&t, s);
    close_talk(&t);
}

/* How much of the runner's stream went in, and whether its end was read: from the kernel, for a program that
 * says nothing about it. */
static void an_exit_tells_what_the_runner_read(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        bool says_it_has_read;
        uint64_t passed;
        uint32_t flags;
    } programs[] = {
        {"read line <&3; echo; read never", true, 5, 0},
        {"head -c 4 <&3 >/dev/null; echo; read never", true, 5, SC_EXIT_UNREAD},
        {"echo; read never", false, 5, SC_EXIT_UNREAD},
        {"exec 3<&-; echo; read never", false, 0, 0},
    };
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        struct talk t;
        struct story s[2] = {0};
        open_talk(&t);
        shell(&t, 1, with(SC_COMMAND_RUNNER | SC_COMMAND_STDIN), programs[i].script);
        if (!programs[i].says_it_has_read)
            until(&t, s, SC_MSG_OUTPUT);
        say_on(&t, 1, SC_MSG_RUNNER_INPUT, "this\n", 5);
        if (programs[i].says_it_has_read)
            until(&t, s, SC_MSG_OUTPUT);
        signal_on(&t, 1, SIGKILL, SC_SIGNAL_MAIN);
        until(&t, s, SC_MSG_COMMAND_GONE);
        assert_int_equal(s[1].exit.flags, programs[i].flags);
        assert_int_equal(s[1].exit.runner_bytes, programs[i].passed);
        close_talk(&t);
    }
}

static void the_runner_waits_for_credit(void **state)
{
    (void)state;
    struct talk t;
    struct story s[3] = {0};
    struct sc_msg_command head = {.flags = SC_COMMAND_RUNNER, .credit = {0, 0, 0, 1000}};
    open_talk(&t);
    shell(&t, 1, head, "echo out; echo runner >&3");
    shell(&t, 2, PLENTY, "sleep 0.05");
    until(&t, s, SC_MSG_COMMAND_GONE);
    assert_int_equal(s[1].runner_len, 0);
    assert_int_equal(s[1].exited, 0);
    say_on(&t, 1, SC_MSG_CREDIT, &(struct sc_msg_credit){SC_STREAM_OUT, 100}, sizeof(struct sc_msg_credit));
    until(&t, s, SC_MSG_COMMAND_GONE);
    assert_string_equal(s[1].out, "out\n");
    assert_string_equal(s[1].runner, "runner\n");
    close_talk(&t);
}

static void a_terminal(void **state)
{
    (void)state;
    struct talk t;
    struct story s[2] = {0};
    struct sc_msg_size size = {50, 132};
    open_talk(&t);
    shell(&t, 1, with(SC_COMMAND_PTY),
          "stty size; test -t 0 -a -t 2 && echo tty; read x; stty size; read y || echo ended; echo last "
          ">/dev/tty");
    while (!strstr(s[1].out, "24 80\r\ntty\r\n"))
        follow(&t, s);
    say_on(&t, 1, SC_MSG_RESIZE, &size, sizeof size);
    say_on(&t, 1, SC_MSG_INPUT, "line\n", 5);
    while (!strstr(s[1].out, "50 132\r\n"))
        follow(&t, s);
    say_on(&t, 1, SC_MSG_INPUT_END, NULL, 0);
    until(&t, s, SC_MSG_COMMAND_EXIT);
    assert_non_null(strstr(s[1].out, "ended\r\nlast\r\n"));
    until(&t, s, SC_MSG_COMMAND_GONE);
    close_talk(&t);
}

/* ---- ends ---- */

static void signals(void **state)
{
    (void)state;
    struct talk t;
    struct story s[2] = {0};
    open_talk(&t);
    shell(&t, 1, PLENTY,
          "trap 'echo main' USR1; (trap 'echo child; exit' USR1; echo up; while :; do sleep 0.01; done) & "
          "while :; do sleep 0.01; done");
    while (!strstr(s[1].out, "up"))
        follow(&t, s);
    signal_on(&t, 1, SIGUSR1, SC_SIGNAL_MAIN);
    while (!strstr(s[1].out, "main\n"))
        follow(&t, s);
    assert_null(strstr(s[1].out, "child"));
    signal_on(&t, 1, SIGUSR1, SC_SIGNAL_TREE);
    while (!strstr(s[1].out, "child\n"))
        follow(&t, s);
    signal_on(&t, 1, SIGTERM, SC_SIGNAL_GROUP);
    until(&t, s, SC_MSG_COMMAND_GONE);
    assert_int_equal(s[1].exit.wait_status, SIGTERM);
    assert_int_equal(s[1].exit.flags, 0);
    close_talk(&t);
}

static void the_wall(void **state)
{
    (void)state;
    struct talk t;
    struct story s[2] = {0};
    struct sc_msg_command head = PLENTY;
    head.wall_ns = 100 * SC_NS_PER_MS;
    open_talk(&t);
    shell(&t, 1, head, "trap '' TERM INT; (setsid sleep 1000 &); while :; do :; done");
    until(&t, s, SC_MSG_COMMAND_GONE);
    assert_int_equal(s[1].exit.wait_status, SIGKILL);
    assert_int_equal(s[1].exit.flags, SC_EXIT_TIMED_OUT);
    assert_true(s[1].exit.wall_ns >= head.wall_ns / 2);
    memset(s, 0, sizeof s);
    shell(&t, 1, head, "sleep 1000 & exit 3"); /* the limit is the tree's */
    until(&t, s, SC_MSG_COMMAND_GONE);
    assert_int_equal(s[1].exit.wait_status, 3 << 8);
    assert_int_equal(s[1].exit.flags, 0);
    close_talk(&t);
}

static void orphans_of_a_command(void **state)
{
    (void)state;
    struct talk t;
    struct story s[2] = {0};
    open_talk(&t);
    command(&t, 1, PLENTY, (const char *const[]){INSIDE, "mark", "storm", NULL}, NULL, "");
    until(&t, s, SC_MSG_COMMAND_GONE);
    assert_int_equal(s[1].exit.wait_status, 5 << 8);
    close_talk(&t);
}

static void a_shepherd_dies(void **state)
{
    (void)state;
    struct talk t;
    struct sc_msg_started started;
    size_t len;
    open_talk(&t);
    shell(&t, 1, with(SC_COMMAND_STDIN), "read x; kill -9 $PPID; sleep 1000");
    assert_int_equal(next_frame(&t, &started, sizeof started, &len), SC_MSG_COMMAND_STARTED);
    say_on(&t, 1, SC_MSG_INPUT, "now\n", 4);
    expect_failed(&t, "shepherd", -ECHILD);
}

static void listing(void **state)
{
    (void)state;
    struct talk t;
    struct story s[8] = {0};
    struct sc_msg_listed listed;
    size_t len;
    open_talk(&t);
    command(&t, 5, with(SC_COMMAND_STDIN), (const char *const[]){"cat", NULL}, NULL, "");
    until(&t, s, SC_MSG_COMMAND_STARTED);
    say(&t, SC_MSG_LIST, NULL, 0);
    assert_int_equal(next_frame(&t, &listed, sizeof listed, &len), SC_MSG_LISTED);
    assert_int_equal(len, sizeof listed);
    assert_int_equal(listed.channel, 5);
    assert_int_equal(listed.flags, SC_COMMAND_STDIN);
    assert_int_equal(listed.pid, s[5].start.pid);
    assert_int_equal(listed.ended, 0);
    assert_string_equal(listed.name, "cat");
    say(&t, SC_MSG_END, NULL, 0);
    expect_end(&t);
    remove_folder(t.folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_command, before),
        cmocka_unit_test_setup(many_at_once, before),
        cmocka_unit_test_setup(texts_in_pieces, before),
        cmocka_unit_test_setup(environment_and_folder, before),
        cmocka_unit_test_setup(commands_that_do_not_start, before),
        cmocka_unit_test_setup(merged, before),
        cmocka_unit_test_setup(nothing_beyond_the_credit, before),
        cmocka_unit_test_setup(input_in_credit, before),
        cmocka_unit_test_setup(input_that_nobody_reads, before),
        cmocka_unit_test_setup(grandchildren_hold_the_pipes, before),
        cmocka_unit_test_setup(the_runner_comes_last, before),
        cmocka_unit_test_setup(an_exit_tells_what_the_runner_read, before),
        cmocka_unit_test_setup(the_runner_waits_for_credit, before),
        cmocka_unit_test_setup(a_terminal, before),
        cmocka_unit_test_setup(signals, before),
        cmocka_unit_test_setup(the_wall, before),
        cmocka_unit_test_setup(orphans_of_a_command, before),
        cmocka_unit_test_setup(a_shepherd_dies, before),
        cmocka_unit_test_setup(listing, before),
    };
    return RUN_AS_BOTH(tests);
}
