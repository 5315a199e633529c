/* The check: the one place that says what is allowed. Its parts, in an order in which the cheapest and the
 * most telling errors come first: limits, what runs, its arguments, the places it names, files. */
#include "spec/spec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "spec/spec_internal.h"

static int check_limit(struct sc_limits *limits, const struct sc_limit_row *row, struct sc_err *err)
{
    uint64_t value = *sc_limit_value(limits, row);
    char shown[32];
    if ((value == SC_UNSET || value == SC_DERIVED) && value == row->standard)
        return 0;
    sc_limit_format(row, value, shown, sizeof shown);
    return sc_spec_limit_range(row, value, row->option, shown, false, err);
}

static int check_limits(struct sc_spec *spec, uint64_t host_memory, struct sc_err *err)
{
    for (const struct sc_limit_row *row = SC_LIMIT_ROWS; row->option; row++) {
        int r = check_limit(&spec->limits, row, err);
        if (r < 0)
            return r;
    }
    if (host_memory && spec->limits.memory > host_memory) {
        char shown[32], min[32];
        const struct sc_limit_row *row = sc_limit_row_by_option("memory", strlen("memory"));
        sc_limit_format(row, spec->limits.memory, shown, sizeof shown);
        sc_limit_format(row, row->min, min, sizeof min);
        return sc_spec_bad(err, "memory", shown, "allowed %s to %lluM, this host's memory", min,
                           (unsigned long long)(host_memory / SC_MIB));
    }
    return sc_limits_derive(&spec->limits, &spec->disk_backing, err);
}

static int check_enums(const struct sc_spec *spec, struct sc_err *err)
{
    if (spec->lang > SC_LANG_NATIVE)
        return sc_err_usage(err, "language", "language: %d: no such value", (int)spec->lang);
    if (spec->profile > SC_PROFILE_COMPUTE)
        return sc_err_usage(err, "profile", "profile: %d: no such value", (int)spec->profile);
    if (spec->overflow > SC_OVERFLOW_END)
        return sc_err_usage(err, "overflow", "overflow: %d: no such value", (int)spec->overflow);
    if (spec->disk_backing > SC_DISK_IMAGE)
        return sc_err_usage(err, "disk-backing", "disk-backing: %d: no such value", (int)spec->disk_backing);
    if (spec->mode > SC_MODE_RESTRICTED)
        return sc_err_usage(err, "mode", "mode: %d: no such value", (int)spec->mode);
    if (spec->validate.on_finding > SC_FINDING_REPORT)
        return sc_err_usage(err, "validate", "validate: %d: no such value", (int)spec->validate.on_finding);
    /* Its first program is its only one: who starts commands starts several. */
    if (spec->profile == SC_PROFILE_COMPUTE && (spec->session || spec->mode != SC_MODE_PLAIN))
        return sc_err_usage(
            err, "profile",
            "profile: compute: lets one program start, but %s starts several: allowed default",
            spec->session ? "a session" : "this mode");
    if (spec->profile == SC_PROFILE_COMPUTE && spec->net.mode != SC_NET_NONE)
        return sc_err_usage(err, "network", "network: %s: allowed with profile compute is none",
                            spec->net.mode == SC_NET_OPEN ? "open" : "rules");
    return 0;
}

static int check_list(const struct sc_strv *list, const char *field, size_t *bytes, struct sc_err *err)
{
    if (list->n > SC_SPEC_ARGS_MAX)
        return sc_err_usage(err, field, "%s: %zu entries: at most %d are allowed", field, list->n,
                            SC_SPEC_ARGS_MAX);
    for (size_t i = 0; i < list->n; i++) {
        int r = sc_spec_text_ok(field, list->v[i], SC_SPEC_ARG_BYTES_MAX - 1, err);
        if (r < 0)
            return r;
        *bytes += strlen(list->v[i]) + 1;
    }
    return 0;
}

static int check_args_env(const struct sc_spec *spec, struct sc_err *err)
{
    size_t bytes = 0;
    int r = check_list(&spec->args, "args", &bytes, err);
    if (r == 0)
        r = check_list(&spec->env, "env", &bytes, err);
    for (size_t i = 0; i < spec->env.n && r == 0; i++) {
        const char *equals = strchr(spec->env.v[i], '=');
        if (!equals)
            return sc_spec_bad(err, "env", spec->env.v[i], "must be NAME=VALUE");
        r = sc_spec_env_name_ok("env", spec->env.v[i], (size_t)(equals - spec->env.v[i]), err);
    }
    if (r == 0 && bytes > SC_SPEC_ARGS_BYTES_MAX)
        r = sc_err_usage(err, "args",
                         "args: %zu bytes of arguments and environment: at most %llu are allowed", bytes,
                         SC_SPEC_ARGS_BYTES_MAX);
    return r;
}

static int check_stdin(const struct sc_spec *spec, struct sc_err *err)
{
    if (spec->stdin_data && spec->stdin_fd >= 0)
        return sc_err_usage(err, "stdin",
                            "stdin: both bytes and a descriptor are given: only one is allowed");
    if (spec->stdin_len > SC_SPEC_STDIN_MAX)
        return sc_err_usage(err, "stdin", "stdin: %zu bytes: at most %llu are allowed", spec->stdin_len,
                            SC_SPEC_STDIN_MAX);
    return 0;
}

/* Without what its template says a request would be judged, and run, as another one. */
static int check_template(const struct sc_spec *spec, struct sc_err *err)
{
    if (!spec->template || spec->template_applied)
        return 0;
    return sc_spec_bad(err, "template", spec->template,
                       "not allowed here: runs, plans, shells and sessions have a template");
}

int sc_spec_check(struct sc_spec *spec, uint64_t host_memory, struct sc_err *err)
{
    int r = check_template(spec, err);
    if (r == 0)
        r = check_enums(spec, err);
    if (r == 0)
        r = check_limits(spec, host_memory, err);
    if (r == 0)
        r = check_args_env(spec, err);
    if (r == 0)
        r = sc_spec_check_program(spec, err);
    if (r == 0)
        r = sc_spec_check_mode(spec, err);
    if (r == 0)
        r = check_stdin(spec, err);
    if (r == 0)
        r = sc_spec_check_places(spec, err);
    if (r == 0)
        r = sc_spec_check_files(spec, err);
    return r;
}
