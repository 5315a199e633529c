/* snapcell: the command line. It finds the verb, parses its options, and leaves the rest to the verb's file.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/docker.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/say.h"

#define VERBS_MAX 24

/* A descriptor opened later must never become stdin, stdout or stderr by chance. */
static int fill_standard_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR); /* NOLINT(android-cloexec-open): it may become one of the three */
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd < 0)
        return -errno;
    close(fd);
    return 0;
}

static int fail_usage(const char *word, const char *what, const char *more)
{
    char shown[200];
    struct sc_err err = {0};
    sc_err_usage(&err, "", "%s: %s%s", sc_text_show(shown, sizeof shown, word, strlen(word)), what, more);
    return sc_cli_fail(&err);
}

static int unknown_verb(const char *word)
{
    const char *names[VERBS_MAX + 1] = {NULL};
    for (size_t i = 0, n = 0; n < VERBS_MAX && SC_CLI_VERBS[i].name; i++)
        if (!strchr(SC_CLI_VERBS[i].name, ' '))
            names[n++] = SC_CLI_VERBS[i].name;
    const char *nearest = sc_text_nearest(word, names);
    if (access(word, F_OK) == 0)
        return fail_usage(word, "no such command; to run a file: snapcell run FILE", "");
    if (nearest)
        return fail_usage(word, "no such command; did you mean snapcell ", nearest);
    return fail_usage(word, "no such command; `snapcell help` lists them", "");
}

/* `snapcell --help` and `--version` are verbs too. */
static const struct sc_cli_verb *verb_of(const char *word)
{
    if (!strcmp(word, "--help") || !strcmp(word, "-h"))
        word = "help";
    if (!strcmp(word, "--version") || !strcmp(word, "-V"))
        word = "version";
    return sc_cli_verb_by_name(word);
}

static int help_on(const struct sc_cli_verb *verb)
{
    const struct sc_cli_verb *help = sc_cli_verb_by_name("help");
    char *operands[] = {(char *)verb->name, NULL};
    const struct sc_cli_args args = {.verb = help, .operands = operands, .n_operands = verb != help};
    return sc_cli_help(&args);
}

int main(int argc, char **argv)
{
    struct sc_cli_args args;
    struct sc_err err = {0};
    if (fill_standard_descriptors() < 0)
        return SC_CLI_EXIT_FAILED;
    if (sc_cli_is_docker(argv[0]))
        return sc_cli_docker(argv + 1);
    if (argc < 2) {
        sc_cli_say("needs a command; `snapcell help` lists them");
        return SC_CLI_EXIT_USAGE;
    }
    const struct sc_cli_verb *verb = verb_of(argv[1]);
    if (!verb)
        return unknown_verb(argv[1]);
    if (sc_cli_args_parse(&args, verb, argv + 2, &err) < 0)
        return sc_cli_fail(&err);
    int status = args.flags & SC_FLAG_HELP ? help_on(verb) : verb->main(&args);
    sc_cli_args_fini(&args);
    return status;
}
