/* What the supervisor says about commands and file operations. Everything is checked against the state of the
 * channel; what an honest supervisor cannot say ends the cell. Some things it cannot avoid: until it has seen
 * a channel's end it may still send input, credit, signals and sizes for it. Those are ignored. */
#include "agent/adopted.h"
#include "agent/commands.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

#define PATH_MAX_BYTES 4096 /* with its NUL */

__attribute__((noreturn)) static void refuse(struct sc_commands *commands, const char *what)
{
    sc_agent_fail(commands->agent->control, "protocol", what, -EPROTO);
}

static struct sc_command *find(struct sc_commands *commands, uint16_t channel)
{
    for (int i = 0; i < SC_COMMANDS_MAX; i++)
        if (commands->list[i].state != SC_COMMAND_FREE && commands->list[i].channel == channel)
            return &commands->list[i];
    return NULL;
}

struct sc_command *sc_command_open(struct sc_commands *commands, uint16_t channel)
{
    if (channel == 0 || channel > SC_CHANNEL_MAX)
        refuse(commands, "channel number");
    if (find(commands, channel))
        refuse(commands, "channel is open");
    if (commands->assembling)
        refuse(commands, "texts of another command");
    for (int i = 0; i < SC_COMMANDS_MAX; i++) {
        struct sc_command *command = &commands->list[i];
        if (command->state != SC_COMMAND_FREE)
            continue;
        /* Not the rings: they are large, and only `used` bytes of them mean something. */
        command->channel = channel;
        command->is_file = command->has_started = command->has_exited = command->is_over = false;
        command->was_signaled = command->timed_out = command->is_unread = false;
        command->is_adopted = command->is_killed = command->is_own_killed = false;
        command->owes = command->flags = 0;
        command->report = command->terminal = command->socket = command->main = -1;
        command->operation = command->helper = command->pid = 0;
        command->look_ns = 0;
        command->start_ns = sc_now_ns();
        command->kill_ns = command->give_up_ns = command->runner_due = 0;
        memset(command->signals, 0, sizeof command->signals);
        for (int n = 0; n < SC_INPUTS; n++) {
            struct sc_input *input = &command->inputs[n];
            input->fd = -1;
            input->is_open = input->is_ended = false;
            input->start = input->used = input->owed = 0;
            input->allowed = SC_INPUT_CREDIT;
            input->passed = 0;
        }
        for (int n = 0; n < SC_OUTPUTS; n++)
            command->outputs[n] = (struct sc_output){.fd = -1};
        commands->open++;
        commands->any = true;
        return command;
    }
    refuse(commands, "too many commands at once");
}

void sc_command_close(struct sc_commands *commands, struct sc_command *command)
{
    /* One descriptor may stand in two places: with a terminal, and for the runner's stream. */
    int *const all[] = {&command->inputs[0].fd,  &command->inputs[1].fd,  &command->outputs[0].fd,
                        &command->outputs[1].fd, &command->outputs[2].fd, &command->terminal};
    const int count = sizeof all / sizeof all[0];
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++)
            if (*all[i] == *all[j])
                *all[i] = -1;
    for (int i = 0; i < count; i++)
        sc_close(all[i]);
    sc_close(&command->report);
    sc_close(&command->socket);
    sc_close(&command->main);
    command->state = SC_COMMAND_FREE;
    commands->was_open[command->channel] = 1;
    commands->open--;
}

/* ---- COMMAND, FILE_OP, MORE ---- */

static void take_text(struct sc_commands *commands, struct sc_command *command, const uint8_t *piece,
                      uint32_t len)
{
    if (len > command->order.text_len - commands->text_have)
        refuse(commands, "more text than was announced");
    memcpy(commands->text + commands->text_have, piece, len);
    commands->text_have += len;
    if (commands->text_have < command->order.text_len)
        return;
    uint64_t ends = 0;
    for (const char *at = commands->text, *end = at + commands->text_have;
         (at = memchr(at, '\0', (size_t)(end - at))); at++)
        ends++;
    if (commands->text[commands->text_have - 1] != '\0' ||
        ends != (uint64_t)command->order.argc + command->order.envc + 1)
        refuse(commands, "texts of a command");
    strncpy(command->name, commands->text, sizeof command->name - 1);
    command->name[sizeof command->name - 1] = '\0';
    commands->assembling = NULL;
    if (command->is_adopted)
        sc_adopted_begin(commands, command);
    else
        sc_command_start(commands, command);
}

