/* Docker's words. A container is a session with a name, an image and a command in its metadata; it stays
 * until it is removed. What the words do is done by those of `snapcell session`. */
#include "cli/docker.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/docker_parts.h"
#include "cli/keeper.h"
#include "cli/options.h"
#include "cli/say.h"
#include "cli/session.h"

/* Runs a line of ours, as main.c would. */
int sc_docker_line(struct sc_strv *line)
{
    struct sc_cli_args args;
    struct sc_err err = {0};
    const struct sc_cli_verb *verb = sc_cli_verb_by_name(line->v[0]);
    if (sc_cli_args_parse(&args, verb, line->v + 1, &err) < 0) {
        sc_cli_fail(&err);
        return SC_CLI_EXIT_FAILED;
    }
    int status = verb->main(&args);
    sc_cli_args_fini(&args);
    return status;
}

int sc_docker_add_all(struct sc_strv *line, const char *const *words)
{
    int r = 0;
    for (; *words && r == 0; words++)
        r = sc_strv_add(line, *words);
    return r;
}

int sc_docker_words(const char *const *words)
{
    struct sc_strv line = {NULL, 0};
    int status = sc_docker_add_all(&line, words) < 0 ? SC_CLI_EXIT_FAILED : sc_docker_line(&line);
    sc_strv_fini(&line);
    return status;
}

/* Docker's own status for what it could not do. */
int sc_docker_fail(const struct sc_err *err)
{
    sc_cli_fail(err);
    return SC_CLI_EXIT_FAILED;
}

int sc_docker_no_container(const char *name)
{
    char shown[100];
    sc_cli_say("No such container: %s", sc_text_show(shown, sizeof shown, name, strlen(name)));
    return 1;
}

/* ---- the keeper ---- */

/* The reference of `request` is taken. */
int sc_docker_ask(json_t *request, bool starts, json_t **ret_ok, struct sc_err *err)
{
    struct sc_keeper_client *client = NULL;
    int r = starts ? sc_cli_keeper_reach(NULL, &client, err) : sc_keeper_client_open(NULL, &client, err);
    if (r < 0) {
        json_decref(request);
        return r;
    }
    r = sc_keeper_ask(client, request, NULL, ret_ok, err);
    sc_keeper_client_close(client);
    return r;
}

int sc_docker_ask_about(const char *request, const char *name, json_t **ret_ok, struct sc_err *err)
{
    return sc_docker_ask(json_pack("{s:s, s:s}", "request", request, "session", name), false, ret_ok, err);
}

const char *sc_docker_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

const char *sc_docker_about(const json_t *info, const char *name)
{
    return sc_docker_text(json_object_get(info, "metadata"), name);
}

/* Does one of its commands still run? */
bool sc_docker_is_running(const char *name)
{
    json_t *ok = NULL, *process;
    struct sc_err err = {0};
    size_t i;
    bool runs = false;
    if (sc_docker_ask_about("process.list", name, &ok, &err) < 0)
        return false;
    json_array_foreach(json_object_get(ok, "processes"), i, process) runs |=
        !json_is_true(json_object_get(process, "exited"));
    json_decref(ok);
    return runs;
}

int sc_docker_remove(const char *name)
{
    struct sc_err err = {0};
    int r = sc_docker_ask_about("session.end", name, NULL, &err);
    if (r == -ENOENT || r == -ECONNREFUSED || r == -ESRCH)
        return sc_docker_no_container(name);
    return r < 0 ? sc_docker_fail(&err) : SC_CLI_EXIT_OK;
}

/* ---- stop, rm, kill, wait ---- */

static int kill_all(const char *name)
{
    json_t *ok = NULL, *process;
    struct sc_err err = {0};
    size_t i;
    if (sc_docker_ask_about("process.list", name, &ok, &err) < 0)
        return sc_docker_no_container(name);
    json_array_foreach(json_object_get(ok, "processes"), i, process)
    {
        /* One that has just ended is what is wanted. */
        json_t *number = json_object_get(process, "process");
        (void)sc_docker_ask(json_pack("{s:s, s:s, s:O, s:s}", "request", "process.signal", "session", name,
                                      "process", number, "signal", "KILL"),
                            false, NULL, &err);
    }
    json_decref(ok);
    return SC_CLI_EXIT_OK;
}

static int stop_one(const char *name, bool force)
{
    json_t *info = NULL;
    struct sc_err err = {0};
    (void)force; /* it always is */
    if (sc_docker_ask_about("session.info", name, &info, &err) < 0)
        return sc_docker_no_container(name);
    bool removes = !strcmp(sc_docker_about(info, "docker.rm"), "yes");
    json_decref(info);
    return removes ? sc_docker_remove(name) : kill_all(name);
}

static int remove_one(const char *name, bool force)
{
    if (!force && sc_docker_is_running(name)) {
        sc_cli_say("%s: its command runs: stop it, or remove it with -f", name);
        return 1;
    }
    return sc_docker_remove(name);
}

/* Each name in turn, and tells those that went well. */
static int do_each(char **argv, int (*one)(const char *name, bool force))
{
    bool force = false;
    int status = SC_CLI_EXIT_OK;
    for (; *argv && **argv == '-'; argv++) {
        bool takes_value = !strcmp(*argv, "-t") || !strcmp(*argv, "--time") || !strcmp(*argv, "--timeout");
        bool forces = !strcmp(*argv, "-f") || !strcmp(*argv, "--force");
        force |= forces;
        if (takes_value && argv[1])
            argv++;
        else if (!forces && strncmp(*argv, "--time", 6) != 0 && strcmp(*argv, "-v") != 0) {
            sc_cli_say("%s: is not an option that this command knows", *argv);
            return SC_CLI_EXIT_FAILED;
        }
    }
    for (; *argv; argv++) {
        int got = one(*argv, force);
        if (got == SC_CLI_EXIT_OK)
            sc_cli_print(strdup(*argv));
        else
            status = got;
    }
    return status;
}

int sc_docker_stop(char **argv)
{
    return do_each(argv, stop_one);
}

int sc_docker_rm(char **argv)
{
    return do_each(argv, remove_one);
}

static const struct word {
    const char *name;
    int (*main)(char **argv);
} WORDS[] = {
    {"run", sc_docker_run},         {"exec", sc_docker_exec},       {"create", sc_docker_create},
    {"start", sc_docker_start},     {"stop", sc_docker_stop},       {"kill", sc_docker_stop},
    {"rm", sc_docker_rm},           {"cp", sc_docker_cp},           {"logs", sc_docker_logs},
    {"ps", sc_docker_ps},           {"inspect", sc_docker_inspect}, {"images", sc_docker_images},
    {"version", sc_docker_version},
};

bool sc_cli_is_docker(const char *argv0)
{
    const char *slash = argv0 ? strrchr(argv0, '/') : NULL;
    return argv0 && !strcmp(slash ? slash + 1 : argv0, "snapcell-docker");
}

int sc_cli_docker(char **argv)
{
    for (size_t i = 0; *argv && i < sizeof WORDS / sizeof *WORDS; i++)
        if (!strcmp(WORDS[i].name, *argv))
            return WORDS[i].main(argv + 1);
    if (*argv && (!strcmp(*argv, "--version") || !strcmp(*argv, "-v")))
        return sc_docker_version(argv + 1);
    sc_cli_say(
        "%s: allowed are run, exec, create, start, stop, kill, rm, cp, logs, ps, inspect, images, version",
        *argv ? *argv : "needs a word");
    return SC_CLI_EXIT_FAILED;
}
