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
    void *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (madvise(p, 1 << 20, MADV_MERGEABLE) == 0)
        puts("ESCAPED: pages may be merged");
    else
        printf("CONTAINED: errno %d\n", errno);
    return 0;
}
