#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
    static char block[1 << 20];
    long held = 0;
    memset(block, 1, sizeof block);
    for (int i = 0; i < 400; i++) {
        int p[2];
        if (pipe2(p, O_NONBLOCK) < 0)
            break;
        fcntl(p[1], F_SETPIPE_SZ, sizeof block);
        for (ssize_t n; (n = write(p[1], block, 65536)) > 0;)
            held += n;
    }
    printf(held > 300 << 20 ? "ESCAPED: %ld bytes in pipes\n" : "CONTAINED: %ld bytes in pipes\n", held);
    return 0;
}
