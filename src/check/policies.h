/* The rule files of policy/code, embedded by the build. */
#ifndef SC_CHECK_POLICIES_H
#define SC_CHECK_POLICIES_H

#include <stddef.h>

struct sc_policy {
    const char *name; /* "python-default"; NULL ends the table */
    const char *text;
    size_t len;
};
extern const struct sc_policy SC_POLICIES[];

#endif
