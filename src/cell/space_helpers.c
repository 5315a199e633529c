/* The two helper processes that make the namespaces of a cell, and those of a child cell: what both have in
 * common. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/space_parts.h"

/* ---- the outer one ---- */

static int write_map(pid_t pid, const char *file, const char *text)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    return sc_write_file(AT_FDCWD, path, text);
}

static void write_maps(int socket, const struct sc_space_helpers *helpers, pid_t pid)
{
    int r = write_map(pid, "setgroups", "deny");
    if (r == 0)
        r = write_map(pid, "gid_map", helpers->map);
    if (r == 0)
        r = write_map(pid, "uid_map", helpers->map);
    if (r < 0)
        sc_maker_fail(socket, "id map", helpers->map, r);
}

void sc_space_have_inner(int socket, struct sc_space_helpers *helpers, void (*inner)(int socket, void *data),
                         void *data)
{
    char byte;
    if (pipe2(helpers->ready, O_CLOEXEC) < 0 || pipe2(helpers->go, O_CLOEXEC) < 0)
        sc_maker_fail(socket, "pipe", "", -errno);
    pid_t pid = sc_maker_fork();
    if (pid < 0)
        sc_maker_fail(socket, "fork", "", pid);
    if (pid == 0) {
        close(helpers->ready[0]);
        close(helpers->go[1]);
        inner(socket, data);
        _exit(1);
    }
    close(helpers->ready[1]);
    close(helpers->go[0]);
    if (read(helpers->ready[0], &byte, 1) == 1) {
        write_maps(socket, helpers, pid);
        if (write(helpers->go[1], "g", 1) != 1)
            sc_maker_fail(socket, "pipe", "", -errno);
    }
    waitpid(pid, NULL, __WALL);
}

/* ---- the inner one ---- */

void sc_space_ask_for_map(struct sc_space_helpers *helpers)
{
    char byte;
    if (write(helpers->ready[1], "r", 1) != 1 || read(helpers->go[0], &byte, 1) != 1)
        _exit(1);
}

static int loopback_up(void)
{
    struct ifreq request = {.ifr_flags = IFF_UP | IFF_RUNNING};
    memcpy(request.ifr_name, "lo", 3);
    int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (sock < 0)
        return -errno;
    int r = ioctl(sock, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
    close(sock);
    return r;
}

/* Only a namespace that nobody has entered can be told so. */
static int start_clocks(uint64_t monotonic_s, uint64_t boot_s)
{
    char text[96];
    snprintf(text, sizeof text, "monotonic -%" PRIu64 " 0\nboottime -%" PRIu64 " 0\n", monotonic_s, boot_s);
    return sc_write_file(AT_FDCWD, "/proc/self/timens_offsets", text);
}

/* The open file belongs to the namespace, not to the process it was found by. Where the kernel has no IPv6
 * there is no snmp6, and nothing to count. */
static int open_counts(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 && errno == ENOENT ? open("/dev/null", O_RDONLY | O_CLOEXEC) : fd;
}

int sc_space_make_own(int socket, const struct sc_space_helpers *helpers, int fds[SC_SPACE_FDS_MAX])
{
    const char *step = "";
    if (unshare(CLONE_NEWNET) < 0)
        sc_maker_fail(socket, "network namespace", "", -errno);
    int r = loopback_up();
    if (r < 0)
        sc_maker_fail(socket, "network namespace", "lo", r);
    if (unshare(CLONE_NEWTIME) < 0)
        sc_maker_fail(socket, "time namespace", "", -errno);
    r = start_clocks(helpers->monotonic_s, helpers->boot_s);
    if (r < 0)
        sc_maker_fail(socket, "time namespace", "/proc/self/timens_offsets", r);
    fds[0] = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    fds[1] = open("/proc/thread-self/ns/time_for_children", O_RDONLY | O_CLOEXEC);
    fds[2] = open_counts("/proc/thread-self/net/snmp");
    fds[3] = open_counts("/proc/thread-self/net/snmp6");
    if (!helpers->table->len)
        return SC_SPACE_FDS;
    r = sc_net_space_make(helpers->table->data, helpers->table->len, fds + SC_SPACE_FDS - 1, &step);
    if (r < 0)
        sc_maker_fail(socket, "network rules:", step, r);
    return SC_SPACE_FDS_MAX;
}

void sc_space_hand_over(int socket, int *fds, int n_fds)
{
    fds[n_fds - 1] = open("/proc/thread-self/ns/user", O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < n_fds; i++)
        if (fds[i] < 0)
            sc_maker_fail(socket, "namespace descriptors", "", -EBADF);
    sc_maker_send(socket, fds, (size_t)n_fds);
    _exit(0);
}
