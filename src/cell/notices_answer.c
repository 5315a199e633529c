/* System calls that the policy has answered for the cell, because the kernel's own answer would be the
 * host's.
 *
 * The caller waits in its call while its answer is written into its memory. Nothing is read there, and
 * nothing is decided. A process number alone would not do to write by: the caller may be killed any time, and
 * its number be another process's by then. So its memory is opened first, and only then is the kernel asked
 * whether the call is still waited for: if it is, what was opened is the caller's, and stays so. (Such a
 * write also reaches private pages that the caller may not write to itself: its own copies, never the
 * file's.)
 *
 * Opening takes the right to trace the caller. We have it, without any capability of ours, because the cell's
 * user namespace is ours or lies in one of ours. Where it is refused all the same, the call is not there
 * (ENOSYS): by Yama's scope 3, or to an ordinary user when the program has made itself undumpable, for then
 * root owns its files of /proc.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <linux/sysinfo.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/num.h"
#include "cell/notices.h"

/* As /proc/uptime says inside; the kernel rounds a begun second up, too. */
static long uptime_s(const struct sc_notices *notices)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec - (long)notices->space->boot_s + (now.tv_nsec > 0);
}

/* Without a group to ask, the cell's use is not known: all is free then, as /proc/meminfo says. One process,
 * as /proc/loadavg says: the right number would take one more file to read, and bash asks at its start. */
static void fill_sysinfo(const struct sc_notices *notices, struct sysinfo *ret_info)
{
    uint64_t total = notices->plan->limits.memory, used = 0;
    if (notices->space->has_group)
        sc_group_memory_bytes(&notices->space->group, &used);
    memset(ret_info, 0, sizeof *ret_info); /* its holes too: what lies in ours must not reach the cell */
    ret_info->uptime = uptime_s(notices);
    ret_info->totalram = total;
    ret_info->freeram = total - sc_min_u64(used, total);
    ret_info->procs = 1;
    ret_info->mem_unit = 1;
}

/* When the caller is gone, whatever this returns is heard by nobody. */
static int write_to_caller(int listener, const struct seccomp_notif *notice, uint64_t address,
                           const void *data, size_t size)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%u/mem", notice->pid);
    int memory = open(path, O_WRONLY | O_CLOEXEC), r = 0;
    if (memory < 0)
        return -ENOSYS;
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &notice->id) == 0) {
        /* Addresses with the highest bit are the kernel's; pwrite has no name for them. */
        ssize_t n = address > INT64_MAX ? -1 : pwrite(memory, data, size, (off_t)address);
        r = n == (ssize_t)size ? 0 : -EFAULT;
    }
    close(memory);
    return r;
}

int sc_notices_answer(const struct sc_notices *notices, const struct seccomp_notif *notice)
{
    int listener = notices->listener;
    if (notice->data.nr != SYS_sysinfo)
        return -ENOSYS;
    struct sysinfo info;
    fill_sysinfo(notices, &info);
    return write_to_caller(listener, notice, notice->data.args[0], &info, sizeof info);
}
