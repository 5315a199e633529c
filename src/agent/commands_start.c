/* The streams of a command and the process that cares for it. Pipes are the program's own, so that
 * /dev/stdout and its kin can be opened again inside. */
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

#define PIPE_BYTES (256 * 1024) /* more than one frame, so that a program need not wait for each */

/* The program's ends, until its shepherd has them. */
struct ends {
    struct sc_launch launch;
    const char *object; /* for the report */
};

/* What is larger than the host allows stays as it is. */
static void widen(int fd)
{
    fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES);
}

static int open_output(struct sc_command *command, int number, int *ret_end)
{
    struct sc_output *output = &command->outputs[number];
    int r = sc_pipe(&output->fd, ret_end);
    if (r < 0)
        return r;
    widen(output->fd);
    return sc_set_nonblocking(output->fd);
}

static int open_input(struct sc_command *command, int *ret_end)
{
    struct sc_input *input = &command->inputs[SC_INPUT_STDIN];
    int r = sc_pipe(ret_end, &input->fd);
    input->is_open = r == 0;
    return r < 0 ? r : sc_set_nonblocking(input->fd);
}

static int open_null(int *ret_end)
{
    *ret_end = fcntl(SC_SLOT_NULL, F_DUPFD_CLOEXEC, SC_SLOT_END);
    return *ret_end < 0 ? -errno : 0;
}

/* A terminal of the command's own, from the cell's devpts. */
static int open_terminal(struct sc_command *command, struct sc_launch *launch)
{
    int unlock = 0;
    struct winsize size = {.ws_row = command->order.rows, .ws_col = command->order.cols};
    int master = command->terminal = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock) < 0 || ioctl(master, TIOCSWINSZ, &size) < 0)
        return -errno;
    launch->pty_slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (launch->pty_slave < 0)
        return -errno;
    command->inputs[SC_INPUT_STDIN].fd = command->outputs[SC_OUTPUT_OUT].fd = master;
    command->inputs[SC_INPUT_STDIN].is_open = true;
    return 0;
}

static int open_runner(struct sc_command *command, struct sc_launch *launch)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    launch->runner = ends[1];
    command->inputs[SC_INPUT_RUNNER].fd = command->outputs[SC_OUTPUT_RUNNER].fd = ends[0];
    command->inputs[SC_INPUT_RUNNER].is_open = true;
    return sc_set_nonblocking(ends[0]);
}

/* For orders to fork: the supervisor's end goes out with the news of the start. */
static int open_socket(struct sc_command *command, struct sc_launch *launch)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    launch->socket = ends[1];
    command->socket = ends[0];
    return 0;
}

static int open_streams(struct sc_command *command, struct ends *ends)
{
    struct sc_launch *launch = &ends->launch;
    int r = 0;
    if (command->flags & SC_COMMAND_PTY) {
        ends->object = "terminal";
        r = open_terminal(command, launch);
    } else {
        ends->object = "streams";
        r = command->flags & SC_COMMAND_STDIN ? open_input(command, &launch->in) : open_null(&launch->in);
        if (r == 0)
            r = open_output(command, SC_OUTPUT_OUT, &launch->out);
        if (r == 0 && command->flags & SC_COMMAND_MERGE)
            launch->err = fcntl(launch->out, F_DUPFD_CLOEXEC, SC_SLOT_END);
        else if (r == 0)
            r = open_output(command, SC_OUTPUT_ERR, &launch->err);
        if (r == 0 && launch->err < 0)
            r = -errno;
    }
    if (r == 0 && command->flags & SC_COMMAND_RUNNER) {
        ends->object = "runner's stream";
        r = open_runner(command, launch);
    }
    if (r == 0 && command->flags & SC_COMMAND_SOCKET && !command->is_adopted) {
        ends->object = "fork socket";
        r = open_socket(command, launch);
    }
    return r;
}

int sc_command_open_streams(struct sc_commands *commands, struct sc_command *command,
                            struct sc_launch *launch, const char **ret_object)
{
    struct ends ends = {.launch = SC_LAUNCH_NONE};
    sc_agent_be_program(commands->agent);
    int r = open_streams(command, &ends);
    sc_agent_be_sealed(commands->agent);
    if (r < 0)
        *ret_object = ends.object;
    *launch = ends.launch;
    return r;
}

static int open_file_streams(struct sc_command *command, struct ends *ends)
{
    struct sc_launch *launch = &ends->launch;
    uint32_t kind = command->file.kind;
    bool takes =
        kind == SC_FILE_WRITE || kind == SC_FILE_APPEND || kind == SC_FILE_TAR_IN || kind == SC_FILE_PORT;
    ends->object = "streams";
    int r = takes ? open_input(command, &launch->in) : open_null(&launch->in);
    if (r == 0 && takes)
        widen(command->inputs[SC_INPUT_STDIN].fd);
    if (r == 0)
        r = open_output(command, SC_OUTPUT_OUT, &launch->out);
    return r == 0 ? open_null(&launch->err) : r;
}

static int open_report(struct sc_command *command, struct ends *ends)
{
    int pair[2];
    ends->object = "shepherd's stream";
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    command->report = pair[0];
    ends->launch.report = pair[1];
    return sc_set_nonblocking(command->report);
}

/* The fork has a copy of the texts, and the next command's may come. */
static int start_process(struct sc_commands *commands, struct sc_command *command, struct ends *ends)
{
    ends->object = "process";
    pid_t pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0 && command->is_file)
        sc_operate_main(commands->agent, &ends->launch, &command->file, commands->text,
                        commands->text + strlen(commands->text) + 1);
    if (pid == 0)
        sc_shepherd_main(commands->agent, &ends->launch);
    command->helper = pid;
    if (command->is_file)
        command->operation = command->pid = pid;
    return 0;
}

void sc_command_start(struct sc_commands *commands, struct sc_command *command)
{
    struct ends ends = {.launch = SC_LAUNCH_NONE};
    ends.launch.folder = command->is_file ? commands->agent->work_fd : -1;
    ends.launch.argc = command->order.argc;
    ends.launch.envc = command->order.envc;
    ends.launch.texts = commands->text;
    command->state = SC_COMMAND_RUNS;
    sc_agent_be_program(commands->agent);
    int r = command->is_file ? open_file_streams(command, &ends) : open_streams(command, &ends);
    sc_agent_be_sealed(commands->agent);
    if (r == 0)
        r = open_report(command, &ends);
    if (r == 0)
        r = start_process(commands, command, &ends);
    int *const given[] = {&ends.launch.in,     &ends.launch.out,    &ends.launch.err,
                          &ends.launch.runner, &ends.launch.socket, &ends.launch.pty_slave,
                          &ends.launch.report};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
        sc_close(given[i]);
    if (r < 0) {
        sc_agent_describe(&command->last.failed, "exec", ends.object, r);
        command->owes = SC_OWES_FAILED;
        return;
    }
    if (!command->is_file && command->order.wall_ns)
        command->kill_ns = command->start_ns + command->order.wall_ns;
}
