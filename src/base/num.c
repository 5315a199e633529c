#include "base/num.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct unit {
    const char *suffix;
    uint64_t scale;
};

int sc_parse_u64(const char *text, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (!*text)
        return -EINVAL;
    for (const char *at = text; *at; at++) {
        if (*at < '0' || *at > '9')
            return -EINVAL;
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return -ERANGE;
    }
    *ret_value = value;
    return 0;
}

/* "1.5" with a suffix out of `units`: whole × scale + fraction × scale / 10^digits, at most nine digits. */
static int parse_scaled(const char *text, const struct unit *units, uint64_t *ret_value)
{
    uint64_t whole = 0, fraction = 0, divisor = 1;
    const char *at = text;
    if (*at < '0' || *at > '9')
        return -EINVAL;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(whole, 10u, &whole) ||
            __builtin_add_overflow(whole, (uint64_t)(*at - '0'), &whole))
            return -ERANGE;
    if (*at == '.') {
        at++;
        if (*at < '0' || *at > '9')
            return -EINVAL;
        for (; *at >= '0' && *at <= '9'; at++) {
            if (divisor >= 1000000000u)
                return -EINVAL;
            fraction = fraction * 10 + (uint64_t)(*at - '0');
            divisor *= 10;
        }
    }
    for (; units->suffix; units++)
        if (!strcmp(at, units->suffix))
            break;
    if (!units->suffix)
        return -EINVAL;
    uint64_t value;
    /* Nine digits of a terabyte do not fit 64 bits; what is left of them after the division does. */
    uint64_t part = (uint64_t)((unsigned __int128)fraction * units->scale / divisor);
    if (__builtin_mul_overflow(whole, units->scale, &value) || __builtin_add_overflow(value, part, &value))
        return -ERANGE;
    *ret_value = value;
    return 0;
}

static const struct unit DURATIONS[] = {
    {"", 1000000000u}, {"s", 1000000000u},  {"ms", 1000000u},      {"us", 1000u},
    {"ns", 1u},        {"m", 60000000000u}, {"h", 3600000000000u}, {NULL, 0},
};

static const struct unit SIZES[] = {
    {"", 1},
    {"B", 1},
    {"K", 1ull << 10},
    {"KB", 1ull << 10},
    {"KiB", 1ull << 10},
    {"k", 1ull << 10},
    {"M", 1ull << 20},
    {"MB", 1ull << 20},
    {"MiB", 1ull << 20},
    {"m", 1ull << 20},
    {"G", 1ull << 30},
    {"GB", 1ull << 30},
    {"GiB", 1ull << 30},
    {"g", 1ull << 30},
    {"T", 1ull << 40},
    {"TiB", 1ull << 40},
    {NULL, 0},
};

static const struct unit MILLI[] = {{"", 1000}, {NULL, 0}};

int sc_parse_duration(const char *text, uint64_t *ret_ns)
{
    return parse_scaled(text, DURATIONS, ret_ns);
}

int sc_parse_bytes(const char *text, uint64_t *ret_bytes)
{
    return parse_scaled(text, SIZES, ret_bytes);
}

int sc_parse_milli(const char *text, uint64_t *ret_milli)
{
    return parse_scaled(text, MILLI, ret_milli);
}

static void format_exact(uint64_t value, const struct unit *units, char *ret_text, size_t size)
{
    for (; units->suffix; units++)
        if (units->scale == 1 || (value && value % units->scale == 0)) {
            snprintf(ret_text, size, "%" PRIu64 "%s", value / units->scale, units->suffix);
            return;
        }
}

void sc_format_duration(uint64_t ns, char *ret_text, size_t size)
{
    static const struct unit units[] = {
        {"h", 3600000000000u}, {"m", 60000000000u}, {"s", 1000000000u}, {"ms", 1000000u},
        {"us", 1000u},         {"ns", 1},           {NULL, 0}};
    format_exact(ns, units, ret_text, size);
}

void sc_format_bytes(uint64_t bytes, char *ret_text, size_t size)
{
    static const struct unit units[] = {{"T", 1ull << 40}, {"G", 1ull << 30}, {"M", 1ull << 20},
                                        {"K", 1ull << 10}, {"B", 1},          {NULL, 0}};
    format_exact(bytes, units, ret_text, size);
}

void sc_format_milli(uint64_t milli, char *ret_text, size_t size)
{
    if (milli % 1000 == 0)
        snprintf(ret_text, size, "%" PRIu64, milli / 1000);
    else
        snprintf(ret_text, size, "%" PRIu64 ".%03" PRIu64, milli / 1000, milli % 1000);
}
