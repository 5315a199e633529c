/* Which process numbers forks get.
 *
 * Libraries with random numbers of their own (each copy of OpenSSL or SQLite, and others) notice a fork by
 * getpid(). Counted anew in each cell, numbers would mostly be the same as in the cell before: such a library
 * would go on in every fork from where it was. So no fork has the number of a process that it comes from.
 */
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parts.h"

#define ANCESTORS_MAX 8 /* more than there are generations */
#define STACK_SIZE (16 * 1024)

static int ancestors[ANCESTORS_MAX];
static int n_ancestors;
static char stack[STACK_SIZE] __attribute__((aligned(16)));
static volatile int drawn;

static int is_ancestors(int number)
{
    for (int i = 0; i < n_ancestors; i++)
        if (ancestors[i] == number)
            return 1;
    return 0;
}

int sc_fork_remember_number(void)
{
    int number = (int)syscall(SYS_getpid);
    if (is_ancestors(number))
        return 0;
    if (n_ancestors == ANCESTORS_MAX)
        return -E2BIG;
    ancestors[n_ancestors++] = number;
    return 0;
}

int sc_fork_number_is_new(void)
{
    return !is_ancestors((int)syscall(SYS_getpid));
}

/* A process that only sees which number it has got. */
static int draw(void *unused)
{
    (void)unused;
    drawn = (int)syscall(SYS_getpid);
    _exit(0);
}

int sc_fork_skip_numbers(void)
{
    for (int i = 0; i <= n_ancestors; i++) {
        int pid = clone(draw, stack + sizeof stack, CLONE_VM | CLONE_VFORK, NULL);
        if (pid < 0)
            return -errno;
        while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
            ;
        if (!is_ancestors(drawn + 1))
            return 0;
    }
    return 0; /* numbers began again meanwhile: the fork looks for itself */
}
