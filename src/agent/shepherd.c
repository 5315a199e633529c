/* Theory of operation.
 *
 * A shepherd is a fork of the agent: same id, not dumpable, and the subreaper of what it starts. However a
 * process of the command's tree makes itself independent (double fork, setsid, a parent that dies), its
 * orphans come to the shepherd; when the shepherd has no child left, the tree is gone. It reports to the
 * agent by packets and takes orders the same way. Its end without having said GONE or FAILED ends the cell.
 */
#include "agent/shepherd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"

#define KILL_PATIENCE_NS (4 * SC_NS_PER_S)
#define KILL_PAUSE_MS 2 /* between two looks at a tree that is dying */
#define REAP_MAX 64     /* dead children in a row */

struct shepherd {
    int report, children;
    pid_t main; /* 0: its end is told */
    pid_t main_group;
    uint64_t start_ns;
    bool tells_orphans;
    bool alone;  /* no child is left */
    bool fenced; /* its signals reach its descendants and nobody else */
};

static void tell(const struct shepherd *shepherd, const struct sc_shepherd_report *report)
{
    /* Waits where the agent is slow; where it is gone this process is, too. */
    while (send(shepherd->report, report, sizeof *report, MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

static void tell_exit(struct shepherd *shepherd, int status, const struct rusage *usage)
{
    const struct sc_shepherd_report report = {
        .news = SC_NEWS_EXIT,
        .exit = {.wait_status = status,
                 .user_ns = sc_timeval_ns(&usage->ru_utime),
                 .system_ns = sc_timeval_ns(&usage->ru_stime),
                 .rss_peak_bytes = (uint64_t)usage->ru_maxrss * 1024,
                 .wall_ns = sc_now_ns() - shepherd->start_ns},
    };
    shepherd->main = 0;
    tell(shepherd, &report);
}

/* Also of a command's ordinary ones: which of them was forked into another cell, the supervisor knows. */
static void tell_orphan(const struct shepherd *shepherd, pid_t pid, int status, const struct rusage *usage)
{
    const struct sc_shepherd_report report = {
        .news = SC_NEWS_ORPHAN,
        .orphan = {.pid = pid,
                   .wait_status = status,
                   .user_ns = sc_timeval_ns(&usage->ru_utime),
                   .system_ns = sc_timeval_ns(&usage->ru_stime),
                   .rss_peak_bytes = (uint64_t)usage->ru_maxrss * 1024}};
    tell(shepherd, &report);
}

/* The main process first, so that a storm of orphans cannot delay its verdict. Whether there may be more. */
static bool reap(struct shepherd *shepherd)
{
    struct signalfd_siginfo info;
    struct rusage usage;
    int status;
    while (read(shepherd->children, &info, sizeof info) == (ssize_t)sizeof info)
        ;
    if (shepherd->main > 0 && wait4(shepherd->main, &status, WNOHANG, &usage) == shepherd->main)
        tell_exit(shepherd, status, &usage);
    for (int i = 0; i < REAP_MAX; i++) {
        pid_t pid = wait4(-1, &status, WNOHANG, &usage);
        if (pid < 0 && errno == ECHILD)
            shepherd->alone = true;
        if (pid <= 0)
            return false;
        if (pid == shepherd->main)
            tell_exit(shepherd, status, &usage);
        else if (shepherd->tells_orphans)
            tell_orphan(shepherd, pid, status, &usage);
    }
    return true;
}

/* All at once where the fence holds: the kernel lets no process be born meanwhile. Else one after the other,
 * as /proc names them. */
static void signal_tree(const struct shepherd *shepherd, int number)
{
    if (shepherd->fenced)
        kill(-1, number);
    else
        sc_tree_signal(number);
}

/* New children may be born while we look: until none is left. */
static void kill_tree(struct shepherd *shepherd)
{
    uint64_t until = sc_now_ns() + KILL_PATIENCE_NS;
    while (!shepherd->alone) {
        signal_tree(shepherd, SIGKILL);
        struct pollfd child = {shepherd->children, POLLIN, 0};
        poll(&child, 1, KILL_PAUSE_MS);
        while (reap(shepherd))
            ;
        if (!shepherd->alone && sc_now_ns() > until) {
            const struct sc_shepherd_report report = {.news = SC_NEWS_UNKILLABLE};
            tell(shepherd, &report);
            return;
        }
    }
}

/* What was forked into cells below goes on, and this shepherd for its sake. */
static void kill_own(struct shepherd *shepherd)
{
    uint64_t until = sc_now_ns() + KILL_PATIENCE_NS;
    while (!shepherd->alone && sc_tree_signal_own(SIGKILL) > 0) {
        struct pollfd child = {shepherd->children, POLLIN, 0};
        poll(&child, 1, KILL_PAUSE_MS);
        while (reap(shepherd))
            ;
        if (!shepherd->alone && sc_now_ns() > until) {
            const struct sc_shepherd_report report = {.news = SC_NEWS_UNKILLABLE};
            tell(shepherd, &report);
            return;
        }
    }
}

static void obey(struct shepherd *shepherd)
{
    struct sc_shepherd_order order;
    ssize_t n = recv(shepherd->report, &order, sizeof order, MSG_DONTWAIT);
    if (n == 0)
        _exit(1); /* the agent is gone */
    if (n != (ssize_t)sizeof order)
        return;
    if (order.whom == SC_SIGNAL_MAIN && shepherd->main > 0)
        kill(shepherd->main, order.number);
    if (order.whom == SC_SIGNAL_GROUP)
        kill(-shepherd->main_group, order.number);
    if (order.whom == SC_SIGNAL_TREE && order.number == SIGKILL)
        kill_tree(shepherd);
    else if (order.whom == SC_SIGNAL_TREE)
        signal_tree(shepherd, order.number);
    else if (order.whom == SC_SIGNAL_OWN && order.number == SIGKILL)
        kill_own(shepherd);
    else if (order.whom == SC_SIGNAL_OWN)
        sc_tree_signal_own(order.number);
}

__attribute__((noreturn)) static void serve(struct shepherd *shepherd)
{
    for (bool more = false; !shepherd->alone;) {
        struct pollfd polls[2] = {{shepherd->children, POLLIN, 0}, {shepherd->report, POLLIN, 0}};
        if (poll(polls, 2, more ? 0 : -1) < 0 && errno != EINTR)
            _exit(1);
        if (more || polls[0].revents)
            more = reap(shepherd);
        if (polls[1].revents && !shepherd->alone)
            obey(shepherd);
    }
    const struct sc_shepherd_report report = {.news = SC_NEWS_GONE};
    tell(shepherd, &report);
    _exit(0);
}

/* ---- the start ---- */

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Everything but those, which need not be open. */
static int close_others(int *keep, size_t count)
{
    unsigned from = 3;
    qsort(keep, count, sizeof *keep, compare);
    for (size_t i = 0; i < count; i++) {
        if (keep[i] < (int)from)
            continue;
        if (keep[i] > (int)from) {
            int r = sc_sys_close_range(from, (unsigned)keep[i] - 1, 0);
            if (r < 0)
                return r;
        }
        from = (unsigned)keep[i] + 1;
    }
    return sc_sys_close_range(from, ~0u, 0);
}

int sc_launch_arrange(const struct sc_agent *agent, struct sc_launch *launch)
{
    int keep[3 + 5 + SC_AGENT_STAGE_FDS] = {SC_SLOT_STDIN, SC_SLOT_STDOUT, SC_SLOT_STDERR};
    int *const moved[] = {&launch->report, &launch->runner, &launch->socket, &launch->pty_slave,
                          &launch->folder};
    const int streams[3] = {launch->in, launch->out, launch->err};
    size_t n = 3;
    for (size_t i = 0; i < sizeof moved / sizeof moved[0]; i++) {
        if (*moved[i] >= 0 && *moved[i] < SC_SLOT_END) /* away from the slots */
            *moved[i] = fcntl(*moved[i], F_DUPFD_CLOEXEC, SC_SLOT_END);
        if (*moved[i] < 0 && i == 0)
            return -errno;
        keep[n++] = *moved[i];
    }
    for (int i = 0; i < SC_AGENT_STAGE_FDS; i++)
        keep[n++] = agent->stage_fds[i];
    int parked[3];
    for (int i = 0; i < 3; i++) {
        parked[i] = fcntl(streams[i] >= 0 ? streams[i] : SC_SLOT_NULL, F_DUPFD_CLOEXEC, SC_SLOT_END);
        if (parked[i] < 0)
            return -errno;
    }
    for (int i = 0; i < 3; i++)
        if (dup2(parked[i], SC_SLOT_STDIN + i) < 0)
            return -errno;
    return close_others(keep, n);
}

static bool is_same_name(const char *a, const char *b)
{
    size_t len = strcspn(a, "=");
    return !strncmp(a, b, len) && b[len] == '=';
}

/* The image's environment, except what the command sets anew; then the command's. */
static void merge_environment(const struct sc_image *image, char **own, uint32_t n_own, char **ret_env)
{
    static char *ours[SC_AGENT_ARGS_MAX + 1];
    size_t n = 0;
    sc_agent_image_texts(image, image->env, image->envc, ours);
    for (char **entry = ours; *entry; entry++) {
        bool anew = false;
        for (uint32_t i = 0; i < n_own && !anew; i++)
            anew = is_same_name(*entry, own[i]);
        if (!anew)
            ret_env[n++] = *entry;
    }
    for (uint32_t i = 0; i < n_own; i++)
        ret_env[n++] = own[i];
    ret_env[n] = NULL;
}

static pid_t spawn(struct sc_agent *agent, const struct sc_launch *launch, struct sc_msg_failed *failed)
{
    static char *texts[2 * SC_AGENT_ARGS_MAX], *argv[SC_AGENT_ARGS_MAX + 1], *env[2 * SC_AGENT_ARGS_MAX + 1];
    char *at = launch->texts;
    if (agent->image->envc > SC_AGENT_ARGS_MAX) {
        sc_agent_describe(failed, "exec", "environment", -E2BIG);
        return -E2BIG;
    }
    for (uint32_t i = 0; i < launch->argc + launch->envc; i++, at += strlen(at) + 1)
        texts[i] = at;
    memcpy(argv, texts, launch->argc * sizeof *argv);
    merge_environment(agent->image, texts + launch->argc, launch->envc, env);
    const struct sc_agent_entry entry = {.cwd = *at ? at : NULL, .pty_slave = launch->pty_slave};
    const struct sc_agent_program program = {
        .argv = argv, .env = env, .entry = &entry, .runner = launch->runner, .socket = launch->socket};
    return sc_agent_spawn(agent, &program, failed);
}

/* Every domain denies that files move from one folder to another, unless it speaks of it. */
static int allow_moves(int ruleset)
{
    int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return -errno;
    int r = sc_sys_landlock_add_path(ruleset, root, SC_LANDLOCK_FS_REFER);
    close(root);
    return r;
}

/* A Landlock domain of our own, in which the command's will lie: then "everybody we may signal" is the tree.
 * Older kernels have none. */
static int raise_fence(struct shepherd *shepherd)
{
    int ruleset = sc_sys_landlock_create(SC_LANDLOCK_FS_REFER, SC_LANDLOCK_SCOPE_SIGNAL);
    if (ruleset < 0)
        return 0;
    int r = allow_moves(ruleset);
    if (r == 0)
        r = sc_sys_landlock_restrict(ruleset);
    close(ruleset);
    shepherd->fenced = r == 0;
    return r;
}

/* No signal of the cell's ends a shepherd by chance. */
static int become_shepherd(struct shepherd *shepherd)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return -errno;
    prctl(PR_SET_NAME, "shepherd");
    sigemptyset(&all);
    sigaddset(&all, SIGCHLD);
    shepherd->children = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    return shepherd->children < 0 ? -errno : raise_fence(shepherd);
}

void sc_shepherd_main(struct sc_agent *agent, struct sc_launch *launch)
{
    struct shepherd shepherd = {.report = launch->report, .tells_orphans = launch->socket >= 0};
    struct sc_shepherd_report report = {.news = SC_NEWS_FAILED};
    int r = sc_launch_arrange(agent, launch);
    shepherd.report = launch->report;
    if (r == 0)
        r = become_shepherd(&shepherd);
    if (r < 0) {
        sc_agent_describe(&report.failed, "exec", "shepherd", r);
        tell(&shepherd, &report);
        _exit(1);
    }
    shepherd.start_ns = sc_now_ns();
    pid_t pid = spawn(agent, launch, &report.failed);
    /* The program shared our memory while it changed its ids. */
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        _exit(1);
    if (pid < 0) {
        tell(&shepherd, &report);
        _exit(0);
    }
    shepherd.main = shepherd.main_group = report.pid = pid;
    /* The program alone has them now, so that each stream ends with the last who writes. A terminal stays
     * open: without anybody on its other side it would be gone for who comes later. */
    sc_sys_close_range(SC_SLOT_STDIN, SC_SLOT_STDERR, 0);
    sc_close(&launch->runner);
    sc_close(&launch->socket);
    report.news = SC_NEWS_STARTED;
    tell(&shepherd, &report);
    serve(&shepherd);
}
