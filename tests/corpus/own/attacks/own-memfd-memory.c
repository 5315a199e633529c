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
    static char block[1 << 20];
    long held = 0;
    memset(block, 1, sizeof block);
    for (int i = 0; i < 30; i++) {
        int fd = memfd_create("x", 0);
        for (int k = 0; k < 10 && write(fd, block, sizeof block) > 0; k++)
            held++;
    }
    printf(held > 250 ? "ESCAPED: %ld MiB in memory files\n" : "CONTAINED: %ld MiB in memory files\n", held);
    return 0;
}
