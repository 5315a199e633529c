/* Runs several ways of starting a program in interleaved rounds and prints one line a sample. bench/run
 * writes its orders and reads its lines; people call bench/run.
 *
 * Orders come on stdin, one a line, fields apart by tabs:
 *     rounds N          idle_us N          at_once N          cgroup_parent DIR
 *     set OPTION VALUE  add OPTION VALUE                      for the spec of every cell
 *     way NAME cell|spawn BLOCK AHEAD FILTER|- ARG…       AHEAD: cells kept made ahead; 0: none ever
 * Lines on stdout, which is a file opened for appending:
 *     sample ROUND WAY WORKER FIRST_NS END_NS
 *     block ROUND WAY WORKER RUNS AHEAD_NS ELAPSED_NS     elapsed: pauses and making ahead, too
 *     failed WAY COUNT
 *
 * With `at_once` above 1 the process forks that many workers, less one, before it opens anything; each has
 * its own plans. Nobody starts a block before all are there and have been given the word. What is made ahead
 * is refilled between two runs, off their clock and timed apart. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "way.h"

#define WAYS_MAX 16
#define WORKERS_MAX 8
#define LINE_MAX_BYTES 16384

struct orders {
    unsigned rounds, idle_us, at_once;
    char *cgroup_parent;
    struct bench_option options[BENCH_OPTIONS_MAX];
    size_t n_options;
    struct bench_way ways[WAYS_MAX];
    size_t n_ways;
};

/* A worker's two ends: it says "ready" or "done" on one pipe and hears "go" on the other. */
struct worker {
    pid_t pid;
    int say_fd, hear_fd;
};

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

/* ---- orders ---- */

static int fault(const char *line)
{
    fprintf(stderr, "harness: order not understood: %s\n", line);
    return -EINVAL;
}

static unsigned number(const char *text)
{
    return text ? (unsigned)strtoul(text, NULL, 10) : 0;
}

static int read_way(struct orders *orders, char **rest)
{
    if (orders->n_ways == WAYS_MAX)
        return fault("too many ways");
    struct bench_way *way = &orders->ways[orders->n_ways];
    char *name = strsep(rest, "\t"), *kind = strsep(rest, "\t");
    unsigned block = number(strsep(rest, "\t")), ahead = number(strsep(rest, "\t"));
    char *filter = strsep(rest, "\t"), *arg;
    if (!name || !kind || !block || !filter || !*rest)
        return fault("way");
    *way = (struct bench_way){
        .name = strdup(name), .cell = strcmp(kind, "cell") == 0, .block = block, .ahead = ahead};
    if (strcmp(filter, "-") != 0)
        way->filter_path = strdup(filter);
    while ((arg = strsep(rest, "\t"))) {
        if (way->n_argv == BENCH_ARGV_MAX)
            return fault("too many arguments");
        way->argv[way->n_argv++] = strdup(arg);
    }
    orders->n_ways++;
    return 0;
}

static int read_option(struct orders *orders, bool add, char **rest)
{
    char *name = strsep(rest, "\t"), *value = strsep(rest, "\t");
    if (!name || !value || orders->n_options == BENCH_OPTIONS_MAX)
        return fault("option");
    orders->options[orders->n_options++] = (struct bench_option){add, strdup(name), strdup(value)};
    return 0;
}

static int read_order(struct orders *orders, char *line)
{
    line[strcspn(line, "\n")] = 0;
    char *rest = line, *word = strsep(&rest, "\t");
    if (strcmp(word, "way") == 0)
        return read_way(orders, &rest);
    if (strcmp(word, "set") == 0 || strcmp(word, "add") == 0)
        return read_option(orders, word[0] == 'a', &rest);
    if (strcmp(word, "rounds") == 0)
        orders->rounds = number(rest);
    else if (strcmp(word, "idle_us") == 0)
        orders->idle_us = number(rest);
    else if (strcmp(word, "at_once") == 0)
        orders->at_once = number(rest);
    else if (strcmp(word, "cgroup_parent") == 0 && rest)
        orders->cgroup_parent = strdup(rest);
    else
        return fault(word);
    return 0;
}

static int read_orders(struct orders *orders)
{
    static char line[LINE_MAX_BYTES];
    while (fgets(line, sizeof(line), stdin)) {
        int r = read_order(orders, line);
        if (r < 0)
            return r;
    }
    if (!orders->rounds || !orders->at_once || orders->at_once > WORKERS_MAX || !orders->n_ways)
        return fault("rounds, at_once (1 to 8) and at least one way are needed");
    return 0;
}

/* ---- turns ---- */

/* The first process leads: it waits until all are there, then gives the word. */
static int lead(struct worker *workers, unsigned n, bool give)
{
    char word;
    for (unsigned i = 0; i < n; i++)
        if (read(workers[i].hear_fd, &word, 1) != 1)
            return -EPIPE;
    for (unsigned i = 0; give && i < n; i++)
        if (write(workers[i].say_fd, "g", 1) != 1)
            return -EPIPE;
    return 0;
}

static int meet(struct worker *workers, unsigned n, const struct worker *self)
{
    char word;
    if (!self)
        return lead(workers, n, true);
    if (write(self->say_fd, "r", 1) != 1 || read(self->hear_fd, &word, 1) != 1)
        return -EPIPE;
    return 0;
}

/* The pause is a real one: the processor is halted and its caches cool, which is what is to be measured. */
static void pause_us(unsigned us)
{
    struct timespec pause = {us / 1000000, (long)(us % 1000000) * 1000};
    if (us)
        (void)nanosleep(&pause, NULL);
}

