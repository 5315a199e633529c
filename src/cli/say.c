#include "cli/say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/guard.h"
#include "cli/options.h"

#define SAID_MAX (1024 * 1024)

void sc_cli_tell(const void *text, size_t len)
{
    struct sc_cli_guard guard = {0};
    struct sc_buf shown;
    sc_buf_init(&shown, SAID_MAX);
    int r = sc_cli_guard_add(&guard, text, len, &shown);
    if (r == 0)
        r = sc_cli_guard_end(&guard, &shown);
    /* Nobody is left to be told when stderr does not take it. */
    if (r == 0)
        (void)sc_write_all(STDERR_FILENO, shown.data ? (const char *)shown.data : "", shown.len);
    sc_buf_fini(&shown);
}

void sc_cli_say(const char *format, ...)
{
    char line[SC_ERR_MESSAGE_MAX + 256];
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    if (n < 0)
        return;
    size_t len = (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    /* One line: what others wrote into the message does not begin a second. */
    for (size_t i = 0; i < len; i++)
        if (line[i] == '\n')
            line[i] = ' ';
    sc_cli_tell("snapcell: ", 10);
    sc_cli_tell(line, len);
    sc_cli_tell("\n", 1);
}

int sc_cli_fail(const struct sc_err *err)
{
    size_t len = strlen(err->field);
    const char *message = err->message;
    /* The library writes "field: value: what"; here the field is an option as it was typed. */
    bool option = len && sc_cli_is_option(err->field) && !strncmp(message, err->field, len) &&
                  !strncmp(message + len, ": ", 2);
    if (option)
        sc_cli_say("--%s %s", err->field, message + len + 2);
    else
        sc_cli_say("%s", message);
    return err->kind == SC_ERR_USAGE ? SC_CLI_EXIT_USAGE : SC_CLI_EXIT_FAILED;
}

/* JSON leaves C1 controls and DEL as they are; a terminal would obey them. Their escaped form means the same.
 */
static int escape_controls(const char *text, struct sc_buf *out)
{
    int r = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at && r == 0; at++)
        if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f)
            r = sc_buf_printf(out, "\\u%04x", *++at);
        else if (*at == 0x7f)
            r = sc_buf_add_str(out, "\\u007f");
        else
            r = sc_buf_add(out, at, 1);
    return r;
}

static int write_stdout(const char *text, size_t len)
{
    int r = sc_write_all(STDOUT_FILENO, text, len);
    if (r == 0 && (len == 0 || text[len - 1] != '\n'))
        r = sc_write_all(STDOUT_FILENO, "\n", 1);
    if (r == 0)
        return SC_CLI_EXIT_OK;
    if (r != -EPIPE)
        sc_cli_say("stdout: %s", strerror(-r));
    return SC_CLI_EXIT_FAILED;
}

static int out_of_memory(void)
{
    sc_cli_say("out of memory");
    return SC_CLI_EXIT_FAILED;
}

/* Frees both. */
static int print_shown(char *text, struct sc_buf *shown, int r)
{
    int status = r < 0 ? out_of_memory() : write_stdout((const char *)shown->data, shown->len);
    sc_buf_fini(shown);
    free(text);
    return status;
}

int sc_cli_print(char *text)
{
    struct sc_cli_guard guard = {0};
    struct sc_buf shown;
    if (!text)
        return out_of_memory();
    bool guarded = isatty(STDOUT_FILENO);
    sc_buf_init(&shown, SIZE_MAX / 2);
    int r = guarded ? sc_cli_guard_add(&guard, text, strlen(text), &shown) : sc_buf_add_str(&shown, text);
    return print_shown(text, &shown, r);
}

int sc_cli_print_json(char *text)
{
    struct sc_buf shown;
    if (!text)
        return out_of_memory();
    bool guarded = isatty(STDOUT_FILENO);
    sc_buf_init(&shown, SIZE_MAX / 2);
    int r = guarded ? escape_controls(text, &shown) : sc_buf_add_str(&shown, text);
    return print_shown(text, &shown, r);
}
