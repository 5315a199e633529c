/* Setters from text, for the command line and the library: one option, one value. */
#include "spec/spec.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"
#include "spec/json_read.h"
#include "spec/spec_internal.h"

static const char *unit_hint(enum sc_limit_kind kind)
{
    switch (kind) {
    case SC_LIMIT_DURATION:
        return "not a duration like 1.5s, 200ms, 2m or 1h (a bare number is seconds)";
    case SC_LIMIT_BYTES:
        return "not a size like 65536, 64K, 512M or 1.5G";
    case SC_LIMIT_MILLI:
        return "not a number like 1, 0.5 or 2.25";
    case SC_LIMIT_COUNT:
        break;
    }
    return "not a whole number";
}

static int set_limit(struct sc_spec *spec, const struct sc_limit_row *row, const char *text,
                     struct sc_err *err)
{
    uint64_t value = 0;
    int r = sc_limit_parse(row, text, &value);
    if (r == -EINVAL) {
        char min[32], max[32];
        sc_limit_format(row, row->min, min, sizeof min);
        sc_limit_format(row, row->max, max, sizeof max);
        return sc_spec_bad(err, row->option, text, "%s; allowed %s to %s", unit_hint(row->kind), min, max);
    }
    if (r < 0)
        value = UINT64_MAX; /* too large for 64 bits is above every row's maximum */
    r = sc_spec_limit_range(row, value, row->option, text, false, err);
    if (r < 0)
        return r;
    *sc_limit_value(&spec->limits, row) = value;
    spec->limits_given |= 1u << sc_limit_index(row);
    return 0;
}

static int check_cwd(const char *field, const char *text, struct sc_err *err)
{
    return *text == '/' ? sc_spec_absolute_path_ok(field, text, err)
                        : sc_spec_inner_path_ok(field, text, err);
}

static const struct text_option {
    const char *name;
    size_t offset; /* of the char * in struct sc_spec */
    int (*check)(const char *field, const char *text, struct sc_err *err);
} TEXT_OPTIONS[] = {
    {"cwd", offsetof(struct sc_spec, cwd), check_cwd},
    {"root", offsetof(struct sc_spec, root), sc_spec_host_path_ok},
    {"venv", offsetof(struct sc_spec, venv), sc_spec_host_path_ok},
    {"interpreter", offsetof(struct sc_spec, interpreter), sc_spec_host_path_ok},
    {"pin", offsetof(struct sc_spec, pin), sc_spec_pin_ok},
    {"cgroup-parent", offsetof(struct sc_spec, cgroup_parent), sc_spec_absolute_path_ok},
    {"template", offsetof(struct sc_spec, template), sc_spec_template_ok},
    {NULL},
};

static int set_word(struct sc_spec *spec, const char *option, const char *value, bool *ret_known,
                    struct sc_err *err)
{
    int word = 0, r;
    *ret_known = true;
    if (!strcmp(option, "language"))
        return sc_spec_lang(option, value, &spec->lang, err);
    if (!strcmp(option, "profile")) {
        r = sc_spec_word(SC_SPEC_PROFILES, option, value, &word, err);
        if (r == 0)
            spec->profile = (enum sc_profile)word;
        return r;
    }
    if (!strcmp(option, "overflow")) {
        r = sc_spec_word(SC_SPEC_OVERFLOWS, option, value, &word, err);
        if (r == 0)
            spec->overflow = (enum sc_overflow)word;
        return r;
    }
    if (!strcmp(option, "disk-backing")) {
        r = sc_spec_word(SC_SPEC_BACKINGS, option, value, &word, err);
        if (r == 0)
            spec->disk_backing = (enum sc_disk_backing)word;
        return r;
    }
    if (!strcmp(option, "mode")) {
        r = sc_spec_word(SC_SPEC_MODES, option, value, &word, err);
        if (r == 0)
            spec->mode = (enum sc_mode)word;
        return r;
    }
    if (!strcmp(option, "network"))
        return sc_net_set_mode(&spec->net, option, value, err);
    if (!strcmp(option, "validate"))
        return sc_spec_set_validate(&spec->validate, option, value, err);
    if (!strcmp(option, "deterministic"))
        return sc_spec_set_deterministic(&spec->deterministic, option, value, err);
    if (!strcmp(option, "clock-start"))
        return sc_spec_set_clock(&spec->deterministic, option, value, err);
    *ret_known = false;
    return 0;
}

int sc_spec_unknown_option(const char *option, const char *const *others, const char *what,
                           struct sc_err *err)
{
    const char *names[64];
    size_t n = 0;
    for (; *others; others++)
        names[n++] = *others;
    if (!strcmp(what, "option"))
        for (const struct sc_limit_row *row = SC_LIMIT_ROWS; row->option && n < 63; row++)
            names[n++] = row->option;
    names[n] = NULL;
    char field[SC_ERR_FIELD_MAX];
    sc_text_show(field, sizeof field, option, strlen(option));
    const char *nearest = sc_text_nearest(option, names);
    if (nearest)
        return sc_err_usage(err, field, "%s: unknown %s; did you mean %s?", field, what, nearest);
    return sc_err_usage(err, field, "%s: unknown %s; docs/spec.md lists what is allowed", field, what);
}

int sc_spec_set(struct sc_spec *spec, const char *option, const char *value, struct sc_err *err)
{
    static const char *const others[] = {
        "language", "profile",     "overflow",      "disk-backing",  "cwd",  "root",
        "venv",     "interpreter", "pin",           "cgroup-parent", "mode", "validate",
        "network",  "template",    "deterministic", "clock-start",   NULL};
    const struct sc_limit_row *row = sc_limit_row_by_option(option, strlen(option));
    if (row)
        return set_limit(spec, row, value, err);
    bool known = false;
    int r = set_word(spec, option, value, &known, err);
    if (known)
        return r;
    for (const struct text_option *text = TEXT_OPTIONS; text->name; text++) {
        if (strcmp(text->name, option) != 0)
            continue;
        r = text->check(option, value, err);
        return r < 0 ? r : sc_spec_put_text((char **)(void *)((char *)spec + text->offset), value, err);
    }
    return sc_spec_unknown_option(option, others, "option", err);
}
