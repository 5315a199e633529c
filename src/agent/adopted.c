#include "agent/adopted.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"

#define LOOK_NS (2 * SC_NS_PER_MS)       /* at a tree that is being killed */
#define LOOK_IDLE_NS (20 * SC_NS_PER_MS) /* at one whose main process has ended */
#define KILL_PATIENCE_NS (8 * SC_NS_PER_S)

/* ---- the beginning ---- */

static int open_namespaces(const struct sc_agent *agent, int fds[SC_ADOPT_COUNT])
{
    static const char *const places[SC_ADOPT_COUNT] = {
        [SC_ADOPT_USER] = "self/ns/user",    [SC_ADOPT_PID] = "self/ns/pid", [SC_ADOPT_TIME] = "self/ns/time",
        [SC_ADOPT_NET] = "self/ns/net",      [SC_ADOPT_IPC] = "self/ns/ipc", [SC_ADOPT_UTS] = "self/ns/uts",
        [SC_ADOPT_CGROUP] = "self/ns/cgroup"};
    for (int i = SC_ADOPT_USER; i <= SC_ADOPT_CGROUP; i++) {
        fds[i] = openat(agent->stage_fds[SC_AGENT_FD_PROC], places[i], O_RDONLY | O_CLOEXEC);
        if (fds[i] < 0)
            return -errno;
    }
    fds[SC_ADOPT_ROOT] = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fds[SC_ADOPT_ROOT] < 0 ? -errno : 0;
}

static int lend(struct sc_commands *commands, struct sc_command *command, const int fds[SC_ADOPT_COUNT])
{
    struct {
        struct sc_frame head;
        struct sc_msg_ready lent;
    } message = {.head = {sizeof message.lent, SC_MSG_ADOPTING, command->channel}};
    int list[SC_ADOPT_COUNT];
    size_t n = 0;
    for (int i = 0; i < SC_ADOPT_COUNT; i++)
        if (fds[i] >= 0) {
            message.lent.mask |= 1u << i;
            list[n++] = fds[i];
        }
    ssize_t sent = sc_send_fds(commands->agent->control, &message, sizeof message, list, n);
    if (sent >= 0 && sent != (ssize_t)sizeof message)
        sc_agent_end(); /* the supervisor is gone */
    return sent < 0 ? (int)sent : 0;
}

void sc_adopted_begin(struct sc_commands *commands, struct sc_command *command)
{
    struct sc_launch launch = SC_LAUNCH_NONE;
    int fds[SC_ADOPT_COUNT];
    for (int i = 0; i < SC_ADOPT_COUNT; i++)
        fds[i] = -1;
    command->state = SC_COMMAND_RUNS;
    const char *object = "namespaces";
    int r = sc_command_open_streams(commands, command, &launch, &object);
    if (r == 0)
        r = open_namespaces(commands->agent, fds);
    fds[SC_ADOPT_IN] = launch.in;
    fds[SC_ADOPT_OUT] = launch.out;
    fds[SC_ADOPT_ERR] = launch.err;
    fds[SC_ADOPT_RUNNER] = launch.runner;
    if (r == 0) {
        int ruleset = commands->agent->stage_fds[SC_AGENT_FD_RULESET];
        fds[SC_ADOPT_RULESET] = ruleset < 0 ? -1 : fcntl(ruleset, F_DUPFD_CLOEXEC, SC_SLOT_END);
        r = lend(commands, command, fds);
    }
    for (int i = 0; i < SC_ADOPT_COUNT; i++)
        sc_close(&fds[i]);
    if (r < 0) {
        sc_agent_describe(&command->last.failed, "fork", object, r);
        command->owes = SC_OWES_FAILED;
    }
}

