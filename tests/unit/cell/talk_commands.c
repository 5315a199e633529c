#include "talk_commands.h"

static size_t add_text(char *at, const char *text)
{
    size_t len = strlen(text) + 1;
    memcpy(at, text, len);
    return len;
}

void command(struct talk *t, uint16_t channel, struct sc_msg_command head, const char *const *argv,
             const char *const *env, const char *cwd)
{
    static char payload[SC_FRAME_MAX];
    size_t used = sizeof head;
    head.argc = head.envc = 0;
    for (; *argv; argv++, head.argc++)
        used += add_text(payload + used, *argv);
    for (; env && *env; env++, head.envc++)
        used += add_text(payload + used, *env);
    used += add_text(payload + used, cwd);
    head.text_len = (uint32_t)(used - sizeof head);
    memcpy(payload, &head, sizeof head);
    say_on(t, channel, SC_MSG_COMMAND, payload, used);
}

const struct sc_msg_command PLENTY = {.credit = {0, 1 << 30, 1 << 30, 1 << 30}, .rows = 24, .cols = 80};

struct sc_msg_command with(uint32_t flags)
{
    struct sc_msg_command head = PLENTY;
    head.flags = flags;
    return head;
}

void shell(struct talk *t, uint16_t channel, struct sc_msg_command head, const char *script)
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

int follow(struct talk *t, struct story *stories)
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

void until(struct talk *t, struct story *stories, int type)
{
    int came;
    while ((came = follow(t, stories)) != type)
        if (came == 0 || came == SC_MSG_COMMAND_FAILED)
            fail_msg("%d came before %d", came, type);
}

void signal_on(struct talk *t, uint16_t channel, int number, enum sc_signal_whom whom)
{
    const struct sc_msg_signal signal = {number, whom};
    say_on(t, channel, SC_MSG_SIGNAL, &signal, sizeof signal);
}
