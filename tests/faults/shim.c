/* Preloaded: the allocation number $SNAPCELL_FAIL_AT of the process that reads it first fails. When it was
 * reached, and only then, the file $SNAPCELL_FAIL_MARK is made. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static unsigned long fail_at, counted;
static int started;

static void start(void)
{
    const char *at = getenv("SNAPCELL_FAIL_AT");

    started = 1;
    fail_at = at ? strtoul(at, NULL, 10) : 0;
}

static int fails(void)
{
    if (!started || !fail_at || ++counted != fail_at)
        return 0;
    const char *mark = getenv("SNAPCELL_FAIL_MARK");
    if (mark)
        close(open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    errno = ENOMEM;
    return 1;
}

/* The loader's own start is not ours to judge: counting begins here. */
__attribute__((constructor)) static void begin(void)
{
    start();
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails() ? NULL : __libc_realloc(old, size);
}
