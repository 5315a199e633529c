/* The end of a cell: kill everything, take what is in the pipes, reap. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "cell/run.h"

/* A process with a large memory takes milliseconds to die; one that hangs in the kernel may take longer, but
 * not for ever. */
#define DEATH_PATIENCE_NS (30 * SC_NS_PER_S)
/* When process 1 has not gone by then, its groups are asked too. */
#define GROUP_PATIENCE_NS (1 * SC_NS_PER_S)

/* Until process 1 is dead, which it is only after every other process of its namespace. */
static int wait_for_death(struct sc_run *run, uint64_t patience_ns)
{
    uint64_t until = sc_now_ns() + patience_ns;
    for (;;) {
        struct pollfd polls[3] = {
            {run->cell.pidfd, POLLIN, 0}, {run->cell.out, POLLIN, 0}, {run->cell.err, POLLIN, 0}};
        uint64_t now = sc_now_ns();
        if (now >= until)
            return -ETIMEDOUT;
        const struct timespec timeout = {(time_t)((until - now) / SC_NS_PER_S),
                                         (long)((until - now) % SC_NS_PER_S)};
        if (ppoll(polls, 3, &timeout, NULL) < 0 && errno != EINTR)
            return -errno;
        /* Full pipes hold nobody who is being killed, but what is in them belongs to the result. */
        if (polls[1].revents)
            sc_run_read_stream(run, &run->cell.out, 1);
        if (polls[2].revents)
            sc_run_read_stream(run, &run->cell.err, 2);
        if (polls[0].revents)
            return 0;
    }
}

int sc_run_bury(struct sc_run *run, struct sc_err *err)
{
    sc_run_end(run, SC_END_CANCEL); /* no reason yet: an error of ours on the way */
    /* The kernel kills a pid namespace with its process 1: nobody is missed and nobody forks away from it. */
    int r = sc_sys_pidfd_kill(run->cell.pidfd, SIGKILL);
    int dead = r < 0 && r != -ESRCH ? r : wait_for_death(run, GROUP_PATIENCE_NS);
    if (dead < 0 && run->cell.space.has_group)
        sc_group_kill(&run->cell.space.group);
    if (dead < 0)
        dead = wait_for_death(run, DEATH_PATIENCE_NS);
    if (dead < 0) {
        run->cell.pid = 0; /* nobody waits for it any more */
        return sc_err_sys(err, dead, "the cell's processes do not die");
    }
    pid_t pid = run->cell.pid;
    run->cell.pid = 0;
    /* ECHILD: the caller ignores SIGCHLD, or waited for any child. It is dead all the same; only its usage is
     * lost. */
    while (wait4(pid, NULL, __WALL, &run->agent_usage) < 0 && errno != ECHILD)
        if (errno != EINTR)
            return sc_err_sys(err, -errno, "wait");
    sc_run_drain(run);
    sc_close(&run->cell.in);
    return 0;
}
