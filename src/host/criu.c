/* Whether CRIU, which freezes and restores processes of the host, starts on this kernel. Its own check tries
 * that. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/probe.h"

static int run_check(const char *path)
{
    posix_spawn_file_actions_t files;
    char *const argv[] = {(char *)"criu", (char *)"check", NULL};
    char *const env[] = {(char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
    pid_t pid;
    int status, r = posix_spawn_file_actions_init(&files);
    if (r)
        return -r;
    for (int fd = 0; fd < 3 && !r; fd++)
        r = posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
    if (!r)
        r = posix_spawn(&pid, path, &files, NULL, argv, env);
    posix_spawn_file_actions_destroy(&files);
    if (r)
        return -r;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

void sc_probe_criu(struct sc_host *host)
{
    static const char path[] = "/usr/sbin/criu";
    if (access(path, X_OK) < 0)
        host->criu = SC_CRIU_MISSING;
    else
        host->criu = run_check(path) == 0 ? SC_CRIU_STARTS : SC_CRIU_FAILS;
}
