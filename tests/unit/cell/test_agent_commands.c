/* Commands in a cell that stays: the agent's half of protocol 2, spoken to as a supervisor does. */
#include "talk.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

/* What came of one command. */
struct story {
    char out[4096], err[4096], runner[4096];
    size_t out_len, err_len, runner_len;
    uint64_t total; /* bytes of stdout, whatever was kept */
    int started, exited, gone;
    struct sc_msg_started start;
    struct sc_msg_command_exit exit;
    struct sc_msg_failed failed;
    uint64_t input_credit;
};

static void command(struct talk *t, uint16_t channel, struct sc_msg_command head, const char *const *argv,
                    const char *const *env, const char *cwd)
{
    static char payload[SC_FRAME_MAX];
    size_t used = sizeof head;
    head.argc = head.envc = 0;
    for (; *argv; argv++, head.argc++, used += strlen(payload + used) + 1)
        strcpy(payload + used, *argv);
    for (; env && *env; env++, head.envc++, used += strlen(payload + used) + 1)
        strcpy(payload + used, *env);
    strcpy(payload + used, cwd);
    used += strlen(cwd) + 1;
    head.text_len = (uint32_t)(used - sizeof head);
    memcpy(payload, &head, sizeof head);
    say_on(t, channel, SC_MSG_COMMAND, payload, used);
}

static const struct sc_msg_command PLENTY = {
    .credit = {0, 1 << 30, 1 << 30, 1 << 30}, .rows = 24, .cols = 80};

static struct sc_msg_command with(uint32_t flags)
{
    struct sc_msg_command head = PLENTY;
    head.flags = flags;
    return head;
}

static void shell(struct talk *t, uint16_t channel, struct sc_msg_command head, const char *script)
{
    command(t, channel, head, (const char *const[]){"/bin/sh", "-c", script, NULL}, NULL, "");
}

static void keep(char room[4096], size_t *used, const char *bytes, size_t len)
{
    size_t n = len < 4095 - *used ? len : 4095 - *used;
    memcpy(room + *used, bytes, n);
    *used += n;
    room[*used] = '\0';
}

/* Takes one frame into the story of its channel. Its type. */
static int follow(struct talk *t, struct story *stories)
{
    static char bytes[SC_FRAME_MAX];
    uint16_t channel;
    size_t len;
    int type = next_of(t, &channel, bytes, sizeof bytes, &len);
    struct story *story = &stories[channel];
    if (type == SC_MSG_FAILED)
        fail_msg("the cell failed: %s %s", ((struct sc_msg_failed *)bytes)->stage,
                 ((struct sc_msg_failed *)bytes)->object);
    if (type == SC_MSG_COMMAND_STARTED) {
        story->started++;
        memcpy(&story->start, bytes, sizeof story->start);
    } else if (type == SC_MSG_OUTPUT) {
        story->total += len;
        keep(story->out, &story->out_len, bytes, len);
    } else if (type == SC_MSG_OUTPUT_ERR) {
        keep(story->err, &story->err_len, bytes, len);
    } else if (type == SC_MSG_RUNNER_OUTPUT) {
        keep(story->runner, &story->runner_len, bytes, len);
    } else if (type == SC_MSG_COMMAND_EXIT) {
        assert_int_equal(story->gone, 0);
        story->exited++;
        memcpy(&story->exit, bytes, sizeof story->exit);
    } else if (type == SC_MSG_COMMAND_GONE) {
        story->gone++;
    } else if (type == SC_MSG_COMMAND_FAILED) {
        memcpy(&story->failed, bytes, sizeof story->failed);
    } else if (type == SC_MSG_INPUT_CREDIT) {
        struct sc_msg_credit credit;
        memcpy(&credit, bytes, sizeof credit);
        story->input_credit += credit.bytes;
    }
    return type;
}

static void until(struct talk *t, struct story *stories, int type)
{
    int came;
    while ((came = follow(t, stories)) != type)
        if (came == 0)
            fail_msg("the agent ended before %d", type);
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_command, before),
        cmocka_unit_test_setup(many_at_once, before),
    };
    return RUN_AS_BOTH(tests);
}
