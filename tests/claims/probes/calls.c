/* Attempts on rarely needed or privileged system calls. The arguments are such that nothing happens even
 * where the call is allowed, or such that only the calling child is touched. */
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>

#include "probe.h"

/* Numbers that the installed headers may lack. */
enum {
    NR_pidfd_open = 434,
    NR_clone3 = 435,
    NR_pidfd_getfd = 438,
    NR_open_tree = 428,
    NR_move_mount = 429,
    NR_fsopen = 430,
    NR_fsmount = 432,
    NR_fspick = 433,
    NR_process_madvise = 440,
    NR_mount_setattr = 442,
    NR_quotactl_fd = 443,
    NR_landlock_create_ruleset = 444,
    NR_process_mrelease = 448,
    NR_statmount = 457,
    NR_listmount = 458,
    NR_io_uring_setup = 425,
    NR_io_uring_enter = 426,
    NR_io_uring_register = 427,
    NR_x32_bit = 0x40000000,
};

#define RAW(name, ...)                                                                                       \
    static int name(char *arg)                                                                               \
    {                                                                                                        \
        (void)arg;                                                                                           \
        return TRIED(syscall(__VA_ARGS__));                                                                  \
    }

RAW(do_mount_tmpfs, SYS_mount, "none", "/tmp", "tmpfs", 0, "")
RAW(do_mount_bind, SYS_mount, "/usr", "/tmp", "", MS_BIND, "")
RAW(do_mount_proc, SYS_mount, "proc", "/tmp", "proc", 0, "")
RAW(do_remount, SYS_mount, "none", "/", "", MS_REMOUNT | MS_BIND, "")
RAW(do_umount, SYS_umount2, "/tmp", MNT_DETACH)
RAW(do_pivot_root, SYS_pivot_root, "/", "/tmp")
RAW(do_chroot, SYS_chroot, "/tmp")
RAW(do_sethostname, SYS_sethostname, "x", 1)
RAW(do_setdomainname, SYS_setdomainname, "x", 1)
RAW(do_swapon, SYS_swapon, "/nonexistent", 0)
RAW(do_swapoff, SYS_swapoff, "/nonexistent")
RAW(do_init_module, SYS_init_module, "", 0, "")
RAW(do_finit_module, SYS_finit_module, -1, "", 0)
RAW(do_delete_module, SYS_delete_module, "nonexistent", O_NONBLOCK)
RAW(do_iopl, SYS_iopl, 3)
RAW(do_ioperm, SYS_ioperm, 0x80, 1, 1)
RAW(do_acct, SYS_acct, "/tmp/acct")
RAW(do_reboot, SYS_reboot, 0, 0, 0, 0) /* wrong magic: EINVAL where it is allowed */
RAW(do_syslog, SYS_syslog, 3, "", 0)
RAW(do_kexec_load, SYS_kexec_load, 0, 64, 0, 0) /* 64 segments at NULL: fails where it is allowed */
RAW(do_kexec_file_load, SYS_kexec_file_load, -1, -1, 0, 0, 0)
RAW(do_quotactl, SYS_quotactl, 0x800004 << 8, "/dev/null", 0, 0)
RAW(do_quotactl_fd, NR_quotactl_fd, -1, 0, 0, 0)
RAW(do_open_by_handle, SYS_open_by_handle_at, AT_FDCWD, "\0\0\0\0\0\0\0\0", O_RDONLY)
RAW(do_name_to_handle, SYS_name_to_handle_at, AT_FDCWD, "/", 0, 0, 0)
RAW(do_bpf, SYS_bpf, 0, 0, 0)
RAW(do_perf, SYS_perf_event_open, 0, 0, -1, -1, 0)
RAW(do_userfaultfd, SYS_userfaultfd, 0)
RAW(do_io_uring_setup, NR_io_uring_setup, 0, 0)
RAW(do_io_uring_enter, NR_io_uring_enter, -1, 0, 0, 0, 0, 0)
RAW(do_io_uring_register, NR_io_uring_register, -1, 0, 0, 0)
RAW(do_add_key, SYS_add_key, "user", "probe", "x", 1, -3)
RAW(do_request_key, SYS_request_key, "user", "probe", 0, -3)
RAW(do_keyctl, SYS_keyctl, 0, -3, 1)
RAW(do_fsopen, NR_fsopen, "tmpfs", 0)
RAW(do_fsmount, NR_fsmount, -1, 0, 0)
RAW(do_fspick, NR_fspick, AT_FDCWD, "/", 0)
RAW(do_open_tree, NR_open_tree, AT_FDCWD, "/", 1)
RAW(do_move_mount, NR_move_mount, -1, "", AT_FDCWD, "/tmp", 4)
RAW(do_mount_setattr, NR_mount_setattr, AT_FDCWD, "/", 0,
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 32)
RAW(do_statmount, NR_statmount, 0, 0, 0, 0)
RAW(do_listmount, NR_listmount, 0, 0, 0, 0)
RAW(do_fanotify_init, SYS_fanotify_init, 0, 0)
RAW(do_setns, SYS_setns, -1, 0)
RAW(do_kcmp, SYS_kcmp, 1, getpid(), 0, 0, 0)
RAW(do_lookup_dcookie, SYS_lookup_dcookie, 0, 0, 0)
RAW(do_modify_ldt, SYS_modify_ldt, 0, 0, 0)
RAW(do_personality, SYS_personality, READ_IMPLIES_EXEC)
RAW(do_personality_ask, SYS_personality, 0xffffffff)
RAW(do_vhangup, SYS_vhangup)
RAW(do_nfsservctl, SYS_nfsservctl, 0, 0, 0)
RAW(do_migrate_pages, SYS_migrate_pages, 0, 0, 0, 0)
RAW(do_move_pages, SYS_move_pages, 1, 0, 0, 0, 0, 0)
RAW(do_process_madvise, NR_process_madvise, -1, 0, 0, 0, 0)
RAW(do_process_mrelease, NR_process_mrelease, -1, 0)
RAW(do_clone3, NR_clone3, 0, 0)
RAW(do_unknown, SYS_read + 5000, 0)
RAW(do_landlock, NR_landlock_create_ruleset, 0, 0,
    1) /* asks for the version: programs may restrict themselves */
