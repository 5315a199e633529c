/* What the agent waits for on behalf of its commands, and what it does when something happens: news of
 * shepherds, room in pipes, output, time. Messages that must not overtake output are owed until it is told.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/adopted.h"
#include "agent/commands.h"
#include "base/clock.h"
#include "base/fd.h"

/* More than a shepherd takes for itself: only one that is stopped, or starved, lets this pass. */
#define GIVE_UP_NS (8 * SC_NS_PER_S)
#define TIDY_UP_NS (2 * SC_NS_PER_S)
#define CREDIT_STEP (SC_INPUT_CREDIT / 2) /* given back in pieces worth a message */

static void watch(struct sc_commands *commands, struct pollfd *polls, unsigned *count, int fd, short events,
                  struct sc_watch watch)
{
    polls[*count] = (struct pollfd){.fd = fd, .events = events};
    commands->watches[(*count)++] = watch;
}

static bool wants_order(const struct sc_command *command)
{
    for (uint32_t whom = 0; whom < SC_SIGNAL_WHOM_COUNT; whom++)
        if (command->signals[whom])
            return true;
    return false;
}

static void sooner(uint64_t *due, uint64_t at)
{
    if (at && (*due == 0 || at < *due))
        *due = at;
}

static void watch_output(struct sc_commands *commands, struct sc_command *command, int number,
                         struct pollfd *polls, unsigned *count, uint64_t *due)
{
    if (!sc_output_is_wanted(command, number))
        return;
    /* Asked once: what rests is waited for by the clock, or it would not be waited for at all. */
    if (sc_output_rests(&command->outputs[number]))
        sooner(due, command->outputs[number].rest_ns);
    else
        watch(commands, polls, count, command->outputs[number].fd, POLLIN,
              (struct sc_watch){command, SC_WATCHED_OUTPUT, number});
}

/* Orphans are told at once: without room for that, nothing is taken. */
static bool may_take_reports(const struct sc_commands *commands, const struct sc_command *command)
{
    return command->report >= 0 && !(command->flags & SC_COMMAND_SOCKET && commands->blocked);
}

static void watch_command(struct sc_commands *commands, struct sc_command *command, struct pollfd *polls,
                          unsigned *count, uint64_t *due)
{
    if (command->main >= 0)
        watch(commands, polls, count, command->main, POLLIN, (struct sc_watch){command, SC_WATCHED_MAIN, 0});
    if (may_take_reports(commands, command))
        watch(commands, polls, count, command->report, wants_order(command) ? POLLIN | POLLOUT : POLLIN,
              (struct sc_watch){command, SC_WATCHED_REPORT, 0});
    for (int n = 0; n < SC_INPUTS; n++)
        if (command->inputs[n].fd >= 0 && command->inputs[n].used > 0)
            watch(commands, polls, count, command->inputs[n].fd, POLLOUT,
                  (struct sc_watch){command, SC_WATCHED_INPUT, n});
    for (int n = 0; n < SC_OUTPUTS && !commands->blocked; n++)
        watch_output(commands, command, n, polls, count, due);
}

unsigned sc_commands_watch(struct sc_commands *commands, struct pollfd *ret_polls, uint64_t *ret_due_ns)
{
    unsigned count = 0;
    uint64_t due = 0;
    if (commands->blocked)
        watch(commands, ret_polls, &count, commands->agent->control, POLLOUT,
              (struct sc_watch){.command = NULL});
    for (int i = 0; commands->open && i < SC_COMMANDS_MAX; i++) {
        struct sc_command *command = &commands->list[i];
        if (command->state != SC_COMMAND_RUNS)
            continue;
        watch_command(commands, command, ret_polls, &count, &due);
        sooner(&due, command->kill_ns);
        sooner(&due, command->give_up_ns);
        sooner(&due, command->look_ns);
    }
    *ret_due_ns = due;
    return count;
}

/* ---- news ---- */

/* Told by the kernel when the last reader of the runner's stream went while something stood in it. */
static bool is_unread(const struct sc_command *command)
{
    int fd = command->outputs[SC_OUTPUT_RUNNER].fd, error = 0;
    socklen_t len = sizeof error;
    return command->is_unread ||
           (fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == ECONNRESET);
}

