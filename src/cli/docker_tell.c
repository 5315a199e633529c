/* cp, logs, ps, inspect, images, version: what is in a container, and what there is. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/docker_parts.h"
#include "cli/say.h"
#include "snap/recipe.h"

int sc_docker_cp(char **argv)
{
    char *from = argv[0], *to = from ? argv[1] : NULL;
    char *colon_from = from ? strchr(from, ':') : NULL, *colon_to = to ? strchr(to, ':') : NULL;
    bool is_out = colon_from && *from != '/' && *from != '.';
    if (!to || argv[2] || !strcmp(to, "-") || is_out == (colon_to && *to != '/' && *to != '.') ||
        *from == '-') {
        sc_cli_say("cp: must be CONTAINER:PATH LOCAL, or LOCAL CONTAINER:PATH");
        return SC_CLI_EXIT_FAILED;
    }
    *(is_out ? colon_from : colon_to) = '\0';
    if (is_out)
        return sc_docker_words((const char *const[]){"session", "get", from, colon_from + 1, to, NULL});
    return sc_docker_words((const char *const[]){"session", "put", to, from, colon_to + 1, NULL});
}

int sc_docker_logs(char **argv)
{
    if (!argv[0] || argv[1] || *argv[0] == '-') {
        sc_cli_say("logs: takes one container and no options");
        return SC_CLI_EXIT_FAILED;
    }
    return sc_docker_words((const char *const[]){"session", "get", argv[0], SC_DOCKER_LOG, "-", NULL});
}

/* ---- ps, inspect, images, version ---- */

int sc_docker_ps(char **argv)
{
    json_t *ok = NULL, *info;
    struct sc_err err = {0};
    size_t i;
    bool all = false, quiet = false;
    for (; *argv; argv++) {
        const char *word = *argv;
        if (strcmp(word, "-a") && strcmp(word, "-q") && strcmp(word, "-aq") && strcmp(word, "-qa") &&
            strcmp(word, "--all") && strcmp(word, "--quiet") && strcmp(word, "--no-trunc")) {
            sc_cli_say("ps: %s: allowed are -a, -q and --no-trunc", word);
            return SC_CLI_EXIT_FAILED;
        }
        all |= strchr(word, 'a') && strcmp(word, "--no-trunc");
        quiet |= strchr(word, 'q') != NULL;
    }
    /* Without a keeper there is no container. */
    if (sc_docker_ask(json_pack("{s:s}", "request", "session.list"), false, &ok, &err) < 0 &&
        err.code != -ENOENT && err.code != -ECONNREFUSED)
        return sc_docker_fail(&err);
    if (!quiet)
        sc_cli_print(strdup("CONTAINER ID\tIMAGE\tSTATUS"));
    json_array_foreach(json_object_get(ok, "sessions"), i, info)
    {
        const char *name = sc_docker_text(info, "session"), *image = sc_docker_about(info, "docker.image");
        bool runs = *image && sc_docker_is_running(name);
        char *line = NULL;
        if (!*image || (!all && !runs))
            continue;
        if (asprintf(&line, quiet ? "%s" : "%s\t%s\t%s", name, image, runs ? "running" : "exited") > 0)
            sc_cli_print(line);
    }
    json_decref(ok);
    return SC_CLI_EXIT_OK;
}

static int inspect_one(const char *name, const char *format, json_t *list)
{
    json_t *info = NULL, *command = NULL;
    json_error_t where;
    struct sc_err err = {0};
    if (sc_docker_ask_about("session.info", name, &info, &err) < 0)
        return sc_docker_no_container(name);
    bool runs = sc_docker_is_running(name);
    const char *status = runs ? "running" : "exited", *text = sc_docker_about(info, "docker.command");
    int got = SC_CLI_EXIT_OK;
    if (!format) {
        (void)sc_json_load(text, strlen(text), 0, &command, &where);
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:{s:b, s:s}, s:{s:s, s:o*}}", "Id", name, "Name", name,
                                        "State", "Running", (int)runs, "Status", status, "Config", "Image",
                                        sc_docker_about(info, "docker.image"), "Cmd", command));
    } else if (!strcmp(format, "{{.State.Running}}")) {
        got = sc_cli_print(strdup(runs ? "true" : "false"));
    } else if (!strcmp(format, "{{.State.Status}}")) {
        got = sc_cli_print(strdup(status));
    } else if (!strcmp(format, "{{.Id}}")) {
        got = sc_cli_print(strdup(name));
    } else {
        sc_cli_say("inspect: --format %s: allowed are {{.Id}}, {{.State.Running}}, {{.State.Status}}",
                   format);
        got = SC_CLI_EXIT_FAILED;
    }
    json_decref(info);
    return got;
}

int sc_docker_inspect(char **argv)
{
    const char *format = NULL;
    json_t *list = json_array();
    int status = SC_CLI_EXIT_OK;
    for (; *argv && status == SC_CLI_EXIT_OK; argv++) {
        if ((!strcmp(*argv, "-f") || !strcmp(*argv, "--format")) && argv[1])
            format = *++argv;
        else if (!strncmp(*argv, "--format=", 9))
            format = *argv + 9;
        else
            status = inspect_one(*argv, format, list);
    }
    if (!format && status == SC_CLI_EXIT_OK)
        status = sc_cli_print_json(sc_json_dump(list, JSON_INDENT(2)));
    json_decref(list);
    return status;
}

int sc_docker_images(char **argv)
{
    struct sc_strv names = {NULL, 0};
    struct sc_err err = {0};
    bool quiet = argv[0] && !strcmp(argv[0], "-q");
    if (argv[0] && !quiet) {
        sc_cli_say("images: %s: allowed is -q", argv[0]);
        return SC_CLI_EXIT_FAILED;
    }
    if (sc_recipe_names(&names, &err) < 0)
        return sc_docker_fail(&err);
    if (!quiet)
        sc_cli_print(strdup("REPOSITORY"));
    for (size_t i = 0; i < names.n; i++)
        sc_cli_print(strdup(names.v[i]));
    sc_strv_fini(&names);
    return SC_CLI_EXIT_OK;
}

int sc_docker_version(char **argv)
{
    if (argv[0] && !strncmp(argv[0], "-", 1)) /* --format '{{.Server.Version}}' and the like */
        return sc_cli_print(strdup("0.1.0"));
    return sc_cli_print(strdup("Snapcell 0.1.0, with the words of docker's command line"));
}
