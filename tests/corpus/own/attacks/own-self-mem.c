#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <sys/mman.h>
int main(void)
{
    char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int fd = open("/proc/self/mem", O_RDWR);
    if (fd >= 0 && pwrite(fd, "x", 1, (off_t)page) == 1 && page[0] == 'x')
        puts("ESCAPED: a read-only page was written");
    else
        printf("CONTAINED: errno %d\n", errno);
    return 0;
}
