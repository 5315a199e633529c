#include "cli/help.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/options.h"
#include "cli/say.h"

#define WIDTH 80
#define HELP_MAX (64 * 1024)

/* Columns a text takes: bytes that do not continue a UTF-8 sequence. */
static size_t columns(const char *text, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

/* Adds `text` in lines of WIDTH that start at `indent`; the cursor stands at `column`. A new line in `text`
 * starts a paragraph. */
static void add_wrapped(struct sc_buf *out, const char *text, size_t indent, size_t column)
{
    bool fresh = true;
    while (*text) {
        size_t len = strcspn(text, " \n");
        size_t width = columns(text, len);
        if (!fresh && column + 1 + width > WIDTH) {
            sc_buf_printf(out, "\n%*s", (int)indent, "");
            column = indent;
            fresh = true;
        }
        sc_buf_printf(out, "%s%.*s", fresh ? "" : " ", (int)len, text);
        column += width + !fresh;
        fresh = false;
        text += len;
        if (*text == '\n') {
            sc_buf_printf(out, "\n\n%*s", (int)indent, "");
            column = indent;
            fresh = true;
        }
        text += *text != '\0';
    }
    sc_buf_add_str(out, "\n");
}

static void add_usage(struct sc_buf *out, const struct sc_cli_verb *verb)
{
    const char *before = "Usage: ";
    for (const char *line = verb->usage; *line;) {
        size_t len = strcspn(line, "\n");
        sc_buf_printf(out, "%ssnapcell %.*s\n", before, (int)len, line);
        before = "       ";
        line += len + (line[len] == '\n');
    }
}

struct page {
    struct sc_buf *out;
    const char *group;
};

static void add_option(void *userdata, const struct sc_cli_option *option)
{
    struct page *page = userdata;
    char head[80], form[64], letter[8] = "    ";
    if (!page->group || strcmp(page->group, option->group))
        sc_buf_printf(page->out, "\n%s\n", option->group);
    page->group = option->group;
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    sc_cli_option_form(option, form, sizeof form);
    snprintf(head, sizeof head, "  %s--%s", letter, form);
    sc_buf_printf(page->out, "%-29s ", head);
    size_t column = strlen(head) > 29 ? strlen(head) + 1 : 30;
    if (column > 30) {
        sc_buf_printf(page->out, "\n%30s", "");
        column = 30;
    }
    add_wrapped(page->out, option->help, 30, column);
}

void sc_cli_help_verb(const struct sc_cli_verb *verb, struct sc_buf *out)
{
    struct page page = {.out = out};
    add_usage(out, verb);
    sc_buf_printf(out, "\n%s\n", verb->summary);
    if (*verb->details) {
        sc_buf_add_str(out, "\n");
        add_wrapped(out, verb->details, 0, 0);
    }
    sc_cli_options_each(verb->bit, add_option, &page);
}

/* All commands in a page. */
static void help_overview(struct sc_buf *out)
{
    sc_buf_add_str(out, "Usage: snapcell COMMAND …\n\n"
                        "Runs code that nobody vouches for in a sealed cell of its own.\n\n");
    for (const struct sc_cli_verb *verb = SC_CLI_VERBS; verb->name; verb++)
        if (!strchr(verb->name, ' '))
            sc_buf_printf(out, "  %-9s %s\n", verb->name, verb->summary);
    sc_buf_add_str(out,
                   "\n`snapcell help COMMAND` tells more; so does the manual, snapcell(1).\n"
                   "\nExamples\n"
                   "  snapcell run --file data.csv --out '*.png' analysis.py data.csv\n"
                   "  snapcell run --wall 2s --memory 128M -c 'print(6 * 7)' --python\n"
                   "  snapcell run --json -- bash -c 'echo $HOME'\n"
                   "  snapcell shell --memory 1G\n"
                   "  snapcell session start --name work; snapcell session run work --python -c 'x = 1'\n"
                   "  snapcell doctor\n");
}

static int unknown_topic(const char *topic)
{
    struct sc_err err = {0};
    sc_err_usage(&err, "", "help %s: no such command; `snapcell help` lists them", topic);
    return sc_cli_fail(&err);
}

int sc_cli_help(const struct sc_cli_args *args)
{
    struct sc_buf out;
    char topic[64] = "";
    if (args->n_operands == 1)
        snprintf(topic, sizeof topic, "%s", args->operands[0]);
    else if (args->n_operands)
        snprintf(topic, sizeof topic, "%s %s", args->operands[0], args->operands[1]);
    const struct sc_cli_verb *verb = sc_cli_verb_by_name(topic);
    if (args->n_operands && !verb)
        return unknown_topic(topic);
    sc_buf_init(&out, HELP_MAX);
    if (verb)
        sc_cli_help_verb(verb, &out);
    else
        help_overview(&out);
    return sc_cli_print(sc_buf_steal(&out, NULL));
}
