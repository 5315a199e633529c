#include "spec/spec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

/* Option names are the field names with dashes; spelled at compile time, so that a row stays the one place.
 */
#define DASHED(s, i)                                                                                         \
    ((i) < sizeof(s) ? ((s)[(i) < sizeof(s) ? (i) : 0] == '_' ? '-' : (s)[(i) < sizeof(s) ? (i) : 0]) : '\0')
#define DASHED8(s, i)                                                                                        \
    DASHED(s, i), DASHED(s, (i) + 1), DASHED(s, (i) + 2), DASHED(s, (i) + 3), DASHED(s, (i) + 4),            \
        DASHED(s, (i) + 5), DASHED(s, (i) + 6), DASHED(s, (i) + 7)
#define OPTION_MAX 24

#define LIMIT(name, kind, min, max, standard, json, description)                                             \
    _Static_assert(sizeof(#name) <= OPTION_MAX, "option name of limit " #name " is too long");               \
    static const char OPTION_##name[OPTION_MAX] = {DASHED8(#name, 0), DASHED8(#name, 8), DASHED8(#name, 16)};
#include "spec/limits.def"
#undef LIMIT

const struct sc_limit_row SC_LIMIT_ROWS[] = {
#define LIMIT(name, kind, min, max, standard, json, description)                                             \
    {OPTION_##name, json, SC_LIMIT_##kind, min, max, standard, offsetof(struct sc_limits, name), description},
#include "spec/limits.def"
#undef LIMIT
    {0},
};
_Static_assert(sizeof SC_LIMIT_ROWS / sizeof *SC_LIMIT_ROWS <= 32, "limits_given has 32 bits");

const struct sc_limit_row *sc_limit_row_by_option(const char *option, size_t len)
{
    for (const struct sc_limit_row *row = SC_LIMIT_ROWS; row->option; row++)
        if (strlen(row->option) == len && !memcmp(row->option, option, len))
            return row;
    return NULL;
}

size_t sc_limit_index(const struct sc_limit_row *row)
{
    return (size_t)(row - SC_LIMIT_ROWS);
}

uint64_t *sc_limit_value(struct sc_limits *limits, const struct sc_limit_row *row)
{
    return (uint64_t *)(void *)((char *)limits + row->offset);
}

void sc_limits_init(struct sc_limits *limits)
{
    for (const struct sc_limit_row *row = SC_LIMIT_ROWS; row->option; row++)
        *sc_limit_value(limits, row) = row->standard;
}

void sc_limit_format(const struct sc_limit_row *row, uint64_t value, char *ret_text, size_t size)
{
    if (value == SC_UNSET || value == SC_DERIVED) {
        snprintf(ret_text, size, "%s", value == SC_UNSET ? "unset" : "derived");
        return;
    }
    switch (row->kind) {
    case SC_LIMIT_DURATION:
        sc_format_duration(value, ret_text, size);
        return;
    case SC_LIMIT_BYTES:
        sc_format_bytes(value, ret_text, size);
        return;
    case SC_LIMIT_MILLI:
        sc_format_milli(value, ret_text, size);
        return;
    case SC_LIMIT_COUNT:
        snprintf(ret_text, size, "%llu", (unsigned long long)value);
        return;
    }
}

int sc_limit_parse(const struct sc_limit_row *row, const char *text, uint64_t *ret_value)
{
    switch (row->kind) {
    case SC_LIMIT_DURATION:
        return sc_parse_duration(text, ret_value);
    case SC_LIMIT_BYTES:
        return sc_parse_bytes(text, ret_value);
    case SC_LIMIT_MILLI:
        return sc_parse_milli(text, ret_value);
    case SC_LIMIT_COUNT:
        return sc_parse_u64(text, ret_value);
    }
    return -EINVAL;
}
