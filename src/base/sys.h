/* System calls that the C library lacks, and kernel constants newer than the installed headers.
 * Everything here returns a value >= 0 or a negative errno, and never touches errno's meaning for the caller.
 */
#ifndef SC_BASE_SYS_H
#define SC_BASE_SYS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* ---- processes ---- */
/* A function that runs in a child within the caller's memory and never returns there: AddressSanitizer would
 * take the marks it leaves on the child's stack for the caller's. */
#define SC_BORROWED_MEMORY __attribute__((no_sanitize_address))

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif
#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif
#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x00001000
#endif
#define SC_CLONE_INTO_CGROUP 0x200000000ull

struct sc_clone_args {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size,
        cgroup;
};

/* clone3 whose child runs fn(arg) on args->stack and ends with its return value. With CLONE_VM | CLONE_VFORK
 * the caller sleeps until the child has called exec or ended. Linux 5.5 (set_tid), 5.7 (cgroup). */
long sc_sys_clone3_call(struct sc_clone_args *args, int (*fn)(void *), void *arg);
int sc_sys_pidfd_open(pid_t pid);
int sc_sys_pidfd_kill(int pidfd, int signal);
int sc_sys_close_range(unsigned first, unsigned last, unsigned flags);

/* ---- mounts (Linux 5.2; mount_setattr 5.12) ---- */
#define SC_MOUNT_ATTR_RDONLY 0x00000001
#define SC_MOUNT_ATTR_NOSUID 0x00000002
#define SC_MOUNT_ATTR_NODEV 0x00000004
#define SC_MOUNT_ATTR_NOEXEC 0x00000008
#define SC_FSCONFIG_SET_STRING 1
#define SC_FSCONFIG_CMD_CREATE 6
#define SC_OPEN_TREE_CLONE 1
#define SC_AT_RECURSIVE 0x8000

int sc_sys_fsopen(const char *type);
int sc_sys_fsconfig_string(int fs, const char *key, const char *value);
int sc_sys_fsconfig_create(int fs);
int sc_sys_fsmount(int fs, unsigned attributes);
/* Puts the detached mount `fd` onto `path` below `dirfd`. */
int sc_sys_move_mount(int fd, int dirfd, const char *path);
/* A detached copy of the mount tree at `path`. */
int sc_sys_open_tree(int dirfd, const char *path, int recursive);
int sc_sys_mount_setattr(int fd, unsigned flags, uint64_t set, uint64_t clear);
int sc_sys_pivot_root(const char *new_root, const char *put_old);

/* ---- paths (Linux 5.6) ---- */
#define SC_RESOLVE_NO_XDEV 0x01
#define SC_RESOLVE_NO_MAGICLINKS 0x02
#define SC_RESOLVE_NO_SYMLINKS 0x04
#define SC_RESOLVE_BENEATH 0x08
#define SC_RESOLVE_IN_ROOT 0x10
int sc_sys_openat2(int dirfd, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve);

/* ---- Landlock (Linux 5.13) ---- */
#define SC_LANDLOCK_FS_EXECUTE (1ull << 0)
#define SC_LANDLOCK_FS_WRITE_FILE (1ull << 1)
#define SC_LANDLOCK_FS_READ_FILE (1ull << 2)
#define SC_LANDLOCK_FS_READ_DIR (1ull << 3)
#define SC_LANDLOCK_FS_TRUNCATE (1ull << 14)  /* ABI 3 */
#define SC_LANDLOCK_FS_IOCTL_DEV (1ull << 15) /* ABI 5 */
#define SC_LANDLOCK_FS_ABI1 ((1ull << 13) - 1)
#define SC_LANDLOCK_FS_REFER (1ull << 13)           /* ABI 2 */
#define SC_LANDLOCK_SCOPE_ABSTRACT_UNIX (1ull << 0) /* ABI 6 */
#define SC_LANDLOCK_SCOPE_SIGNAL (1ull << 1)        /* ABI 6 */
int sc_sys_landlock_create(uint64_t handled_fs, uint64_t scoped);
int sc_sys_landlock_add_path(int ruleset, int path_fd, uint64_t access);
int sc_sys_landlock_restrict(int ruleset);

#endif
