/* Options of docker's: taken with what they mean in a cell, or refused. None is ignored, but those that ask
 * for what every cell has anyway. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/docker.h"

enum deed {
    START,
    NAME,
    REMOVES,
    INTERACTIVE,
    TTY,
    DETACHED,
    ENTRY,
    ALWAYS,
    NETWORK,
    TMPFS,
    VOLUME,
    USER,
    WORKDIR,
    ENV,
    PULL,
    SECURITY
};

struct option {
    const char *name, *letter;
    bool takes_value;
    enum deed deed;
    const char *ours; /* option of `session start` */
};

static const struct option OPTIONS[] = {
    {"rm", NULL, false, REMOVES, NULL},
    {"interactive", "i", false, INTERACTIVE, NULL},
    {"tty", "t", false, TTY, NULL},
    {"detach", "d", false, DETACHED, NULL},
    {"name", NULL, true, NAME, NULL},
    {"memory", "m", true, START, "--memory"},
    {"cpus", NULL, true, START, "--cpus"},
    {"pids-limit", NULL, true, START, "--tasks"},
    {"shm-size", NULL, true, START, "--shm"},
    {"workdir", "w", true, WORKDIR, "--cwd"},
    {"env", "e", true, ENV, "--env"},
    {"entrypoint", NULL, true, ENTRY, NULL},
    {"user", "u", true, USER, NULL},
    {"network", NULL, true, NETWORK, NULL},
    {"net", NULL, true, NETWORK, NULL},
    {"tmpfs", NULL, true, TMPFS, NULL},
    {"volume", "v", true, VOLUME, NULL},
    {"pull", NULL, true, PULL, NULL},
    {"security-opt", NULL, true, SECURITY, NULL},
    {"allow-degraded", NULL, true, START, "--allow-degraded"}, /* our own */
    /* What every cell has anyway: a read-only root, no capability, an agent as process 1, no swap. */
    {"read-only", NULL, false, ALWAYS, NULL},
    {"init", NULL, false, ALWAYS, NULL},
    {"cap-drop", NULL, true, ALWAYS, NULL},
    {"memory-swap", NULL, true, ALWAYS, NULL},
    {NULL, NULL, false, ALWAYS, NULL},
};

/* Known ones that are refused, so that the message can say why. */
static const char *const WIDENING[] = {"privileged", "cap-add",  "device",       "pid",         "ipc",
                                       "userns",     "uts",      "publish",      "publish-all", "gpus",
                                       "mount",      "link",     "volumes-from", "group-add",   "sysctl",
                                       "cgroupns",   "add-host", "dns",          "runtime",     NULL};

static int refuse(const char *option, const char *value, const char *what, struct sc_err *err)
{
    return sc_err_usage(err, option, "--%s%s%s: %s", option, value ? " " : "", value ? value : "", what);
}

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (!strcmp(*words, text))
            return true;
    return false;
}

static int put(struct sc_strv *list, const char *option, const char *value, struct sc_err *err)
{
    if (sc_strv_add(list, option) < 0 || sc_strv_add(list, value) < 0)
        return sc_err_sys(err, -ENOMEM, "options");
    return 0;
}

/* HOST:CELL:ro. What is written back to the host is what a cell exists to prevent. */
static int take_volume(struct sc_docker_run *run, const char *value, struct sc_err *err)
{
    size_t len = strlen(value);
    if (len < 4 || strcmp(value + len - 3, ":ro") != 0 || *value != '/')
        return refuse("volume", value,
                      "allowed is /HOST:/CELL:ro; a folder of the host's is never writable in a cell (cp "
                      "brings files in and out)",
                      err);
    return put(&run->start, "--dir", value, err);
}

static int take_env(struct sc_strv *list, const char *value, struct sc_err *err)
{
    char *whole = NULL;
    const char *own = strchr(value, '=') ? NULL : getenv(value);
    if (strchr(value, '='))
        return put(list, "--env", value, err);
    if (!own)
        return 0; /* as docker does with a variable that is not set */
    if (asprintf(&whole, "%s=%s", value, own) < 0)
        return sc_err_sys(err, -ENOMEM, "env");
    int r = put(list, "--env", whole, err);
    free(whole);
    return r;
}

static int take_words(const struct option *option, const char *value, struct sc_err *err)
{
    static const char *const networks[] = {"none", NULL}, *const users[] = {"user", "1000", "1000:1000",
                                                                            NULL};
    static const char *const pulls[] = {"never", "missing", NULL}, *const securities[] = {
                                                                       "no-new-privileges",
                                                                       "no-new-privileges:true",
                                                                       "no-new-privileges=true", NULL};
    switch (option->deed) {
    case NETWORK:
        return is_one_of(value, networks)
                   ? 0
                   : refuse(option->name, value, "would widen the cell: allowed is none", err);
    case USER:
        return is_one_of(value, users)
                   ? 0
                   : refuse(option->name, value, "a cell has one user: allowed is user or 1000", err);
    case PULL:
        return is_one_of(value, pulls)
                   ? 0
                   : refuse(option->name, value, "nothing is ever fetched: allowed are never, missing", err);
    case SECURITY:
        return is_one_of(value, securities)
                   ? 0
                   : refuse(option->name, value, "would widen the cell: allowed is no-new-privileges", err);
    case TMPFS:
        if (!strncmp(value, "/tmp", 4) && (value[4] == '\0' || value[4] == ':'))
            return 0;
        return refuse(option->name, value, "allowed is /tmp, which every cell has", err);
    default:
        return 0;
    }
}

