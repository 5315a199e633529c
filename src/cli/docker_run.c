/* run, create, start, exec: a container is made, and commands run in it. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/docker.h"
#include "cli/docker_parts.h"
#include "cli/options.h"
#include "cli/say.h"
#include "cli/session.h"
#include "snap/recipe.h"

#define LIFE_MS (24 * 3600 * 1000.0)
#define METADATA_MAX 256 /* bytes of one text */
/* Whoever asks for a command without a limit of time, and reads all of it. */
#define UNLIMITED "--wall", "24h", "--cpu", "24h", "--stdout", "1G", "--stderr", "1G"

/* What `start` needs again. It has to fit the metadata: a longer one can be run, not created. */
static int put_command(json_t *metadata, const struct sc_docker_run *run, struct sc_err *err)
{
    json_t *list = json_array();
    for (size_t i = 0; i < run->command.n; i++)
        json_array_append_new(list, json_string(run->command.v[i]));
    char *text = sc_json_dump(list, JSON_COMPACT);
    json_decref(list);
    int r = text ? 0 : sc_err_sys(err, -ENOMEM, "command");
    if (text && strlen(text) < METADATA_MAX)
        json_object_set_new(metadata, "docker.command", json_string(text));
    free(text);
    return r;
}

static int session_spec(struct sc_docker_run *run, json_t **ret_spec, struct sc_err *err)
{
    struct sc_cli_args args;
    struct sc_recipe recipe;
    char room[128];
    const char *template = sc_docker_template(run->image, room, sizeof room);
    if (!template || sc_recipe_load(template, &recipe, err) < 0)
        return sc_err_usage(err, "image",
                            "%s: there is no template for this image; `snapcell template ls` lists them, and "
                            "`snapcell template import` makes one of an image",
                            run->image);
    sc_recipe_fini(&recipe);
    if (sc_strv_add(&run->start, "--template") < 0 || sc_strv_add(&run->start, template) < 0)
        return sc_err_sys(err, -ENOMEM, "options");
    /* Tools that call us have no option for it. */
    const char *degraded = getenv("SNAPCELL_DOCKER_ALLOW_DEGRADED");
    if (degraded && *degraded &&
        (sc_strv_add(&run->start, "--allow-degraded") < 0 || sc_strv_add(&run->start, degraded) < 0))
        return sc_err_sys(err, -ENOMEM, "options");
    int r = sc_cli_args_parse(&args, sc_cli_verb_by_name("session start"), run->start.v, err);
    if (r < 0)
        return r;
    r = sc_cli_session_spec_given(&args, NULL, ret_spec, err);
    sc_cli_args_fini(&args);
    return r;
}

static int start_session(struct sc_docker_run *run, char **ret_name, struct sc_err *err)
{
    json_t *spec = NULL, *ok = NULL;
    int r = session_spec(run, &spec, err);
    if (r < 0)
        return r;
    json_t *metadata =
        json_pack("{s:s, s:s}", "docker.image", run->image, "docker.rm", run->removes ? "yes" : "no");
    r = put_command(metadata, run, err);
    json_t *request =
        json_pack("{s:s, s:s*, s:o, s:o, s:f, s:f}", "request", "session.start", "name", run->name, "spec",
                  spec, "metadata", metadata, "idle_ms", LIFE_MS, "total_ms", LIFE_MS);
    if (r == 0)
        r = sc_docker_ask(request, true, &ok, err);
    else
        json_decref(request);
    if (r == 0)
        *ret_name = strdup(sc_docker_text(ok, "session"));
    json_decref(ok);
    return r == 0 && !*ret_name ? sc_err_sys(err, -ENOMEM, "container") : r;
}

/* In the background: what it prints goes to a file of the cell, for `logs`. */
static int start_command(const char *name, char *const *command, struct sc_err *err)
{
    json_t *argv = json_pack("[s, s, s, s]", "/bin/sh", "-c", "exec \"$@\" > " SC_DOCKER_LOG " 2>&1", "sh");
    for (; *command; command++)
        json_array_append_new(argv, json_string(*command));
    return sc_docker_ask(json_pack("{s:s, s:s, s:o, s:b}", "request", "command", "session", name, "command",
                                   argv, "background", 1),
                         false, NULL, err);
}

/* From a pipe, stdin is passed on as it comes, and such a command has no limits that would have to be lifted.
 */
static bool stdin_is_live(void)
{
    struct stat st;
    return fstat(STDIN_FILENO, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) ||
                                             (S_ISREG(st.st_mode) && st.st_size > SC_CLI_SESSION_STDIN_MAX));
}