RAW(do_getpid, SYS_getpid)
RAW(do_setuid_root, SYS_setuid, 0)
RAW(do_setgid_root, SYS_setgid, 0)
RAW(do_setresuid_agent, SYS_setresuid, 999, 999, 999)
RAW(do_setgroups, SYS_setgroups, 0, 0)
RAW(do_setuid_self, SYS_setuid, getuid())

static int clone_with(unsigned long flags)
{
    long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(0);
    return pid < 0 ? errno : 0;
}

/* ARG: flags in hexadecimal. */
static int do_unshare(char *arg)
{
    return TRIED(syscall(SYS_unshare, strtoul(arg, NULL, 16)));
}

static int do_clone(char *arg)
{
    return clone_with(strtoul(arg, NULL, 16));
}

static int do_old_aio(char *arg)
{
    aio_context_t context = 0;
    (void)arg;
    return TRIED(syscall(SYS_io_setup, 8, &context));
}

/* A namespace of users and mounts of its own, then a mount in it: what a kernel hole is reached by. */
static int do_userns_mount(char *arg)
{
    (void)arg;
    if (syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return errno;
    return TRIED(mount("none", "/tmp", "tmpfs", 0, ""));
}

static int do_clock_settime(char *arg)
{
    struct timespec now;
    (void)arg;
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_nsec = -1; /* EINVAL where it is allowed */
    return TRIED(syscall(SYS_clock_settime, CLOCK_REALTIME, &now));
}

static int do_settimeofday(char *arg)
{
    struct timezone zone = {.tz_minuteswest = 20000}; /* EINVAL where it is allowed */
    (void)arg;
    return TRIED(syscall(SYS_settimeofday, NULL, &zone));
}

static int do_adjtimex(char *arg)
{
    struct timex t = {.modes = ADJ_TICK, .tick = 1};
    (void)arg;
    return TRIED(syscall(SYS_adjtimex, &t));
}

static int do_nice(char *arg)
{
    (void)arg;
    return TRIED(syscall(SYS_setpriority, PRIO_PROCESS, 0, -5));
}

static int do_nicer(char *arg)
{
    (void)arg;
    return TRIED(syscall(SYS_setpriority, PRIO_PROCESS, 0, 10));
}

static int do_realtime(char *arg)
{
    struct sched_param p = {.sched_priority = 1};
    (void)arg;
    return TRIED(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &p));
}

