/* libFuzzer target: any messages about commands to the agent, in any state, while programs that are played by
 * the fuzzer write, read, close and end as they like, and shepherds say anything. The agent must answer or
 * end the cell, never wait, and hold no more than its tables. An input is a row of acts: what, which command,
 * a 2-byte length, that many bytes. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/commands.h"
#include "base/fd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The program's ends of one command's streams, and its shepherd's socket. */
struct fake {
    int in, out, err, runner, report;
};

static struct sc_commands commands;
static struct fake fakes[SC_COMMANDS_MAX];
static jmp_buf over;
static int supervisor;

/* ---- what stands around the commands in the agent ---- */

void sc_agent_end(void)
{
    longjmp(over, 1);
}

void sc_agent_fail(int control, const char *stage, const char *object, int code)
{
    (void)control;
    (void)object;
    if (code >= 0 || !*stage)
        abort();
    longjmp(over, 1);
}

void sc_agent_describe(struct sc_msg_failed *failed, const char *stage, const char *object, int code)
{
    memset(failed, 0, sizeof *failed);
    failed->code = code;
    strncpy(failed->stage, stage, sizeof failed->stage - 1);
    strncpy(failed->object, object, sizeof failed->object - 1);
}

static void join(int *ours, int *theirs, int type)
{
    int ends[2];
    if (socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        abort();
    *ours = ends[0];
    *theirs = ends[1];
}

static void join_pipe(int *reads, int *writes)
{
    if (sc_pipe(reads, writes) < 0 || sc_set_nonblocking(*reads) < 0 || sc_set_nonblocking(*writes) < 0)
        abort();
}

/* Nothing is forked into this agent: what waits to be adopted fails. */
int sc_command_open_streams(struct sc_commands *all, struct sc_command *command, struct sc_launch *launch,
                            const char **ret_object)
{
    (void)all;
    (void)command;
    *launch = SC_LAUNCH_NONE;
    *ret_object = "streams";
    return -EMFILE;
}

void sc_command_start(struct sc_commands *all, struct sc_command *command)
{
    struct fake *fake = &fakes[command - all->list];
    *fake = (struct fake){-1, -1, -1, -1, -1};
    command->state = SC_COMMAND_RUNS;
    join(&command->report, &fake->report, SOCK_SEQPACKET);
    join_pipe(&command->outputs[SC_OUTPUT_OUT].fd, &fake->out);
    if (!command->is_file)
        join_pipe(&command->outputs[SC_OUTPUT_ERR].fd, &fake->err);
    if (command->is_file || command->flags & SC_COMMAND_STDIN) {
        join_pipe(&fake->in, &command->inputs[SC_INPUT_STDIN].fd);
        command->inputs[SC_INPUT_STDIN].is_open = true;
    }
    if (command->flags & SC_COMMAND_RUNNER) {
        join(&command->outputs[SC_OUTPUT_RUNNER].fd, &fake->runner, SOCK_STREAM);
        command->inputs[SC_INPUT_RUNNER].fd = command->outputs[SC_OUTPUT_RUNNER].fd;
        command->inputs[SC_INPUT_RUNNER].is_open = true;
    }
}

/* ---- acts ---- */

static void close_fake(struct fake *fake)
{
    int *const all[] = {&fake->in, &fake->out, &fake->err, &fake->runner, &fake->report};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        sc_close(all[i]);
}

static void say(uint8_t type, uint8_t channel, const uint8_t *data, size_t len)
{
    uint8_t *copy = malloc(len ? len : 1); /* of its own, so that a byte too far is seen */
    const struct sc_frame frame = {.len = (uint32_t)len, .type = type, .channel = channel};
    static uint8_t *held; /* a failure leaves by a jump */
    free(held);
    held = copy;
    memcpy(copy, data, len);
    sc_commands_handle(&commands, &frame, copy);
}

static void put(int fd, const uint8_t *data, size_t len)
{
    static const uint8_t zeros[8192];
    if (fd < 0)
        return;
    ssize_t n = write(fd, data, len);
    for (size_t i = 0; n > 0 && i < len; i++) /* more than was given, so that pipes fill */
        n = write(fd, zeros, sizeof zeros);
}

static void take(int fd, size_t pieces)
{
    static uint8_t room[16384];
    for (size_t i = 0; fd >= 0 && i <= pieces; i++)
        if (read(fd, room, sizeof room) <= 0)
            return;
}

static void tell(struct fake *fake, const uint8_t *data, size_t len)
{
    struct sc_shepherd_report report = {0};
    if (len > 0)
        report.news = data[0] % 8;
    if (fake->report >= 0 && (len > 8 ? send(fake->report, data, len, MSG_NOSIGNAL)
                                      : send(fake->report, &report, sizeof report, MSG_NOSIGNAL)) < 0)
        return;
}

#define FIRST_MESSAGE 9 /* COMMAND, and so on to ADOPTED */
#define ACTS (FIRST_MESSAGE + SC_MSG_ADOPTED - SC_MSG_COMMAND + 2)

static void act(uint8_t what, uint8_t which, const uint8_t *data, size_t len)
{
    struct fake *fake = &fakes[which % 8];
    switch (what % ACTS) {
    case 0:
        put(fake->out, data, len);
        break;
    case 1:
        put(fake->err, data, len);
        break;
    case 2:
        put(fake->runner, data, len);
        break;
    case 3:
        take(fake->in, len);
        break;
    case 4:
        take(fake->runner, len);
        break;
    case 5:
        tell(fake, data, len);
        break;
    case 6:
        sc_close(len % 2 ? &fake->in : &fake->out);
        break;
    case 7:
        close_fake(fake);
        break;
    case 8:
        take(supervisor, len);
        break;
    case ACTS - 1:
        say(SC_MSG_RESIZE, which % 12, data, len);
        break;
    default:
        say((uint8_t)(SC_MSG_COMMAND + what % ACTS - FIRST_MESSAGE), which % 12, data, len);
        break;
    }
}

/* What the tables promise. */
static void check(void)
{
    unsigned open = 0;
    for (int i = 0; i < SC_COMMANDS_MAX; i++) {
        const struct sc_command *command = &commands.list[i];
        open += command->state != SC_COMMAND_FREE;
        for (int n = 0; command->state == SC_COMMAND_RUNS && n < SC_INPUTS; n++) {
            const struct sc_input *input = &command->inputs[n];
            if (input->used + input->owed + input->allowed != SC_INPUT_CREDIT ||
                input->start >= SC_INPUT_CREDIT)
                abort();
        }
        for (int n = 0; command->state == SC_COMMAND_RUNS && n < SC_OUTPUTS; n++)
            if (command->outputs[n].credit > 1ull << 48) /* below zero */
                abort();
    }
    if (open != commands.open)
        abort();
}

static void step(void)
{
    static struct pollfd polls[SC_COMMANDS_POLLS];
    uint64_t due_ns;
    unsigned count = sc_commands_watch(&commands, polls, &due_ns);
    if (count > SC_COMMANDS_POLLS || poll(polls, count, 0) < 0)
        abort();
    sc_commands_step(&commands, polls, count);
    check();
}

static void clear(void)
{
    for (int i = 0; i < SC_COMMANDS_MAX; i++) {
        if (commands.list[i].state != SC_COMMAND_FREE)
            sc_command_close(&commands, &commands.list[i]);
        close_fake(&fakes[i]);
    }
    memset(commands.was_open, 0, sizeof commands.was_open);
    commands.assembling = NULL;
    commands.blocked = commands.any = false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sc_agent agent;
    static bool is_ready;
    for (int i = 0; !is_ready && i < SC_COMMANDS_MAX; i++)
        fakes[i] = (struct fake){-1, -1, -1, -1, -1};
    is_ready = true;
    signal(SIGPIPE, SIG_IGN);
    join(&agent.control, &supervisor, SOCK_STREAM);
    /* The agent's end waits: where it would, the fuzzer finds a time-out. */
    fcntl(agent.control, F_SETFL, 0);
    commands.agent = &agent;
    if (setjmp(over) == 0)
        while (size >= 4) {
            size_t len = data[2] | (size_t)data[3] << 8;
            len = len < size - 4 ? len : size - 4;
            act(data[0], data[1], data + 4, len);
            step();
            data += 4 + len;
            size -= 4 + len;
        }
    clear();
    close(agent.control);
    close(supervisor);
    return 0;
}
