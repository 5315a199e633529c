/* Theory of operation.
 *
 * The agent sleeps in poll on the supervisor's stream, its pidfd, a signalfd for SIGCHLD, and whatever its
 * commands have (commands_wait.c). A cell is one of two kinds, told by its first message of either: START
 * runs the image's one program, whose end is the cell's; COMMAND and FILE_OP make a cell that stays. A
 * program's end is reported before any other dead child is looked at, so that a storm of orphans cannot delay
 * the verdict. The stream's end means the supervisor is gone: the agent exits, and the kernel kills every
 * process of the pid namespace with it.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "agent/commands.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/frame.h"

#define REAP_MAX 64 /* dead children in a row */

enum { WAIT_CHILDREN, WAIT_CONTROL, WAIT_SUPERVISOR, WAIT_COMMANDS };

struct server {
    struct sc_agent *agent;
    struct sc_commands commands;
    struct sc_agent_files files;
    struct sc_frame_reader reader;
    pid_t program; /* 0 before START, -1 after its end */
    int children;  /* signalfd */
};

static void start(struct server *server)
{
    struct sc_msg_failed failed;
    if (server->program != 0)
        sc_agent_fail(server->agent->control, "protocol", "START twice", -EPROTO);
    if (server->files.open_fd >= 0)
        sc_agent_fail(server->agent->control, "protocol", "START within a file", -EPROTO);
    sc_agent_be_sealed(server->agent);
    pid_t pid = sc_agent_spawn_image(server->agent, &failed);
    if (pid < 0) {
        sc_frame_send(server->agent->control, SC_MSG_FAILED, 0, &failed, sizeof failed);
        _exit(1);
    }
    server->program = pid;
    /* The program shared our memory while it changed its ids. */
    sc_agent_be_sealed(server->agent);
    sc_frame_send(server->agent->control, SC_MSG_STARTED, 0, NULL, 0);
}

static void resize(struct server *server, const uint8_t *payload, uint32_t len)
{
    struct sc_msg_size size;
    if (len != sizeof size || server->agent->pty_master < 0)
        sc_agent_fail(server->agent->control, "protocol", "RESIZE", -EPROTO);
    memcpy(&size, payload, sizeof size);
    struct winsize window = {.ws_row = size.rows, .ws_col = size.cols};
    ioctl(server->agent->pty_master, TIOCSWINSZ, &window);
}

/* The path of a file message for the report, which may be what was wrong with it. */
static void fail_file(struct server *server, const struct sc_frame *frame, const uint8_t *payload, int code)
{
    char path[sizeof((struct sc_msg_failed *)0)->object] = "";
    bool has_path = frame->type == SC_MSG_FILE || frame->type == SC_MSG_DIR;
    if (has_path && frame->len > sizeof(struct sc_msg_file)) {
        size_t len = frame->len - sizeof(struct sc_msg_file);
        memcpy(path, payload + sizeof(struct sc_msg_file), len < sizeof path - 1 ? len : sizeof path - 1);
    }
    sc_agent_fail(server->agent->control, "file", path, code);
}

static bool is_of_commands(uint16_t type)
{
    return type >= SC_MSG_COMMAND && type <= SC_MSG_ADOPTED && type != SC_MSG_END;
}

/* A cell that stays: no file is half-way, and no program of the image's runs. */
static void handle_command(struct server *server, const struct sc_frame *frame, const uint8_t *payload)
{
    if (server->program != 0 || server->files.open_fd >= 0)
        sc_agent_fail(server->agent->control, "protocol", "command out of place", -EPROTO);
    sc_commands_handle(&server->commands, frame, payload);
}

static void handle(struct server *server, const struct sc_frame *frame, const uint8_t *payload)
{
    struct sc_agent *agent = server->agent;
    if (is_of_commands(frame->type) || (frame->type == SC_MSG_RESIZE && frame->channel)) {
        handle_command(server, frame, payload);
        return;
    }
    switch (frame->type) {
    case SC_MSG_START:
        if (server->commands.any)
            break;
        start(server);
        return;
    case SC_MSG_RESIZE:
        resize(server, payload, frame->len);
        return;
    case SC_MSG_END:
        sc_agent_end();
    case SC_MSG_FILE:
    case SC_MSG_DATA:
    case SC_MSG_CLOSE:
    case SC_MSG_DIR:
    case SC_MSG_TRUST:
        if (server->program == 0 && !server->commands.any) {
            int r = sc_agent_file_message(agent, &server->files, frame->type, payload, frame->len);
            if (r < 0)
                fail_file(server, frame, payload, r);
            return;
        }
        break;
    }
    sc_agent_fail(agent->control, "protocol", "message out of place", -EPROTO);
}

