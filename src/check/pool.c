#include "check/pool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES (64 * 1024)
#define OUT_OF_MEMORY 3 /* exit status, for people who look */

struct sc_pool_block {
    struct sc_pool_block *next;
    size_t used, size;
    _Alignas(16) char data[];
};

void *sc_check_realloc(void *old, size_t n, size_t size)
{
    void *memory = reallocarray(old, n ? n : 1, size);
    if (!memory)
        _exit(OUT_OF_MEMORY);
    return memory;
}

uint32_t sc_check_hash(const void *data, size_t len)
{
    const unsigned char *bytes = data;
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ bytes[i]) * 16777619u;
    return hash;
}

void sc_pool_init(struct sc_pool *pool)
{
    *pool = (struct sc_pool){0};
}

void sc_pool_fini(struct sc_pool *pool)
{
    while (pool->blocks) {
        struct sc_pool_block *block = pool->blocks;
        pool->blocks = block->next;
        free(block);
    }
    free(pool->texts);
    *pool = (struct sc_pool){0};
}

void *sc_pool_alloc(struct sc_pool *pool, size_t size)
{
    struct sc_pool_block *block = pool->blocks;
    size = (size + 15) & ~(size_t)15;
    if (!block || block->size - block->used < size) {
        size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        block = sc_check_realloc(NULL, 1, sizeof *block + room);
        *block = (struct sc_pool_block){.next = pool->blocks, .size = room};
        pool->blocks = block;
    }
    void *memory = block->data + block->used;
    block->used += size;
    return memset(memory, 0, size);
}

static void put(const char **slots, size_t n_slots, const char *text)
{
    size_t i = sc_check_hash(text, strlen(text)) & (n_slots - 1);
    while (slots[i])
        i = (i + 1) & (n_slots - 1);
    slots[i] = text;
}

static void grow(struct sc_pool *pool)
{
    size_t n = pool->n_slots ? pool->n_slots * 2 : 1024;
    const char **slots = sc_check_realloc(NULL, n, sizeof *slots);
    memset(slots, 0, n * sizeof *slots);
    for (size_t i = 0; i < pool->n_slots; i++)
        if (pool->texts[i])
            put(slots, n, pool->texts[i]);
    free(pool->texts);
    pool->texts = slots;
    pool->n_slots = n;
}

const char *sc_pool_text(struct sc_pool *pool, const char *text, size_t len)
{
    if (pool->n_texts * 2 >= pool->n_slots)
        grow(pool);
    size_t i = sc_check_hash(text, len) & (pool->n_slots - 1);
    for (; pool->texts[i]; i = (i + 1) & (pool->n_slots - 1))
        if (!strncmp(pool->texts[i], text, len) && pool->texts[i][len] == '\0')
            return pool->texts[i];
    char *copy = sc_pool_alloc(pool, len + 1);
    memcpy(copy, text, len);
    pool->texts[i] = copy;
    pool->n_texts++;
    return copy;
}

const char *sc_pool_printf(struct sc_pool *pool, const char *format, ...)
{
    char room[1024];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(room, sizeof room, format, args);
    va_end(args);
    size_t used = len < 0 ? 0 : (size_t)len;
    return sc_pool_text(pool, room, used < sizeof room ? used : sizeof room - 1);
}
