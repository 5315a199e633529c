/* Preloaded into a Node that is to be forked. Two things of the C library's are different for it:
 *
 *   madvise           V8 asks that its heap be left out of forks (MADV_DONTFORK). A fork without its heap is
 *                     dead at once, so that wish is not passed on.
 *   __register_atfork Node's libuv mends itself in a forked child by functions that it registers. They open
 *                     descriptors, which the fork library then closes with all others. So they are noted
 *                     here, to be called a second time when that is over.
 *
 * Whatever else is asked for goes to the C library. */
#include <dlfcn.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOTED_MAX 16
#define EXPORT __attribute__((visibility("default")))

typedef int register_fn(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *object);

static void (*noted[NOTED_MAX])(void);
static size_t n_noted;
static int is_closed;

/* Found by their names. */
EXPORT int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *object);
EXPORT void snapcell_shim_close_notes(void);
EXPORT void snapcell_shim_mend(void);

EXPORT int madvise(void *start, size_t len, int advice)
{
    if (advice == MADV_DONTFORK)
        return 0;
    return (int)syscall(SYS_madvise, start, len, advice);
}

EXPORT int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *object)
{
    register_fn *next;
    *(void **)&next = dlsym(RTLD_NEXT, "__register_atfork");
    if (!next)
        return -1;
    if (child && !prepare && !parent && !is_closed) {
        if (n_noted == NOTED_MAX)
            return -1;
        noted[n_noted++] = child;
    }
    return next(prepare, parent, child, object);
}

/* What is registered from now on is no part of Node, and is called once, as it expects. */
EXPORT void snapcell_shim_close_notes(void)
{
    is_closed = 1;
}

/* In a child: libuv's functions once more. */
EXPORT void snapcell_shim_mend(void)
{
    for (size_t i = 0; i < n_noted; i++)
        noted[i]();
}
