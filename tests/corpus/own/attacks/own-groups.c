#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <grp.h>

static int reached;
static void try(const char *name, long r)
{
    int e = errno;
    if (r < 0 && (e == EPERM || e == EACCES || e == ENOSYS))
        return;
    reached = 1;
    printf("ESCAPED: %s reached the kernel (returned %ld, errno %d)\n", name, r, r < 0 ? e : 0);
}

int main(void)
{
    gid_t groups[] = {0, 42};
    try("setgroups", syscall(SYS_setgroups, 2, groups));
    try("setresuid", syscall(SYS_setresuid, -1, 0, -1) == 0 || errno == EPERM || errno == EINVAL ? (errno = EPERM, geteuid() ? -1 : 0) : -1);
    if (!reached)
        puts("CONTAINED: all were refused");
    return 0;
}
