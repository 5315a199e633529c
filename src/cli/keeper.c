/* `snapcell keeper`, and starting one.
 *
 * Who finds no keeper starts this program again as `snapcell keeper --detach`, twice forked, and waits until
 * its stderr is closed: either it serves by then, or it said why not, or another one was faster. The lock
 * decides between those; who lost it connects to the winner. */
#include "cli/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/num.h"
#include "base/sys.h"
#include "cli/options.h"
#include "cli/say.h"
#include "keeper/audit.h"
#include "keeper/keeper.h"
#include "keeper/place.h"

#define STARTED_IDLE_EXIT "10m"
#define OWN_IDLE_EXIT "10s" /* should the death of whom it belongs to not reach it */
#define PATIENCE_NS (10 * SC_NS_PER_S)
#define PAUSE_MS 20        /* while another one's keeper comes up or goes */
#define ENVIRONMENT_MAX 64 /* entries; more than those that can be meant */
#define DESCRIPTORS_OF_A_CELL 64
#define IDLE_LEAST SC_NS_PER_S
#define IDLE_MOST (7 * 24 * 3600 * SC_NS_PER_S)

static int parse_time(const char *text, const char *option, uint64_t *ret_ns, struct sc_err *err)
{
    uint64_t ns = 0;
    if (!text)
        return 0;
    if (sc_parse_duration(text, &ns) < 0 || ns < IDLE_LEAST || ns > IDLE_MOST)
        return sc_err_usage(err, option, "%s: %s: must be a duration like 90s or 10m, 1s to 168h", option,
                            text);
    *ret_ns = ns;
    return 0;
}

static int parse_gate(const char *text, struct sc_keeper_options *options, struct sc_err *err)
{
    uint64_t fd = 0;
    if (!text)
        return 0;
    if (sc_parse_u64(text, &fd) < 0 || fd <= STDERR_FILENO || fd > INT_MAX ||
        fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0)
        return sc_err_usage(err, "gate-fd", "gate-fd: %s: must be an open descriptor above %d", text,
                            STDERR_FILENO);
    options->gate_fd = (int)fd;
    return 0;
}

static int parse_count(const char *text, const char *option, uint64_t least, uint64_t most,
                       unsigned *ret_count, struct sc_err *err)
{
    uint64_t number = 0;
    if (!text)
        return 0;
    if (sc_parse_u64(text, &number) < 0 || number < least || number > most)
        return sc_err_usage(err, option, "%s: %s: allowed are %llu to %llu", option, text,
                            (unsigned long long)least, (unsigned long long)most);
    *ret_count = (unsigned)number;
    return 0;
}

/* Thousandths of a number, at most `most` whole ones. */
static int parse_bound(const char *text, const char *option, uint64_t most, uint64_t unit,
                       uint64_t *ret_bound, struct sc_err *err)
{
    uint64_t milli = 0;
    if (!text)
        return 0;
    if (sc_parse_milli(text, &milli) < 0 || milli > most * 1000)
        return sc_err_usage(err, option, "%s: %s: allowed are 0 to %llu", option, text,
                            (unsigned long long)most);
    *ret_bound = milli / unit;
    return 0;
}

static int parse_audit_size(const char *text, struct sc_keeper_options *options, struct sc_err *err)
{
    uint64_t bytes = SC_AUDIT_ROTATE;
    if (text &&
        (sc_parse_bytes(text, &bytes) < 0 || bytes < SC_AUDIT_ROTATE_LEAST || bytes > SC_AUDIT_ROTATE_MOST))
        return sc_err_usage(err, "audit-size", "audit-size: %s: must be a size like 64M, 4K to 1G", text);
    options->audit_rotate = bytes;
    return 0;
}

/* What tenants of a service get at once. */
static int parse_admission(const struct sc_cli_args *args, struct sc_keeper_options *options,
                           struct sc_err *err)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    options->running = processors > 0 && processors < 256 ? (unsigned)processors * 4 : SC_KEEPER_RUNNING_MOST;
    options->queue = SC_KEEPER_QUEUE_STANDARD;
    options->pressure = (struct sc_pressure_bounds){.memory_full = SC_PRESSURE_MEMORY_FULL,
                                                    .io_full = SC_PRESSURE_IO_FULL,
                                                    .load = SC_PRESSURE_LOAD,
                                                    .free = SC_PRESSURE_FREE};
    options->zygotes = !(args->flags & SC_FLAG_NO_ZYGOTES);
    options->audit_strict = args->flags & SC_FLAG_AUDIT_STRICT;
    int r = parse_audit_size(args->texts[SC_TEXT_AUDIT_SIZE], options, err);
    if (r == 0)
        r = parse_count(args->texts[SC_TEXT_RUNNING], "running", 1, SC_KEEPER_RUNNING_MOST, &options->running,
                        err);
    if (r == 0)
        r = parse_count(args->texts[SC_TEXT_QUEUE], "queue", 0, SC_KEEPER_QUEUE_MOST, &options->queue, err);
    if (r == 0)
        r = parse_bound(args->texts[SC_TEXT_MIN_FREE], "min-free", 100, 100, &options->pressure.free, err);
    return r < 0 ? r
                 : parse_bound(args->texts[SC_TEXT_MAX_LOAD], "max-load", 100000, 1, &options->pressure.load,
                               err);
}

