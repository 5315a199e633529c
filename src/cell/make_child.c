/* Process 1 of a child cell: the supervisor starts a midwife and waits for its one word. What the midwife
 * does is told in init_child.c. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "cell/make_parts.h"
#include "cell/midwife.h"

/* A program of the parent cell may hold a helper up (init_child.c): not the supervisor for longer than this.
 */
#define BIRTH_PATIENCE_S 5

/* The number of a process in our own namespace, by its pidfd; negative errno. */
static pid_t pid_of(int pidfd)
{
    char path[48], text[512];
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", pidfd);
    ssize_t n = sc_read_text(AT_FDCWD, path, text, sizeof text);
    if (n < 0)
        return (pid_t)n;
    const char *line = strstr(text, "\nPid:");
    long pid = line ? strtol(line + 5, NULL, 10) : 0;
    return pid > 0 ? (pid_t)pid : -ESRCH;
}

static pid_t start_midwife(const struct sc_works *works, const struct sc_cell *cell, const struct sc_kin *kin,
                           const struct sc_cell_start *start, int socket, const char **ret_failed)
{
    struct sc_spawn_order order;
    sc_cell_fill_slots(works, cell, start, &order);
    order.slots[SC_SLOT_MIDWIFE] = socket;
    order.slots[SC_SLOT_PARENT] = kin->parent->pid_ns >= 0 ? kin->parent->pid_ns : kin->parent->pidfd;
    order.slots[SC_SLOT_OWNER] = order.user_ns;
    order.slots[SC_SLOT_BIRTH] = order.birth_ns;
    order.slots[SC_SLOT_V2] = order.cgroup;
    order.user_ns = order.birth_ns = order.cgroup = -1;
    order.is_midwife = true;
    pid_t pid = sc_spawn_agent(&order);
    *ret_failed = order.failed;
    return pid;
}

/* ECHILD: somebody else in this process waits for any child. */
static void reap(pid_t pid)
{
    while (pid > 0 && waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
        ;
}

/* Takes the midwife's word into `report`, and the agent into `cell`. */
static int listen_to(struct sc_cell *cell, int socket, struct sc_midwife_report *report, struct sc_err *err)
{
    const struct timeval patience = {.tv_sec = BIRTH_PATIENCE_S};
    int fds[2] = {-1, -1};
    size_t n = 2;
    if (setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0)
        return sc_err_sys(err, -errno, "the midwife's socket");
    ssize_t size = sc_recv_fds(socket, report, sizeof *report, fds, &n);
    cell->pidfd = n > 0 ? fds[0] : -1;
    cell->pid_ns = n > 1 ? fds[1] : -1;
    if (size == -EAGAIN)
        return sc_err_set(
            err, SC_ERR_SANDBOX, -ETIMEDOUT,
            "a cell below another was not born in time: a program of the other may have held it up");
    if (size != (ssize_t)sizeof *report)
        return sc_err_set(err, SC_ERR_SANDBOX, size < 0 ? (int)size : -EPIPE,
                          "the midwife ended without a word");
    struct sc_msg_failed *failed = &report->failed;
    failed->stage[sizeof failed->stage - 1] = failed->object[sizeof failed->object - 1] = '\0';
    if (failed->code < 0)
        return sc_err_sys(err, failed->code, "stage %s: %s", failed->stage, failed->object);
    return n == 2 ? 0 : sc_err_sys(err, -EMFILE, "taking the agent of a cell below another");
}

int sc_cell_start_child(const struct sc_works *works, struct sc_cell *cell, const struct sc_kin *kin,
                        const struct sc_cell_start *start, struct sc_err *err)
{
    struct sc_midwife_report report = {0};
    const char *failed;
    int ends[2];
    int r = sc_cell_send_boot(cell, SC_BOOT_CHILD | (kin->forkable ? SC_BOOT_FORKABLE : 0));
    if (r < 0)
        return sc_err_sys(err, r, "boot message");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return sc_err_sys(err, -errno, "socketpair");
    pid_t midwife = start_midwife(works, cell, kin, start, ends[1], &failed);
    close(ends[1]);
    if (midwife < 0) {
        close(ends[0]);
        return sc_err_sys(err, midwife, "starting the midwife (%s)", failed ? failed : "clone");
    }
    r = listen_to(cell, ends[0], &report, err);
    close(ends[0]);
    if (r < 0)
        kill(midwife, SIGKILL);
    reap(midwife);
    if (r < 0 && report.second > 0)
        kill(report.second, SIGKILL);
    reap(report.second);
    if (cell->pidfd >= 0) {
        pid_t pid = pid_of(cell->pidfd);
        cell->pid = pid > 0 ? pid : 0;
        if (pid < 0 && r == 0)
            r = sc_err_sys(err, pid, "the number of a cell's process 1");
    }
    return r;
}
