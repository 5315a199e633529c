/* requirements.txt, as far as it must be understood. pip reads it outside of any cell, and with a network: it
 * may choose among wheels, whose code does not run when they are fetched. Whatever would make pip run a
 * package's code (a source folder, a version-control address), or read other files of the host, is refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "snap/recipe.h"

static const char FIELD[] = "requirements";
static const char BLANKS[] = " \t\r\f\v";

/* Options that choose where wheels come from, and which. */
static const char *const OPTIONS[] = {
    "-i", "--index-url", "--extra-index-url", "--no-index", "--pre", "--trusted-host", "--hash"};

struct lines {
    const char *folder; /* relative paths are from here */
    int folder_len;
    struct sc_buf *out;
    sc_recipe_visit_wheel *visit;
    void *userdata;
};

static int refuse(const char *line, const char *what, struct sc_err *err)
{
    char shown[120];
    sc_text_show(shown, sizeof shown, line, strlen(line));
    return sc_err_usage(err, FIELD, "%s: %s: %s", FIELD, shown, what);
}

static bool is_option_allowed(const char *line)
{
    size_t len = strcspn(line, " \t=");
    for (size_t i = 0; i < sizeof OPTIONS / sizeof *OPTIONS; i++)
        if (strlen(OPTIONS[i]) == len && !memcmp(OPTIONS[i], line, len))
            return true;
    return false;
}

static bool ends_with(const char *text, size_t len, const char *end)
{
    size_t n = strlen(end);
    return len > n && !memcmp(text + len - n, end, n);
}

static int add(struct lines *lines, const char *start, const char *rest, struct sc_err *err)
{
    int r = sc_buf_printf(lines->out, "%s%s\n", start, rest);
    return r < 0 ? sc_err_sys(err, r, FIELD) : 0;
}

/* `len` bytes of `line` are the path of a wheel. */
static int take_wheel(struct lines *lines, const char *line, size_t len, struct sc_err *err)
{
    char path[PATH_MAX], name[SC_SPEC_NAME_MAX + 4];
    int n = *line == '/'
                ? snprintf(path, sizeof path, "%.*s", (int)len, line)
                : snprintf(path, sizeof path, "%.*s%.*s", lines->folder_len, lines->folder, (int)len, line);
    if (n < 0 || (size_t)n >= sizeof path)
        return refuse(line, "the path is too long", err);
    int r = lines->visit(lines->userdata, path, err);
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    if (r == 0 && strlen(base) > SC_SPEC_NAME_MAX)
        return refuse(line, "the name is too long", err);
    if (r < 0)
        return r;
    snprintf(name, sizeof name, "./%.*s", SC_SPEC_NAME_MAX, base);
    return add(lines, name, line + len, err);
}

/* What pip takes for the end of a line is more than what we do. */
static bool is_plain(const char *line)
{
    for (; *line; line++)
        if ((*line < ' ' && *line != '\t') || *line > '~')
            return false;
    return true;
}

/* Of the options behind a requirement only those that fix its content. */
static bool has_option(const char *line)
{
    for (const char *at = line; (at = strpbrk(at, BLANKS));) {
        at += strspn(at, BLANKS);
        if (*at == '-' && strncmp(at, "--hash=", 7))
            return true;
    }
    return false;
}

/* One whole line without its comment. */
static int take_line(struct lines *lines, const char *line, struct sc_err *err)
{
    size_t word = strcspn(line, " \t;");
    if (!*line)
        return 0;
    if (!is_plain(line))
        return refuse(line, "only printable ASCII is allowed", err);
    if (*line == '-')
        return is_option_allowed(line)
                   ? add(lines, line, "", err)
                   : refuse(line, "not allowed: options that choose an index, and --hash, are", err);
    if (has_option(line))
        return refuse(line, "behind a requirement only --hash is allowed", err);
    if (strchr(line, '$'))
        return refuse(line, "variables are not allowed", err);
    if (strstr(line, "://") || strchr(line, '@') || strstr(line, "file:"))
        return refuse(line, "addresses are not allowed: names of packages and paths of wheels are", err);
    if (ends_with(line, word, ".whl"))
        return take_wheel(lines, line, word, err);
    if (*line == '.' || memchr(line, '/', word))
        return refuse(line, "of the host's own files only wheels (.whl) are allowed", err);
    return add(lines, line, "", err);
}

/* Cuts the comment and the blanks around, in place. */
static char *trim(char *line)
{
    line += strspn(line, BLANKS);
    for (char *at = line; (at = strchr(at, '#')); at++)
        if (at == line || strchr(BLANKS, at[-1])) {
            *at = '\0';
            break;
        }
    size_t len = strlen(line);
    while (len > 0 && strchr(BLANKS, line[len - 1]))
        line[--len] = '\0';
    return line;
}

/* A backslash at a line's end joins the next to it, before anything else is looked at: pip does so, too. */
static void join_lines(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (from[0] == '\\' && from[1] == '\n')
            from++;
        else if (from[0] == '\\' && from[1] == '\r' && from[2] == '\n')
            from += 2;
        else
            *to++ = *from;
    }
    *to = '\0';
}

static int take_text(struct lines *lines, char *text, struct sc_err *err)
{
    char *rest = NULL;
    int r = 0;
    join_lines(text);
    for (char *line = strtok_r(text, "\n", &rest); line && r == 0; line = strtok_r(NULL, "\n", &rest))
        r = take_line(lines, trim(line), err);
    return r;
}

int sc_recipe_requirements(const char *path, struct sc_buf *ret_text, sc_recipe_visit_wheel *visit,
                           void *userdata, struct sc_err *err)
{
    const char *slash = strrchr(path, '/');
    struct lines lines = {.folder = path,
                          .folder_len = slash ? (int)(slash + 1 - path) : 0,
                          .out = ret_text,
                          .visit = visit,
                          .userdata = userdata};
    struct sc_buf text;
    sc_buf_init(&text, SC_RECIPE_BYTES_MAX);
    int r = sc_buf_read_file(&text, AT_FDCWD, path);
    if (r < 0)
        r = sc_err_usage(err, FIELD, "%s: %s: must be a readable file of at most 1M: %s", FIELD, path,
                         strerror(-r));
    else if (text.len && memchr(text.data, '\0', text.len))
        r = sc_err_usage(err, FIELD, "%s: %s: NUL bytes are not allowed", FIELD, path);
    else if (text.len)
        r = take_text(&lines, (char *)text.data, err);
    sc_buf_fini(&text);
    return r;
}
