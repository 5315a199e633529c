/* Numbers from outside: checked arithmetic and units. */
#ifndef SC_BASE_NUM_H
#define SC_BASE_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All parsers take the whole text or refuse it: -EINVAL (not such a number), -ERANGE (too large). */
int sc_parse_u64(const char *text, uint64_t *ret_value);
/* "90", "1.5s", "200ms", "2m", "1h" → nanoseconds; a bare number is seconds. */
int sc_parse_duration(const char *text, uint64_t *ret_ns);
/* "65536", "64K", "512M", "1.5G", also KB/KiB forms, all powers of 1024 → bytes. */
int sc_parse_bytes(const char *text, uint64_t *ret_bytes);
/* "1", "0.5", "2.25" → thousandths. */
int sc_parse_milli(const char *text, uint64_t *ret_milli);

/* The same the other way, shortest exact form; `size` 32 is always enough. */
void sc_format_duration(uint64_t ns, char *ret_text, size_t size);
void sc_format_bytes(uint64_t bytes, char *ret_text, size_t size);
void sc_format_milli(uint64_t milli, char *ret_text, size_t size);

static inline uint64_t sc_min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}
static inline uint64_t sc_max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

#endif