/* A forked process has its arguments and its environment already, and no terminal. */
static void check_order(struct sc_commands *commands, const struct sc_msg_command *order, bool adopt)
{
    uint32_t allowed = SC_COMMAND_STDIN | SC_COMMAND_RUNNER | SC_COMMAND_MERGE | SC_COMMAND_SOCKET;
    if (!adopt)
        allowed |= SC_COMMAND_PTY;
    if (order->argc == 0 || order->argc > SC_AGENT_ARGS_MAX || order->envc > SC_AGENT_ARGS_MAX ||
        order->text_len == 0 || order->text_len > SC_COMMAND_TEXT_MAX || order->flags & ~allowed ||
        (adopt && (order->argc != 1 || order->envc)))
        refuse(commands, adopt ? "ADOPT" : "COMMAND");
    for (int i = 0; adopt && i < SC_COMMANDS_MAX; i++)
        if (commands->list[i].state != SC_COMMAND_FREE && commands->list[i].is_adopted)
            refuse(commands, "a second ADOPT");
}

static void take_command(struct sc_commands *commands, uint16_t channel, const uint8_t *payload, uint32_t len,
                         bool adopt)
{
    struct sc_msg_command order;
    if (len < sizeof order)
        refuse(commands, "size of COMMAND");
    memcpy(&order, payload, sizeof order);
    check_order(commands, &order, adopt);
    struct sc_command *command = sc_command_open(commands, channel);
    command->state = SC_COMMAND_TEXTS;
    command->is_adopted = adopt;
    command->order = order;
    command->flags = order.flags;
    command->outputs[SC_OUTPUT_OUT].credit = order.credit[SC_STREAM_OUT];
    command->outputs[SC_OUTPUT_ERR].credit = order.credit[SC_STREAM_ERR];
    command->outputs[SC_OUTPUT_RUNNER].credit = order.credit[SC_STREAM_RUNNER];
    commands->assembling = command;
    commands->text_have = 0;
    take_text(commands, command, payload + sizeof order, len - (uint32_t)sizeof order);
}

static void take_file_op(struct sc_commands *commands, uint16_t channel, const uint8_t *payload, uint32_t len)
{
    static const char *const names[SC_FILE_KINDS] = {"read",   "write",   "append", "list",  "stat",
                                                     "mkdir",  "rename",  "remove", "chmod", "watch",
                                                     "tar in", "tar out", "port"};
    struct sc_msg_file_op order;
    if (len < sizeof order)
        refuse(commands, "size of FILE_OP");
    memcpy(&order, payload, sizeof order);
    const char *paths = (const char *)payload + sizeof order;
    size_t left = len - sizeof order;
    int n_paths = order.kind == SC_FILE_RENAME ? 2 : 1;
    if (order.kind >= SC_FILE_KINDS ||
        order.flags & ~(uint32_t)(SC_FILE_PARENTS | SC_FILE_RECURSIVE | SC_FILE_AS_IT_WAS))
        refuse(commands, "FILE_OP");
    for (int i = 0; i < n_paths; i++) {
        const char *end = memchr(paths, '\0', left);
        if (!end || end == paths || end - paths >= PATH_MAX_BYTES)
            refuse(commands, "path of FILE_OP");
        left -= (size_t)(end + 1 - paths);
        paths = end + 1;
    }
    if (left)
        refuse(commands, "paths of FILE_OP");
    struct sc_command *command = sc_command_open(commands, channel);
    command->is_file = true;
    command->file = order;
    command->outputs[SC_OUTPUT_OUT].credit = order.credit;
    memset(command->name, 0, sizeof command->name);
    strncpy(command->name, names[order.kind], sizeof command->name - 1);
    memcpy(commands->text, payload + sizeof order, len - sizeof order);
    sc_command_start(commands, command);
}

/* ---- about a running command ---- */

static void take_input(struct sc_commands *commands, struct sc_command *command, struct sc_input *input,
                       const uint8_t *payload, uint32_t len)
{
    if (!input->is_open)
        refuse(commands, "input that is not open");
    if (len > input->allowed)
        refuse(commands, "input beyond the credit");
    sc_input_take(command, input, payload, len);
}

static void take_credit(struct sc_commands *commands, struct sc_command *command, const uint8_t *payload,
                        uint32_t len)
{
    struct sc_msg_credit credit;
    if (len != sizeof credit)
        refuse(commands, "size of CREDIT");
    memcpy(&credit, payload, sizeof credit);
    if (credit.stream < SC_STREAM_OUT || credit.stream > SC_STREAM_RUNNER)
        refuse(commands, "stream of CREDIT");
    command->outputs[credit.stream - SC_STREAM_OUT].credit += credit.bytes;
}

