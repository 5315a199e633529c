#include "cli/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "snap/recipe.h"

#define SHELL_WALL_NS (3600 * SC_NS_PER_S) /* people think longer than programs run */

static int out_of_memory(struct sc_err *err)
{
    return sc_err_sys(err, -ENOMEM, "request");
}

static int apply_one(struct sc_spec *spec, const struct sc_cli_given *given, struct sc_err *err)
{
    if (given->kind == SC_OPTION_LANGUAGE)
        return sc_spec_set(spec, "language", given->name, err);
    if (given->kind == SC_OPTION_ADD)
        return sc_spec_add(spec, given->name, given->value, err);
    return sc_spec_set(spec, given->name, given->value, err);
}

int sc_cli_apply(struct sc_spec *spec, const struct sc_cli_args *args, struct sc_err *err)
{
    for (size_t i = 0; i < args->n_given; i++) {
        int r = apply_one(spec, &args->given[i], err);
        if (r < 0)
            return r;
    }
    return 0;
}

int sc_cli_cgroup_parent(struct sc_spec *spec, struct sc_err *err)
{
    const char *parent = getenv("SNAPCELL_CGROUP_PARENT");
    if (spec->cgroup_parent || !parent || !*parent)
        return 0;
    return sc_spec_set(spec, "cgroup-parent", parent, err);
}

int sc_cli_read_spec(struct sc_spec *spec, const char *path, struct sc_err *err)
{
    struct sc_buf text;
    sc_buf_init(&text, SC_SPEC_JSON_MAX);
    int r = sc_buf_read_file(&text, AT_FDCWD, path);
    if (r == -EMSGSIZE)
        r = sc_err_usage(err, "spec", "spec: %s: must be at most 64M long", path);
    else if (r < 0)
        r = sc_err_usage(err, "spec", "spec: %s: must be a readable file with a request in JSON: %s", path,
                         strerror(-r));
    else
        r = sc_spec_from_json(spec, text.data ? (const char *)text.data : "", text.len, err);
    sc_buf_fini(&text);
    return r;
}

static int read_source(struct sc_spec *spec, struct sc_err *err)
{
    struct sc_buf source;
    ssize_t n = 1;
    int r = 0;
    sc_buf_init(&source, SC_SPEC_CODE_MAX + 1);
    while (n != 0 && source.len <= SC_SPEC_CODE_MAX) {
        size_t room = SC_SPEC_CODE_MAX + 1 - source.len < 65536 ? SC_SPEC_CODE_MAX + 1 - source.len : 65536;
        uint8_t *to = sc_buf_reserve(&source, room);
        if (!to) {
            r = out_of_memory(err);
            goto out;
        }
        n = read(STDIN_FILENO, to, room);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            r = sc_err_usage(err, "", "-: the program cannot be read from stdin: %s", strerror(errno));
            goto out;
        }
        sc_buf_took(&source, (size_t)n);
    }
    if (source.len > SC_SPEC_CODE_MAX)
        r = sc_err_usage(err, "", "-: the program on stdin must be at most 16M long");
    else
        r = sc_spec_set_code(spec, source.data ? (const char *)source.data : "", source.len, err);
out:
    sc_buf_fini(&source);
    return r;
}

/* The operands are borrowed from argv, whose strings nobody writes to. */
static const char *const *words(char **operands)
{
    return (const char *const *)operands;
}

/* What runs is one of three; the command line's word replaces the request file's. */
static int set_program(struct sc_spec *spec, const struct sc_cli_args *args, struct sc_err *err)
{
    const char *code = args->texts[SC_TEXT_CODE];
    char **operands = args->operands;
    if (!code && args->n_operands == 0) {
        if (spec->program || spec->code || spec->command)
            return 0;
        return sc_err_usage(err, "", "%s: needs a FILE, - for a program on stdin, -c CODE, or -- COMMAND",
                            args->verb->name);
    }
    sc_spec_clear_program(spec);
    if (!code && args->dashes)
        return sc_spec_set_command(spec, words(operands), err);
    int r;
    if (code)
        r = sc_spec_set_code(spec, code, strlen(code), err);
    else if (strcmp(*operands++, "-"))
        r = sc_spec_set_program(spec, args->operands[0], err);
    else
        r = read_source(spec, err);
    return r < 0 ? r : sc_spec_set_args(spec, words(operands), err);
}

static bool program_on_stdin(const struct sc_cli_args *args)
{
    return !args->texts[SC_TEXT_CODE] && !args->dashes && args->n_operands && !strcmp(args->operands[0], "-");
}

