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
    size_t size = 100 << 20;
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED && mlock(p, size) == 0)
        puts("ESCAPED: 100 MiB are locked");
    else
        printf("CONTAINED: errno %d\n", errno);
    return 0;
}
