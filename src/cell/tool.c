#include "cell/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int start(char *const argv[], pid_t *ret_pid)
{
    static const char *const places[] = {"/usr/sbin", "/usr/bin", "/sbin", "/bin"};
    static char *const env[] = {(char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
    posix_spawn_file_actions_t actions;
    char path[64];
    int r = ENOENT;
    posix_spawn_file_actions_init(&actions);
    for (int fd = 0; fd < 3; fd++)
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", fd ? O_WRONLY : O_RDONLY, 0);
    for (size_t i = 0; i < sizeof places / sizeof places[0] && r == ENOENT; i++) {
        snprintf(path, sizeof path, "%s/%s", places[i], argv[0]);
        if (access(path, X_OK) == 0)
            r = posix_spawn(ret_pid, path, &actions, NULL, argv, env);
    }
    posix_spawn_file_actions_destroy(&actions);
    return -r;
}

int sc_tool_run(char *const argv[])
{
    pid_t pid;
    int status, r = start(argv, &pid);
    if (r < 0)
        return r;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}