static int take(struct sc_docker_run *run, const struct option *option, const char *value, bool is_exec,
                struct sc_err *err)
{
    struct sc_strv *place = is_exec ? &run->exec : &run->start;
    switch (option->deed) {
    case NAME:
        run->name = value;
        return 0;
    case REMOVES:
        run->removes = true;
        return 0;
    case INTERACTIVE:
        run->interactive = true;
        return 0;
    case TTY:
        run->tty = true;
        return 0;
    case DETACHED:
        run->detached = true;
        return 0;
    case ENTRY:
        return sc_strv_add(&run->command, value) < 0 ? sc_err_sys(err, -ENOMEM, "entrypoint") : 0;
    case VOLUME:
        return take_volume(run, value, err);
    case ENV:
        return take_env(place, value, err);
    case WORKDIR:
        return put(place, option->ours, value, err);
    case START:
        return put(&run->start, option->ours, value, err);
    default:
        return take_words(option, value, err);
    }
}

static const struct option *find(const char *name, size_t len, bool is_letter)
{
    for (const struct option *option = OPTIONS; option->name; option++) {
        const char *word = is_letter ? option->letter : option->name;
        if (word && strlen(word) == len && !strncmp(word, name, len))
            return option;
    }
    return NULL;
}

static bool is_of_exec(enum deed deed)
{
    return deed == INTERACTIVE || deed == TTY || deed == DETACHED || deed == WORKDIR || deed == ENV ||
           deed == USER;
}

static int unknown(const char *word, struct sc_err *err)
{
    const char *name = word + strspn(word, "-");
    char plain[64];
    snprintf(plain, sizeof plain, "%.*s", (int)strcspn(name, "="), name);
    if (is_one_of(plain, WIDENING) || !strcmp(plain, "p"))
        return sc_err_usage(err, plain, "%s: would widen what a cell may do, and is not allowed", word);
    return sc_err_usage(err, plain, "%s: is not an option that this command knows (docs/docker-shaped.md)",
                        word);
}

/* One word of options at **at: "--name=x", "--name x", "-it", "-m256m", "-m 256m". */
static int read_word(struct sc_docker_run *run, char ***at, bool is_exec, struct sc_err *err)
{
    char *word = *(*at)++;
    bool is_long = word[1] == '-';
    const char *name = word + 1 + is_long;
    while (*name) {
        size_t len = is_long ? strcspn(name, "=") : 1;
        const struct option *option = find(name, len, !is_long);
        if (!option || (is_exec && !is_of_exec(option->deed)))
            return unknown(word, err);
        const char *rest = name + len, *value = NULL;
        rest += *rest == '=';
        if (option->takes_value) {
            value = *rest || name[len] == '=' ? rest : *(*at);
            if (!value)
                return refuse(option->name, NULL, "needs a value", err);
            *at += value == **at;
        } else if (is_long && name[len] == '=') {
            return refuse(option->name, rest, "takes no value", err);
        }
        int r = take(run, option, value, is_exec, err);
        if (r < 0 || is_long || option->takes_value)
            return r;
        name++;
    }
    return 0;
}

int sc_docker_read(struct sc_docker_run *run, char **argv, bool is_exec, struct sc_err *err)
{
    *run = (struct sc_docker_run){.name = NULL};
    for (char **word = argv; *word; word++)
        if (!sc_utf8_valid(*word, strlen(*word)))
            return sc_err_usage(err, "", "word %zu behind the command must be UTF-8",
                                (size_t)(word - argv) + 1);
    while (*argv && **argv == '-' && (*argv)[1]) {
        int r = read_word(run, &argv, is_exec, err);
        if (r < 0)
            return r;
    }
    if (!*argv)
        return sc_err_usage(err, "", is_exec ? "exec: needs a container and a command" : "needs an image");
    if (is_exec)
        run->name = *argv++;
    else
        run->image = *argv++;
    for (; *argv; argv++)
        if (sc_strv_add(&run->command, *argv) < 0)
            return sc_err_sys(err, -ENOMEM, "command");
    return 0;
}

void sc_docker_run_fini(struct sc_docker_run *run)
{
    sc_strv_fini(&run->start);
    sc_strv_fini(&run->exec);
    sc_strv_fini(&run->command);
}

/* "docker.io/library/python:3.12-slim" → "python"; systems without a language of their own → "bash". */
const char *sc_docker_template(const char *image, char *room, size_t size)
{
    static const char *const systems[] = {"ubuntu", "debian", "alpine", "busybox", "fedora", NULL};
    const char *slash = strrchr(image, '/'), *base = slash ? slash + 1 : image;
    int len = (int)strcspn(base, ":@");
    if (len == 0 || (size_t)snprintf(room, size, "%.*s", len, base) >= size)
        return NULL;
    return is_one_of(room, systems) ? "bash" : room;
}