static int do_oom_score(char *arg)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    (void)arg;
    return fd < 0 ? errno : TRIED(write(fd, "-500", 4));
}

static int do_ptrace_child(char *arg)
{
    (void)arg;
    return TRIED(ptrace(PTRACE_TRACEME, 0, 0, 0));
}

/* unshare by the 32-bit entry: number 310 there. */
static int do_int80(char *arg)
{
    long r;
    (void)arg;
    __asm__ volatile("int $0x80" : "=a"(r) : "a"(310L), "b"(0L) : "memory");
    return r < 0 ? (int)-r : 0;
}

RAW(do_x32, NR_x32_bit | SYS_getpid)

#define CALL(name)                                                                                           \
    {                                                                                                        \
#name, do_##name                                                                                     \
    }
static const struct attempt table[] = {
    CALL(mount_tmpfs),
    CALL(mount_bind),
    CALL(mount_proc),
    CALL(remount),
    CALL(umount),
    CALL(pivot_root),
    CALL(chroot),
    CALL(sethostname),
    CALL(setdomainname),
    CALL(swapon),
    CALL(swapoff),
    CALL(init_module),
    CALL(finit_module),
    CALL(delete_module),
    CALL(iopl),
    CALL(ioperm),
    CALL(acct),
    CALL(reboot),
    CALL(syslog),
    CALL(kexec_load),
    CALL(kexec_file_load),
    CALL(quotactl),
    CALL(quotactl_fd),
    CALL(open_by_handle),
    CALL(name_to_handle),
    CALL(bpf),
    CALL(perf),
    CALL(userfaultfd),
    CALL(io_uring_setup),
    CALL(io_uring_enter),
    CALL(io_uring_register),
    CALL(add_key),
    CALL(request_key),
    CALL(keyctl),
    CALL(fsopen),
    CALL(fsmount),
    CALL(fspick),
    CALL(open_tree),
    CALL(move_mount),
    CALL(mount_setattr),
    CALL(statmount),
    CALL(listmount),
    CALL(fanotify_init),
    CALL(setns),
    CALL(kcmp),
    CALL(lookup_dcookie),
    CALL(modify_ldt),
    CALL(personality),
    CALL(personality_ask),
    CALL(vhangup),
    CALL(nfsservctl),
    CALL(migrate_pages),
    CALL(move_pages),
    CALL(process_madvise),
    CALL(process_mrelease),
    CALL(clone3),
    CALL(unknown),
    CALL(landlock),
    CALL(getpid),
    CALL(setuid_root),
    CALL(setgid_root),
    CALL(setresuid_agent),
    CALL(setgroups),
    CALL(setuid_self),
    CALL(unshare),
    CALL(clone),
    CALL(userns_mount),
    CALL(old_aio),
    CALL(clock_settime),
    CALL(settimeofday),
    CALL(adjtimex),
    CALL(nice),
    CALL(nicer),
    CALL(realtime),
    CALL(oom_score),
    CALL(ptrace_child),
    CALL(int80),
    CALL(x32),
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    return probe_main(table, argc, argv);
}
