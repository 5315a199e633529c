/* The configuration file of `snapcell serve`: the options of the command line, one a line.
 *
 *     # a comment
 *     http-socket = /run/snapcell/http.sock
 *     clients = 1000
 *     audit-strict
 *
 * Each line is read as the option would be, and checked by itself, so that every wrong one is told at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/keeper.h"
#include "cli/options.h"
#include "cli/say.h"
#include "cli/serve.h"

#define FILE_MAX ((size_t)64 * 1024)
#define SPACE " \t\r"

/* What was read; options point into it. A new reading keeps the old one's texts: they are still in use. */
struct text {
    struct text *before;
    char *bytes;
};
static struct text *texts;

static char *trim(char *line)
{
    line += strspn(line, SPACE);
    for (size_t len = strlen(line); len > 0 && strchr(SPACE, line[len - 1]); len--)
        line[len - 1] = '\0';
    return line;
}

/* "name = value" → "--name=value", heap text that stays. */
static char *word_of(char *line)
{
    char *word = NULL;
    char *value = strchr(line, '=');
    if (value)
        *value++ = '\0';
    const char *name = trim(line);
    if (asprintf(&word, value ? "--%s=%s" : "--%s", name, value ? trim(value) : "") < 0)
        return NULL;
    struct text *kept = malloc(sizeof *kept);
    if (!kept) {
        free(word);
        return NULL;
    }
    *kept = (struct text){texts, word};
    texts = kept;
    return word;
}

static int check_one(const struct sc_cli_args *line, struct sc_err *err)
{
    static struct sc_serve_wants wants;
    int r = line->flags & (SC_FLAG_HELP | SC_FLAG_DEV) || line->texts[SC_TEXT_CONFIG]
                ? sc_err_usage(err, "", "is no option of a configuration file")
                : 0;
    if (r == 0)
        r = sc_serve_read(line, &wants, err);
    return r < 0 ? r : sc_cli_keeper_check(line, err);
}

static void merge(struct sc_cli_args *into, const struct sc_cli_args *line)
{
    into->flags |= line->flags;
    for (size_t i = 0; i < SC_CLI_TEXTS; i++)
        if (line->texts[i])
            into->texts[i] = line->texts[i];
}

static int take_line(const struct sc_cli_args *args, char *line, struct sc_cli_args *into, struct sc_err *err)
{
    struct sc_cli_args one;
    line = trim(line);
    if (!*line || *line == '#')
        return 0;
    char *words[] = {word_of(line), NULL};
    if (!words[0])
        return sc_err_sys(err, -ENOMEM, "config");
    int r = sc_cli_args_parse(&one, args->verb, words, err);
    if (r < 0)
        return r;
    r = check_one(&one, err);
    if (r == 0)
        merge(into, &one);
    sc_cli_args_fini(&one);
    return r;
}

int sc_serve_config(const struct sc_cli_args *args, struct sc_cli_args *ret_args)
{
    const char *path = args->texts[SC_TEXT_CONFIG];
    struct sc_cli_args of_file = {.verb = args->verb};
    struct sc_err err = {0};
    struct sc_buf text;
    unsigned number = 0, wrong = 0;
    char *line;
    *ret_args = *args;
    if (!path)
        return SC_CLI_EXIT_OK;
    sc_buf_init(&text, FILE_MAX);
    int r = sc_buf_read_file(&text, AT_FDCWD, path);
    if (r < 0 || (text.data && strlen((char *)text.data) != text.len)) {
        sc_cli_say("config: %s: %s", path, r == 0 ? "holds a NUL" : strerror(-r));
        sc_buf_fini(&text);
        return SC_CLI_EXIT_USAGE;
    }
    char *rest = (char *)text.data;
    while (rest && (line = strsep(&rest, "\n"))) {
        number++;
        sc_err_clear(&err);
        if (take_line(args, line, &of_file, &err) < 0) {
            sc_cli_say("config: %s:%u: %s", path, number, err.message);
            wrong++;
        }
    }
    sc_buf_fini(&text);
    if (wrong)
        return SC_CLI_EXIT_USAGE;
    /* The command line has the last word. */
    merge(&of_file, args);
    for (size_t i = 0; i < SC_CLI_TEXTS; i++)
        ret_args->texts[i] = of_file.texts[i];
    ret_args->flags = of_file.flags;
    return SC_CLI_EXIT_OK;
}
