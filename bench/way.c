#include "way.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BENCH_FILTER_FD 9
#define BENCH_RUN_MAX_MS 30000

extern char **environ;

int64_t bench_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int complain(const struct bench_way *way, const char *what, const char *why, int r)
{
    fprintf(stderr, "harness: %s: %s: %s\n", way->name, what, why);
    return r;
}

/* ---- processes ---- */

static int spawn(const struct bench_way *way, int out_fd, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    int r = posix_spawn_file_actions_init(&actions);
    if (r)
        return -r;
    r = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!r)
        r = posix_spawn_file_actions_adddup2(&actions, out_fd, 1);
    if (!r)
        r = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (!r && way->filter_path)
        r = posix_spawn_file_actions_addopen(&actions, BENCH_FILTER_FD, way->filter_path, O_RDONLY, 0);
    if (!r)
        r = posix_spawn(ret_pid, way->argv[0], &actions, NULL, way->argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return -r;
}

/* Reads until every writer is gone; when the first byte came, or -1. */
static int drain(int fd, int64_t *ret_first_ns)
{
    int64_t first_ns = -1;
    char bytes[4096];
    for (;;) {
        struct pollfd watch = {.fd = fd, .events = POLLIN};
        int ready = poll(&watch, 1, BENCH_RUN_MAX_MS);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return ready ? -errno : -ETIMEDOUT;
        ssize_t n = read(fd, bytes, sizeof(bytes));
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        if (first_ns < 0)
            first_ns = bench_now_ns();
    }
    *ret_first_ns = first_ns;
    return 0;
}

static int reap(pid_t pid, int *ret_status)
{
    while (waitpid(pid, ret_status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return 0;
}

static int run_process(struct bench_way *way, struct bench_sample *ret_sample)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return complain(way, "pipe", strerror(errno), -errno);

    int64_t start_ns = bench_now_ns(), first_ns = -1;
    pid_t pid = -1;
    int status = 0;
    int r = spawn(way, ends[1], &pid);
    (void)close(ends[1]);
    if (r < 0) {
        (void)close(ends[0]);
        return complain(way, way->argv[0], strerror(-r), r);
    }
    r = drain(ends[0], &first_ns);
    if (r < 0)
        (void)kill(pid, SIGKILL);
    int reaped = reap(pid, &status);
    int64_t end_ns = bench_now_ns();
    (void)close(ends[0]);
    if (r < 0 || reaped < 0)
        return complain(way, "waiting for it", strerror(r < 0 ? -r : -reaped), r < 0 ? r : reaped);
    if (status != 0)
        return complain(way, "it ended badly", WIFEXITED(status) ? "exit status not 0" : "by a signal",
                        -ECHILD);
    ret_sample->first_ns = first_ns < 0 ? -1 : first_ns - start_ns;
    ret_sample->end_ns = end_ns - start_ns;
    return 0;
}

/* ---- cells ---- */

static void note_first(void *userdata, int stream, const void *data, size_t len)
{
    int64_t *first_ns = userdata;
    (void)data;
    if (stream == 1 && len && *first_ns < 0)
        *first_ns = bench_now_ns();
}

static int run_cell(struct bench_way *way, struct bench_sample *ret_sample)
{
    struct snapcell_error *error = snapcell_error_new();
    if (!error)
        return complain(way, "error object", strerror(ENOMEM), -ENOMEM);
    int64_t first_ns = -1;
    struct snapcell_callbacks callbacks = {.userdata = &first_ns, .output = note_first};
    struct snapcell_result *result = NULL;

    int64_t start_ns = bench_now_ns();
    int r = snapcell_run(way->plan, &callbacks, &result, error);
    int64_t end_ns = bench_now_ns();
    if (r < 0) {
        (void)complain(way, "snapcell_run", snapcell_error_message(error), r);
    } else if (strcmp(snapcell_result_status(result), "ok") != 0) {
        fprintf(stderr, "harness: %s: %s: %s\n", way->name, snapcell_result_status(result),
                snapcell_result_message(result));
        r = -ECHILD;
    } else {
        ret_sample->first_ns = first_ns < 0 ? -1 : first_ns - start_ns;
        ret_sample->end_ns = end_ns - start_ns;
        r = 0;
    }
    snapcell_result_free(result);
    snapcell_error_free(error);
    return r;
}

static int fill_spec(struct bench_way *way, const struct bench_option *options, size_t n_options,
                     struct snapcell_error *error)
{
    for (size_t i = 0; i < n_options; i++) {
        const struct bench_option *option = &options[i];
        int r = option->add ? snapcell_spec_add(way->spec, option->name, option->value, error)
                            : snapcell_spec_set(way->spec, option->name, option->value, error);
        if (r < 0)
            return r;
    }
    return snapcell_spec_set_command(way->spec, (const char *const *)way->argv, error);
}

int bench_way_open(struct bench_way *way, const struct snapcell_host *host,
                   const struct bench_option *options, size_t n_options)
{
    if (!way->cell)
        return 0;
    struct snapcell_error *error = snapcell_error_new();
    if (!error)
        return complain(way, "error object", strerror(ENOMEM), -ENOMEM);
    int r = snapcell_spec_new(&way->spec, error);
    if (r >= 0)
        r = fill_spec(way, options, n_options, error);
    if (r >= 0)
        r = snapcell_plan_new(way->spec, host, &way->plan, error);
    if (r < 0)
        (void)complain(way, "plan", snapcell_error_message(error), r);
    snapcell_error_free(error);
    struct bench_sample unused;
    return r < 0 ? r : run_cell(way, &unused);
}

int bench_way_ready(struct bench_way *way, int64_t *ret_ns)
{
    if (!way->ahead) {
        *ret_ns = 0;
        return 0;
    }
    struct snapcell_error *error = snapcell_error_new();
    if (!error)
        return complain(way, "error object", strerror(ENOMEM), -ENOMEM);
    int64_t start_ns = bench_now_ns();
    int r = snapcell_plan_ready(way->plan, way->ahead, error);
    int64_t end_ns = bench_now_ns();
    if (r < 0)
        (void)complain(way, "snapcell_plan_ready", snapcell_error_message(error), r);
    else
        *ret_ns = end_ns - start_ns;
    snapcell_error_free(error);
    return r < 0 ? r : 0;
}

int bench_way_run(struct bench_way *way, struct bench_sample *ret_sample)
{
    return way->cell ? run_cell(way, ret_sample) : run_process(way, ret_sample);
}

void bench_way_close(struct bench_way *way)
{
    snapcell_plan_free(way->plan);
    snapcell_spec_free(way->spec);
    way->plan = NULL;
    way->spec = NULL;
}
