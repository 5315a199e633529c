/* The calls of the egress process: those it needs go on, and none that would let it out. */
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <cmocka.h>

#include "plan/filter_built.h"

struct call {
    int nr;
    uint64_t args[6];
};

static uint32_t verdict(const struct call *call)
{
    return sc_filter_evaluate(&sc_filters_built[0], AUDIT_ARCH_X86_64, call->nr, call->args) &
           SECCOMP_RET_ACTION_FULL;
}

static void test_needed(void **state)
{
    (void)state;
    static const struct call calls[] = {
        {SYS_socket, {AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0}},
        {SYS_socket, {AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0}},
        {SYS_connect, {3}},
        {SYS_accept4, {3}},
        {SYS_splice, {3}},
        {SYS_epoll_wait, {3}},
        {SYS_openat, {0}},
        {SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE}},
        {SYS_fcntl, {3, F_SETPIPE_SZ}},
        {SYS_exit_group, {0}},
    };
    assert_string_equal(sc_filters_built[0].name, "egress");
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (verdict(&calls[i]) != SECCOMP_RET_ALLOW)
            fail_msg("call %d is refused", calls[i].nr);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct call calls[] = {
        {SYS_execve, {0}},
        {SYS_execveat, {0}},
        {SYS_fork, {0}},
        {SYS_vfork, {0}},
        {SYS_clone, {0}},
        {SYS_clone3, {0}},
        {SYS_ptrace, {0}},
        {SYS_process_vm_readv, {0}},
        {SYS_kill, {1, 9}},
        {SYS_pidfd_open, {1}},
        {SYS_bind, {3}},
        {SYS_listen, {3}},
        {SYS_open, {0}},
        {SYS_openat2, {0}},
        {SYS_unlink, {0}},
        {SYS_chdir, {0}},
        {SYS_mount, {0}},
        {SYS_setns, {3}},
        {SYS_unshare, {0x10000000}},
        {SYS_setuid, {0}},
        {SYS_prctl, {0}},
        {SYS_seccomp, {0}},
        {SYS_bpf, {0}},
        {SYS_io_uring_setup, {1}},
        {SYS_keyctl, {0}},
        {SYS_memfd_create, {0}},
        {SYS_socketpair, {AF_UNIX}},
        {SYS_socket, {AF_UNIX, SOCK_STREAM, 0}},
        {SYS_socket, {AF_NETLINK, SOCK_RAW, 0}},
        {SYS_socket, {AF_INET, SOCK_RAW, 1}},
        {SYS_socket, {AF_PACKET, SOCK_DGRAM, 0}},
        {SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}},
        {SYS_mmap, {0, 4096, PROT_READ | PROT_EXEC}},
        {SYS_mprotect, {0, 4096, PROT_EXEC}},
        {SYS_fcntl, {3, F_SETOWN}},
        {SYS_ioctl, {3, 0x5412}},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (verdict(&calls[i]) == SECCOMP_RET_ALLOW)
            fail_msg("row %zu: call %d is allowed", i, calls[i].nr);
    const uint64_t none[6] = {0};
    assert_int_equal(sc_filter_evaluate(&sc_filters_built[0], AUDIT_ARCH_I386, 11, none) &
                         SECCOMP_RET_ACTION_FULL,
                     SECCOMP_RET_KILL_PROCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_needed), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
