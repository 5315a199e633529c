/* A growing, NULL-terminated list of owned strings. */
#ifndef SC_BASE_STRV_H
#define SC_BASE_STRV_H

#include <stddef.h>

struct sc_strv {
    char **v; /* NULL, or n strings and a NULL */
    size_t n;
};

void sc_strv_fini(struct sc_strv *list);
/* Copies `text`. 0 or -ENOMEM. */
int sc_strv_add(struct sc_strv *list, const char *text);
int sc_strv_printf(struct sc_strv *list, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* For environments: replaces "NAME=…" if it is there, else adds it. */
int sc_strv_set_env(struct sc_strv *list, const char *name, const char *value);

#endif
