/* Commands by a supervisor that breaks the protocol: refused, and the cell is over. What an honest one cannot
 * avoid is not. */
#include "talk_commands.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

static int before(void **state)
{
    (void)state;
    prepare_talk();
    return 0;
}

struct said {
    uint16_t channel;
    int type;
    const void *payload;
    size_t len;
};

static const struct sc_msg_command TRUE = {.argc = 1, .text_len = 11};
static struct {
    struct sc_msg_command head;
    char texts[11];
} run_true = {{.argc = 1, .text_len = 11}, "/bin/true\0"},
  sleeping = {{.argc = 1, .text_len = 11}, "/bin/cat\0"};
static const struct sc_msg_credit CREDIT_IN = {SC_STREAM_IN, 1}, CREDIT_BAD = {9, 1};
static const struct sc_msg_signal SIGNAL_0 = {0, 0}, SIGNAL_65 = {65, 0}, SIGNAL_WHOM = {9, 3},
                                  SIGNAL_9 = {9, 0};
static const struct sc_msg_command NO_ARGS = {.text_len = 1}, NO_TEXT = {.argc = 1},
                                   LONG_TEXT = {.argc = 1, .text_len = SC_COMMAND_TEXT_MAX + 1},
                                   BAD_FLAG = {.argc = 1, .text_len = 2, .flags = 32},
                                   MANY_ARGS = {.argc = 8193, .text_len = 20000};
static const struct sc_msg_command ADOPT_PTY = {.argc = 1, .text_len = 11, .flags = SC_COMMAND_PTY},
                                   ADOPT_ENV = {.argc = 1, .envc = 1, .text_len = 11},
                                   ADOPT_MORE = {.argc = 2, .text_len = 11};
static const struct sc_msg_started NOBODY = {0};
static char half_credit[SC_INPUT_CREDIT / 2 + 1];