/* The program's stdin: a file, the caller's, or nothing. */
static int set_stdin(struct sc_cli_job *job, const struct sc_cli_args *args, struct sc_err *err)
{
    const char *path = args->texts[SC_TEXT_STDIN];
    bool taken = program_on_stdin(args);
    if (!path) {
        bool given = job->spec.stdin_data != NULL;
        if (!taken && !given && !isatty(STDIN_FILENO))
            job->spec.stdin_fd = STDIN_FILENO;
        return 0;
    }
    if (!strcmp(path, "-") && taken)
        return sc_err_usage(err, "stdin", "stdin: -: must be a file here: the program itself comes on stdin");
    if (!strcmp(path, "-")) {
        job->spec.stdin_fd = STDIN_FILENO;
        return 0;
    }
    job->stdin_fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (job->stdin_fd < 0)
        return sc_err_usage(err, "stdin", "stdin: %s: must be a file that can be read, or -: %s", path,
                            strerror(errno));
    job->spec.stdin_fd = job->stdin_fd;
    return 0;
}

/* An interactive shell, or the command behind "--", on a terminal of the cell's own. */
static int set_shell(struct sc_spec *spec, const struct sc_cli_args *args, struct sc_err *err)
{
    static const char *const bash[] = {"/bin/bash", "-i", NULL};
    if (args->n_operands && !args->dashes)
        return sc_err_usage(err, "", "%s: a command of shell must stand behind --", args->operands[0]);
    spec->pty = true;
    if (!args->n_operands && (spec->program || spec->code || spec->command))
        return 0;
    sc_spec_clear_program(spec);
    return sc_spec_set_command(spec, args->n_operands ? words(args->operands) : bash, err);
}

/* What a program on a terminal asks its surroundings for; the caller's --env counts more. */
static int set_terminal_env(struct sc_spec *spec, struct sc_err *err)
{
    const char *term = getenv("TERM");
    int r = sc_strv_set_env(&spec->env, "TERM", term && *term ? term : "dumb");
    if (r == 0)
        r = sc_strv_set_env(&spec->env, "PS1", "cell:\\w\\$ ");
    return r < 0 ? out_of_memory(err) : 0;
}

static int set_shell_defaults(struct sc_spec *spec, struct sc_err *err)
{
    spec->limits.wall = SHELL_WALL_NS;
    return set_terminal_env(spec, err);
}

static int fill(struct sc_cli_job *job, const struct sc_cli_args *args, struct sc_err *err)
{
    bool shell = args->verb->bit == SC_CLI_SHELL;
    int r = shell ? set_shell_defaults(&job->spec, err) : 0;
    if (r < 0)
        return r;
    if (args->texts[SC_TEXT_SPEC])
        r = sc_cli_read_spec(&job->spec, args->texts[SC_TEXT_SPEC], err);
    if (r == 0)
        r = sc_cli_apply(&job->spec, args, err);
    if (r == 0)
        r = sc_cli_cgroup_parent(&job->spec, err);
    if (r == 0)
        r = shell ? set_shell(&job->spec, args, err) : set_program(&job->spec, args, err);
    if (r == 0 && !shell)
        r = set_stdin(job, args, err);
    return r;
}

int sc_cli_job_init(struct sc_cli_job *job, const struct sc_cli_args *args, struct sc_err *err)
{
    *job = (struct sc_cli_job){.stdin_fd = -1};
    sc_spec_init(&job->spec);
    int r = fill(job, args, err);
    if (r < 0)
        sc_cli_job_fini(job);
    return r;
}

int sc_cli_job_plan(struct sc_cli_job *job, struct sc_err *err)
{
    const struct sc_host_options options = {.cgroup_parent = job->spec.cgroup_parent, .want_scope = true};
    /* What is wrong with the request is told before anything is done, the probe included. */
    int r = sc_recipe_apply(&job->spec, err);
    if (r == 0)
        r = sc_spec_check(&job->spec, 0, err);
    if (r == 0)
        r = sc_host_probe(&job->host, &options, err);
    if (r == 0)
        r = sc_spec_check(&job->spec, job->host.memory_bytes, err);
    if (r == 0)
        r = sc_plan_make(&job->spec, &job->host, &job->plan, err);
    return r;
}

void sc_cli_job_fini(struct sc_cli_job *job)
{
    sc_plan_free(job->plan);
    job->plan = NULL;
    sc_spec_fini(&job->spec);
    sc_close(&job->stdin_fd);
}
