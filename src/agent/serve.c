/* Theory of operation.
 *
 * The agent sleeps in poll on three descriptors: the supervisor's stream, its pidfd, and a signalfd for
 * SIGCHLD. A program's end is reported before any other dead child is looked at, so that a storm of orphans
 * cannot delay the verdict. The stream's end means the supervisor is gone: the agent exits, and the kernel
 * kills every process of the pid namespace with it.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/fd.h"
#include "base/frame.h"

#define REAP_MAX 64 /* dead children in a row */

struct server {
    struct sc_agent *agent;
    struct sc_agent_files files;
    struct sc_frame_reader reader;
    pid_t program; /* 0 before START, -1 after its end */
    int children;  /* signalfd */
};

void sc_agent_describe(struct sc_msg_failed *failed, const char *stage, const char *object, int code)
{
    memset(failed, 0, sizeof *failed);
    failed->code = code;
    strncpy(failed->stage, stage, sizeof failed->stage - 1);
    strncpy(failed->object, object ? object : "", sizeof failed->object - 1);
}

void sc_agent_fail(int control, const char *stage, const char *object, int code)
{
    struct sc_msg_failed failed;
    sc_agent_describe(&failed, stage, object, code);
    sc_frame_send(control, SC_MSG_FAILED, 0, &failed, sizeof failed);
    _exit(1);
}

/* Writing files took the program's file-system id, and a program's start shared our memory while it changed
 * its ids. Each sets dumpable to what fs.suid_dumpable says. */
static void be_sealed_again(const struct sc_agent *agent)
{
    setfsgid(agent->image->agent_uid);
    setfsuid(agent->image->agent_uid);
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        sc_agent_fail(agent->control, "sealed", "after the files", -errno);
}

/* Everybody else first: what covers /proc may not outlive us by much (enter_vacant.c). */
__attribute__((noreturn)) static void end_all(void)
{
    if (getpid() != 1) /* a test's: anywhere else that is everybody */
        _exit(0);
    kill(-1, SIGKILL);
    while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
        ;
    _exit(0);
}

static void start(struct server *server)
{
    struct sc_msg_failed failed;
    if (server->program != 0)
        sc_agent_fail(server->agent->control, "protocol", "START twice", -EPROTO);
    if (server->files.open_fd >= 0)
        sc_agent_fail(server->agent->control, "protocol", "START within a file", -EPROTO);
    be_sealed_again(server->agent);
    pid_t pid = sc_agent_spawn(server->agent, &failed);
    if (pid < 0) {
        sc_frame_send(server->agent->control, SC_MSG_FAILED, 0, &failed, sizeof failed);
        _exit(1);
    }
    server->program = pid;
    /* The program shared our memory while it changed its ids. */
    be_sealed_again(server->agent);
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

static void handle(struct server *server, const struct sc_frame *frame, const uint8_t *payload)
{
    struct sc_agent *agent = server->agent;
    switch (frame->type) {
    case SC_MSG_START:
        start(server);
        return;
    case SC_MSG_RESIZE:
        resize(server, payload, frame->len);
        return;
    case SC_MSG_FILE:
    case SC_MSG_DATA:
    case SC_MSG_CLOSE:
    case SC_MSG_DIR:
        if (server->program == 0) {
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
        end_all(); /* the supervisor is gone */
    int r;
    while ((r = sc_frame_next(&server->reader, &frame, &payload)) > 0)
        handle(server, &frame, payload);
    if (r < 0)
        sc_agent_fail(server->agent->control, "protocol", "frame", r);
}

static uint64_t ns_of(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

static void report_end(struct server *server, int status, const struct rusage *usage)
{
    struct sc_msg_exit message = {
        .wait_status = status,
        .user_ns = ns_of(&usage->ru_utime),
        .system_ns = ns_of(&usage->ru_stime),
        .rss_peak_bytes = (uint64_t)usage->ru_maxrss * 1024,
    };
    server->program = -1;
    sc_frame_send(server->agent->control, SC_MSG_EXIT, 0, &message, sizeof message);
    /* The main program's end is the cell's: our end takes every process of the namespace along. */
    end_all();
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
    }
    return true;
}

void sc_agent_serve(struct sc_agent *agent)
{
    static struct server server; /* too large for a small stack */
    sigset_t child;
    server.agent = agent;
    server.files.open_fd = -1;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    server.children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (server.children < 0)
        sc_agent_fail(agent->control, "agent", "signalfd", -errno);
    for (bool more = false;;) {
        struct pollfd polls[3] = {
            {server.children, POLLIN, 0}, {agent->control, POLLIN, 0}, {agent->supervisor, POLLIN, 0}};
        if (poll(polls, 3, more ? 0 : -1) < 0 && errno != EINTR)
            sc_agent_fail(agent->control, "agent", "poll", -errno);
        if (polls[2].revents)
            end_all(); /* the supervisor is dead, even if a child of its holds the stream open */
        if (more || polls[0].revents)
            more = reap(&server);
        if (polls[1].revents)
            read_control(&server);
    }
}
