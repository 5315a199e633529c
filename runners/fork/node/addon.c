/* What JavaScript cannot do for a Node that is to be forked, as an addon for Node-API. The functions:
 *
 *   load(path)            the fork library; throws with what the loader says
 *   serve(socket)         carries out orders until the socket's end (returns 0). In each fork it returns 1,
 * or 2 when that has a fork socket of its own, or a text: why it cannot go on watch(interrupt)      from now
 * on SIGINT calls interrupt(false), and a moment later interrupt(true), between two instructions of whatever
 * JavaScript is running, or from the event loop (watch.c) pid()                 of this process, now
 *   end(status)           ends the process at once
 *
 * Node has threads of its own, which wait for work that a Node started with --single-threaded does not give
 * them. No fork has them. So an order is refused while there is any thread that was not there when load() was
 * called, or while one of those is doing something.
 *
 * Descriptors: libuv remembers the numbers of its own, which are closed in a fork. As some are written to or
 * closed later, by what ends the loops of threads that are no more, each of those numbers is kept taken, by
 * /dev/null. The main loop then gets new ones. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../fork.h"
#include "watch.h"

#define EXPORT __attribute__((visibility("default")))
#define OWN_FDS 5 /* a fork has no others */
#define FDS_MAX 64
#define THREADS_MAX 64
#define QUIET_TRIES 200
#define QUIET_NS (5 * 1000 * 1000)

typedef int serve_fn(int socket, const struct sc_fork_hooks *hooks, struct sc_fork_birth *ret_birth);

static serve_fn *serve_orders;
static int own_threads; /* that were there before any code but Node's */
static int fds[FDS_MAX];
static size_t n_fds;
static struct timespec last_moment; /* of the parent, before a fork */

/* ---- what is there ---- */

/* Calls each(number, data) for every entry of a folder that is a number. 0, or negative errno. */
static int for_numbers(const char *folder, int (*each)(int number, int folder_fd, void *data), void *data)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return -errno;
    int r = 0;
    for (struct dirent *entry; r == 0 && (entry = readdir(dir));)
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
            r = each((int)strtol(entry->d_name, NULL, 10), dirfd(dir), data);
    closedir(dir);
    return r;
}

