/* The check's part about how the code is run and read: its mode, the rules it must pass, and what a session
 * cannot have. Comes after the part that settles the language. */
#include <sys/stat.h>
#include <string.h>

#include "spec/spec.h"
#include "spec/spec_internal.h"

static bool has_runner(enum sc_lang lang)
{
    return lang == SC_LANG_PYTHON || lang == SC_LANG_NODE || lang == SC_LANG_BASH;
}

/* A runner starts nothing but the code itself, and the code gets no arguments (docs/runner-protocol.md). */
static int check_runner(const struct sc_spec *spec, struct sc_err *err)
{
    const char *mode = sc_mode_name(spec->mode);
    if (spec->command)
        return sc_spec_bad(err, "mode", mode, "allowed with program or code; a command runs in mode plain");
    if (spec->mode == SC_MODE_RESTRICTED && spec->lang != SC_LANG_PYTHON)
        return sc_spec_bad(err, "mode", mode, "allowed with language python, not %s",
                           sc_lang_name(spec->lang));
    if (!has_runner(spec->lang))
        return sc_spec_bad(err, "mode", mode, "allowed with language python, node or bash, not %s",
                           sc_lang_name(spec->lang));
    if (spec->args.n)
        return sc_spec_bad(err, "args", spec->args.v[0], "code in mode %s has no arguments", mode);
    if (spec->pty)
        return sc_err_usage(err, "pty", "pty: true: allowed in mode plain, not %s", mode);
    return 0;
}

static int check_entries(const struct sc_strv *list, const char *field, size_t max,
                         int (*ok)(const char *, const char *, struct sc_err *), struct sc_err *err)
{
    if (list->n > max)
        return sc_err_usage(err, field, "%s: %zu entries: at most %zu are allowed", field, list->n, max);
    int r = 0;
    for (size_t i = 0; i < list->n && r == 0; i++)
        r = ok(field, list->v[i], err);
    return r;
}

static int check_rule(const char *field, const char *text, struct sc_err *err)
{
    struct stat st;
    int r = sc_spec_rules_ok(field, text, err);
    if (r == 0 && strpbrk(text, "./"))
        r = sc_spec_host_file_ok(field, text, &st, err);
    return r;
}

static int check_validate(const struct sc_spec *spec, struct sc_err *err)
{
    const struct sc_validate *validate = &spec->validate;
    if (!validate->on)
        return 0;
    int r = check_entries(&validate->rules, "rules", SC_SPEC_RULES_MAX, check_rule, err);
    if (r == 0)
        r = check_entries(&validate->deny_modules, "deny-module", SC_SPEC_DENIED_MAX, sc_spec_denied_ok, err);
    if (r == 0)
        r = check_entries(&validate->deny_calls, "deny-call", SC_SPEC_DENIED_MAX, sc_spec_denied_ok, err);
    if (r < 0 || spec->session)
        return r;
    const char *what = sc_on_finding_name(validate->on_finding);
    if (spec->command)
        return sc_spec_bad(err, "validate", what, "allowed with program or code; a command has no source");
    if (!has_runner(spec->lang))
        return sc_spec_bad(err, "validate", what, "allowed with language python, node or bash, not %s",
                           sc_lang_name(spec->lang));
    return 0;
}

/* A session only waits: what belongs to one run comes with each of its runs. */
static int check_session(const struct sc_spec *spec, struct sc_err *err)
{
    if (spec->mode != SC_MODE_PLAIN)
        return sc_spec_bad(err, "mode", sc_mode_name(spec->mode),
                           "not allowed here: each run of a session has its own");
    if (spec->args.n)
        return sc_spec_bad(err, "args", spec->args.v[0], "not allowed: a session runs nothing by itself");
    if (spec->stdin_data || spec->stdin_fd >= 0)
        return sc_err_usage(err, "stdin", "stdin: not allowed here: each run of a session has its own");
    if (spec->n_outs)
        return sc_spec_bad(err, "out", spec->outs[0].glob, "not allowed: files are read from the session");
    if (spec->pty)
        return sc_err_usage(err, "pty", "pty: not allowed here: each command of a session asks for its own");
    return 0;
}

/* Only an interpreter of ours can have loaded something before its run. What restricted code may load, it
 * cannot choose. */
static int check_imports(const struct sc_spec *spec, struct sc_err *err)
{
    if (spec->imports.n && (spec->session || spec->mode != SC_MODE_RICH))
        return sc_err_usage(err, "imports", "imports: allowed with mode rich, and in no session");
    int r = spec->imports.n > SC_SPEC_IMPORTS_MAX
                ? sc_err_usage(err, "imports", "imports: %zu entries: at most %d are allowed",
                               spec->imports.n, SC_SPEC_IMPORTS_MAX)
                : 0;
    for (size_t i = 0; i < spec->imports.n && r == 0; i++)
        r = sc_spec_import_ok("imports", spec->imports.v[i], err);
    return r;
}

int sc_spec_check_mode(const struct sc_spec *spec, struct sc_err *err)
{
    int r = 0;
    if (spec->forkable && !spec->session)
        r = sc_err_usage(err, "forkable",
                         "forkable: true: allowed for sessions only; a run ends before it could be forked");
    else if (spec->secrets.n && !spec->session)
        r = sc_err_usage(err, "secrets", "secrets: allowed for sessions only; a run has env and stdin");
    else if (spec->session)
        r = check_session(spec, err);
    else if (spec->mode != SC_MODE_PLAIN)
        r = check_runner(spec, err);
    if (r == 0)
        r = check_validate(spec, err);
    if (r == 0)
        r = check_imports(spec, err);
    return r < 0 ? r : sc_spec_check_deterministic(spec, err);
}
