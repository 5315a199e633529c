/* `deterministic` of a spec: its setters, from text and from JSON, and its part of the check. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/num.h"
#include "spec/json_read.h"
#include "spec/spec.h"
#include "spec/spec_internal.h"

/* 2200-01-01: far enough, and its nanoseconds fit into 64 bits. */
#define CLOCK_MAX_S 7258118400ull

static int bad_seed(const char *field, const char *text, struct sc_err *err)
{
    return sc_spec_bad(err, field, text, "allowed: on, off, or a seed from 0 to %" PRIu32, UINT32_MAX);
}

int sc_spec_set_deterministic(struct sc_deterministic *deterministic, const char *field, const char *text,
                              struct sc_err *err)
{
    if (!strcmp(text, "on")) {
        deterministic->on = true;
        return 0;
    }
    if (!strcmp(text, "off")) {
        *deterministic = (struct sc_deterministic){0};
        return 0;
    }
    uint64_t seed = 0;
    if (sc_parse_u64(text, &seed) < 0 || seed > UINT32_MAX)
        return bad_seed(field, text, err);
    deterministic->on = true;
    deterministic->seed = (uint32_t)seed;
    return 0;
}

/* ---- the clock ---- */

static int bad_clock(const char *field, const char *text, struct sc_err *err)
{
    return sc_spec_bad(err, field, text,
                       "must be a time from 1970 to 2200 in UTC, as 2020-01-31, 2020-01-31T12:30:00Z or "
                       "seconds since 1970");
}

/* A date, and a time of day behind a T, up to the end of the text. */
static bool parse_date(const char *text, uint64_t *ret_s)
{
    struct tm tm = {0}, same;
    const char *end = strptime(text, "%Y-%m-%d", &tm);
    if (end && *end == 'T')
        end = strptime(end + 1, "%H:%M:%S", &tm);
    if (!end || (*end && strcmp(end, "Z") != 0))
        return false;
    same = tm;
    time_t s = timegm(&same);
    /* timegm makes a day of March of February's thirtieth. */
    if (s < 0 || same.tm_mday != tm.tm_mday || same.tm_sec != tm.tm_sec)
        return false;
    *ret_s = (uint64_t)s;
    return true;
}

int sc_spec_set_clock(struct sc_deterministic *deterministic, const char *field, const char *text,
                      struct sc_err *err)
{
    uint64_t s = 0, ms = 0;
    bool is_date = strchr(text, '-') != NULL;
    if (is_date ? !parse_date(text, &s) : sc_parse_milli(text, &ms) < 0)
        return bad_clock(field, text, err);
    if (is_date ? s > CLOCK_MAX_S : ms > CLOCK_MAX_S * 1000)
        return bad_clock(field, text, err);
    deterministic->clock_given = true;
    deterministic->clock_ms = is_date ? s * 1000 : ms;
    return 0;
}

/* ---- JSON ---- */

static int read_seed(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    if (!json_is_integer(value))
        return sc_json_wrong_type(path, value, "a whole number", err);
    json_int_t seed = json_integer_value(value);
    char shown[32];
    snprintf(shown, sizeof shown, "%" JSON_INTEGER_FORMAT, seed);
    if (seed < 0 || seed > UINT32_MAX)
        return sc_spec_bad(err, path, shown, "allowed 0 to %" PRIu32, UINT32_MAX);
    ((struct sc_deterministic *)into)->seed = (uint32_t)seed;
    return 0;
}

static int read_clock(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_deterministic *deterministic = into;
    if (json_is_string(value)) {
        const char *text = sc_json_text(value, path, err);
        return text ? sc_spec_set_clock(deterministic, path, text, err) : -EINVAL;
    }
    if (!json_is_number(value))
        return sc_json_wrong_type(path, value, "a number of seconds or a date", err);
    double s = json_number_value(value);
    char shown[64];
    snprintf(shown, sizeof shown, "%.15g", s);
    if (s < 0 || s > (double)CLOCK_MAX_S)
        return bad_clock(path, shown, err);
    deterministic->clock_given = true;
    deterministic->clock_ms = (uint64_t)(s * 1000.0 + 0.5);
    return 0;
}

int sc_spec_read_deterministic(struct sc_deterministic *deterministic, const json_t *value, const char *path,
                               struct sc_err *err)
{
    static const struct sc_json_field fields[] = {{"seed", read_seed}, {"clock_start", read_clock}, {NULL}};
    if (!json_is_boolean(value) && !json_is_object(value))
        return sc_json_wrong_type(path, value, "true, false or an object", err);
    *deterministic = (struct sc_deterministic){.on = !json_is_false(value)};
    return json_is_object(value) ? sc_json_read_object(deterministic, value, path, fields, err) : 0;
}

/* ---- the check ---- */

int sc_spec_check_deterministic(const struct sc_spec *spec, struct sc_err *err)
{
    if (spec->deterministic.clock_given && !spec->deterministic.on)
        return sc_err_usage(err, "clock-start", "clock-start: allowed only together with deterministic");
    return 0;
}
