#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <sys/socket.h>
int main(void)
{
    static char block[32768];
    long held = 0;
    memset(block, 1, sizeof block);
    for (int i = 0; i < 500; i++) {
        int s[2], size = 1 << 20;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s) < 0)
            break;
        for (int k = 0; k < 2; k++) {
            setsockopt(s[k], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
            for (ssize_t n; (n = write(s[k], block, sizeof block)) > 0;)
                held += n;
        }
    }
    printf(held > 150 << 20 ? "ESCAPED: %ld bytes in sockets\n" : "CONTAINED: %ld bytes in sockets\n", held);
    return 0;
}