static void out_of_place(void **state)
{
    (void)state;
    static const struct said cases[][3] = {
        {{0, SC_MSG_COMMAND, &run_true, sizeof run_true}},
        {{SC_CHANNEL_MAX + 1, SC_MSG_COMMAND, &run_true, sizeof run_true}},
        {{1, SC_MSG_COMMAND, &sleeping, sizeof sleeping}, {1, SC_MSG_COMMAND, &sleeping, sizeof sleeping}},
        {{1, SC_MSG_COMMAND, &TRUE, sizeof TRUE}, {2, SC_MSG_COMMAND, &TRUE, sizeof TRUE}},
        {{1, SC_MSG_COMMAND, &TRUE, sizeof TRUE}, {1, SC_MSG_INPUT, "x", 1}},
        {{1, SC_MSG_COMMAND, &TRUE, sizeof TRUE}, {1, SC_MSG_MORE, "0123456789012", 12}},
        {{1, SC_MSG_COMMAND, &TRUE, sizeof TRUE}, {1, SC_MSG_MORE, "0123456789\0", 11}},
        {{1, SC_MSG_COMMAND, &TRUE, sizeof TRUE}, {1, SC_MSG_MORE, "012345678\0x", 11}},
        {{1, SC_MSG_COMMAND, &TRUE, sizeof TRUE - 1}},
        {{1, SC_MSG_COMMAND, &NO_ARGS, sizeof NO_ARGS}},
        {{1, SC_MSG_COMMAND, &NO_TEXT, sizeof NO_TEXT}},
        {{1, SC_MSG_COMMAND, &LONG_TEXT, sizeof LONG_TEXT}},
        {{1, SC_MSG_COMMAND, &BAD_FLAG, sizeof BAD_FLAG}},
        {{1, SC_MSG_COMMAND, &MANY_ARGS, sizeof MANY_ARGS}},
        {{1, SC_MSG_MORE, "x", 1}},
        {{1, SC_MSG_INPUT, "x", 1}},
        {{1, SC_MSG_SIGNAL, &SIGNAL_9, sizeof SIGNAL_9}},
        {{0, SC_MSG_INPUT, "x", 1}},
        {{1, SC_MSG_COMMAND, &sleeping, sizeof sleeping}, {1, SC_MSG_INPUT, "x", 1}}, /* has no stdin */
        {{1, SC_MSG_COMMAND, &sleeping, sizeof sleeping}, {1, SC_MSG_RUNNER_INPUT, "x", 1}},
        {{1, SC_MSG_COMMAND, &sleeping, sizeof sleeping}, {1, SC_MSG_INPUT_END, NULL, 0}},
        {{1, SC_MSG_COMMAND, &sleeping, sizeof sleeping}, {1, SC_MSG_MORE, "x", 1}},
        {{1, SC_MSG_COMMAND, &sleeping, sizeof sleeping}, {1, SC_MSG_RESIZE, "1234", 4}},
        {{1, SC_MSG_COMMAND, &sleeping, sizeof sleeping}, {1, SC_MSG_CREDIT, &CREDIT_IN, sizeof CREDIT_IN}},
        {{1, SC_MSG_COMMAND, &sleeping, sizeof sleeping}, {1, SC_MSG_CREDIT, &CREDIT_BAD, sizeof CREDIT_BAD}},
        {{1, SC_MSG_COMMAND, &sleeping, sizeof sleeping}, {1, SC_MSG_CREDIT, &CREDIT_IN, 7}},
        {{1, SC_MSG_COMMAND, &sleeping, sizeof sleeping}, {1, SC_MSG_SIGNAL, &SIGNAL_0, sizeof SIGNAL_0}},
        {{1, SC_MSG_COMMAND, &sleeping, sizeof sleeping}, {1, SC_MSG_SIGNAL, &SIGNAL_65, sizeof SIGNAL_65}},
        {{1, SC_MSG_COMMAND, &sleeping, sizeof sleeping},
         {1, SC_MSG_SIGNAL, &SIGNAL_WHOM, sizeof SIGNAL_WHOM}},
        {{1, SC_MSG_COMMAND, &sleeping, sizeof sleeping}, {0, SC_MSG_START, NULL, 0}},
        {{1, SC_MSG_COMMAND, &sleeping, sizeof sleeping}, {0, SC_MSG_DIR, "12345678d\0", 10}},
        {{1, SC_MSG_COMMAND, &sleeping, sizeof sleeping}, {0, SC_MSG_BOOT, NULL, 0}},
        {{1, SC_MSG_ADOPT, &ADOPT_PTY, sizeof ADOPT_PTY}},
        {{1, SC_MSG_ADOPT, &ADOPT_ENV, sizeof ADOPT_ENV}},
        {{1, SC_MSG_ADOPT, &ADOPT_MORE, sizeof ADOPT_MORE}},
        {{1, SC_MSG_ADOPT, &TRUE, sizeof TRUE - 1}},
        {{1, SC_MSG_ADOPTED, &NOBODY, sizeof NOBODY}},
        {{1, SC_MSG_COMMAND, &sleeping, sizeof sleeping}, {1, SC_MSG_ADOPTED, &NOBODY, sizeof NOBODY}},
        {{1, SC_MSG_ADOPT, &run_true, sizeof run_true}, {2, SC_MSG_ADOPT, &run_true, sizeof run_true}},
        {{1, SC_MSG_LIST, NULL, 0}},
        {{0, SC_MSG_LIST, "x", 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct talk t;
        char rest[SC_FRAME_MAX];
        size_t len;
        int type;
        open_talk(&t);
        for (int j = 0; j < 3 && cases[i][j].type; j++)
            sc_frame_send(t.sock, (uint16_t)cases[i][j].type, cases[i][j].channel, cases[i][j].payload,
                          cases[i][j].len);
        while ((type = next_frame(&t, rest, sizeof rest, &len)) && type != SC_MSG_FAILED)
            ;
        if (type == 0)
            fail_msg("case %zu is not refused", i);
        assert_string_equal(((struct sc_msg_failed *)rest)->stage, "protocol");
        assert_int_equal(((struct sc_msg_failed *)rest)->code, -EPROTO);
        expect_end(&t);
        remove_folder(t.folder);
    }
}

static void input_beyond_the_credit(void **state)
{
    (void)state;
    struct talk t;
    struct sc_msg_started started;
    size_t len;
    open_talk(&t);
    shell(&t, 1, with(SC_COMMAND_STDIN | SC_COMMAND_RUNNER), "exec sleep 1000");
    assert_int_equal(next_frame(&t, &started, sizeof started, &len), SC_MSG_COMMAND_STARTED);
    /* The socket takes part of it, which is given back only in larger steps. */
    for (int i = 0; i < 40; i++)
        if (sc_frame_send(t.sock, SC_MSG_RUNNER_INPUT, 1, half_credit, sizeof half_credit) < 0)
            break;
    char rest[SC_FRAME_MAX];
    int type;
    while ((type = next_frame(&t, rest, sizeof rest, &len)) == SC_MSG_INPUT_CREDIT)
        ;
    assert_int_equal(type, SC_MSG_FAILED);
    assert_string_equal(((struct sc_msg_failed *)rest)->object, "input beyond the credit");
    expect_end(&t);
    remove_folder(t.folder);
}

static void two_kinds_of_cells(void **state)
{
    (void)state;
    struct talk t;
    char rest[64];
    size_t len;
    make_image("/bin/sleep", "1000");
    open_talk(&t);
    say(&t, SC_MSG_START, NULL, 0);
    assert_int_equal(next_frame(&t, rest, sizeof rest, &len), SC_MSG_STARTED);
    say_on(&t, 1, SC_MSG_COMMAND, &run_true, sizeof run_true);
    expect_failed(&t, "protocol", -EPROTO);
    open_talk(&t);
    say_file(&t, "half");
    say_on(&t, 1, SC_MSG_COMMAND, &run_true, sizeof run_true);
    expect_failed(&t, "protocol", -EPROTO);
}

/* Until it has seen the end the supervisor cannot know. */
static void what_comes_too_late(void **state)
{
    (void)state;
    struct talk t;
    struct story s[2] = {0};
    struct sc_msg_credit credit = {SC_STREAM_OUT, 10};
    struct sc_msg_size size = {1, 1};
    open_talk(&t);
    shell(&t, 1, with(SC_COMMAND_STDIN), "true");
    until(&t, s, SC_MSG_COMMAND_GONE);
    say_on(&t, 1, SC_MSG_INPUT, "late", 4);
    say_on(&t, 1, SC_MSG_INPUT_END, NULL, 0);
    say_on(&t, 1, SC_MSG_RUNNER_INPUT, "late", 4);
    say_on(&t, 1, SC_MSG_CREDIT, &credit, sizeof credit);
    say_on(&t, 1, SC_MSG_RESIZE, &size, sizeof size);
    signal_on(&t, 1, SIGKILL, SC_SIGNAL_TREE);
    memset(s, 0, sizeof s);
    shell(&t, 1, PLENTY, "echo fine");
    until(&t, s, SC_MSG_COMMAND_GONE);
    assert_string_equal(s[1].out, "fine\n");
    say_on(&t, 1, SC_MSG_MORE, "x", 1);
    expect_failed(&t, "protocol", -EPROTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(out_of_place, before),
        cmocka_unit_test_setup(input_beyond_the_credit, before),
        cmocka_unit_test_setup(two_kinds_of_cells, before),
        cmocka_unit_test_setup(what_comes_too_late, before),
    };
    return RUN_AS_BOTH(tests);
}
