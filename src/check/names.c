#include "check/names.h"

#include <stdlib.h>
#include <string.h>

#include "check/pool.h"

struct sc_name_entry {
    char *name; /* NULL: free */
    size_t len;
    uint32_t value; /* itself; SC_NO_NAME: only something below it */
    uint32_t below; /* itself and all below, by "name.*" */
};

static struct sc_name_entry *slot(const struct sc_names *names, const char *name, size_t len)
{
    size_t i = sc_check_hash(name, len) & (names->n_slots - 1);
    while (names->entries[i].name &&
           (names->entries[i].len != len || memcmp(names->entries[i].name, name, len) != 0))
        i = (i + 1) & (names->n_slots - 1);
    return &names->entries[i];
}

static void grow(struct sc_names *names)
{
    struct sc_names old = *names;
    names->n_slots = old.n_slots ? old.n_slots * 2 : 256;
    names->entries = sc_check_realloc(NULL, names->n_slots, sizeof *names->entries);
    memset(names->entries, 0, names->n_slots * sizeof *names->entries);
    for (size_t i = 0; i < old.n_slots; i++)
        if (old.entries[i].name)
            *slot(names, old.entries[i].name, old.entries[i].len) = old.entries[i];
    free(old.entries);
}

static struct sc_name_entry *enter(struct sc_names *names, const char *name, size_t len)
{
    if (names->n * 2 >= names->n_slots)
        grow(names);
    struct sc_name_entry *entry = slot(names, name, len);
    if (!entry->name) {
        entry->name = sc_check_realloc(NULL, len + 1, 1);
        memcpy(entry->name, name, len);
        entry->name[len] = '\0';
        entry->len = len;
        entry->value = entry->below = SC_NO_NAME;
        names->n++;
    }
    return entry;
}

void sc_names_add(struct sc_names *names, const char *name, uint32_t value)
{
    size_t len = strlen(name);
    bool all = len > 2 && !strcmp(name + len - 2, ".*");
    if (all)
        len -= 2;
    struct sc_name_entry *entry = enter(names, name, len);
    uint32_t *place = all ? &entry->below : &entry->value;
    if (*place == SC_NO_NAME)
        *place = value;
    /* Every name above is entered without a value, so that sc_names_below is one look. A leading dot (any
     * object's attribute) has nothing above it. */
    for (size_t i = len; i-- > 1;)
        if (name[i] == '.')
            enter(names, name, i);
}

uint32_t sc_names_find(const struct sc_names *names, const char *name)
{
    if (!names->n)
        return SC_NO_NAME;
    size_t len = strlen(name);
    const struct sc_name_entry *entry = slot(names, name, len);
    if (entry->name && entry->value != SC_NO_NAME)
        return entry->value;
    for (size_t i = len; i > 0; i--) {
        if (i < len && name[i] != '.')
            continue;
        entry = slot(names, name, i);
        if (entry->name && entry->below != SC_NO_NAME)
            return entry->below;
    }
    return SC_NO_NAME;
}

bool sc_names_below(const struct sc_names *names, const char *name)
{
    return names->n && slot(names, name, strlen(name))->name && sc_names_find(names, name) == SC_NO_NAME;
}

void sc_names_fini(struct sc_names *names)
{
    for (size_t i = 0; i < names->n_slots; i++)
        free(names->entries[i].name);
    free(names->entries);
    *names = (struct sc_names){0};
}
