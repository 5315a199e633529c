/* Lines that begin with "!": notebooks' way to run a command from a cell of Python. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "gate/e2b/shell.h"

#define CODE_MOST (256u * 1024 * 1024)

/* To the line's end; a backslash before it leads on. */
static const char *end_of(const char *line)
{
    const char *end = strchr(line, '\n');
    while (end && end > line && end[-1] == '\\')
        end = strchr(end + 1, '\n');
    return end ? end : line + strlen(line);
}

static const char *skip_blanks(const char *line)
{
    return line + strspn(line, " \t\r");
}

/* No Python but comments, and at least one command. */
static bool is_shell(const char *code)
{
    bool any = false;
    while (*code) {
        const char *at = skip_blanks(code);
        const char *end = end_of(at);
        if (*at != '!' && *at != '#' && *at != '\n' && *at)
            return false;
        any = any || *at == '!';
        code = *end ? end + 1 : end;
    }
    return any;
}

/* The command as a call; how it ends is told by what it writes, as in notebooks. */
static int add_call(struct sc_buf *into, const char *command, size_t len)
{
    json_t *text = json_stringn(command, len);
    /* JSON's texts are Python's, as long as what is not ASCII stays as it is. */
    char *literal = text ? sc_json_dump(text, JSON_ENCODE_ANY) : NULL;
    json_decref(text);
    if (!literal)
        return -ENOMEM;
    int r = sc_buf_printf(into, "__import__('subprocess').run(['/bin/bash', '-c', %s], stdin=-3) and None\n",
                          literal);
    free(literal);
    return r;
}

json_t *shell_code(const json_t *code)
{
    const char *text = json_string_value(code);
    if (strlen(text) != json_string_length(code) || !is_shell(text))
        return json_incref((json_t *)code);
    struct sc_buf made;
    sc_buf_init(&made, CODE_MOST);
    int r = 0;
    while (*text && r == 0) {
        const char *at = skip_blanks(text);
        const char *end = end_of(at);
        if (*at == '!')
            r = add_call(&made, at + 1, (size_t)(end - at - 1));
        text = *end ? end + 1 : end;
    }
    json_t *calls = r == 0 ? json_stringn((const char *)made.data, made.len) : NULL;
    sc_buf_fini(&made);
    return calls;
}
