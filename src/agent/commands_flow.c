/* Bytes between the supervisor's stream and the commands' own. Nothing here waits: an output is read only
 * while its credit lasts and the supervisor's stream has room, so that a program that writes faster than it
 * is read sleeps in its own pipe; input that a program does not take stands in its ring. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "agent/commands.h"
#include "base/clock.h"
#include "base/fd.h"

/* A terminal's bytes move in the kernel's background: what it says to have is not all. So much is passed on
 * before an end is told, if it comes without a pause. */
#define TERMINAL_REST (256u * 1024)

bool sc_commands_may_say(struct sc_commands *commands)
{
    struct pollfd stream = {commands->agent->control, POLLOUT, 0};
    if (!commands->blocked && (poll(&stream, 1, 0) < 1 || !(stream.revents & POLLOUT)))
        commands->blocked = true;
    return !commands->blocked;
}

void sc_commands_say(struct sc_commands *commands, uint16_t type, uint16_t channel, const void *payload,
                     size_t len)
{
    if (sc_frame_send(commands->agent->control, type, channel, payload, len) < 0)
        sc_agent_end(); /* the supervisor is gone */
}

/* ---- into the cell ---- */

/* With a terminal, and for the runner, the descriptor stands in an output too, which closes it. */
static void close_input(struct sc_command *command, struct sc_input *input)
{
    bool shared = false;
    for (int n = 0; n < SC_OUTPUTS; n++)
        shared = shared || command->outputs[n].fd == input->fd;
    if (shared || input->fd == command->terminal)
        input->fd = -1;
    sc_close(&input->fd);
}

/* Nobody reads any more: what comes is thrown away, and counts as taken. */
void sc_input_drop(struct sc_command *command, struct sc_input *input)
{
    input->owed += input->used;
    input->used = 0;
    close_input(command, input);
}

static void end_now(struct sc_command *command, struct sc_input *input)
{
    struct termios mode;
    if (input->fd >= 0 && input->fd == command->terminal && tcgetattr(input->fd, &mode) == 0) {
        ssize_t n = write(input->fd, &mode.c_cc[VEOF], 1);
        (void)n; /* a full terminal is not at its end: like a person, who would press the key again */
    }
    close_input(command, input);
}

/* As much as the pipe takes. Count, or -1 when it takes nothing now. */
static ssize_t put(struct sc_command *command, struct sc_input *input, const uint8_t *data, size_t len)
{
    ssize_t n = write(input->fd, data, len);
    if (n >= 0)
        return n;
    if (errno != EAGAIN && errno != EINTR)
        sc_input_drop(command, input);
    return -1;
}

static void pass(struct sc_input *input, uint32_t n)
{
    input->owed += n;
    input->passed += n;
}

void sc_input_flush(struct sc_command *command, struct sc_input *input)
{
    while (input->fd >= 0 && input->used > 0) {
        uint32_t straight = SC_INPUT_CREDIT - input->start;
        ssize_t n =
            put(command, input, input->ring + input->start, input->used < straight ? input->used : straight);
        if (n < 0)
            break;
        input->start = (input->start + (uint32_t)n) % SC_INPUT_CREDIT;
        input->used -= (uint32_t)n;
        pass(input, (uint32_t)n);
    }
    if (input->is_ended && input->used == 0)
        end_now(command, input);
}

void sc_input_take(struct sc_command *command, struct sc_input *input, const uint8_t *data, uint32_t len)
{
    input->allowed -= len;
    if (input->fd >= 0 && input->used == 0 && len > 0) {
        ssize_t n = put(command, input, data, len);
        if (n > 0) {
            pass(input, (uint32_t)n);
            data += n;
            len -= (uint32_t)n;
        }
    }
    if (input->fd < 0) {
        input->owed += len;
        return;
    }
    while (len > 0) {
        uint32_t at = (input->start + input->used) % SC_INPUT_CREDIT;
        uint32_t n = len < SC_INPUT_CREDIT - at ? len : SC_INPUT_CREDIT - at;
        memcpy(input->ring + at, data, n);
        input->used += n;
        data += n;
        len -= n;
    }
}

void sc_input_end(struct sc_command *command, struct sc_input *input)
{
    input->is_open = false;
    input->is_ended = true;
    sc_input_flush(command, input);
}

/* ---- out of it ---- */

static uint64_t waiting(int fd)
{
    int n = 0;
    return fd >= 0 && ioctl(fd, FIONREAD, &n) == 0 && n > 0 ? (uint64_t)n : 0;
}

