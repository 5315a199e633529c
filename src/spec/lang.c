#include "spec/lang.h"

#include <errno.h>
#include <string.h>

const struct sc_lang_row SC_LANG_ROWS[] = {
    {SC_LANG_PYTHON, "python", {".py"}, {"python"}, "/usr/bin/python3", "main.py"},
    {SC_LANG_NODE, "node", {".js", ".mjs", ".cjs"}, {"node", "nodejs"}, "/usr/bin/node", "main.js"},
    {SC_LANG_BASH, "bash", {".sh", ".bash"}, {"bash", "sh", "dash"}, "/bin/bash", "main.sh"},
    {SC_LANG_JAVA, "java", {".java"}, {"java"}, "/usr/bin/java", "Main.java"},
    {SC_LANG_NATIVE, "native", {NULL}, {NULL}, NULL, NULL},
    {0},
};

const struct sc_lang_row *sc_lang_row(enum sc_lang lang)
{
    for (const struct sc_lang_row *row = SC_LANG_ROWS; row->name; row++)
        if (row->lang == lang)
            return row;
    return NULL;
}

const char *sc_lang_name(enum sc_lang lang)
{
    const struct sc_lang_row *row = sc_lang_row(lang);
    return row ? row->name : "auto";
}

int sc_lang_by_name(const char *name, enum sc_lang *ret_lang)
{
    for (const struct sc_lang_row *row = SC_LANG_ROWS; row->name; row++)
        if (!strcmp(row->name, name)) {
            *ret_lang = row->lang;
            return 0;
        }
    return -EINVAL;
}

enum sc_lang sc_lang_by_suffix(const char *path)
{
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    const char *dot = strrchr(base, '.');
    if (!dot || dot == base)
        return SC_LANG_AUTO;
    for (const struct sc_lang_row *row = SC_LANG_ROWS; row->name; row++)
        for (size_t i = 0; i < 4 && row->suffixes[i]; i++)
            if (!strcmp(row->suffixes[i], dot))
                return row->lang;
    return SC_LANG_AUTO;
}

/* "python3.11" is the word "python" with a version behind it. */
static bool is_word(const char *text, size_t len, const char *word)
{
    size_t n = strlen(word);
    if (len < n || memcmp(text, word, n) != 0)
        return false;
    for (; n < len; n++)
        if (text[n] != '.' && (text[n] < '0' || text[n] > '9'))
            return false;
    return true;
}

static enum sc_lang by_interpreter(const char *text, size_t len)
{
    for (const struct sc_lang_row *row = SC_LANG_ROWS; row->name; row++)
        for (size_t i = 0; i < 4 && row->shebang_words[i]; i++)
            if (is_word(text, len, row->shebang_words[i]))
                return row->lang;
    return SC_LANG_NATIVE;
}

/* Next word of the line [*at, end): its length, 0 at the end; *at is moved to its start. */
static size_t next_word(const char **at, const char *end)
{
    while (*at < end && (**at == ' ' || **at == '\t'))
        (*at)++;
    const char *stop = *at;
    while (stop < end && *stop != ' ' && *stop != '\t')
        stop++;
    return (size_t)(stop - *at);
}

static size_t strip_folders(const char **at, size_t len)
{
    for (size_t i = len; i > 0; i--)
        if ((*at)[i - 1] == '/') {
            *at += i;
            return len - i;
        }
    return len;
}

static enum sc_lang by_shebang(const char *line, size_t len)
{
    const char *at = line, *end = line + len;
    size_t n = next_word(&at, end);
    const char *name = at;
    at += n;
    n = strip_folders(&name, n);
    if (n != 3 || memcmp(name, "env", 3) != 0)
        return n ? by_interpreter(name, n) : SC_LANG_AUTO;
    /* "env [-S] [NAME=VALUE…] interpreter" */
    while ((n = next_word(&at, end)) > 0) {
        name = at;
        at += n;
        if (name[0] == '-' || memchr(name, '=', n))
            continue;
        n = strip_folders(&name, n);
        return by_interpreter(name, n);
    }
    return SC_LANG_NATIVE;
}

enum sc_lang sc_lang_by_head(const char *head, size_t len)
{
    if (len >= 4 && !memcmp(head, "\177ELF", 4))
        return SC_LANG_NATIVE;
    if (len < 2 || memcmp(head, "#!", 2) != 0)
        return SC_LANG_AUTO;
    const char *line_end = memchr(head, '\n', len);
    size_t line = line_end ? (size_t)(line_end - head) : len;
    while (line > 2 && head[line - 1] == '\r')
        line--;
    return by_shebang(head + 2, line - 2);
}