static int parse_options(const struct sc_cli_args *args, struct sc_keeper_options *options,
                         struct sc_err *err)
{
    const char *sessions = args->texts[SC_TEXT_SESSIONS], *pool = args->texts[SC_TEXT_POOL];
    uint64_t most = SC_KEEPER_SESSIONS_STANDARD;
    int r;
    if (args->n_operands)
        return sc_err_usage(err, "", "keeper %s: takes no operands", args->operands[0]);
    if (sessions && (sc_parse_u64(sessions, &most) < 0 || most < 1 || most > SC_KEEPER_SESSIONS_MOST))
        return sc_err_usage(err, "sessions", "sessions: %s: allowed are 1 to %d", sessions,
                            SC_KEEPER_SESSIONS_MOST);
    options->sessions = (unsigned)most;
    most = SC_KEEPER_POOL_STANDARD;
    if (pool && (sc_parse_u64(pool, &most) < 0 || most > SC_KEEPER_POOL_MOST))
        return sc_err_usage(err, "pool", "pool: %s: allowed are 0 to %d", pool, SC_KEEPER_POOL_MOST);
    options->pool = (unsigned)most;
    if ((r = parse_admission(args, options, err)) < 0)
        return r;
    if ((r = parse_gate(args->texts[SC_TEXT_GATE_FD], options, err)) < 0)
        return r;
    return parse_time(args->texts[SC_TEXT_IDLE_EXIT], "idle-exit", &options->idle_ns, err);
}

/* As many descriptors as its sessions may need, if the hard limit has them: a living cell takes about forty.
 * A session that finds none left is refused. */
static void raise_descriptors(unsigned cells)
{
    struct rlimit limit;
    rlim_t wanted = SC_KEEPER_CLIENTS_MAX + 64 + (rlim_t)cells * DESCRIPTORS_OF_A_CELL;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* The socket's folder is held by now; the one that the keeper was started in is nobody's business. */
static void leave_folder(void)
{
    if (chdir("/") < 0)
        sc_cli_say("keeper: cannot leave the folder it was started in: %s", strerror(errno));
}

/* Whoever waits for stderr's end knows now that clients can connect. */
static void let_go(void)
{
    leave_folder();
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return;
    (void)dup2(null, STDOUT_FILENO);
    (void)dup2(null, STDERR_FILENO);
    close(null);
}

int sc_cli_keeper_check(const struct sc_cli_args *args, struct sc_err *err)
{
    struct sc_keeper_options options = {.gate_fd = -1};
    return parse_options(args, &options, err);
}

int sc_cli_keeper(const struct sc_cli_args *args)
{
    bool detach = args->flags & SC_FLAG_DETACH;
    struct sc_keeper_options options = {.path = args->texts[SC_TEXT_SOCKET],
                                        .gate_fd = -1,
                                        .state = args->texts[SC_TEXT_STATE],
                                        .serving = detach ? let_go : leave_folder};
    struct sc_err err = {0};
    if (parse_options(args, &options, &err) < 0)
        return sc_cli_fail(&err);
    if (detach)
        (void)setsid(); /* it fails only for who leads a session already */
    raise_descriptors(options.sessions + options.pool + (options.zygotes ? SC_KEEPER_SHAPES_MOST : 0));
    int r = sc_keeper_serve(&options, &err);
    /* Started by several at once: one serves, and that is what all of them wanted. */
    if (r == -EADDRINUSE && detach)
        return SC_CLI_EXIT_OK;
    return r < 0 ? sc_cli_fail(&err) : SC_CLI_EXIT_OK;
}

/* ---- starting one ---- */

/* The keeper outlives who started it, and has no use for that one's secrets. */
static bool is_for_keeper(const char *entry)
{
    static const char *const kept[] = {
        "PATH=",           "HOME=",           "TMPDIR=",        "LANG=",           "XDG_RUNTIME_DIR=",
        "XDG_CACHE_HOME=", "XDG_STATE_HOME=", "XDG_DATA_HOME=", "XDG_CONFIG_HOME="};
    if (!strncmp(entry, "SNAPCELL_", strlen("SNAPCELL_")))
        return true;
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        if (!strncmp(entry, kept[i], strlen(kept[i])))
            return true;
    return false;
}

static void keep_environment(char *ret_kept[ENVIRONMENT_MAX + 1])
{
    size_t n = 0;
    for (char **entry = environ; *entry && n < ENVIRONMENT_MAX; entry++)
        if (is_for_keeper(*entry))
            ret_kept[n++] = *entry;
    ret_kept[n] = NULL;
}

/* In the child: nothing of the caller's comes along but folder and a little environment. */
static void become_keeper(const char *path, bool own, int said)
{
    const char *argv[] = {"snapcell",
                          "keeper",
                          "--detach",
                          "--idle-exit",
                          own ? OWN_IDLE_EXIT : STARTED_IDLE_EXIT,
                          "--pool",
                          own ? "0" : "4",
                          path ? "--socket" : NULL,
                          path,
                          NULL};
    char *kept[ENVIRONMENT_MAX + 1];
    sigset_t none;
    if (own)
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* OWN_IDLE_EXIT stands behind it */
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
        dup2(said, STDERR_FILENO) < 0 || sc_sys_close_range(STDERR_FILENO + 1, ~0u, 0) < 0)
        _exit(SC_CLI_EXIT_FAILED);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    keep_environment(kept);
    execve("/proc/self/exe", (char *const *)argv, kept);
    sc_cli_say("keeper: /proc/self/exe: %s", strerror(errno));
    _exit(SC_CLI_EXIT_FAILED);
}

