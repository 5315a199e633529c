/* The end of a cell: kill everything, take what is in the pipes, reap. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sys.h"
#include "base/clock.h"
#include "cell/make.h"

/* A process with a large memory takes milliseconds to die; one that hangs in the kernel may take longer, but
 * not for ever. */
#define DEATH_PATIENCE_NS (30 * SC_NS_PER_S)
/* When process 1 has not gone by then, its groups are asked too. */
#define GROUP_PATIENCE_NS (1 * SC_NS_PER_S)

/* Until process 1 is dead, which it is only after every other process of its namespace. */
static int wait_for_death(struct sc_cell *cell, const struct sc_mourner *mourner, uint64_t patience_ns)
{
    uint64_t until = sc_now_ns() + patience_ns;
    for (;;) {
        struct pollfd polls[3] = {{cell->pidfd, POLLIN, 0}, {cell->out, POLLIN, 0}, {cell->err, POLLIN, 0}};
        uint64_t now = sc_now_ns();
        if (now >= until)
            return -ETIMEDOUT;
        const struct timespec timeout = {(time_t)((until - now) / SC_NS_PER_S),
                                         (long)((until - now) % SC_NS_PER_S)};
        if (ppoll(polls, 3, &timeout, NULL) < 0 && errno != EINTR)
            return -errno;
        /* Full pipes hold nobody who is being killed, but what is in them belongs to the result. */
        for (int stream = 1; stream <= 2; stream++)
            if (polls[stream].revents)
                mourner->read_stream(mourner->userdata, stream);
        if (polls[0].revents)
            return 0;
    }
}

/* ECHILD: the caller ignores SIGCHLD, or waited for any child. It is dead all the same; only what wait tells
 * is lost. */
int sc_cell_reap(struct sc_cell *cell, struct sc_cell_death *ret_death)
{
    struct sc_cell_death death = {0};
    pid_t pid = cell->pid;
    cell->pid = 0;
    while (wait4(pid, &death.wait_status, __WALL, &death.usage) < 0) {
        if (errno == ECHILD)
            return 0;
        if (errno != EINTR)
            return -errno;
    }
    death.known = true;
    *ret_death = death;
    return 0;
}

int sc_cell_bury(struct sc_cell *cell, const struct sc_mourner *mourner, struct sc_cell_death *ret_death,
                 struct sc_err *err)
{
    if (cell->pid <= 0)
        return 0;
    /* The kernel kills a pid namespace with its process 1: nobody is missed and nobody forks away from it. */
    int r = sc_sys_pidfd_kill(cell->pidfd, SIGKILL);
    int dead = r < 0 && r != -ESRCH ? r : wait_for_death(cell, mourner, GROUP_PATIENCE_NS);
    if (dead < 0 && cell->space.has_group)
        sc_group_kill(&cell->space.group);
    if (dead < 0)
        dead = wait_for_death(cell, mourner, DEATH_PATIENCE_NS);
    if (dead < 0) {
        cell->pid = 0; /* nobody waits for it any more */
        return sc_err_sys(err, dead, "the cell's processes do not die");
    }
    r = sc_cell_reap(cell, ret_death);
    return r < 0 ? sc_err_sys(err, r, "wait") : 0;
}
