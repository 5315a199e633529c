/* What tests of the public library share. They see what an embedding program sees: the public header and the
 * shared object. */
#ifndef TEST_API_FIXTURE_H
#define TEST_API_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "snapcell.h"

extern struct snapcell_error *error;
extern struct snapcell_host *host;

/* Set-up and tear-down of a group: the two above. */
int probe(void **state);
int leave(void **state);

/* Goes on only when r is no failure. What this host lacks skips the test, after `clean` (may be NULL). */
void need(int r, int (*clean)(void **state));

#endif
