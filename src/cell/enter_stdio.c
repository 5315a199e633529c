/* Should: the program has its three streams and nothing else open, a session of its own, no pending or
 * ignored signals, and a terminal only where the plan gives it one of the cell's. Must not: leave it the
 * caller's terminal or any descriptor of the agent's. Verified by: claims streams-*.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "cell/enter.h"

int enter_stdio(struct sc_enter *enter)
{
    sigset_t none;
    const int from[3] = {SC_SLOT_STDIN, SC_SLOT_STDOUT, SC_SLOT_STDERR};
    enter->object = "session";
    if (setsid() < 0)
        return -errno;
    enter->object = "streams";
    for (int i = 0; i < 3; i++)
        if (dup2(enter->pty_slave >= 0 ? enter->pty_slave : from[i], i) < 0)
            return -errno;
    enter->object = "terminal";
    if (enter->pty_slave >= 0 && ioctl(0, TIOCSCTTY, 0) < 0)
        return -errno;
    enter->object = "signal mask";
    sigemptyset(&none);
    if (sigprocmask(SIG_SETMASK, &none, NULL) < 0)
        return -errno;
    umask(022);
    return 0;
}
