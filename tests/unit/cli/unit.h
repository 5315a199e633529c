/* cmocka wants these four ahead of it. */
#ifndef SC_TESTS_UNIT_CLI_UNIT_H
#define SC_TESTS_UNIT_CLI_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
