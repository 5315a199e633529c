/* Memory of one reading, and texts that are the same pointer when they are the same text.
 *
 * The checker is a process that may die: when memory runs out, it does, and its caller starts another. So
 * nothing here returns NULL.
 */
#ifndef SC_CHECK_POOL_H
#define SC_CHECK_POOL_H

#include <stddef.h>
#include <stdint.h>

struct sc_pool_block;

struct sc_pool {
    struct sc_pool_block *blocks;
    const char **texts; /* hash table of what sc_pool_text returned */
    size_t n_texts, n_slots;
};

void sc_pool_init(struct sc_pool *pool);
void sc_pool_fini(struct sc_pool *pool);
/* Zeroed, aligned for anything, valid until fini. */
void *sc_pool_alloc(struct sc_pool *pool, size_t size);
/* The one copy of this text, NUL-terminated. `text` may hold no NUL. */
const char *sc_pool_text(struct sc_pool *pool, const char *text, size_t len);
__attribute__((format(printf, 2, 3))) const char *sc_pool_printf(struct sc_pool *pool, const char *format,
                                                                 ...);

/* The same rule for the heap: ends the process rather than return NULL. */
void *sc_check_realloc(void *old, size_t n, size_t size);

/* One of the hash functions that are good enough where a flood only slows its own reading down. */
uint32_t sc_check_hash(const void *data, size_t len);

#endif
