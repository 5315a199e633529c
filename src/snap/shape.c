#include "snap/shape.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define KEY_MAX (4u << 20)

/* What an interpreter, its C library or a library of numbers reads once, at its start or so early that a
 * value that comes later may be missed: docs/warm-cells.md. A "*" at the end stands for anything. */
static const char *const READ_AT_START[] = {
    "PYTHON*",     "NODE_*",          "UV_*",    "BASH*",      "LD_*",
    "MALLOC_*",    "GLIBC_*",         "LC_*",    "LANG*",      "LOCPATH",
    "NLSPATH",     "GCONV_*",         "CHARSET", "TZ",         "TZDIR",
    "HOME",        "TMPDIR",          "TEMP",    "TMP",        "OMP_*",
    "OPENBLAS_*",  "GOTO_*",          "MKL_*",   "BLIS_*",     "NUMEXPR_*",
    "VECLIB_*",    "KMP_*",           "RAYON_*", "POLARS_*",   "MPL*",
    "OPENSSL_*",   "SSL_*",           "ICU_*",   "RES_*",      "LOCALDOMAIN",
    "HOSTALIASES", "POSIXLY_CORRECT", "__*",     "READLINE_*", "INPUTRC",
};

/* Names that a running Bash keeps for itself: read-only, or with a meaning of their own. */
static const char *const BASHS_OWN[] = {
    "SHELLOPTS", "IFS",        "UID",        "EUID",    "PPID",       "GROUPS", "PWD",
    "OLDPWD",    "SECONDS",    "RANDOM",     "SRANDOM", "LINENO",     "OPTIND", "OPTARG",
    "OPTERR",    "SHLVL",      "_",          "PS*",     "EPOCH*",     "HIST*",  "FUNC*",
    "DIRSTACK",  "PIPESTATUS", "REPLY",      "MAPFILE", "COPROC",     "COMP*",  "GLOBIGNORE",
    "CDPATH",    "ENV",        "EXECIGNORE", "FIGNORE", "TIMEFORMAT", "TMOUT",  "PROMPT_*",
};

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static bool matches(const char *pattern, const char *name, size_t len)
{
    size_t fixed = strcspn(pattern, "*");
    return pattern[fixed] ? len >= fixed && !strncmp(pattern, name, fixed)
                          : len == fixed && !strncmp(pattern, name, len);
}

static bool is_among(const char *const *patterns, size_t n, const char *name, size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (matches(patterns[i], name, len))
            return true;
    return false;
}

bool sc_shape_env_fits(const char *entry, enum sc_lang lang)
{
    size_t len = strcspn(entry, "=");
    if (is_among(READ_AT_START, COUNT(READ_AT_START), entry, len))
        return false;
    /* A shell has no variable of another name; it would drop it. */
    bool is_name = strspn(entry, LETTERS "0123456789") == len && strchr(LETTERS, *entry) && len > 0;
    return lang != SC_LANG_BASH || (is_name && !is_among(BASHS_OWN, COUNT(BASHS_OWN), entry, len));
}

size_t sc_shape_own_env(const struct sc_spec *spec)
{
    return spec->template_applied ? spec->n_own_env : spec->env.n;
}

size_t sc_shape_own_files(const struct sc_spec *spec)
{
    return spec->template_applied ? spec->n_own_files : spec->n_files;
}

const char *sc_shape_misfit(const struct sc_spec *spec)
{
    if (spec->mode == SC_MODE_PLAIN)
        return "mode plain";
    if (spec->deterministic.on)
        return "a deterministic run";
    for (size_t i = 0; i < spec->n_dirs; i++)
        if (!spec->dirs[i].read_only_mount || !spec->template_applied)
            return "folders";
    if (spec->program)
        return "a program's file";
    if (spec->n_outs)
        return "artifacts";
    if (sc_net_terminates(&spec->net))
        return "requests over TLS that are looked into";
    for (size_t i = 0; i < sc_shape_own_env(spec); i++)
        if (!sc_shape_env_fits(spec->env.v[i], spec->lang))
            return "a variable that is read when the interpreter starts";
    return NULL;
}

/* The parked cell has the most that any request may have; each run has its own limits. Where the processor
 * limit is one of each process, because the host can do no other, it is set before the interpreter starts. */
static void open_limits(const struct sc_spec *spec, struct sc_limits *limits)
{
    static const char *const of_runs[] = {"wall", "stdout", "stderr", "cpu"};
    size_t n = COUNT(of_runs) - (spec->allow_degraded & SC_DEGRADE_CPU ? 1 : 0);
    for (size_t i = 0; i < n; i++) {
        const struct sc_limit_row *row = sc_limit_row_by_option(of_runs[i], strlen(of_runs[i]));
        *sc_limit_value(limits, row) = row->standard;
    }
}

