/* Makes the n-th allocation of the whole process fail, libc's own and jansson's included, and counts what
 * stays allocated. Link fail_alloc.c into a test to use it. */
#ifndef SC_TESTS_FAIL_ALLOC_H
#define SC_TESTS_FAIL_ALLOC_H

#include <stdbool.h>

/* False where a sanitizer or valgrind owns malloc: such a test has nothing to show then. */
bool fail_alloc_works(void);
/* From now on the n-th allocation (1 is the next one) fails; with `all_after` every later one, too. */
void fail_alloc_begin(unsigned n, bool all_after);
/* Back to normal. Whether an allocation failed since fail_alloc_begin. */
bool fail_alloc_end(void);
/* Blocks allocated and not freed. */
long fail_alloc_live(void);

/* Runs `step` with the first, second, … allocation failing, once alone and once with all after it, until a
 * run needs fewer. `step` returns 0 or -ENOMEM, frees all it made, and checks itself what must hold then: a
 * whole result with 0, also where libc did without the memory it was refused (vasprintf's last realloc).
 * Returns the number of allocations of a run that fails nowhere; fails the test otherwise. */
unsigned fail_alloc_each(int (*step)(void *context), void *context);

#endif
