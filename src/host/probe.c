/* The probe: its order, and how a thing is tried in a child. */
#include "host/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/sys.h"
#include "host/cgroup.h"

/* A fork that ends without a signal to its parent: the program that uses this library may have a SIGCHLD
 * handler of its own. Where clone3 is missing an ordinary fork has to do. */
static pid_t quiet_fork(void)
{
    struct sc_clone_args args = {.exit_signal = 0};
    long pid = syscall(SYS_clone3, &args, sizeof args);
    if (pid < 0 && (errno == ENOSYS || errno == EPERM))
        pid = fork();
    return pid < 0 ? -errno : (pid_t)pid;
}

int sc_host_try(void (*fn)(void *arg, int report_fd), void *arg, void *ret_report, size_t size)
{
    int read_fd, write_fd;
    char report[64];
    if (size > sizeof report)
        return -EINVAL;
    int r = sc_pipe(&read_fd, &write_fd);
    if (r < 0)
        return r;
    pid_t pid = quiet_fork();
    if (pid == 0) {
        fn(arg, write_fd);
        _exit(0);
    }
    sc_close(&write_fd);
    r = pid < 0 ? pid : sc_read_all(read_fd, report, size);
    sc_close(&read_fd);
    while (pid > 0 && waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
        ;
    if (r == 0)
        memcpy(ret_report, report, size);
    return r;
}

/* Mounts and groups as /proc tells them. A missing /proc/self/cgroup is a kernel without cgroups. */
static int read_view(struct sc_host *host, struct sc_cgroup_view *view, struct sc_err *err)
{
    struct sc_buf text;
    sc_buf_init(&text, 4 << 20);
    int r = sc_buf_read_file(&text, AT_FDCWD, "/proc/self/mountinfo");
    if (r == 0 && text.data) {
        sc_cgroup_parse_mounts(view, (const char *)text.data);
        sc_probe_disks(host, (const char *)text.data);
    }
    sc_buf_fini(&text);
    if (r < 0)
        return sc_err_set(err, SC_ERR_HOST, r, "reading /proc/self/mountinfo: %s", strerror(-r));
    sc_buf_init(&text, 1 << 16);
    r = sc_buf_read_file(&text, AT_FDCWD, "/proc/self/cgroup");
    if (r == 0 && text.data)
        sc_cgroup_parse_own(view, (const char *)text.data);
    sc_buf_fini(&text);
    if (r < 0 && r != -ENOENT)
        return sc_err_set(err, SC_ERR_HOST, r, "reading /proc/self/cgroup: %s", strerror(-r));
    return 0;
}

int sc_host_probe(struct sc_host *host, const struct sc_host_options *options, struct sc_err *err)
{
    static const struct sc_host_options standard = {0};
    struct sc_host found = {.userns_errno = 0};
    if (!options)
        options = &standard;
    struct sc_cgroup_view *view = calloc(1, sizeof *view);
    if (!view)
        return sc_err_sys(err, -ENOMEM, "looking at this host");
    sc_probe_kernel(&found);
    int r = sc_probe_identity(&found, err);
    if (r == 0)
        r = read_view(&found, view, err);
    if (r == 0) {
        sc_probe_surroundings(&found);
        uint64_t limit = sc_cgroup_memory_limit(view);
        if (limit < found.memory_bytes)
            found.memory_bytes = limit;
        sc_probe_apparmor(&found);
        sc_probe_userns(&found, options->thorough);
        if (options->thorough)
            sc_probe_criu(&found);
        r = sc_cgroup_choose(&found, view, options, err);
    }
    free(view);
    if (r == 0)
        *host = found;
    return r;
}