void sc_adopted_take(struct sc_commands *commands, struct sc_command *command, pid_t pid)
{
    if (command->pid || command->is_over || command->owes & SC_OWES_FAILED)
        sc_agent_fail(commands->agent->control, "protocol", "ADOPTED", -EPROTO);
    if (pid <= 0) {
        sc_agent_describe(&command->last.failed, "fork", "the process did not come", -ECANCELED);
        command->is_over = true;
        command->owes |= SC_OWES_FAILED;
        return;
    }
    command->pid = pid;
    command->main = sc_sys_pidfd_open(pid);
    command->start_ns = sc_now_ns();
    if (command->order.wall_ns)
        command->kill_ns = command->start_ns + command->order.wall_ns;
    command->has_started = true;
    command->owes |= SC_OWES_STARTED;
    if (command->main < 0) /* it has ended, and been waited for, already */
        sc_adopted_ended(commands, command);
}

/* ---- the end ---- */

void sc_adopted_ended(struct sc_commands *commands, struct sc_command *command)
{
    (void)commands;
    sc_close(&command->main);
    /* The rest is told from above. */
    const struct sc_msg_command_exit end = {.wall_ns = sc_now_ns() - command->start_ns};
    sc_command_exited(command, &end);
    command->look_ns = sc_now_ns();
}

static unsigned signal_tree(struct sc_commands *commands, int number, bool own)
{
    pid_t helpers[SC_COMMANDS_MAX];
    size_t n = 0;
    for (int i = 0; i < SC_COMMANDS_MAX; i++) {
        const struct sc_command *other = &commands->list[i];
        if (other->state == SC_COMMAND_RUNS && other->helper > 0)
            helpers[n++] = other->helper;
    }
    return sc_tree_signal_others(helpers, n, number, own);
}

static void order(struct sc_commands *commands, struct sc_command *command, int number, uint32_t whom)
{
    if (whom == SC_SIGNAL_MAIN && command->main >= 0)
        sc_sys_pidfd_kill(command->main, number);
    if (whom == SC_SIGNAL_GROUP)
        kill(-command->pid, number);
    if (whom != SC_SIGNAL_TREE && whom != SC_SIGNAL_OWN)
        return;
    if (number != SIGKILL) {
        signal_tree(commands, number, whom == SC_SIGNAL_OWN);
        return;
    }
    if (whom == SC_SIGNAL_OWN) {
        command->is_own_killed = true;
        command->look_ns = sc_now_ns();
        return;
    }
    command->is_killed = true;
    command->look_ns = sc_now_ns();
    command->give_up_ns = sc_now_ns() + KILL_PATIENCE_NS;
}

static void send_orders(struct sc_commands *commands, struct sc_command *command)
{
    for (uint32_t whom = 0; whom < SC_SIGNAL_WHOM_COUNT; whom++) {
        uint64_t wanted = command->signals[whom];
        command->signals[whom] = 0;
        for (; wanted && !command->is_over; wanted &= wanted - 1)
            order(commands, command, __builtin_ctzll(wanted) + 1, whom);
    }
}

/* New ones may be born while we look: until none is left. */
static void look(struct sc_commands *commands, struct sc_command *command, uint64_t now)
{
    if (command->is_own_killed && !command->is_killed)
        command->is_own_killed = signal_tree(commands, SIGKILL, true) > 0;
    unsigned left = signal_tree(commands, command->is_killed ? SIGKILL : 0, false);
    command->look_ns = now + (command->is_killed || command->is_own_killed ? LOOK_NS : LOOK_IDLE_NS);
    if (left > 0 || !command->has_exited)
        return;
    command->is_over = true;
    command->look_ns = command->kill_ns = command->give_up_ns = 0;
    command->owes |= SC_OWES_END;
    sc_outputs_bar(command);
}

void sc_adopted_settle(struct sc_commands *commands, struct sc_command *command, uint64_t now)
{
    if (command->pid > 0)
        send_orders(commands, command);
    if (command->look_ns && now >= command->look_ns && !command->is_over)
        look(commands, command, now);
}
