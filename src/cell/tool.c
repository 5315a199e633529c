#include "cell/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"

struct tool {
    const char *path;
    char *const *argv;
    int null; /* /dev/null */
    int code; /* negative errno when it did not start */
};

/* In the caller's memory until exec: system calls only. */
SC_BORROWED_MEMORY static int become_tool(void *data)
{
    static char *const env[] = {(char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
    struct tool *tool = data;
    for (int fd = 0; fd < 3; fd++)
        if (dup2(tool->null, fd) < 0) {
            tool->code = -errno;
            return 1;
        }
    /* Signals stay blocked: before exec their handlers are the caller's, in the caller's memory. */
    execve(tool->path, tool->argv, env);
    tool->code = -errno;
    return 1;
}

/* Not posix_spawn: its child would be found by a wait() of the host program, or never, where SIGCHLD is ignored. This one
 * has no exit signal. */
static pid_t start(struct tool *tool)
{
    char stack[32 * 1024] __attribute__((aligned(16)));
    struct sc_clone_args args = {.flags = CLONE_VM | CLONE_VFORK, .stack = (uintptr_t)stack, .stack_size = sizeof stack};
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    long pid = sc_sys_clone3_call(&args, become_tool, tool);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return (pid_t)pid;
}

static int run_at(const char *path, char *const argv[], int null)
{
    struct tool tool = {.path = path, .argv = argv, .null = null};
    int status;
    pid_t pid = start(&tool);
    if (pid < 0)
        return pid;
    while (waitpid(pid, &status, __WALL) < 0)
        if (errno != EINTR)
            return -errno;
    if (tool.code < 0)
        return tool.code;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

int sc_tool_run(char *const argv[])
{
    static const char *const places[] = {"/usr/sbin", "/usr/bin", "/sbin", "/bin"};
    char path[64];
    int first = open("/dev/null", O_RDWR | O_CLOEXEC), r = -ENOENT;
    int null = first < 0 ? -1 : fcntl(first, F_DUPFD_CLOEXEC, 3); /* not one of the three that it becomes */
    int code = -errno;
    sc_close(&first);
    if (null < 0)
        return code;
    for (size_t i = 0; i < sizeof places / sizeof places[0] && r == -ENOENT; i++) {
        snprintf(path, sizeof path, "%s/%s", places[i], argv[0]);
        if (access(path, X_OK) == 0)
            r = run_at(path, argv, null);
    }
    close(null);
    return r;
}
