/* Attempts on sysinfo: what it answers, and where the answer may go. */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sysinfo.h>
#include <time.h>

#include "probe.h"

static struct sysinfo info;

static int ask(void)
{
    memset(&info, 0xff, sizeof info);
    return TRIED(sysinfo(&info));
}

/* ERANGE: it is not `bytes`. */
static int do_total(char *bytes)
{
    int r = ask();
    return r ? r : info.totalram * info.mem_unit == strtoull(bytes, NULL, 10) ? 0 : ERANGE;
}

static int do_free(char *bytes)
{
    int r = ask();
    return r ? r : info.freeram && info.freeram * info.mem_unit <= strtoull(bytes, NULL, 10) ? 0 : ERANGE;
}

/* Nothing of the host's load, swap or processes. */
static int do_idle(char *arg)
{
    int r = ask();
    (void)arg;
    if (r)
        return r;
    unsigned long rest = info.loads[0] | info.loads[1] | info.loads[2] | info.totalswap | info.freeswap |
                         info.totalhigh | info.freehigh | info.bufferram | info.sharedram;
    return rest == 0 && info.procs == 1 ? 0 : ERANGE;
}

/* As the clock in the cell says. */
static int do_uptime(char *arg)
{
    struct timespec before, after;
    (void)arg;
    clock_gettime(CLOCK_BOOTTIME, &before);
    int r = ask();
    clock_gettime(CLOCK_BOOTTIME, &after);
    return r ? r : info.uptime >= before.tv_sec && info.uptime <= after.tv_sec + 1 ? 0 : ERANGE;
}

static void *asking_thread(void *r)
{
    *(int *)r = ask();
    return NULL;
}

static int do_thread(char *arg)
{
    pthread_t thread;
    int r = -1;
    (void)arg;
    if (pthread_create(&thread, NULL, asking_thread, &r) != 0 || pthread_join(thread, NULL) != 0)
        return ECHILD;
    return r;
}

static int at(unsigned long address)
{
    return TRIED(syscall(SYS_sysinfo, address));
}

static int do_null(char *arg)
{
    (void)arg;
    return at(0);
}

static int do_kernel(char *arg)
{
    (void)arg;
    return at(0xffff888000000000);
}

static int do_wrapping(char *arg)
{
    (void)arg;
    return at(-8ul);
}

static int do_beyond(char *arg)
{
    (void)arg;
    return at(0x7ffffffff000 - 8);
}

/* The page behind is there, but closed. */
static int do_edge(char *arg)
{
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)arg;
    munmap(pages + 4096, 4096);
    return at((unsigned long)pages + 4096 - 8);
}

static int do_page(char *arg)
{
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)arg;
    return at((unsigned long)page + 4096 - sizeof info);
}

static void *flooding_thread(void *nothing)
{
    for (;;)
        ask();
    return nothing;
}

static int do_flood(char *arg)
{
    pthread_t thread;
    (void)arg;
    for (int i = 0; i < 16; i++)
        pthread_create(&thread, NULL, flooding_thread, NULL);
    flooding_thread(NULL);
    return 0;
}

/* Lets answers be written to ever more memory: 1 GiB, a page each. */
static int do_fill(char *arg)
{
    char *pages =
        mmap(NULL, 1 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    (void)arg;
    if (pages == MAP_FAILED)
        return errno;
    for (unsigned long i = 0; i < 1 << 30; i += 4096) {
        int r = at((unsigned long)pages + i);
        if (r)
            return r;
    }
    return 0;
}

static const struct attempt attempts[] = {
    {"total", do_total},   {"free", do_free}, {"idle", do_idle},     {"uptime", do_uptime},
    {"thread", do_thread}, {"null", do_null}, {"kernel", do_kernel}, {"wrapping", do_wrapping},
    {"beyond", do_beyond}, {"edge", do_edge}, {"page", do_page},     {"flood", do_flood},
    {"fill", do_fill},     {NULL, NULL},
};

int main(int argc, char **argv)
{
    return probe_main(attempts, argc, argv);
}
