/* nosys NUMBER[,NUMBER…] COMMAND [ARG…]: runs a command on a kernel that does not know these system calls. A
 * filter answers ENOSYS for them, here and in everything that comes from the command. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLS_MAX 32

static size_t make_filter(char *numbers, struct sock_filter *insns)
{
    size_t n = 0;
    insns[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    while (*numbers && n < 2 * CALLS_MAX) {
        unsigned nr = (unsigned)strtoul(numbers, &numbers, 10);
        numbers += *numbers == ',';
        insns[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1);
        insns[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
    }
    insns[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    return n;
}

int main(int argc, char **argv)
{
    struct sock_filter insns[2 * CALLS_MAX + 2];

    if (argc < 3) {
        fputs("usage: nosys NUMBER[,NUMBER…] COMMAND [ARG…]\n", stderr);
        return 2;
    }
    struct sock_fprog program = {.len = (unsigned short)make_filter(argv[1], insns), .filter = insns};
    /* Root may filter without no_new_privs; an ordinary user's set-user-id helpers are then dead, as they
     * would be. */
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 &&
        (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)) {
        perror("nosys: seccomp");
        return 126;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
