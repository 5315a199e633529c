#include "cli/signals.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/signalfd.h>

static bool is_ignored(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int sc_cli_signals_open(int *ret_fd, struct sc_err *err)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t set;
    sigemptyset(&set);
    /* nohup and a shell's background jobs have some of them ignored, and mean it. */
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (!is_ignored(ending[i]))
            sigaddset(&set, ending[i]);
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return sc_err_sys(err, -errno, "signals");
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0 || signal(SIGPIPE, SIG_IGN) == SIG_ERR)
        return sc_err_sys(err, -errno, "signals");
    *ret_fd = fd;
    return 0;
}