static int run_command(const char *name, const struct sc_docker_run *run)
{
    static const char *const quiet[] = {UNLIMITED, "--stdin", "/dev/null", NULL};
    static const char *const unlimited[] = {UNLIMITED, NULL}, *const pty[] = {"--pty", NULL},
                             *const none[] = {NULL};
    struct sc_strv line = {NULL, 0};
    int r = sc_docker_add_all(&line, (const char *const[]){"session", "exec", name, NULL});
    if (r == 0)
        r = sc_docker_add_all(&line, run->tty            ? pty
                                     : !run->interactive ? quiet
                                     : stdin_is_live()   ? none
                                                         : unlimited);
    if (r == 0)
        r = sc_docker_add_all(&line, run->exec.v ? (const char *const *)run->exec.v : none);
    if (r == 0)
        r = sc_strv_add(&line, "--");
    if (r == 0)
        r = sc_docker_add_all(&line, (const char *const *)run->command.v);
    int status = r < 0 ? SC_CLI_EXIT_FAILED : sc_docker_line(&line);
    sc_strv_fini(&line);
    return status;
}

/* A command that is not given is the image's; templates have none but their language's interpreter. */
static int settle_command(struct sc_docker_run *run, struct sc_err *err)
{
    if (run->command.n)
        return 0;
    return sc_err_usage(err, "", "%s: needs a command: templates have none of their own", run->image);
}

int sc_docker_run(char **argv)
{
    struct sc_docker_run run;
    struct sc_err err = {0};
    char *name = NULL;
    int status = SC_CLI_EXIT_FAILED;
    int r = sc_docker_read(&run, argv, false, &err);
    if (r == 0)
        r = settle_command(&run, &err);
    if (r == 0)
        r = start_session(&run, &name, &err);
    if (r == 0 && run.detached)
        r = start_command(name, run.command.v, &err);
    if (r < 0) {
        sc_docker_fail(&err);
        if (name)
            sc_docker_remove(name);
    } else if (run.detached) {
        status = sc_cli_print(strdup(name));
    } else {
        status = run_command(name, &run);
        if (run.removes)
            sc_docker_remove(name);
    }
    free(name);
    sc_docker_run_fini(&run);
    return status;
}

int sc_docker_create(char **argv)
{
    struct sc_docker_run run;
    struct sc_err err = {0};
    char *name = NULL;
    int r = sc_docker_read(&run, argv, false, &err);
    if (r == 0)
        r = settle_command(&run, &err);
    if (r == 0)
        r = start_session(&run, &name, &err);
    int status = r < 0 ? sc_docker_fail(&err) : sc_cli_print(strdup(name));
    free(name);
    sc_docker_run_fini(&run);
    return status;
}

/* The command that `create` was given. */
static int command_of(const char *name, struct sc_strv *ret_command, struct sc_err *err)
{
    json_t *info = NULL, *list = NULL, *word;
    json_error_t where;
    size_t i;
    int r = sc_docker_ask_about("session.info", name, &info, err);
    const char *text = sc_docker_about(info, "docker.command");
    if (r == 0 && (!*text || sc_json_load(text, strlen(text), 0, &list, &where) < 0))
        r = sc_err_usage(err, "", "%s: its command is not known any more: exec runs one", name);
    json_array_foreach(list, i, word) if (r == 0) r = sc_strv_add(ret_command, json_string_value(word));
    json_decref(list);
    json_decref(info);
    return r;
}

int sc_docker_start(char **argv)
{
    struct sc_docker_run run = {.name = NULL};
    struct sc_err err = {0};
    bool attach = false;
    for (; *argv && **argv == '-'; argv++) {
        attach |= !strcmp(*argv, "-a") || !strcmp(*argv, "-ai") || !strcmp(*argv, "-ia") ||
                  !strcmp(*argv, "--attach");
        run.interactive |= strchr(*argv, 'i') && (*argv)[1] != '-';
    }
    int r =
        *argv ? command_of(*argv, &run.command, &err) : sc_err_usage(&err, "", "start: needs a container");
    if (r == 0 && !attach)
        r = start_command(*argv, run.command.v, &err);
    int status = r < 0    ? sc_docker_fail(&err)
                 : attach ? run_command(*argv, &run)
                          : sc_cli_print(strdup(*argv));
    sc_docker_run_fini(&run);
    return status;
}

int sc_docker_exec(char **argv)
{
    struct sc_docker_run run;
    struct sc_err err = {0};
    json_t *info = NULL;
    int status;
    int r = sc_docker_read(&run, argv, true, &err);
    if (r == 0 && !run.command.n)
        r = sc_err_usage(&err, "", "exec: needs a command");
    if (r < 0)
        status = sc_docker_fail(&err);
    else if (sc_docker_ask_about("session.info", run.name, &info, &err) < 0)
        status = sc_docker_no_container(run.name);
    else if (run.detached)
        status = start_command(run.name, run.command.v, &err) < 0 ? sc_docker_fail(&err) : SC_CLI_EXIT_OK;
    else
        status = run_command(run.name, &run);
    json_decref(info);
    sc_docker_run_fini(&run);
    return status;
}