void sc_command_exited(struct sc_command *command, const struct sc_msg_command_exit *end)
{
    struct sc_input *runner = &command->inputs[SC_INPUT_RUNNER];
    command->last.exit = *end;
    command->last.exit.flags =
        (command->timed_out ? SC_EXIT_TIMED_OUT : 0) | (is_unread(command) ? SC_EXIT_UNREAD : 0);
    command->last.exit.runner_bytes = runner->passed;
    sc_input_drop(command, runner); /* so that this stays true */
    command->has_exited = true;
    command->owes |= SC_OWES_EXIT;
    sc_outputs_bar(command);
}

static void take_last(struct sc_command *command)
{
    command->is_over = true;
    command->kill_ns = command->give_up_ns = 0;
    command->owes |= SC_OWES_END;
    sc_outputs_bar(command);
}

/* A file operation runs with the program's id, so another process of the cell may have ended it. */
static void take_lost_operation(struct sc_command *command)
{
    bool as_asked = command->was_signaled;
    command->last.done =
        (struct sc_msg_file_done){.code = !as_asked                             ? -EIO
                                          : command->file.kind == SC_FILE_WATCH ? 0
                                                                                : -ECANCELED};
    take_last(command);
}

static void take_report(struct sc_commands *commands, struct sc_command *command,
                        const struct sc_shepherd_report *report)
{
    int control = commands->agent->control;
    switch (report->news) {
    case SC_NEWS_STARTED:
        if (!command->is_file)
            command->pid = report->pid;
        command->has_started = true;
        command->owes |= SC_OWES_STARTED;
        return;
    case SC_NEWS_FAILED:
        command->last.failed = report->failed;
        command->is_over = true;
        command->kill_ns = command->give_up_ns = 0;
        command->owes |= SC_OWES_FAILED;
        return;
    case SC_NEWS_EXIT:
        if (!command->is_file)
            sc_command_exited(command, &report->exit);
        return;
    case SC_NEWS_GONE:
        if (!command->is_file)
            take_last(command);
        return;
    case SC_NEWS_ORPHAN:
        sc_command_orphan(commands, command, &report->orphan);
        return;
    case SC_NEWS_DONE:
        if (command->is_file) {
            command->last.done = report->done;
            command->last.done.object[sizeof command->last.done.object - 1] = '\0';
            take_last(command);
        }
        return;
    case SC_NEWS_UNKILLABLE:
        sc_agent_fail(control, "kill", command->name, -ETIMEDOUT);
    default:
        sc_agent_fail(control, "shepherd", command->name, -EPROTO);
    }
}

void sc_command_orphan(struct sc_commands *commands, const struct sc_command *command,
                       const struct sc_msg_orphan *orphan)
{
    if (command->flags & SC_COMMAND_SOCKET)
        sc_commands_say(commands, SC_MSG_ORPHAN, command->channel, orphan, sizeof *orphan);
}

static void read_report(struct sc_commands *commands, struct sc_command *command)
{
    struct sc_shepherd_report report;
    if (command->flags & SC_COMMAND_SOCKET && !sc_commands_may_say(commands))
        return;
    ssize_t n = recv(command->report, &report, sizeof report, MSG_DONTWAIT);
    /* It ended without reading an order. The socket says that first, once, and then what it had told. */
    if (n < 0 && errno == ECONNRESET)
        n = recv(command->report, &report, sizeof report, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n == (ssize_t)sizeof report && !command->is_over) {
        take_report(commands, command, &report);
        return;
    }
    sc_close(&command->report);
    if (command->is_over)
        return;
    if (!command->is_file)
        sc_agent_fail(commands->agent->control, "shepherd", command->name, -ECHILD);
    take_lost_operation(command);
}

/* ---- orders ---- */

static bool is_polite(int number)
{
    return number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT;
}

void sc_command_signal(struct sc_command *command, int number, uint32_t whom)
{
    command->signals[whom] |= 1ull << (number - 1);
    command->was_signaled = true;
    /* A file operation takes its half file away first; one that a program holds up does not get to it. */
    if (command->is_file && is_polite(number) && !command->kill_ns)
        command->kill_ns = sc_now_ns() + TIDY_UP_NS;
}

