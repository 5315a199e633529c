/* Attempts to use more than the cell has. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "probe.h"

static int touch(long mib)
{
    char *p = mmap(NULL, (size_t)mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return errno;
    for (long i = 0; i < mib << 20; i += 4096)
        p[i] = 1;
    return 0;
}

static int do_memory(char *arg)
{
    return touch(strtol(arg, NULL, 10));
}

/* COUNT,MEBIBYTES: that many children that each touch so much and wait for the others. */
static int do_memory_of_children(char *arg)
{
    long count = 0, mib = 0;
    int gate[2], r = 0;
    char byte;

    sscanf(arg, "%ld,%ld", &count, &mib);
    if (pipe(gate) < 0)
        return errno;
    for (long i = 0; i < count && !r; i++) {
        pid_t child = fork();
        if (child == 0) {
            close(gate[1]);
            r = touch(mib);
            _exit(read(gate[0], &byte, 1) < 0 ? errno : r);
        }
        r = child < 0 ? errno : 0;
    }
    sleep(1); /* all of them hold their memory now or are dead */
    close(gate[1]);
    for (int status; wait(&status) > 0;)
        r = r ? r : WIFSIGNALED(status) ? ENOMEM : WEXITSTATUS(status);
    return r;
}

/* Makes so many children that wait, and ends them again. */
static int do_forks(char *arg)
{
    static pid_t children[4096];
    long count = strtol(arg, NULL, 10), made = 0;
    int r = 0;

    while (made < count && made < 4096 && !r) {
        pid_t child = fork();
        if (child == 0) {
            pause();
            _exit(0);
        }
        if (child < 0)
            r = errno;
        else
            children[made++] = child;
    }
    while (made > 0)
        kill(children[--made], SIGKILL);
    return r;
}

static void *sleep_on(void *unused)
{
    pause();
    return unused;
}

static int do_threads(char *arg)
{
    pthread_attr_t attr;
    pthread_t thread;
    int r = 0;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 65536);
    for (long i = strtol(arg, NULL, 10); i > 0 && !r; i--)
        r = pthread_create(&thread, &attr, sleep_on, NULL);
    return r;
}

static int do_files(char *arg)
{
    for (long i = strtol(arg, NULL, 10); i > 0; i--)
        if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
            return errno;
    return 0;
}

/* Writes one byte at this offset (bytes) of a file in the work folder. */
static int do_file_size(char *arg)
{
    int fd = open("big", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return fd < 0 ? errno : TRIED(pwrite(fd, "x", 1, strtol(arg, NULL, 10)));
}

static int do_raise_files(char *arg)
{
    struct rlimit limit;
    (void)arg;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_max++;
    return TRIED(setrlimit(RLIMIT_NOFILE, &limit));
}

static int do_raise_core(char *arg)
{
    struct rlimit limit = {4096, 4096};
    (void)arg;
    return TRIED(setrlimit(RLIMIT_CORE, &limit));
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Uses the processor for so many milliseconds of wall time. */
static int do_burn(char *arg)
{
    double end = now() + strtod(arg, NULL) / 1000;
    while (now() < end)
        ;
    return 0;
}

/* COUNT,MS: one child after another, each busy for so long and then gone. */
static int do_burn_children(char *arg)
{
    long count = 0;
    char ms[16] = "0";

    sscanf(arg, "%ld,%15[0-9]", &count, ms);
    for (long i = 0; i < count; i++) {
        int status;
        pid_t child = fork();
        if (child == 0)
            _exit(do_burn(ms));
        if (child < 0 || waitpid(child, &status, 0) < 0)
            return errno;
    }
    return 0;
}

static int do_crash(char *arg)
{
    (void)arg;
    abort();
}

/* Shared memory files count as memory too. */
static int do_memfd(char *arg)
{
    long mib = strtol(arg, NULL, 10);
    int fd = memfd_create("probe", MFD_CLOEXEC);
    static char block[1 << 20];

    memset(block, 1, sizeof block);
    for (long i = 0; i < mib; i++)
        if (write(fd, block, sizeof block) < 0)
            return errno;
    return fd < 0 ? errno : 0;
}

#define CALL(name)                                                                                           \
    {                                                                                                        \
#name, do_##name                                                                                     \
    }
static const struct attempt table[] = {
    CALL(memory), CALL(memory_of_children), CALL(forks),       CALL(threads),
    CALL(files),  CALL(file_size),          CALL(raise_files), CALL(raise_core),
    CALL(burn),   CALL(burn_children),      CALL(crash),       CALL(memfd),
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    return probe_main(table, argc, argv);
}
