#include "base/sys.h"

#include <errno.h>
#include <unistd.h>

static long result(long r)
{
    return r < 0 ? -errno : r;
}

#if !defined(__x86_64__)
#error "sc_sys_clone3_call knows x86_64 only: add the other machine's call sequence here"
#endif

long sc_sys_clone3_call(struct sc_clone_args *args, int (*fn)(void *), void *arg)
{
    register long nr_or_result __asm__("rax") = SYS_clone3;
    register void *args_reg __asm__("rdi") = args;
    register long size_reg __asm__("rsi") = sizeof *args;
    register void *fn_reg __asm__("r12") = (void *)fn;
    register void *arg_reg __asm__("r13") = arg;
    /* The child starts on its own stack with the same registers, calls fn, and never comes back here. */
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "mov %%r13, %%rdi\n\t"
                     "call *%%r12\n\t"
                     "mov %%eax, %%edi\n\t"
                     "mov %[exit], %%eax\n\t"
                     "syscall\n\t"
                     "ud2\n"
                     "1:"
                     : "+r"(nr_or_result)
                     : "r"(args_reg), "r"(size_reg), "r"(fn_reg), "r"(arg_reg), [exit] "i"(SYS_exit)
                     : "rcx", "r11", "memory", "cc");
    return nr_or_result;
}

int sc_sys_pidfd_open(pid_t pid)
{
    return (int)result(syscall(SYS_pidfd_open, pid, 0));
}

int sc_sys_pidfd_kill(int pidfd, int signal)
{
    return (int)result(syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0));
}

int sc_sys_close_range(unsigned first, unsigned last, unsigned flags)
{
    return (int)result(syscall(SYS_close_range, first, last, flags));
}

int sc_sys_fsopen(const char *type)
{
    return (int)result(syscall(SYS_fsopen, type, 1 /* FSOPEN_CLOEXEC */));
}

int sc_sys_fsconfig_string(int fs, const char *key, const char *value)
{
    return (int)result(syscall(SYS_fsconfig, fs, SC_FSCONFIG_SET_STRING, key, value, 0));
}

int sc_sys_fsconfig_create(int fs)
{
    return (int)result(syscall(SYS_fsconfig, fs, SC_FSCONFIG_CMD_CREATE, NULL, NULL, 0));
}

int sc_sys_fsmount(int fs, unsigned attributes)
{
    return (int)result(syscall(SYS_fsmount, fs, 1 /* FSMOUNT_CLOEXEC */, attributes));
}

int sc_sys_move_mount(int fd, int dirfd, const char *path)
{
    return (int)result(syscall(SYS_move_mount, fd, "", dirfd, path, 4 /* MOVE_MOUNT_F_EMPTY_PATH */));
}

int sc_sys_open_tree(int dirfd, const char *path, int recursive)
{
    unsigned flags = SC_OPEN_TREE_CLONE | 02000000 /* O_CLOEXEC */ | (recursive ? SC_AT_RECURSIVE : 0);
    return (int)result(syscall(SYS_open_tree, dirfd, path, flags));
}

int sc_sys_mount_setattr(int fd, unsigned flags, uint64_t set, uint64_t clear)
{
    uint64_t attributes[4] = {set, clear, 0 /* propagation */, 0 /* userns_fd */};
    return (int)result(syscall(SYS_mount_setattr, fd, "", 0x1000 /* AT_EMPTY_PATH */ | flags, attributes,
                               sizeof attributes));
}

int sc_sys_pivot_root(const char *new_root, const char *put_old)
{
    return (int)result(syscall(SYS_pivot_root, new_root, put_old));
}

int sc_sys_openat2(int dirfd, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve)
{
    uint64_t how[3] = {flags, mode, resolve};
    return (int)result(syscall(SYS_openat2, dirfd, path, how, sizeof how));
}

int sc_sys_landlock_create(uint64_t handled_fs, uint64_t scoped)
{
    uint64_t attributes[3] = {handled_fs, 0 /* net */, scoped};
    /* A kernel that does not know `scoped` (before 6.12) refuses a longer structure. */
    size_t size = scoped ? sizeof attributes : sizeof attributes[0];
    return (int)result(syscall(SYS_landlock_create_ruleset, attributes, size, 0));
}

int sc_sys_landlock_add_path(int ruleset, int path_fd, uint64_t access)
{
    struct {
        uint64_t access;
        int32_t fd;
    } __attribute__((packed)) rule = {access, path_fd};
    return (int)result(syscall(SYS_landlock_add_rule, ruleset, 1 /* PATH_BENEATH */, &rule, 0));
}

int sc_sys_landlock_restrict(int ruleset)
{
    return (int)result(syscall(SYS_landlock_restrict_self, ruleset, 0));
}