static void bar(struct sc_command *command, int number)
{
    struct sc_output *output = &command->outputs[number];
    bool terminal = output->fd >= 0 && output->fd == command->terminal;
    output->barrier = terminal ? TERMINAL_REST : waiting(output->fd);
}

void sc_outputs_bar(struct sc_command *command)
{
    for (int n = 0; n < SC_OUTPUTS; n++)
        bar(command, n);
}

bool sc_outputs_are_told(const struct sc_command *command)
{
    return !command->outputs[SC_OUTPUT_OUT].barrier && !command->outputs[SC_OUTPUT_ERR].barrier &&
           !command->outputs[SC_OUTPUT_RUNNER].barrier;
}

static bool others_are_told(const struct sc_command *command)
{
    return !command->outputs[SC_OUTPUT_OUT].barrier && !command->outputs[SC_OUTPUT_ERR].barrier;
}

bool sc_output_is_wanted(struct sc_command *command, int number)
{
    struct sc_output *output = &command->outputs[number];
    if (output->fd < 0 || output->credit == 0 || command->owes & (SC_OWES_STARTED | SC_OWES_FAILED))
        return false;
    if (!command->has_started && !command->is_file)
        return false;
    return number != SC_OUTPUT_RUNNER || command->runner_due == 0 || others_are_told(command);
}

static void close_output(struct sc_command *command, struct sc_output *output)
{
    for (int n = 0; n < SC_INPUTS; n++)
        if (command->inputs[n].fd == output->fd)
            sc_input_drop(command, &command->inputs[n]);
    if (output->fd == command->terminal)
        command->terminal = -1;
    sc_close(&output->fd);
    output->barrier = 0;
}

/* The runner's bytes that are here now were written after what stands in the other streams now, or at the
 * same time: those go first. */
static bool order_runner(struct sc_command *command)
{
    if (command->runner_due == 0) {
        command->runner_due = waiting(command->outputs[SC_OUTPUT_RUNNER].fd);
        if (command->runner_due > 0) {
            bar(command, SC_OUTPUT_OUT);
            bar(command, SC_OUTPUT_ERR);
        }
    }
    return others_are_told(command);
}

static void count(struct sc_command *command, int number, uint64_t n)
{
    struct sc_output *output = &command->outputs[number];
    output->credit -= n;
    output->barrier -= n < output->barrier ? n : output->barrier;
    if (number == SC_OUTPUT_RUNNER)
        command->runner_due -= n < command->runner_due ? n : command->runner_due;
}

/* A program that writes without a pause is read in large pieces. This process may come before it in line, and
 * would else interrupt it for every little that it has written. */
#define SMALL (32u * 1024)
#define BUSY_NS SC_NS_PER_MS
#define REST_NS (SC_NS_PER_MS / 8)

static void rest(struct sc_output *output, size_t n)
{
    uint64_t now = sc_now_ns();
    output->rest_ns = n < SMALL && now - output->passed_ns < BUSY_NS ? now + REST_NS : 0;
    output->passed_ns = now;
}

/* What something else waits for is not left lying. */
bool sc_output_rests(const struct sc_output *output)
{
    return output->fd >= 0 && output->rest_ns && !output->barrier && sc_now_ns() < output->rest_ns;
}

void sc_output_pass(struct sc_commands *commands, struct sc_command *command, int number)
{
    static const uint16_t types[SC_OUTPUTS] = {SC_MSG_OUTPUT, SC_MSG_OUTPUT_ERR, SC_MSG_RUNNER_OUTPUT};
    static uint8_t bytes[SC_FRAME_MAX];
    struct sc_output *output = &command->outputs[number];
    if (!sc_output_is_wanted(command, number) || (number == SC_OUTPUT_RUNNER && !order_runner(command)) ||
        !sc_commands_may_say(commands))
        return;
    size_t most = output->credit < sizeof bytes ? (size_t)output->credit : sizeof bytes;
    if (number == SC_OUTPUT_RUNNER && command->runner_due > 0 && command->runner_due < most)
        most = (size_t)command->runner_due;
    ssize_t n = read(output->fd, bytes, most);
    if (n < 0 && errno == EINTR)
        return;
    if (n < 0 && errno == EAGAIN) {
        output->barrier = 0; /* a terminal's rest is told when it pauses */
        return;
    }
    if (n <= 0) {
        /* The kernel's word, said once. */
        if (n < 0 && errno == ECONNRESET && number == SC_OUTPUT_RUNNER)
            command->is_unread = true;
        close_output(command, output);
        return;
    }
    count(command, number, (uint64_t)n);
    if (number != SC_OUTPUT_RUNNER)
        rest(output, (size_t)n);
    sc_commands_say(commands, types[number], command->channel, bytes, (size_t)n);
}
