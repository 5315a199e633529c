#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <sys/resource.h>
int main(void)
{
    struct rlimit few = {3, 3};
    if (prlimit(1, RLIMIT_NOFILE, &few, NULL) == 0)
        puts("ESCAPED: process 1 has three descriptors left");
    else
        printf("CONTAINED: errno %d\n", errno);
    return 0;
}
