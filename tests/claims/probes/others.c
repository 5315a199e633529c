/* Attempts on another process, given by its number in the cell: 1 is the agent. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "probe.h"

enum { NR_pidfd_send_signal = 424, NR_pidfd_open = 434, NR_pidfd_getfd = 438 };

static pid_t pid_of(const char *arg)
{
    return (pid_t)strtol(arg, NULL, 10);
}

static int do_kill(char *arg)
{
    return TRIED(kill(pid_of(arg), SIGKILL));
}

static int do_stop(char *arg)
{
    return TRIED(kill(pid_of(arg), SIGSTOP));
}

static int do_signal_zero(char *arg)
{
    return TRIED(kill(pid_of(arg), 0));
}

static int do_tgkill(char *arg)
{
    return TRIED(syscall(SYS_tgkill, pid_of(arg), pid_of(arg), SIGTERM));
}

static int do_queue(char *arg)
{
    union sigval value = {0};
    return TRIED(sigqueue(pid_of(arg), SIGTERM, value));
}

static int do_attach(char *arg)
{
    return TRIED(ptrace(PTRACE_ATTACH, pid_of(arg), 0, 0));
}

static int do_seize(char *arg)
{
    return TRIED(ptrace(PTRACE_SEIZE, pid_of(arg), 0, 0));
}

static int do_read_memory(char *arg)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)0x400000, 1};
    return TRIED(process_vm_readv(pid_of(arg), &here, 1, &there, 1, 0));
}

static int do_write_memory(char *arg)
{
    char byte = 0;
    struct iovec here = {&byte, 1}, there = {(void *)0x400000, 1};
    return TRIED(process_vm_writev(pid_of(arg), &here, 1, &there, 1, 0));
}

/* NAME in /proc/PID/NAME, opened with `flags`. */
static int open_proc(const char *pid, const char *name, int flags)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/%s", pid, name);
    return TRIED(open(path, flags | O_CLOEXEC));
}

static int do_mem_read(char *arg)
{
    return open_proc(arg, "mem", O_RDONLY);
}

static int do_mem_write(char *arg)
{
    return open_proc(arg, "mem", O_WRONLY);
}

static int do_fd_list(char *arg)
{
    return open_proc(arg, "fd", O_RDONLY | O_DIRECTORY);
}

static int do_fd_open(char *arg)
{
    return open_proc(arg, "fd/0", O_RDONLY);
}

static int do_environ(char *arg)
{
    return open_proc(arg, "environ", O_RDONLY);
}

static int do_maps(char *arg)
{
    return open_proc(arg, "maps", O_RDONLY);
}

static int do_root(char *arg)
{
    return open_proc(arg, "root/", O_RDONLY);
}

static int do_exe(char *arg)
{
    return open_proc(arg, "exe", O_RDONLY);
}

static int do_cwd(char *arg)
{
    return open_proc(arg, "cwd/", O_RDONLY);
}

static int do_oom_write(char *arg)
{
    return open_proc(arg, "oom_score_adj", O_WRONLY);
}

static int do_clear_refs(char *arg)
{
    return open_proc(arg, "clear_refs", O_WRONLY);
}

static int do_prlimit_get(char *arg)
{
    struct rlimit old;
    return TRIED(prlimit(pid_of(arg), RLIMIT_NOFILE, NULL, &old));
}

static int do_prlimit_set(char *arg)
{
    struct rlimit fresh = {1, 1};
    return TRIED(prlimit(pid_of(arg), RLIMIT_NOFILE, &fresh, NULL));
}

static int do_affinity(char *arg)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    return TRIED(sched_setaffinity(pid_of(arg), sizeof set, &set));
}

static int do_scheduler(char *arg)
{
    struct sched_param p = {0};
    return TRIED(sched_setscheduler(pid_of(arg), SCHED_IDLE, &p));
}

static int do_priority(char *arg)
{
    return TRIED(setpriority(PRIO_PROCESS, (id_t)pid_of(arg), 19));
}

static int do_pidfd(char *arg)
{
    return TRIED(syscall(NR_pidfd_open, pid_of(arg), 0));
}

static int do_pidfd_kill(char *arg)
{
    int fd = (int)syscall(NR_pidfd_open, pid_of(arg), 0);
    return fd < 0 ? errno : TRIED(syscall(NR_pidfd_send_signal, fd, SIGKILL, NULL, 0));
}

static int do_steal_fd(char *arg)
{
    int fd = (int)syscall(NR_pidfd_open, pid_of(arg), 0);
    return fd < 0 ? errno : TRIED(syscall(NR_pidfd_getfd, fd, 0, 0));
}

/* The same on oneself: the twins that are allowed. */
static int self_prlimit(char *arg)
{
    struct rlimit fresh = {64, 64};
    (void)arg;
    return TRIED(prlimit(0, RLIMIT_NOFILE, &fresh, NULL));
}

static int self_affinity(char *arg)
{
    cpu_set_t set;
    (void)arg;
    return sched_getaffinity(0, sizeof set, &set) < 0 ? errno : TRIED(sched_setaffinity(0, sizeof set, &set));
}

static int child_kill(char *arg)
{
    (void)arg;
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    int r = TRIED(kill(child, SIGKILL)), status;
    waitpid(child, &status, 0);
    return r;
}

#define CALL(name)                                                                                           \
    {                                                                                                        \
#name, do_##name                                                                                     \
    }
static const struct attempt table[] = {
    CALL(kill),
    CALL(stop),
    CALL(signal_zero),
    CALL(tgkill),
    CALL(queue),
    CALL(attach),
    CALL(seize),
    CALL(read_memory),
    CALL(write_memory),
    CALL(mem_read),
    CALL(mem_write),
    CALL(fd_list),
    CALL(fd_open),
    CALL(environ),
    CALL(maps),
    CALL(root),
    CALL(exe),
    CALL(cwd),
    CALL(oom_write),
    CALL(clear_refs),
    CALL(prlimit_get),
    CALL(prlimit_set),
    CALL(affinity),
    CALL(scheduler),
    CALL(priority),
    CALL(pidfd),
    CALL(pidfd_kill),
    CALL(steal_fd),
    {"self_prlimit", self_prlimit},
    {"self_affinity", self_affinity},
    {"child_kill", child_kill},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    return probe_main(table, argc, argv);
}