struct turn {
    unsigned round, worker, failed;
};

static void run_block(const struct orders *orders, struct bench_way *way, struct turn *turn)
{
    unsigned warm_up = orders->idle_us == 0; /* back to back: a block's first run still pays for the switch */
    unsigned runs = 0, wanted = way->block + warm_up;
    int64_t start_ns = bench_now_ns(), ahead_ns = 0;
    for (unsigned i = 0; i < wanted && !stop; i++) {
        struct bench_sample sample;
        int64_t took_ns = 0;
        int r = bench_way_ready(way, &took_ns);
        ahead_ns += took_ns;
        pause_us(orders->idle_us);
        if (r < 0 || bench_way_run(way, &sample) < 0) {
            turn->failed++;
            continue;
        }
        runs++;
        if (i || !warm_up)
            printf("sample\t%u\t%s\t%u\t%lld\t%lld\n", turn->round, way->name, turn->worker,
                   (long long)sample.first_ns, (long long)sample.end_ns);
    }
    printf("block\t%u\t%s\t%u\t%u\t%lld\t%lld\n", turn->round, way->name, turn->worker, runs,
           (long long)ahead_ns, (long long)(bench_now_ns() - start_ns));
}

static int run_rounds(struct orders *orders, struct worker *workers, unsigned n, const struct worker *self,
                      unsigned index)
{
    unsigned failed[WAYS_MAX] = {0};
    for (unsigned round = 0; round < orders->rounds && !stop; round++) {
        for (size_t i = 0; i < orders->n_ways; i++) {
            /* There and back again, so that a machine that grows slower does so for all alike. */
            size_t at = round % 2 ? orders->n_ways - 1 - i : i;
            struct bench_way *way = &orders->ways[at];
            struct turn turn = {.round = round, .worker = index};
            int r = meet(workers, n, self);
            if (r < 0)
                return r;
            run_block(orders, way, &turn);
            failed[at] += turn.failed;
            (void)fflush(stdout);
        }
    }
    for (size_t i = 0; i < orders->n_ways; i++)
        if (failed[i])
            printf("failed\t%s\t%u\n", orders->ways[i].name, failed[i]);
    return fflush(stdout) == 0 ? 0 : -errno;
}

static int work(struct orders *orders, struct worker *workers, unsigned n, const struct worker *self,
                unsigned index)
{
    struct snapcell_error *error = snapcell_error_new();
    struct snapcell_host *host = NULL;
    int r = snapcell_host_probe(orders->cgroup_parent, &host, error);
    if (r < 0)
        fprintf(stderr, "harness: host: %s\n", snapcell_error_message(error));
    for (size_t i = 0; i < orders->n_ways && r >= 0; i++)
        r = bench_way_open(&orders->ways[i], host, orders->options, orders->n_options);
    if (r >= 0)
        r = run_rounds(orders, workers, n, self, index);
    for (size_t i = 0; i < orders->n_ways; i++)
        bench_way_close(&orders->ways[i]);
    snapcell_host_free(host);
    snapcell_error_free(error);
    return r < 0 ? r : 0;
}

/* ---- workers ---- */

static int fork_worker(struct orders *orders, struct worker *workers, unsigned i)
{
    int to_child[2], to_parent[2];
    if (pipe2(to_child, O_CLOEXEC) < 0 || pipe2(to_parent, O_CLOEXEC) < 0)
        return -errno;
    pid_t pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0) {
        for (unsigned k = 0; k < i; k++) {
            (void)close(workers[k].say_fd);
            (void)close(workers[k].hear_fd);
        }
        (void)close(to_child[1]);
        (void)close(to_parent[0]);
        struct worker self = {.say_fd = to_parent[1], .hear_fd = to_child[0]};
        int r = work(orders, NULL, 0, &self, i + 1);
        _exit(r < 0 ? 1 : 0);
    }
    (void)close(to_child[0]);
    (void)close(to_parent[1]);
    workers[i] = (struct worker){.pid = pid, .say_fd = to_child[1], .hear_fd = to_parent[0]};
    return 0;
}

static int bury(struct worker *workers, unsigned n)
{
    int failed = 0, status;
    for (unsigned i = 0; i < n; i++) {
        (void)close(workers[i].say_fd);
        (void)close(workers[i].hear_fd);
        while (waitpid(workers[i].pid, &status, 0) < 0 && errno == EINTR)
            ;
        failed |= status;
    }
    return failed ? -ECHILD : 0;
}

int main(void)
{
    static struct orders orders = {.at_once = 1};
    static char lines[1 << 20]; /* whole blocks at a time: workers append to one file */
    struct worker workers[WORKERS_MAX];
    unsigned n = 0;
    struct sigaction ends = {.sa_handler = on_signal};
    (void)sigaction(SIGINT, &ends, NULL);
    (void)sigaction(SIGTERM, &ends, NULL);
    (void)signal(SIGPIPE, SIG_IGN);

    (void)setvbuf(stdout, lines, _IOFBF, sizeof(lines));

    int r = read_orders(&orders);
    for (; r >= 0 && n + 1 < orders.at_once; n++)
        r = fork_worker(&orders, workers, n);
    if (r >= 0)
        r = work(&orders, workers, n, NULL, 0);
    int buried = bury(workers, n);

    /* Nothing may stay: every process that the library or a peer started has been waited for. */
    if (waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD) {
        fprintf(stderr, "harness: a child process is left behind\n");
        r = -ECHILD;
    }
    return r < 0 || buried < 0 ? 1 : 0;
}