static void take_signal(struct sc_commands *commands, struct sc_command *command, const uint8_t *payload,
                        uint32_t len)
{
    struct sc_msg_signal signal;
    if (len != sizeof signal)
        refuse(commands, "size of SIGNAL");
    memcpy(&signal, payload, sizeof signal);
    if (signal.number < 1 || signal.number > 64 || signal.whom >= SC_SIGNAL_WHOM_COUNT)
        refuse(commands, "SIGNAL");
    sc_command_signal(command, signal.number, signal.whom);
}

static void take_size(struct sc_commands *commands, struct sc_command *command, const uint8_t *payload,
                      uint32_t len)
{
    struct sc_msg_size size;
    if (len != sizeof size || !(command->flags & SC_COMMAND_PTY))
        refuse(commands, "RESIZE");
    memcpy(&size, payload, sizeof size);
    struct winsize window = {.ws_row = size.rows, .ws_col = size.cols};
    if (command->terminal >= 0)
        ioctl(command->terminal, TIOCSWINSZ, &window);
}

static void take_adopted(struct sc_commands *commands, struct sc_command *command, const uint8_t *payload,
                         uint32_t len)
{
    struct sc_msg_started adopted;
    if (len != sizeof adopted || !command->is_adopted)
        refuse(commands, "ADOPTED");
    memcpy(&adopted, payload, sizeof adopted);
    sc_adopted_take(commands, command, adopted.pid);
}

static void handle_running(struct sc_commands *commands, struct sc_command *command,
                           const struct sc_frame *frame, const uint8_t *payload)
{
    switch (frame->type) {
    case SC_MSG_INPUT:
        take_input(commands, command, &command->inputs[SC_INPUT_STDIN], payload, frame->len);
        return;
    case SC_MSG_RUNNER_INPUT:
        take_input(commands, command, &command->inputs[SC_INPUT_RUNNER], payload, frame->len);
        return;
    case SC_MSG_INPUT_END:
        if (frame->len || !command->inputs[SC_INPUT_STDIN].is_open)
            refuse(commands, "INPUT_END");
        sc_input_end(command, &command->inputs[SC_INPUT_STDIN]);
        return;
    case SC_MSG_CREDIT:
        take_credit(commands, command, payload, frame->len);
        return;
    case SC_MSG_SIGNAL:
        take_signal(commands, command, payload, frame->len);
        return;
    case SC_MSG_RESIZE:
        take_size(commands, command, payload, frame->len);
        return;
    case SC_MSG_ADOPTED:
        take_adopted(commands, command, payload, frame->len);
        return;
    }
    refuse(commands, "message out of place");
}

static bool may_come_late(uint16_t type)
{
    return type == SC_MSG_INPUT || type == SC_MSG_INPUT_END || type == SC_MSG_RUNNER_INPUT ||
           type == SC_MSG_CREDIT || type == SC_MSG_SIGNAL || type == SC_MSG_RESIZE;
}

void sc_commands_handle(struct sc_commands *commands, const struct sc_frame *frame, const uint8_t *payload)
{
    if (frame->type == SC_MSG_LIST) {
        if (frame->channel || frame->len)
            refuse(commands, "LIST");
        for (int i = 0; i < SC_COMMANDS_MAX; i++)
            if (commands->list[i].state == SC_COMMAND_RUNS)
                commands->list[i].owes |= SC_OWES_LISTED;
        return;
    }
    if (frame->type == SC_MSG_COMMAND || frame->type == SC_MSG_ADOPT) {
        take_command(commands, frame->channel, payload, frame->len, frame->type == SC_MSG_ADOPT);
        return;
    }
    if (frame->type == SC_MSG_FILE_OP) {
        take_file_op(commands, frame->channel, payload, frame->len);
        return;
    }
    struct sc_command *command = frame->channel ? find(commands, frame->channel) : NULL;
    if (!command) {
        if (frame->channel == 0 || frame->channel > SC_CHANNEL_MAX || !commands->was_open[frame->channel] ||
            !may_come_late(frame->type))
            refuse(commands, "unknown channel");
        return;
    }
    if (command->state == SC_COMMAND_RUNS) {
        handle_running(commands, command, frame, payload);
        return;
    }
    if (frame->type != SC_MSG_MORE)
        refuse(commands, "message within the texts");
    take_text(commands, command, payload, frame->len);
}
