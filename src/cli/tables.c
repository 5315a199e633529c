/* A tool of the build: fills a template with what the tables of verbs and options say, so that manual,
 * completion and documents never tell of an option that is not there.
 *
 *     tables man|bash|markdown TEMPLATE
 *
 * Lines of the template that consist of one of these are replaced, all others copied:
 *     @verbs@            every command
 *     @options VERB@     options of a command ("all": of every command)
 *     @values VERB@      names of those that take a value (bash only)
 *     @words VERB@       the words behind it (bash only) */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"

enum format { MAN, BASH, MARKDOWN };

struct writer {
    enum format format;
    bool values_only;
    const char *group;
};

/* The verbs that are never run from here. */
#define NOT_HERE(name)                                                                                       \
    int name(const struct sc_cli_args *args)                                                                 \
    {                                                                                                        \
        (void)args;                                                                                          \
        abort();                                                                                             \
    }
NOT_HERE(sc_cli_run)
NOT_HERE(sc_cli_plan)
NOT_HERE(sc_cli_shell)
NOT_HERE(sc_cli_session)
NOT_HERE(sc_cli_keeper)
NOT_HERE(sc_cli_key)
NOT_HERE(sc_cli_audit)
NOT_HERE(sc_cli_batch)
NOT_HERE(sc_cli_serve)
NOT_HERE(sc_cli_gate)
NOT_HERE(sc_cli_mcp)
NOT_HERE(sc_cli_template)
NOT_HERE(sc_cli_doctor)
NOT_HERE(sc_cli_version)
NOT_HERE(sc_cli_help)

static void put_man(const char *text)
{
    for (; *text; text++)
        if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\\')
            fputs("\\e", stdout);
        else if (!strncmp(text, "…", strlen("…"))) {
            fputs("\\&...", stdout);
            text += strlen("…") - 1;
        } else
            putchar(*text);
}

static void put_markdown(const char *text)
{
    for (; *text; text++) {
        if (*text == '|' || *text == '*' || *text == '<' || *text == '_')
            putchar('\\');
        putchar(*text);
    }
}

/* An option that all words of `session` take is said to be of `session`. */
static void put_verbs_of(const struct sc_cli_option *option)
{
    const char *before = "";
    uint64_t verbs = option->verbs;
    if ((verbs & SC_CLI_SESSIONS) == SC_CLI_SESSIONS)
        verbs = (verbs & ~SC_CLI_SESSIONS) | SC_CLI_SESSION;
    for (const struct sc_cli_verb *verb = SC_CLI_VERBS; verb->name; verb++)
        if (verbs & verb->bit) {
            printf("%s%s", before, verb->name);
            before = ", ";
        }
}

static void option_man(struct writer *writer, const struct sc_cli_option *option)
{
    if (!writer->group || strcmp(writer->group, option->group))
        printf(".SS %s\n", option->group);
    puts(".TP");
    if (option->letter)
        printf("\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB\\-\\-", stdout);
    put_man(option->name);
    fputs("\\fR", stdout);
    if (option->metavar) {
        bool optional = sc_cli_value_is_optional(option->metavar);
        fputs(optional ? "[=\\fI" : " \\fI", stdout);
        put_man(option->metavar + optional);
        fputs(optional ? "\\fR]" : "\\fR", stdout);
    }
    putchar('\n');
    put_man(option->help);
    if (option->verbs != SC_CLI_ALL) {
        fputs(" [", stdout);
        put_verbs_of(option);
        putchar(']');
    }
    putchar('\n');
}

static void option_markdown(struct writer *writer, const struct sc_cli_option *option)
{
    if (!writer->group || strcmp(writer->group, option->group)) {
        printf("%s### %s\n\n| option | commands | meaning |\n|---|---|---|\n", writer->group ? "\n" : "",
               option->group);
    }
    fputs("| ", stdout);
    if (option->letter)
        printf("`-%c`, ", option->letter);
    char form[64];
    sc_cli_option_form(option, form, sizeof form);
    printf("`--%s` | ", form);
    if (option->verbs == SC_CLI_ALL)
        fputs("all", stdout);
    else
        put_verbs_of(option);
    fputs(" | ", stdout);
    put_markdown(option->help);
    puts(" |");
}

static void option_bash(struct writer *writer, const struct sc_cli_option *option)
{
    if (writer->values_only && (!option->metavar || sc_cli_value_is_optional(option->metavar)))
        return;
    if (option->letter)
        printf(" -%c", option->letter);
    printf(" --%s", option->name);
}