static void order(struct sc_command *command, int number, uint32_t whom)
{
    const struct sc_shepherd_order packet = {.number = number, .whom = whom};
    if (command->is_file) {
        if (command->operation > 0)
            kill(command->operation, number);
    } else if (send(command->report, &packet, sizeof packet, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
               errno == EAGAIN) {
        return; /* it is still wanted */
    }
    command->signals[whom] &= ~(1ull << (number - 1));
    if (!command->is_file && number == SIGKILL && whom == SC_SIGNAL_TREE && !command->give_up_ns)
        command->give_up_ns = sc_now_ns() + GIVE_UP_NS;
}

static void send_orders(struct sc_command *command)
{
    if (command->is_over || command->report < 0)
        memset(command->signals, 0, sizeof command->signals);
    for (uint32_t whom = 0; whom < SC_SIGNAL_WHOM_COUNT; whom++)
        for (uint64_t left = command->signals[whom]; left; left &= left - 1)
            order(command, __builtin_ctzll(left) + 1, whom);
}

static void look_at_time(struct sc_commands *commands, struct sc_command *command, uint64_t now)
{
    if (command->kill_ns && now >= command->kill_ns) {
        command->kill_ns = 0;
        command->timed_out = true;
        sc_command_signal(command, SIGKILL, SC_SIGNAL_TREE);
    }
    if (command->give_up_ns && now >= command->give_up_ns)
        sc_agent_fail(commands->agent->control, "kill", command->name, -ETIMEDOUT);
}

/* ---- what is owed to the supervisor ---- */

static void give_credit(struct sc_commands *commands, struct sc_command *command)
{
    static const uint32_t streams[SC_INPUTS] = {SC_STREAM_IN, SC_STREAM_RUNNER};
    for (int n = 0; n < SC_INPUTS; n++) {
        struct sc_input *input = &command->inputs[n];
        if (!input->is_open || input->owed < CREDIT_STEP || !sc_commands_may_say(commands))
            continue;
        const struct sc_msg_credit credit = {.stream = streams[n], .bytes = input->owed};
        input->allowed += input->owed;
        input->owed = 0;
        sc_commands_say(commands, SC_MSG_INPUT_CREDIT, command->channel, &credit, sizeof credit);
    }
}

static void say_listed(struct sc_commands *commands, struct sc_command *command)
{
    struct sc_msg_listed listed = {
        .channel = command->channel,
        .flags = command->flags,
        .pid = command->pid,
        .ended = command->has_exited || command->is_over,
        .age_ns = sc_now_ns() - command->start_ns,
    };
    memcpy(listed.name, command->name, sizeof listed.name);
    sc_commands_say(commands, SC_MSG_LISTED, 0, &listed, sizeof listed);
}

static void say_started(struct sc_commands *commands, struct sc_command *command)
{
    struct {
        struct sc_frame head;
        struct sc_msg_started started;
    } message = {.head = {sizeof message.started, SC_MSG_COMMAND_STARTED, command->channel},
                 .started = {.pid = command->pid}};
    if (command->socket < 0) {
        sc_commands_say(commands, SC_MSG_COMMAND_STARTED, command->channel, &message.started,
                        sizeof message.started);
        return;
    }
    if (sc_send_fds(commands->agent->control, &message, sizeof message, &command->socket, 1) !=
        (ssize_t)sizeof message)
        sc_agent_end(); /* the supervisor is gone */
    sc_close(&command->socket);
}

static void say_end(struct sc_commands *commands, struct sc_command *command)
{
    if (command->is_file)
        sc_commands_say(commands, SC_MSG_FILE_DONE, command->channel, &command->last.done,
                        sizeof command->last.done);
    else
        sc_commands_say(commands, SC_MSG_COMMAND_GONE, command->channel, NULL, 0);
    sc_command_close(commands, command);
}

/* The next of what it owes, in their order; false: nothing can be said now. */
static bool say_next(struct sc_commands *commands, struct sc_command *command)
{
    uint32_t owes = command->owes;
    bool told = sc_outputs_are_told(command);
    if (!(owes & (SC_OWES_STARTED | SC_OWES_FAILED | SC_OWES_LISTED)) &&
        !(told && owes & (SC_OWES_EXIT | SC_OWES_END)))
        return false;
    if (!sc_commands_may_say(commands))
        return false;
    if (owes & SC_OWES_LISTED) {
        say_listed(commands, command);
        command->owes &= ~(uint32_t)SC_OWES_LISTED;
    } else if (owes & SC_OWES_STARTED) {
        say_started(commands, command);
        command->owes &= ~(uint32_t)SC_OWES_STARTED;
    } else if (owes & SC_OWES_FAILED) {
        sc_commands_say(commands, SC_MSG_COMMAND_FAILED, command->channel, &command->last.failed,
                        sizeof command->last.failed);
        sc_command_close(commands, command);
    } else if (owes & SC_OWES_EXIT) {
        sc_commands_say(commands, SC_MSG_COMMAND_EXIT, command->channel, &command->last.exit,
                        sizeof command->last.exit);
        command->owes &= ~(uint32_t)SC_OWES_EXIT;
    } else {
        say_end(commands, command);
    }
    return command->state == SC_COMMAND_RUNS;
}

static void settle(struct sc_commands *commands, struct sc_command *command, uint64_t now)
{
    look_at_time(commands, command, now);
    if (command->is_adopted)
        sc_adopted_settle(commands, command, now);
    else
        send_orders(command);
    give_credit(commands, command);
    /* What others wait for is tried without being asked: another process may have taken it meanwhile. */
    for (int n = 0; n < SC_OUTPUTS; n++)
        if (command->outputs[n].barrier > 0)
            sc_output_pass(commands, command, n);
    while (say_next(commands, command))
        ;
}

static void forget(struct sc_command *command, pid_t pid)
{
    if (command->operation == pid)
        command->operation = 0;
    if (command->helper == pid)
        command->helper = 0;
}

/* An adopted process has no shepherd: its orphans are ours, and so may be what was forked from it in turn. */
void sc_commands_buried(struct sc_commands *commands, pid_t pid, int status, const struct rusage *usage)
{
    const struct sc_msg_orphan orphan = {.pid = pid,
                                         .wait_status = status,
                                         .user_ns = sc_timeval_ns(&usage->ru_utime),
                                         .system_ns = sc_timeval_ns(&usage->ru_stime),
                                         .rss_peak_bytes = (uint64_t)usage->ru_maxrss * 1024};
    bool of_helper = false;
    for (int i = 0; commands->open && i < SC_COMMANDS_MAX; i++)
        if (commands->list[i].state == SC_COMMAND_RUNS) {
            of_helper |= commands->list[i].helper == pid;
            forget(&commands->list[i], pid);
        }
    for (int i = 0; commands->open && !of_helper && i < SC_COMMANDS_MAX; i++) {
        struct sc_command *command = &commands->list[i];
        if (command->state != SC_COMMAND_RUNS || !command->is_adopted)
            continue;
        /* Before it was told to have started, what is buried was a file operation's. */
        if (command->has_started && !(command->owes & SC_OWES_STARTED))
            sc_command_orphan(commands, command, &orphan);
        if (command->has_exited && !command->is_over)
            command->look_ns = sc_now_ns();
    }
}

void sc_commands_step(struct sc_commands *commands, const struct pollfd *polls, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct sc_watch *watch = &commands->watches[i];
        if (!polls[i].revents)
            continue;
        if (!watch->command) {
            commands->blocked = false;
            continue;
        }
        if (watch->command->state != SC_COMMAND_RUNS)
            continue;
        switch (watch->what) {
        case SC_WATCHED_REPORT:
            read_report(commands, watch->command);
            break;
        case SC_WATCHED_MAIN:
            sc_adopted_ended(commands, watch->command);
            break;
        case SC_WATCHED_INPUT:
            sc_input_flush(watch->command, &watch->command->inputs[watch->number]);
            break;
        case SC_WATCHED_OUTPUT:
            sc_output_pass(commands, watch->command, watch->number);
            break;
        }
    }
    uint64_t now = commands->open ? sc_now_ns() : 0;
    for (int i = 0; commands->open && i < SC_COMMANDS_MAX; i++)
        if (commands->list[i].state == SC_COMMAND_RUNS)
            settle(commands, &commands->list[i], now);
}
