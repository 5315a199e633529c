#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <sched.h>
#include <signal.h>
static char stacks[400][4096];
static int wait_long(void *x) { (void)x; pause(); return 0; }
int main(void)
{
    int made = 0, pids[400];
    while (made < 400) {
        int pid = clone(wait_long, stacks[made] + 4096, CLONE_VM | CLONE_FILES | CLONE_FS | SIGCHLD, NULL);
        if (pid < 0)
            break;
        pids[made++] = pid;
    }
    printf(made > 100 ? "ESCAPED: %d clones\n" : "CONTAINED: %d clones\n", made);
    fflush(stdout);
    while (made > 0)
        kill(pids[--made], SIGKILL);
    return 0;
}
