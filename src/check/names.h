/* A table of dotted names: "os.system" stands for itself, "subprocess.*" for itself and all below it. */
#ifndef SC_CHECK_NAMES_H
#define SC_CHECK_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sc_name_entry;

struct sc_names {
    struct sc_name_entry *entries;
    size_t n, n_slots;
};

#define SC_NO_NAME UINT32_MAX

/* `value` is what sc_names_find returns; the first one of a name stays. The text is copied. */
void sc_names_add(struct sc_names *names, const char *name, uint32_t value);
/* The value of the longest entry that stands for `name`, or SC_NO_NAME. */
uint32_t sc_names_find(const struct sc_names *names, const char *name);
/* Is `name` itself not in the table, but something below it? */
bool sc_names_below(const struct sc_names *names, const char *name);
void sc_names_fini(struct sc_names *names);

#endif
