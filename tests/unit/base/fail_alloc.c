#include "fail_alloc.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

static unsigned countdown; /* 0: nothing fails */
static bool failing_all, all_after_hit, did_fail;
/* Volatile: compilers know that malloc changes no variable of a program. This one does. */
static volatile long live;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifndef SANITIZED
/* glibc's own names of what is replaced here; the replacement reaches every library of the process. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void __libc_free(void *block);

static bool fails(void)
{
    if (failing_all || (countdown && --countdown == 0)) {
        did_fail = true;
        failing_all = all_after_hit;
        errno = ENOMEM;
        return true;
    }
    return false;
}

void *malloc(size_t size)
{
    void *block = fails() ? NULL : __libc_malloc(size);
    live += block != NULL;
    return block;
}

void *calloc(size_t n, size_t size)
{
    void *block = fails() ? NULL : __libc_calloc(n, size);
    live += block != NULL;
    return block;
}

void *realloc(void *old, size_t size)
{
    if (fails())
        return NULL;
    void *block = __libc_realloc(old, size);
    live += !old && block;
    return block;
}

void *reallocarray(void *old, size_t n, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(n, size, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(old, total);
}

void free(void *block)
{
    live -= block != NULL;
    __libc_free(block);
}
#endif

bool fail_alloc_works(void)
{
    /* Valgrind puts its own malloc in the place of this one: then nothing is counted. */
    long before = live;
    void *volatile block = malloc(1);
    bool counted = live == before + 1;
    free(block);
    return counted;
}

void fail_alloc_begin(unsigned n, bool all_after)
{
    countdown = n;
    all_after_hit = all_after;
    failing_all = did_fail = false;
}

bool fail_alloc_end(void)
{
    countdown = 0;
    failing_all = all_after_hit = false;
    return did_fail;
}

long fail_alloc_live(void)
{
    return live;
}

unsigned fail_alloc_each(int (*step)(void *context), void *context)
{
    if (!fail_alloc_works()) {
        print_message("skipped: another allocator owns malloc\n");
        skip();
    }
    /* Once without a failure: what a library keeps for good is there from now on. */
    assert_int_equal(step(context), 0);
    unsigned n = 1;
    for (;; n++) {
        bool failed = false;
        for (int all_after = 0; all_after <= 1; all_after++) {
            long before = live;
            fail_alloc_begin(n, all_after);
            int r = step(context);
            failed = fail_alloc_end();
            if (failed && r != -ENOMEM && r != 0)
                fail_msg("allocation %u failed, the answer was %d", n, r);
            if (!failed && r != 0)
                fail_msg("nothing failed, the answer was %d", r);
            if (live != before)
                fail_msg("allocation %u failed, %ld blocks were not freed", n, live - before);
        }
        if (!failed)
            return n - 1;
        if (n > 100000)
            fail_msg("no end of allocations");
    }
}