/* Whether a thread sleeps. One that has ended meanwhile is none. */
static int is_asleep(int thread, int folder_fd)
{
    char path[32], text[512];
    snprintf(path, sizeof path, "%d/stat", thread);
    int fd = openat(folder_fd, path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return 1;
    text[n] = '\0';
    const char *state = strrchr(text, ')');
    return state && strlen(state) > 2 && state[2] == 'S';
}

struct threads {
    int all, awake;
};

static int look_at_thread(int thread, int folder_fd, void *data)
{
    struct threads *threads = data;
    threads->all++;
    threads->awake += thread != (int)syscall(SYS_gettid) && !is_asleep(thread, folder_fd);
    return 0;
}

static int keep_number(int fd, int folder_fd, void *unused)
{
    (void)unused;
    if (fd < OWN_FDS || fd == folder_fd)
        return 0;
    if (n_fds == FDS_MAX)
        return -EMFILE;
    fds[n_fds++] = fd;
    return 0;
}

/* ---- around a fork ---- */

static int refuse(char *ret_reason, size_t size)
{
    const struct timespec pause = {.tv_nsec = QUIET_NS};
    struct threads threads = {0};
    for (int i = 0; i < QUIET_TRIES; i++) {
        threads = (struct threads){0};
        if (for_numbers("/proc/self/task", look_at_thread, &threads) < 0) {
            snprintf(ret_reason, size, "/proc/self/task cannot be read");
            return 1;
        }
        if (threads.all <= own_threads && threads.awake == 0)
            return clock_gettime(CLOCK_MONOTONIC, &last_moment) != 0;
        nanosleep(&pause, NULL);
    }
    if (threads.all > own_threads)
        snprintf(ret_reason, size, "%d threads are running besides Node's own", threads.all - own_threads);
    else
        snprintf(ret_reason, size, "one of Node's own threads never rests");
    return 1;
}

static const char *keep_numbers_taken(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return "/dev/null cannot be opened";
    int is_one = 0;
    for (size_t i = 0; i < n_fds; i++) {
        is_one |= fds[i] == null;
        if (fds[i] != null && dup3(null, fds[i], O_CLOEXEC) < 0)
            return "the numbers of Node's descriptors cannot be kept";
    }
    if (!is_one)
        close(null);
    return NULL;
}

/* Node counts time from its start, and ends itself where that lies ahead. */
static int is_clock_behind(void)
{
    struct timespec now;
    return clock_gettime(CLOCK_MONOTONIC, &now) != 0 || now.tv_sec < last_moment.tv_sec ||
           (now.tv_sec == last_moment.tv_sec && now.tv_nsec < last_moment.tv_nsec);
}

/* The first steps of a fork. NULL, or why it cannot go on. */
static const char *wake(struct uv_loop_s *loop, const struct sc_fork_birth *birth)
{
    void (*mend)(void);
    int (*loop_fork)(struct uv_loop_s *);
    void (*add_randomness)(const void *, int, double);
    unsigned word[2];
    if (is_clock_behind())
        return "the monotonic clock is behind that of the process it comes from";
    const char *problem = keep_numbers_taken();
    if (problem)
        return problem;
    *(void **)&mend = dlsym(RTLD_DEFAULT, "snapcell_shim_mend");
    *(void **)&loop_fork = dlsym(RTLD_DEFAULT, "uv_loop_fork");
    *(void **)&add_randomness = dlsym(RTLD_DEFAULT, "RAND_add");
    if (!mend || !loop_fork || !add_randomness)
        return "a function that forks need is not in this Node";
    mend();
    if (loop_fork(loop) != 0)
        return "the event loop cannot be made anew";
    add_randomness(birth->randomness, sizeof birth->randomness, sizeof birth->randomness);
    memcpy(word, birth->randomness, sizeof word);
    srand(word[0]);
    srand48((long)word[1]);
    return NULL;
}

/* ---- for JavaScript ---- */

static napi_value fail(napi_env env, const char *message)
{
    napi_throw_error(env, NULL, message);
    return NULL;
}

static napi_value number(napi_env env, int value)
{
    napi_value made = NULL;
    napi_create_int32(env, value, &made);
    return made;
}

static int first_int(napi_env env, napi_callback_info info, int32_t *ret)
{
    size_t n = 1;
    napi_value value;
    return napi_get_cb_info(env, info, &n, &value, NULL, NULL) == 0 && n == 1 &&
           napi_get_value_int32(env, value, ret) == 0;
}

static napi_value load(napi_env env, napi_callback_info info)
{
    char path[4096];
    size_t n = 1, len;
    napi_value value;
    void (*close_notes)(void);
    struct threads threads = {0};
    if (napi_get_cb_info(env, info, &n, &value, NULL, NULL) != 0 || n != 1 ||
        napi_get_value_string_utf8(env, value, path, sizeof path, &len) != 0)
        return fail(env, "load: a path is needed");
    *(void **)&close_notes = dlsym(RTLD_DEFAULT, "snapcell_shim_close_notes");
    if (!close_notes)
        return fail(env, "libsnapcell-nodefork.so is not preloaded");
    close_notes();
    void *library = dlopen(path, RTLD_NOW);
    if (!library)
        return fail(env, dlerror());
    *(void **)&serve_orders = dlsym(library, "sc_fork_serve");
    if (!serve_orders)
        return fail(env, "the fork library has no sc_fork_serve");
    int r = for_numbers("/proc/self/task", look_at_thread, &threads);
    own_threads = threads.all;
    n_fds = 0;
    if (r == 0)
        r = for_numbers("/proc/self/fd", keep_number, NULL);
    return r < 0 || own_threads > THREADS_MAX
               ? fail(env, "Node's own threads and descriptors cannot be counted")
               : NULL;
}

static napi_value serve(napi_env env, napi_callback_info info)
{
    struct sc_fork_hooks hooks = {.refuse = refuse, .idle_threads = own_threads - 1};
    struct sc_fork_birth birth;
    struct uv_loop_s *loop;
    int32_t socket;
    if (!serve_orders || !first_int(env, info, &socket) || napi_get_uv_event_loop(env, &loop) != 0)
        return fail(env, "serve: a socket, and load() before, are needed");
    int r = serve_orders(socket, &hooks, &birth);
    if (r < 0)
        return fail(env, strerror(-r));
    if (r == SC_FORK_END)
        return number(env, 0);
    const char *problem = wake(loop, &birth);
    napi_value told = NULL;
    if (problem)
        napi_create_string_utf8(env, problem, strlen(problem), &told);
    return problem ? told : number(env, birth.has_socket ? 2 : 1);
}

static napi_value pid(napi_env env, napi_callback_info info)
{
    (void)info;
    return number(env, (int)syscall(SYS_getpid));
}

static napi_value end(napi_env env, napi_callback_info info)
{
    int32_t status = 1;
    first_int(env, info, &status);
    _exit(status);
}

EXPORT napi_value napi_register_module_v1(napi_env env, napi_value exports)
{
    static const struct {
        const char *name;
        napi_callback call;
    } all[] = {{"load", load}, {"serve", serve}, {"watch", snapcell_addon_watch}, {"pid", pid}, {"end", end}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        napi_value function;
        if (napi_create_function(env, all[i].name, strlen(all[i].name), all[i].call, NULL, &function) != 0 ||
            napi_set_named_property(env, exports, all[i].name, function) != 0)
            return fail(env, "the addon's functions cannot be made");
    }
    return exports;
}
