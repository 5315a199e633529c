#include "cell/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cell/maker.h"

/* Exit statuses of the nurse that no tool of ours has. */
#define NOT_FOUND 120
#define NOT_STARTED 121

static void become(char *const argv[])
{
    static const char *const places[] = {"/usr/sbin", "/usr/bin", "/sbin", "/bin"};
    static char *const env[] = {(char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
    char path[64];
    sigset_t none;
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        if (null < 0 || dup2(null, fd) < 0)
            _exit(NOT_STARTED);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", places[i], argv[0]);
        execve(path, argv, env);
        if (errno != ENOENT)
            _exit(NOT_STARTED);
    }
    _exit(NOT_FOUND);
}

/* Between us and the tool stands a process that never calls exec: only so long has a process no exit signal.
 * The tool's own end would be told to a host program that waits for any child, and its status would be lost
 * where SIGCHLD is ignored. */
static void nurse(char *const argv[])
{
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    int status;
    for (int number = 1; number < 32;
         number++) /* the caller's handlers are not the tool's, nor what it ignores */
        sigaction(number, &standard, NULL);
    pid_t pid = sc_maker_fork();
    if (pid == 0)
        become(argv);
    if (pid < 0 || waitpid(pid, &status, __WALL) != pid)
        _exit(NOT_STARTED);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

int sc_tool_run(char *const argv[])
{
    int status;
    pid_t pid = sc_maker_fork();
    if (pid == 0)
        nurse(argv);
    if (pid < 0)
        return pid;
    while (waitpid(pid, &status, __WALL) < 0)
        if (errno != EINTR)
            return -errno;
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND)
        return -ENOENT;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}