static void read_control(struct server *server)
{
    struct sc_frame frame;
    const uint8_t *payload;
    ssize_t n = sc_frame_fill(&server->reader, server->agent->control, NULL, NULL);
    if (n <= 0)
        sc_agent_end(); /* the supervisor is gone */
    int r;
    while ((r = sc_frame_next(&server->reader, &frame, &payload)) > 0)
        handle(server, &frame, payload);
    if (r < 0)
        sc_agent_fail(server->agent->control, "protocol", "frame", r);
}

static void report_end(struct server *server, int status, const struct rusage *usage)
{
    struct sc_msg_exit message = {
        .wait_status = status,
        .user_ns = sc_timeval_ns(&usage->ru_utime),
        .system_ns = sc_timeval_ns(&usage->ru_stime),
        .rss_peak_bytes = (uint64_t)usage->ru_maxrss * 1024,
    };
    server->program = -1;
    sc_frame_send(server->agent->control, SC_MSG_EXIT, 0, &message, sizeof message);
    /* The main program's end is the cell's: our end takes every process of the namespace along. */
    sc_agent_end();
}

/* Bounded, so that children that die as fast as they are buried cannot keep us from the supervisor's stream.
 * Whether there may be more. */
static bool reap(struct server *server)
{
    struct signalfd_siginfo info;
    struct rusage usage;
    int status;
    while (read(server->children, &info, sizeof info) == (ssize_t)sizeof info)
        ;
    if (server->program > 0 && wait4(server->program, &status, WNOHANG, &usage) == server->program)
        report_end(server, status, &usage);
    for (int i = 0; i < REAP_MAX; i++) {
        pid_t pid = wait4(-1, &status, WNOHANG, &usage);
        if (pid <= 0)
            return false;
        if (pid == server->program)
            report_end(server, status, &usage);
        sc_commands_buried(&server->commands, pid, status, &usage);
    }
    return true;
}

static void prepare(struct server *server, struct sc_agent *agent)
{
    sigset_t taken;
    server->agent = server->commands.agent = agent;
    server->files.open_fd = -1;
    sigemptyset(&taken);
    sigaddset(&taken, SIGPIPE); /* of a program that closed its input */
    sigprocmask(SIG_BLOCK, &taken, NULL);
    sigdelset(&taken, SIGPIPE);
    sigaddset(&taken, SIGCHLD);
    sigprocmask(SIG_BLOCK, &taken, NULL);
    server->children = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    if (server->children < 0)
        sc_agent_fail(agent->control, "agent", "signalfd", -errno);
}

/* `due_ns` on the monotonic clock; 0: whatever comes. What is due already is not waited for. */
static int wait_until(struct pollfd *polls, unsigned count, uint64_t due_ns)
{
    uint64_t now = sc_now_ns(), left = due_ns > now ? due_ns - now : 0;
    const struct timespec timeout = {(time_t)(left / SC_NS_PER_S), (long)(left % SC_NS_PER_S)};
    return ppoll(polls, count, due_ns ? &timeout : NULL, NULL);
}

void sc_agent_serve(struct sc_agent *agent)
{
    static struct server server; /* too large for a small stack */
    static struct pollfd polls[WAIT_COMMANDS + SC_COMMANDS_POLLS];
    prepare(&server, agent);
    for (bool more = false;;) {
        uint64_t due_ns;
        polls[WAIT_CHILDREN] = (struct pollfd){server.children, POLLIN, 0};
        polls[WAIT_CONTROL] = (struct pollfd){agent->control, POLLIN, 0};
        polls[WAIT_SUPERVISOR] = (struct pollfd){agent->supervisor, POLLIN, 0};
        unsigned count = sc_commands_watch(&server.commands, polls + WAIT_COMMANDS, &due_ns);
        if (wait_until(polls, WAIT_COMMANDS + count, more ? 1 : due_ns) < 0 && errno != EINTR)
            sc_agent_fail(agent->control, "agent", "poll", -errno);
        if (polls[WAIT_SUPERVISOR].revents)
            sc_agent_end(); /* the supervisor is dead, even if a child of its holds the stream open */
        if (more || polls[WAIT_CHILDREN].revents)
            more = reap(&server);
        if (polls[WAIT_CONTROL].revents)
            read_control(&server);
        sc_commands_step(&server.commands, polls + WAIT_COMMANDS, count);
    }
}
