#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <signal.h>
#include <time.h>
int main(void)
{
    struct sigevent none = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    int made = 0, id;
    while (made < 20000 && syscall(SYS_timer_create, CLOCK_MONOTONIC, &none, &id) == 0)
        made++;
    printf(made >= 20000 ? "ESCAPED: %d timers\n" : "CONTAINED: refused after %d\n", made);
    return 0;
}
