/* What a Bash that is to be forked cannot do in its own language, as a builtin that it loads (`enable -f`):
 *
 *     snapcell_fork look LIBRARY FD...     loads the fork library and looks at what could hinder a fork; FDs
 * are the runner's own. 0, or 1 with the reason in REPLY snapcell_fork serve SOCKET           carries out
 * orders. 0 in each fork, 1 at the socket's end, 2 with the reason in REPLY where the socket cannot be read,
 * or a fork cannot go on
 *
 * A fork is told its number before it returns: `$$`, PPID and the groups that the shell remembers are
 * variables of bash's own, which it offers to such builtins. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../fork.h"
#include "shell.h"

#define EXPORT __attribute__((visibility("default")))
#define REASON_MAX 256
#define OWN_FDS 5
#define FDS_MAX 16

typedef int serve_fn(int socket, const struct sc_fork_hooks *hooks, struct sc_fork_birth *ret_birth);

static serve_fn *serve_orders;
/* Of bash, by their names. */
static struct {
    pid_t *own_pid, *group, *original_group;
    void (*set_ppid)(void);
    void *(*bind_variable)(const char *name, char *value, int flags);
} shell;

static int say(const char *reason, int status)
{
    char text[REASON_MAX];
    snprintf(text, sizeof text, "%s", reason);
    if (shell.bind_variable)
        shell.bind_variable("REPLY", text, 0);
    return status;
}

static int find(void)
{
    const struct {
        void *place;
        const char *name;
    } all[] = {{&shell.bind_variable, "bind_variable"},
               {&shell.own_pid, "dollar_dollar_pid"},
               {&shell.group, "shell_pgrp"},
               {&shell.original_group, "original_pgrp"},
               {&shell.set_ppid, "set_ppid"}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        void *found = dlsym(RTLD_DEFAULT, all[i].name);
        if (!found)
            return -ENOSYS;
        memcpy(all[i].place, &found, sizeof found);
    }
    return 0;
}

/* ---- what could hinder a fork ---- */

static int is_known(long fd, const int *known, size_t n_known)
{
    for (size_t i = 0; i < n_known; i++)
        if (known[i] == fd)
            return 1;
    return fd < OWN_FDS;
}

/* The lowest descriptor above the runner's own that is open, or -1; -errno when they cannot be listed. */
static long find_open(const int *known, size_t n_known)
{
    DIR *dir = opendir("/proc/self/fd");
    if (!dir)
        return -errno;
    long found = -1;
    for (struct dirent *entry; (entry = readdir(dir));) {
        long fd = strtol(entry->d_name, NULL, 10);
        if (entry->d_name[0] != '.' && fd != dirfd(dir) && !is_known(fd, known, n_known) &&
            (found < 0 || fd < found))
            found = fd;
    }
    closedir(dir);
    return found;
}

static int look(const char *library_path, const int *known, size_t n_known)
{
    char text[REASON_MAX], path[64], target[128];
    void *library = dlopen(library_path, RTLD_NOW);
    if (!library)
        return say(dlerror(), 1);
    *(void **)&serve_orders = dlsym(library, "sc_fork_serve");
    if (!serve_orders)
        return say("the fork library has no sc_fork_serve", 1);
    siginfo_t info;
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD)
        return say("other processes were started, and have not been waited for", 1);
    long fd = find_open(known, n_known);
    if (fd < -1)
        return say("/proc/self/fd cannot be read", 1);
    if (fd < 0)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%ld", fd);
    ssize_t n = readlink(path, target, sizeof target - 1);
    target[n > 0 ? n : 0] = '\0';
    snprintf(text, sizeof text, "descriptor %ld cannot be carried over: %s", fd, target);
    return say(text, 1);
}

/* ---- forks ---- */

static int serve(int socket)
{
    struct sc_fork_birth birth;
    int r = serve_orders ? serve_orders(socket, NULL, &birth) : -EINVAL;
    if (r < 0)
        return say(strerror(-r), 2);
    if (r == SC_FORK_END)
        return 1;
    *shell.own_pid = getpid();
    *shell.group = *shell.original_group = getpgrp();
    shell.set_ppid();
    return 0;
}

/* ---- for bash ---- */

static int run(struct word_list *words)
{
    const char *given[FDS_MAX + 2];
    int numbers[FDS_MAX + 2];
    size_t n = 0;
    for (; words && n < FDS_MAX + 2; words = words->next) {
        given[n] = words->word->word;
        numbers[n] = (int)strtol(given[n], NULL, 10);
        n++;
    }
    if (find() < 0)
        return say("this bash does not offer what forks need", 1);
    if (n >= 2 && strcmp(given[0], "look") == 0)
        return look(given[1], numbers + 2, n - 2);
    if (n == 2 && strcmp(given[0], "serve") == 0)
        return serve(numbers[1]);
    fprintf(stderr, "usage: snapcell_fork look LIBRARY FD... | serve SOCKET\n");
    return 2;
}

static const char *const about[] = {"Lets this shell be forked, for the runner.", NULL};
EXPORT struct builtin snapcell_fork_struct = {"snapcell_fork", run, BUILTIN_ENABLED, about,
                                              "snapcell_fork", NULL};
