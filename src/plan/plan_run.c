/* What runs: argument list, environment, working directory. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan_internal.h"
#include "spec/lang.h"

const char *sc_plan_interpreter(const struct sc_plan *plan, enum sc_lang lang,
                                char room[SC_PLAN_INTERPRETER_MAX])
{
    const struct sc_spec *spec = plan->spec;
    if (spec->interpreter && (!plan->stay || lang == SC_LANG_PYTHON))
        return spec->interpreter;
    if (spec->venv && lang == SC_LANG_PYTHON) {
        snprintf(room, SC_PLAN_INTERPRETER_MAX, "%s/bin/python", spec->venv);
        return room;
    }
    return sc_lang_row(lang)->interpreter;
}

/* The program as the cell sees it: its own name in the work folder. */
static int add_program(struct sc_plan *plan)
{
    const struct sc_spec *spec = plan->spec;
    char path[4200], python[SC_PLAN_INTERPRETER_MAX];
    const char *name = spec->code ? sc_lang_row(plan->lang)->source_name : strrchr(spec->program, '/');
    if (!name)
        name = spec->program;
    else if (*name == '/')
        name++;
    snprintf(path, sizeof path, SC_CELL_HOME "/%s", name);
    int r = 0;
    if (plan->lang != SC_LANG_NATIVE)
        r = sc_strv_add(&plan->argv, sc_plan_interpreter(plan, plan->lang, python));
    return r < 0 ? r : sc_strv_add(&plan->argv, path);
}

static int plan_argv(struct sc_plan *plan)
{
    const struct sc_spec *spec = plan->spec;
    if (plan->stay)
        return 0;
    int r = spec->command ? 0 : add_program(plan);
    for (size_t i = 0; i < spec->args.n && r == 0; i++)
        r = sc_strv_add(&plan->argv, spec->args.v[i]);
    return r;
}

/* Thread pools size themselves by these rather than by what they may really use. */
static const char *const THREADS[] = {"OMP_NUM_THREADS",     "OPENBLAS_NUM_THREADS",   "MKL_NUM_THREADS",
                                      "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "GOMAXPROCS"};
static const char *const ALWAYS[][2] = {
    {"PATH", "/usr/local/bin:/usr/bin:/bin"},
    {"HOME", SC_CELL_HOME},
    {"USER", SC_CELL_USER},
    {"LOGNAME", SC_CELL_USER},
    {"SHELL", "/bin/bash"},
    {"LANG", "C.UTF-8"},
    {"PYTHONUNBUFFERED", "1"}, /* what was printed before a time-out must not sit in a buffer */
    {"PYTHONDONTWRITEBYTECODE", "1"},
    {"MPLBACKEND", "Agg"},
};
/* OpenSSL and Go, Python's requests and pip, Node, curl, git: each asks another one. */
static const char *const TRUST[] = {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
                                    "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"};

/* One of the caller's. */
static int add_variable(struct sc_plan *plan, const char *entry)
{
    char *name = strdup(entry);
    char *equals = name ? strchr(name, '=') : NULL;
    if (!equals) {
        free(name);
        return -ENOMEM; /* the check has seen the '=' */
    }
    *equals = '\0';
    char *value = sc_plan_deterministic_join(plan, name, equals + 1);
    int r = value ? sc_strv_set_env(&plan->env, name, value) : -ENOMEM;
    free(value);
    free(name);
    return r;
}

static int plan_env(struct sc_plan *plan)
{
    char count[24];
    snprintf(count, sizeof count, "%u", sc_plan_cpus(plan));
    int r = 0;
    for (size_t i = 0; i < sizeof ALWAYS / sizeof ALWAYS[0] && r == 0; i++)
        r = sc_strv_set_env(&plan->env, ALWAYS[i][0], ALWAYS[i][1]);
    for (size_t i = 0; i < sizeof THREADS / sizeof THREADS[0] && r == 0; i++)
        r = sc_strv_set_env(&plan->env, THREADS[i], count);
    for (size_t i = 0; plan->own_authority && i < sizeof TRUST / sizeof TRUST[0] && r == 0; i++)
        r = sc_strv_set_env(&plan->env, TRUST[i], SC_CELL_TRUST);
    if (r == 0 && plan->pty)
        r = sc_strv_set_env(&plan->env, "TERM", "xterm-256color");
    if (r == 0)
        r = sc_plan_deterministic_env(plan);
    if (r == 0 && plan->spec->venv) {
        char path[4400];
        snprintf(path, sizeof path, "%s/bin:%s", plan->spec->venv, ALWAYS[0][1]);
        r = sc_strv_set_env(&plan->env, "PATH", path);
    }
    for (size_t i = 0; i < plan->spec->env.n && r == 0; i++)
        r = add_variable(plan, plan->spec->env.v[i]);
    return r;
}

static int plan_cwd(struct sc_plan *plan)
{
    const char *cwd = plan->spec->cwd;
    char path[8300];
    if (!cwd)
        snprintf(path, sizeof path, SC_CELL_HOME);
    else if (*cwd == '/')
        snprintf(path, sizeof path, "%s", cwd);
    else
        snprintf(path, sizeof path, SC_CELL_HOME "/%s", cwd);
    plan->cwd = strdup(path);
    plan->hostname = strdup("cell");
    plan->pin = plan->spec->pin ? strdup(plan->spec->pin) : NULL;
    return plan->cwd && plan->hostname && (plan->pin || !plan->spec->pin) ? 0 : -ENOMEM;
}

int sc_plan_run(struct sc_plan *plan, struct sc_err *err)
{
    int r = plan_argv(plan);
    if (r == 0)
        r = plan_env(plan);
    if (r == 0)
        r = plan_cwd(plan);
    return r < 0 ? sc_err_sys(err, r, "plan of the run") : 0;
}
