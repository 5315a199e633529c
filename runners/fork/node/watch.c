/* SIGINT for a Node whose main thread may be in a loop that never ends.
 *
 *   signal handler ──semaphore──▶ thread ──request──▶ V8, between two instructions of running JavaScript
 *                                        └─wake─────▶ the event loop, where nothing runs
 *
 * Whichever of the two comes first calls the function, for both times that each signal is told (runner.js).
 * Node's own way for such a thread is a Worker, with an engine of its own: 20 MB and 50 ms for each process.
 * V8 says of such requests that they should not enter JavaScript; Node's inspector does by the same way. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "watch.h"

#define STACK_SIZE (128 * 1024)
#define AGAIN_NS (20 * 1000 * 1000)
#define UV_ASYNC 1 /* of libuv's kinds of handles */

struct uv_handle_s;
typedef void wake_fn(struct uv_handle_s *handle);
typedef void interrupted_fn(void *isolate, void *data);

/* Of Node, by their names: V8's have C++ ones. */
static struct {
    size_t (*handle_size)(int kind);
    int (*async_init)(struct uv_loop_s *loop, struct uv_handle_s *handle, wake_fn *call);
    int (*async_send)(struct uv_handle_s *handle);
    void (*unref)(struct uv_handle_s *handle);
    void *(*isolate_current)(void);
    void (*request)(void *isolate, interrupted_fn *call, void *data);
} node;

enum { NOTHING, FIRST, AGAIN };

static sem_t signals, taken;
static atomic_int due;
static struct uv_handle_s *waker;
static void *isolate;
static napi_env main_env;
static napi_ref interrupt;

static void on_signal(int number)
{
    (void)number;
    int kept = errno;
    sem_post(&signals);
    errno = kept;
}

/* In the main thread. */
static void tell(void)
{
    napi_handle_scope scope;
    napi_value function, global, again, ignored;
    int what = atomic_exchange(&due, NOTHING);
    if (what == NOTHING)
        return;
    sem_post(&taken);
    if (napi_open_handle_scope(main_env, &scope) != 0)
        return;
    if (napi_get_reference_value(main_env, interrupt, &function) == 0 &&
        napi_get_global(main_env, &global) == 0 && napi_get_boolean(main_env, what == AGAIN, &again) == 0 &&
        napi_call_function(main_env, global, function, 1, &again, &ignored) != 0)
        napi_get_and_clear_last_exception(main_env, &ignored); /* its own breaking of what runs */
    napi_close_handle_scope(main_env, scope);
}

static void on_interrupt(void *unused_isolate, void *data)
{
    (void)unused_isolate, (void)data;
    tell();
}

static void on_wake(struct uv_handle_s *handle)
{
    (void)handle;
    tell();
}

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        ;
}

/* Returns when the main thread has taken it up: the first time must not be lost in the second. */
static void ask(int what)
{
    atomic_store(&due, what);
    node.request(isolate, on_interrupt, NULL);
    node.async_send(waker);
    wait_for(&taken);
}

static void *watch(void *unused)
{
    const struct timespec moment = {.tv_nsec = AGAIN_NS};
    for (;;) {
        wait_for(&signals);
        ask(FIRST);
        nanosleep(&moment, NULL);
        ask(AGAIN);
    }
    return unused;
}

static int find(void)
{
    const struct {
        void *place;
        const char *name;
    } all[] = {{&node.handle_size, "uv_handle_size"},
               {&node.async_init, "uv_async_init"},
               {&node.async_send, "uv_async_send"},
               {&node.unref, "uv_unref"},
               {&node.isolate_current, "_ZN2v87Isolate10GetCurrentEv"},
               {&node.request, "_ZN2v87Isolate16RequestInterruptEPFvPS0_PvES2_"}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        void *found = dlsym(RTLD_DEFAULT, all[i].name);
        if (!found)
            return -ENOSYS;
        memcpy(all[i].place, &found, sizeof found);
    }
    return 0;
}

/* With every signal blocked: they are for the main thread. */
static int start_thread(void)
{
    pthread_t thread;
    pthread_attr_t attr;
    sigset_t all, before;
    int r = pthread_attr_init(&attr);
    if (r != 0)
        return -r;
    sigfillset(&all);
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(&thread, &attr, watch, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return -r;
}

static int start(struct uv_loop_s *loop)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    int r = find();
    if (r < 0)
        return r;
    waker = calloc(1, node.handle_size(UV_ASYNC));
    if (!waker)
        return -ENOMEM;
    r = node.async_init(loop, waker, on_wake);
    if (r < 0)
        return r;
    node.unref(waker); /* it keeps no loop from its end */
    isolate = node.isolate_current();
    if (sem_init(&signals, 0, 0) < 0 || sem_init(&taken, 0, 0) < 0)
        return -errno;
    r = start_thread();
    if (r == 0 && sigaction(SIGINT, &action, NULL) < 0)
        r = -errno;
    return r;
}

napi_value snapcell_addon_watch(napi_env env, napi_callback_info info)
{
    size_t n = 1;
    napi_value function;
    struct uv_loop_s *loop;
    int r = -EINVAL;
    if (!waker && napi_get_cb_info(env, info, &n, &function, NULL, NULL) == 0 && n == 1 &&
        napi_create_reference(env, function, 1, &interrupt) == 0 && napi_get_uv_event_loop(env, &loop) == 0) {
        main_env = env;
        r = start(loop);
    }
    if (r < 0)
        napi_throw_error(env, NULL, strerror(-r));
    return NULL;
}
