/* What stands around us: container, service manager, memory, processors, disks. */
#include "host/probe.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"

bool sc_cgroup_names_container(const char *text)
{
    static const char *const engines[] = {"/docker", "/lxc",           "/kubepods", "/libpod", "/containerd",
                                          "/podman", "/machine.slice", "/garden",   "/ecs"};
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (strstr(text, engines[i]))
            return true;
    return false;
}

/* A variable "container=" in the environment of process 1: systemd's and lxc's convention. */
static bool environ_says_container(void)
{
    struct sc_buf text;
    bool found = false;
    sc_buf_init(&text, 1 << 17);
    if (sc_buf_read_file(&text, AT_FDCWD, "/proc/1/environ") == 0)
        for (size_t at = 0; at < text.len && !found; at += strlen((char *)text.data + at) + 1)
            found = !strncmp((char *)text.data + at, "container=", strlen("container="));
    sc_buf_fini(&text);
    return found;
}

static bool in_container(void)
{
    static const char *const marks[] = {"/.dockerenv", "/run/.containerenv", "/run/systemd/container"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (access(marks[i], F_OK) == 0)
            return true;
    if (environ_says_container())
        return true;
    struct sc_buf text;
    sc_buf_init(&text, 1 << 16);
    bool found = sc_buf_read_file(&text, AT_FDCWD, "/proc/1/cgroup") == 0 && text.data &&
                 sc_cgroup_names_container((const char *)text.data);
    sc_buf_fini(&text);
    return found;
}

static bool systemd_answers(uid_t uid)
{
    char bus[64], private[64];
    if (access("/run/systemd/system", F_OK) < 0)
        return false;
    if (uid == 0)
        return access("/run/dbus/system_bus_socket", W_OK) == 0 || access("/run/systemd/private", W_OK) == 0;
    snprintf(bus, sizeof bus, "/run/user/%u/bus", (unsigned)uid);
    snprintf(private, sizeof private, "/run/user/%u/systemd/private", (unsigned)uid);
    return access(bus, W_OK) == 0 || access(private, W_OK) == 0;
}

static bool has_loop_devices(void)
{
    static const char *const mkfs[] = {"/usr/sbin/mkfs.ext4", "/sbin/mkfs.ext4", "/usr/bin/mkfs.ext4"};
    int fd = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return false;
    close(fd);
    for (size_t i = 0; i < sizeof mkfs / sizeof *mkfs; i++)
        if (access(mkfs[i], X_OK) == 0)
            return true;
    return false;
}

/* More processors than fit the set can be had with an older libc: then all that are there count. */
static unsigned count_cpus(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (unsigned)CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

void sc_probe_surroundings(struct sc_host *host)
{
    struct sysinfo info;
    struct rlimit files;
    host->in_container = in_container();
    host->systemd = systemd_answers(host->uid);
    host->loop_devices = has_loop_devices();
    host->cpus = count_cpus();
    if (sysinfo(&info) == 0) {
        host->memory_bytes = (uint64_t)info.totalram * info.mem_unit;
        host->swap_bytes = (uint64_t)info.totalswap * info.mem_unit;
    }
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        host->open_files_hard = files.rlim_max;
}
