#include "cell/maker.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"

pid_t sc_maker_fork(void)
{
    struct sc_clone_args args = {0};
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    long r = syscall(SYS_clone3, &args, sizeof args);
    pid_t pid = r < 0 ? -errno : (pid_t)r;
    if (pid != 0)
        sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

int sc_maker_start(struct sc_maker *maker, void (*body)(int socket, void *data), void *data,
                   struct sc_err *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return sc_err_sys(err, -errno, "socketpair");
    pid_t pid = sc_maker_fork();
    if (pid == 0) {
        close(ends[0]);
        /* No parent's-death signal: it would come with the end of the caller's thread. When the caller is
         * gone, the next report or wait fails, and that ends us. */
        body(ends[1], data);
        _exit(0);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return sc_err_sys(err, pid, "making a helper process");
    }
    *maker = (struct sc_maker){pid, ends[0]};
    return 0;
}

int sc_maker_take(struct sc_maker *maker, int *ret_fds, size_t n_fds, struct sc_err *err)
{
    struct sc_maker_report report;
    int fds[SC_FDS_MAX];
    size_t got = SC_FDS_MAX;
    ssize_t n = sc_recv_fds(maker->socket, &report, sizeof report, fds, &got);
    if (n == (ssize_t)sizeof report && report.code == 0 && got == n_fds) {
        if (n_fds)
            memcpy(ret_fds, fds, n_fds * sizeof *fds);
        return 0;
    }
    for (size_t i = 0; i < got; i++)
        close(fds[i]);
    if (n == (ssize_t)sizeof report &&
        report.code == 0) /* the kernel leaves out those there is no room for */
        return sc_err_sys(err, -EMFILE, "taking descriptors of a helper process");
    if (n != (ssize_t)sizeof report)
        return sc_err_set(err, SC_ERR_SANDBOX, -EPIPE, "a helper process ended without an answer");
    report.stage[sizeof report.stage - 1] = report.object[sizeof report.object - 1] = '\0';
    return sc_err_sys(err, report.code, "%s%s%s", report.stage, *report.object ? " " : "", report.object);
}

int sc_maker_go(struct sc_maker *maker)
{
    ssize_t n = send(maker->socket, "g", 1, MSG_NOSIGNAL);
    return n == 1 ? 0 : -errno;
}

void sc_maker_end(struct sc_maker *maker)
{
    if (maker->pid <= 0)
        return;
    sc_close(&maker->socket);
    while (waitpid(maker->pid, NULL, __WALL) < 0 && errno == EINTR)
        ;
    maker->pid = 0;
}

void sc_maker_send(int socket, const int *fds, size_t n_fds)
{
    const struct sc_maker_report report = {0};
    if (sc_send_fds(socket, &report, sizeof report, fds, n_fds) < 0)
        _exit(1);
}

void sc_maker_fail(int socket, const char *stage, const char *object, int code)
{
    struct sc_maker_report report = {.code = code};
    strncpy(report.stage, stage, sizeof report.stage - 1);
    strncpy(report.object, object, sizeof report.object - 1);
    sc_send_fds(socket, &report, sizeof report, NULL, 0);
    _exit(1);
}

void sc_maker_wait(int socket)
{
    char go;
    ssize_t n;
    do
        n = recv(socket, &go, 1, 0);
    while (n < 0 && errno == EINTR);
    if (n != 1)
        _exit(1);
}