static void visit_option(void *userdata, const struct sc_cli_option *option)
{
    struct writer *writer = userdata;
    if (writer->format == MAN)
        option_man(writer, option);
    else if (writer->format == MARKDOWN)
        option_markdown(writer, option);
    else
        option_bash(writer, option);
    writer->group = option->group;
}

/* "session start" is one of "session". */
static bool is_word_of(const struct sc_cli_verb *verb, const struct sc_cli_verb *of)
{
    size_t len = strlen(of->name);
    return !strncmp(verb->name, of->name, len) && verb->name[len] == ' ';
}

static void put_options(enum format format, const char *name, bool values_only)
{
    struct writer writer = {.format = format, .values_only = values_only};
    const struct sc_cli_verb *verb = sc_cli_verb_by_name(name);
    if (!verb && strcmp(name, "all")) {
        fprintf(stderr, "tables: %s: no such command\n", name);
        exit(1);
    }
    uint64_t bits = 0;
    for (const struct sc_cli_verb *any = SC_CLI_VERBS; any->name; any++)
        if (!verb || any == verb || is_word_of(any, verb))
            bits |= any->bit;
    if (format == BASH)
        fputs("        words=\"", stdout);
    sc_cli_options_each(bits, visit_option, &writer);
    if (format == BASH)
        puts("\"");
}

/* Calls `put` for each line of `lines`, between `before` and `after`. */
static void each_line(const char *lines, const char *before, void (*put)(const char *), const char *after)
{
    while (*lines) {
        char line[2000];
        size_t len = strcspn(lines, "\n");
        snprintf(line, sizeof line, "%.*s", (int)len, lines);
        fputs(before, stdout);
        put(line);
        fputs(after, stdout);
        lines += len + (lines[len] == '\n');
    }
}

static void put_plain(const char *text)
{
    fputs(text, stdout);
}

static void verb_man(const struct sc_cli_verb *verb)
{
    printf(".SS %s\n.nf\n", verb->name);
    each_line(verb->usage, "\\fBsnapcell ", put_man, "\\fR\n");
    puts(".fi\n.PP");
    put_man(verb->summary);
    putchar('\n');
    each_line(verb->details, ".PP\n", put_man, "\n");
}

static void verb_markdown(const struct sc_cli_verb *verb)
{
    printf("### snapcell %s\n\n```\n", verb->name);
    each_line(verb->usage, "snapcell ", put_plain, "\n");
    printf("```\n\n%s\n\n", verb->summary);
    each_line(verb->details, "", put_plain, "\n\n");
}

static void put_verbs(enum format format)
{
    if (format == BASH)
        fputs("        words=\"", stdout);
    for (const struct sc_cli_verb *verb = SC_CLI_VERBS; verb->name; verb++) {
        if (format == BASH && strchr(verb->name, ' '))
            continue;
        if (format == BASH)
            printf(" %s", verb->name);
        else if (format == MAN)
            verb_man(verb);
        else
            verb_markdown(verb);
    }
    if (format == BASH)
        puts("\"");
}

/* What may stand behind `name`. */
static void put_words(const char *name)
{
    const struct sc_cli_verb *of = sc_cli_verb_by_name(name);
    fputs("        words=\"", stdout);
    for (const struct sc_cli_verb *verb = SC_CLI_VERBS; verb->name; verb++)
        if (of && is_word_of(verb, of))
            printf(" %s", strchr(verb->name, ' ') + 1);
    puts("\"");
}

static void put_line(enum format format, char *line)
{
    char name[32];
    if (!strcmp(line, "@verbs@"))
        put_verbs(format);
    else if (sscanf(line, "@options %31[a-z]@", name) == 1)
        put_options(format, name, false);
    else if (sscanf(line, "@values %31[a-z]@", name) == 1)
        put_options(format, name, true);
    else if (sscanf(line, "@words %31[a-z]@", name) == 1)
        put_words(name);
    else
        puts(line);
}

int main(int argc, char **argv)
{
    static const char *const formats[] = {"man", "bash", "markdown"};
    int format = -1;
    for (int i = 0; argc == 3 && i < 3; i++)
        if (!strcmp(argv[1], formats[i]))
            format = i;
    FILE *template = format < 0 ? NULL : fopen(argv[2], "re");
    if (!template) {
        fprintf(stderr, "usage: tables man|bash|markdown TEMPLATE\n");
        return 2;
    }
    char *line = NULL;
    size_t size = 0;
    ssize_t len;
    while ((len = getline(&line, &size, template)) > 0) {
        if (line[len - 1] == '\n')
            line[len - 1] = '\0';
        put_line((enum format)format, line);
    }
    free(line);
    fclose(template);
    return fflush(stdout) == 0 ? 0 : 1;
}