/* What the new keeper says until it serves or ends; nothing is good. */
static void read_said(int said, char *ret_text, size_t size)
{
    size_t used = 0;
    ssize_t n;
    while ((n = read(said, ret_text + used, size - 1 - used)) > 0 || (n < 0 && errno == EINTR))
        used += n > 0 ? (size_t)n : 0;
    ret_text[used] = '\0';
    ret_text[strcspn(ret_text, "\n")] = '\0';
}

static void wait_for(pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* `ret_own` NULL: it outlives us and serves others, too. Else it is a child of ours, and *ret_own its pid. */
static int start_keeper(const char *path, pid_t *ret_own, struct sc_err *err)
{
    static const char prefix[] = "snapcell: ";
    char text[SC_ERR_MESSAGE_MAX];
    int from = -1, to = -1;
    int r = sc_pipe(&from, &to);
    pid_t pid = r < 0 ? -1 : fork();
    if (pid < 0) {
        r = sc_err_sys(err, r < 0 ? r : -errno, "keeper: start");
        goto out;
    }
    if (pid == 0) {
        /* Not the caller's child, so that nobody has to wait for it. */
        pid_t keeper = ret_own ? 0 : fork();
        if (keeper == 0)
            become_keeper(path, ret_own != NULL, to);
        _exit(keeper < 0 ? SC_CLI_EXIT_FAILED : SC_CLI_EXIT_OK);
    }
    sc_close(&to);
    if (!ret_own)
        wait_for(pid);
    read_said(from, text, sizeof text);
    if (*text)
        r = sc_err_set(err, SC_ERR_HOST, -EIO, "%s",
                       text + (strncmp(text, prefix, strlen(prefix)) ? 0 : strlen(prefix)));
    if (ret_own && r < 0)
        wait_for(pid);
    else if (ret_own)
        *ret_own = pid;
out:
    sc_close(&from);
    sc_close(&to);
    return r;
}

static bool nobody_serves(int r)
{
    return r == -ENOENT || r == -ECONNREFUSED || r == -ECONNRESET;
}

int sc_cli_keeper_reach(const char *path, struct sc_keeper_client **ret_client, struct sc_err *err)
{
    uint64_t until = sc_now_ns() + PATIENCE_NS;
    for (;;) {
        int r = sc_keeper_client_open(path, ret_client, err);
        if (!nobody_serves(r))
            return r;
        if (sc_now_ns() >= until)
            return r;
        r = start_keeper(path, NULL, err);
        if (r == 0)
            r = sc_keeper_client_open(path, ret_client, err);
        if (!nobody_serves(r))
            return r;
        /* Another one holds the lock and does not serve yet, or does not any more. */
        poll(NULL, 0, PAUSE_MS);
    }
}

int sc_cli_keeper_own(struct sc_cli_own_keeper *keeper, struct sc_keeper_client **ret_client,
                      struct sc_err *err)
{
    int r = sc_keeper_path(keeper->path, err);
    char *name = r == 0 ? strrchr(keeper->path, '/') : NULL;
    if (!name)
        return r < 0 ? r : sc_err_usage(err, "socket", "socket: %s: must be an absolute path", keeper->path);
    size_t room = sizeof keeper->path - (size_t)(name + 1 - keeper->path);
    if (snprintf(name + 1, room, "own-%d.sock", (int)getpid()) >= (int)room)
        return sc_err_usage(err, "socket", "socket: the path is too long");
    keeper->pid = -1;
    r = start_keeper(keeper->path, &keeper->pid, err);
    if (r == 0)
        r = sc_keeper_client_open(keeper->path, ret_client, err);
    if (r < 0)
        sc_cli_keeper_own_end(keeper);
    return r;
}

void sc_cli_keeper_own_end(struct sc_cli_own_keeper *keeper)
{
    if (keeper->pid <= 0)
        return;
    kill(keeper->pid, SIGTERM);
    wait_for(keeper->pid);
    keeper->pid = -1;
}
