#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
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
    int fd = open("/", O_RDONLY | O_DIRECTORY);
    try("quotactl_fd", syscall(443, fd, 0x80000400 & ~0xff, 0, 0));
    if (!reached)
        puts("CONTAINED: all were refused");
    return 0;
}
