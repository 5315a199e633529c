/* Killing what lives in groups, and removing groups whose maker is gone. */
#include "cell/group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"
#include "cell/group_parts.h"

#define PREFIX "snapcell-"
#define BATCH 64

/* The first pids of cgroup.procs. Processes of other pid namespaces read as 0 and are not ours to name.
 * Returns how many; *ret_any tells whether the file had anything in it. */
static int read_pids(int dir_fd, pid_t pids[BATCH], bool *ret_any)
{
    char text[BATCH * 12];
    int n = 0;
    ssize_t len = sc_read_text(dir_fd, "cgroup.procs", text, sizeof text);
    if (len < 0)
        return (int)len;
    *ret_any = len > 0;
    for (char *at = text, *end; n < BATCH && (end = strchr(at, '\n')); at = end + 1) {
        long pid = strtol(at, NULL, 10);
        if (pid > 0)
            pids[n++] = (pid_t)pid;
    }
    return n;
}

bool sc_group_has_only(const struct sc_group *group, pid_t pid)
{
    for (int i = 0; i < SC_CTL_COUNT; i++) {
        pid_t pids[BATCH];
        bool any;
        if (!sc_group_is_first(group, i))
            continue;
        if (read_pids(group->dir_fds[i], pids, &any) != 1 || pids[0] != pid)
            return false;
    }
    return true;
}

static bool listed(const pid_t *pids, int n, pid_t pid)
{
    for (int i = 0; i < n; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

/* A pid may be somebody else's by the time it is signalled. So: descriptors of those listed, the list again,
 * and a signal by descriptor to those in both. If the pid changed hands in between, the descriptor's process
 * is dead. */
static int kill_batch(int dir_fd, bool *ret_any)
{
    pid_t before[BATCH], after[BATCH];
    int fds[BATCH];
    int n = read_pids(dir_fd, before, ret_any);
    if (n <= 0)
        return n;
    for (int i = 0; i < n; i++)
        fds[i] = sc_sys_pidfd_open(before[i]);
    int m = read_pids(dir_fd, after, ret_any);
    for (int i = 0; i < n; i++) {
        if (fds[i] >= 0 && listed(after, m, before[i]))
            sc_sys_pidfd_kill(fds[i], SIGKILL);
        if (fds[i] >= 0)
            close(fds[i]);
    }
    return m;
}

/* Kills all in one directory until it is empty or the deadline is there: 0, -EBUSY, or another negative
 * errno. */
static int kill_dir(int dir_fd, uint64_t deadline_ns)
{
    uint64_t pause = 100000;
    if (sc_write_file(dir_fd, "cgroup.kill", "1") == 0)
        return 0;
    for (;;) {
        bool any = false;
        int n = kill_batch(dir_fd, &any);
        if (n < 0 || !any)
            return n < 0 ? n : 0;
        if (sc_now_ns() >= deadline_ns)
            return -EBUSY;
        sc_group_pause(&pause);
    }
}

int sc_group_kill(struct sc_group *group)
{
    uint64_t deadline = sc_now_ns() + SC_GROUP_WAIT_NS;
    int worst = 0;
    /* No new ones: else a fork bomb and we run a race. Where it is refused, the loop below still ends it. */
    if (group->dir_fds[SC_CTL_PIDS] >= 0)
        sc_write_file(group->dir_fds[SC_CTL_PIDS], "pids.max", "0");
    for (int i = 0; i < SC_CTL_COUNT; i++) {
        if (!sc_group_is_first(group, i))
            continue;
        int r = kill_dir(group->dir_fds[i], deadline);
        if (r < 0 && worst == 0)
            worst = r;
    }
    return worst;
}

/* 1 when no process is in the directory, 0 when some are, or negative errno. */
static int dir_empty(int dir_fd)
{
    pid_t pids[BATCH];
    bool any;
    int n = read_pids(dir_fd, pids, &any);
    return n < 0 ? n : !any;
}

int sc_group_empty(struct sc_group *group)
{
    for (int i = 0; i < SC_CTL_COUNT; i++) {
        int r = sc_group_is_first(group, i) ? dir_empty(group->dir_fds[i]) : 1;
        if (r <= 0)
            return r;
    }
    return 1;
}

/* True when `name` is a group of a maker in our pid namespace that is gone. Names of other namespaces tell us
 * nothing: those are swept by their own. */
static bool is_stale(const char *name, uint64_t pid_ns)
{
    char *end;
    uint64_t start;
    if (strncmp(name, PREFIX, strlen(PREFIX)) || name[strlen(PREFIX)] < '1' || name[strlen(PREFIX)] > '9')
        return false;
    long pid = strtol(name + strlen(PREFIX), &end, 10);
    if (*end != '-' || pid <= 0)
        return false;
    uint64_t made = strtoull(end + 1, &end, 10);
    if (*end != '-' || strtoull(end + 1, &end, 16) != pid_ns || *end != '-')
        return false;
    int r = sc_host_start_time((pid_t)pid, &start);
    return r == -ENOENT || r == -ESRCH || (r == 0 && start != made);
}

static int sweep_one(int parent_fd, const char *name)
{
    uint64_t deadline = sc_now_ns() + SC_GROUP_WAIT_NS / 4;
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = kill_dir(fd, deadline);
    close(fd);
    return r < 0 ? r : sc_group_remove(parent_fd, name, deadline);
}

static int sweep_dir(const char *path, uint64_t pid_ns)
{
    struct stat st;
    int removed = 0;
    /* A control group's directory has two links and one for each group in it: nearly always there is none,
     * and its many files need not be listed. */
    if (stat(path, &st) < 0 || st.st_nlink == 2)
        return 0;
    DIR *dir = opendir(path);
    if (!dir)
        return 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (is_stale(entry->d_name, pid_ns) && sweep_one(dirfd(dir), entry->d_name) == 0)
            removed++;
    closedir(dir);
    return removed;
}

int sc_group_sweep(const struct sc_host *host)
{
    struct stat ns;
    int removed = 0;
    if (stat("/proc/self/ns/pid", &ns) < 0)
        return -errno;
    for (int i = 0; i < SC_CTL_COUNT; i++) {
        bool seen = !host->controllers[i].version;
        for (int j = 0; j < i && !seen; j++)
            seen =
                host->controllers[j].version && !strcmp(host->controllers[j].dir, host->controllers[i].dir);
        if (!seen)
            removed += sweep_dir(host->controllers[i].dir, ns.st_ino);
    }
    return removed;
}
