/* Names and the addresses that stand for them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/egress.h"

#define BUCKETS (2 * SC_NAMES_MAX) /* a power of two */

static const struct sc_cidr RANGES[2] = {{{false, SC_NET_STANDIN_V4}, SC_NET_STANDIN_V4_BITS},
                                         {{true, SC_NET_STANDIN_V6}, SC_NET_STANDIN_V6_BITS}};

int sc_names_init(struct sc_names *names)
{
    names->list = calloc(SC_NAMES_MAX, sizeof *names->list);
    names->buckets = calloc(BUCKETS, sizeof *names->buckets);
    return names->list && names->buckets ? 0 : -ENOMEM;
}

static uint32_t hash(const char *text)
{
    uint32_t value = 2166136261u; /* FNV-1a */
    for (; *text; text++)
        value = (value ^ (unsigned char)*text) * 16777619u;
    return value;
}

/* Names are not more than half the buckets: there is always a free one. */
int sc_names_add(struct sc_names *names, const char *name)
{
    uint32_t at = hash(name) % BUCKETS;
    for (; names->buckets[at]; at = (at + 1) % BUCKETS)
        if (!strcmp(names->list[names->buckets[at] - 1].text, name))
            return (int)names->buckets[at] - 1;
    if (names->n == SC_NAMES_MAX)
        return -ENOSPC;
    char *text = strdup(name);
    if (!text)
        return -ENOMEM;
    names->list[names->n].text = text;
    names->buckets[at] = (uint32_t)++names->n;
    return (int)names->n - 1;
}

struct sc_addr sc_names_standin(size_t index, bool v6)
{
    struct sc_addr addr = RANGES[v6].addr;
    size_t end = v6 ? 16 : 4, number = index + 1;
    addr.bytes[end - 1] = (uint8_t)number;
    addr.bytes[end - 2] = (uint8_t)(number >> 8);
    return addr;
}

bool sc_names_is_standin(const struct sc_addr *addr)
{
    return sc_cidr_has(&RANGES[addr->v6], addr);
}

struct sc_known_name *sc_names_find(struct sc_names *names, const struct sc_addr *addr)
{
    size_t end = addr->v6 ? 16 : 4;
    size_t number = (size_t)addr->bytes[end - 2] << 8 | addr->bytes[end - 1];
    if (number == 0 || number > names->n)
        return NULL;
    struct sc_addr real = sc_names_standin(number - 1, addr->v6);
    return !memcmp(real.bytes, addr->bytes, sizeof real.bytes) ? &names->list[number - 1] : NULL;
}
