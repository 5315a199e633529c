/* What an expression may be, as far as the text tells: a name ("os.system"), or a constant text. */
#ifndef SC_CHECK_VALUES_H
#define SC_CHECK_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SC_VALUES_MAX 6
#define SC_VALUE_TEXT_MAX 512 /* longer constants are not known */

enum sc_value_kind { SC_VALUE_NAME, SC_VALUE_TEXT };

struct sc_value {
    enum sc_value_kind kind;
    const char *text; /* of the reading's pool: equal texts are equal pointers */
};

/* All that it may be; `other`: or something else. n 0: nothing is known. */
struct sc_values {
    struct sc_value v[SC_VALUES_MAX];
    uint8_t n;
    bool other;
};

static inline void sc_values_add(struct sc_values *values, enum sc_value_kind kind, const char *text)
{
    for (uint8_t i = 0; i < values->n; i++)
        if (values->v[i].kind == kind && values->v[i].text == text)
            return;
    if (values->n < SC_VALUES_MAX)
        values->v[values->n++] = (struct sc_value){kind, text};
    else
        values->other = true;
}

/* NULL: some text that is not known. */
static inline void sc_values_add_text(struct sc_values *values, const char *text)
{
    if (text)
        sc_values_add(values, SC_VALUE_TEXT, text);
    else
        values->other = true;
}

static inline void sc_values_join(struct sc_values *values, const struct sc_values *more)
{
    for (uint8_t i = 0; i < more->n; i++)
        sc_values_add(values, more->v[i].kind, more->v[i].text);
    values->other |= more->other || more->n == 0;
}

/* The one constant text that it is, or NULL. */
static inline const char *sc_values_constant(const struct sc_values *values)
{
    return values->n == 1 && !values->other && values->v[0].kind == SC_VALUE_TEXT ? values->v[0].text : NULL;
}

/* Something, and then `end`. */
static inline bool sc_name_ends_with(const char *name, const char *end)
{
    size_t len = strlen(name), end_len = strlen(end);
    return len > end_len && !strcmp(name + len - end_len, end);
}

/* Is it one of a few constant texts, and nothing else? */
static inline bool sc_values_are_texts(const struct sc_values *values)
{
    for (uint8_t i = 0; i < values->n; i++)
        if (values->v[i].kind != SC_VALUE_TEXT)
            return false;
    return values->n > 0 && !values->other;
}

#endif