static bool is_variable_of(const struct sc_strv *env, const char *entry)
{
    size_t len = strcspn(entry, "=") + 1;
    for (size_t i = 0; i < env->n; i++)
        if (!strncmp(env->v[i], entry, len))
            return true;
    return false;
}

/* The template's, also those that this request has another value for; and what its build has added. */
static int add_env(const struct sc_spec *spec, const struct sc_recipe *recipe, struct sc_strv *env)
{
    const struct sc_strv *given = &recipe->defaults.env;
    int r = 0;
    for (size_t i = 0; i < given->n && r == 0; i++)
        r = sc_strv_add(env, given->v[i]);
    for (size_t i = sc_shape_own_env(spec); i < spec->env.n && r == 0; i++)
        if (!is_variable_of(given, spec->env.v[i]))
            r = sc_strv_add(env, spec->env.v[i]);
    return r;
}

int sc_shape_of(const struct sc_spec *spec, const struct sc_recipe *recipe, struct sc_spec *ret_spec)
{
    struct sc_spec shape = *spec;
    static char nothing[] = "";
    /* Not copied and then dropped: it may be large, and secret. */
    shape.code = nothing;
    shape.code_len = 0;
    shape.program = NULL;
    shape.command = false;
    shape.env = (struct sc_strv){0};
    shape.files = recipe->defaults.files;
    shape.n_files = recipe->defaults.n_files;
    shape.n_own_env = shape.n_own_files = 0;
    shape.imports = (struct sc_strv){0};
    shape.stdin_data = nothing;
    shape.stdin_len = 0;
    shape.stdin_fd = -1;
    shape.outs = NULL;
    shape.n_outs = 0;
    shape.validate = (struct sc_validate){0};
    /* One, or none: what it may reach is said when the cell is taken. */
    bool has_network = spec->net.mode != SC_NET_NONE;
    shape.net = (struct sc_net){.given = has_network, .mode = has_network ? SC_NET_RULES : SC_NET_NONE};
    shape.limits_given = 0; /* by whom, no cell can tell */
    open_limits(spec, &shape.limits);
    int r = sc_spec_copy(&shape, ret_spec);
    if (r == 0 && (r = add_env(spec, recipe, &ret_spec->env)) < 0)
        sc_spec_fini(ret_spec);
    return r;
}

static int add_identity(struct sc_buf *key, const char *path)
{
    struct stat st;
    if (!path)
        return 0;
    return stat(path, &st) < 0 ? sc_buf_printf(key, "%s: none\n", path)
                               : sc_buf_printf(key, "%s: %llx:%llx\n", path, (unsigned long long)st.st_dev,
                                               (unsigned long long)st.st_ino);
}

/* The same file with other content is another one. */
static int add_file_identity(struct sc_buf *key, const char *path)
{
    struct stat st;
    if (!path || stat(path, &st) < 0)
        return 0;
    return sc_buf_printf(key, "%s: %llx:%llx:%lld:%lld.%09ld\n", path, (unsigned long long)st.st_dev,
                         (unsigned long long)st.st_ino, (long long)st.st_size, (long long)st.st_mtim.tv_sec,
                         st.st_mtim.tv_nsec);
}

static int add_lists(struct sc_buf *key, const struct sc_spec *shape, const struct sc_recipe *recipe)
{
    int r = 0;
    for (size_t i = 0; i < shape->n_dirs && r == 0; i++)
        r = add_identity(key, shape->dirs[i].host);
    for (size_t i = 0; i < shape->n_files && r == 0; i++)
        r = add_file_identity(key, shape->files[i].host);
    for (size_t i = 0; i < recipe->imports.n && r == 0; i++)
        r = sc_buf_printf(key, "import %s\n", recipe->imports.v[i]);
    return r == 0 && recipe->code ? sc_buf_printf(key, "code %s\n", recipe->code) : r;
}

char *sc_shape_key(const struct sc_spec *shape, const struct sc_recipe *recipe)
{
    struct sc_buf key;
    char *text = sc_spec_to_json(shape), *whole = NULL;
    sc_buf_init(&key, KEY_MAX);
    int r = text ? sc_buf_add_str(&key, text) : -ENOMEM;
    if (r == 0)
        r = add_identity(&key, shape->root);
    if (r == 0)
        r = add_identity(&key, shape->venv);
    if (r == 0)
        r = add_identity(&key, shape->interpreter);
    if (r == 0)
        r = add_lists(&key, shape, recipe);
    if (r == 0)
        r = sc_buf_add(&key, "", 1);
    if (r == 0)
        whole = strdup((const char *)key.data);
    sc_buf_fini(&key);
    free(text);
    return whole;
}
