#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "cli/session.h"

/* A display of several forms of 8 MiB each. */
#define LINE_MAX_BYTES (64u * 1024 * 1024)

void sc_cli_lines_init(struct sc_cli_lines *lines, void (*line)(void *userdata, const json_t *value),
                       void *userdata)
{
    *lines = (struct sc_cli_lines){.userdata = userdata, .line = line};
    sc_buf_init(&lines->buf, LINE_MAX_BYTES);
}

void sc_cli_lines_fini(struct sc_cli_lines *lines)
{
    sc_buf_fini(&lines->buf);
}

static int take_line(struct sc_cli_lines *lines)
{
    json_t *value = NULL;
    json_error_t where;
    int r = sc_json_load((const char *)lines->buf.data, lines->buf.len, JSON_ALLOW_NUL, &value, &where);
    lines->buf.len = 0;
    if (r < 0)
        return r;
    lines->line(lines->userdata, value);
    json_decref(value);
    return 0;
}

int sc_cli_lines_add(struct sc_cli_lines *lines, const void *data, size_t len)
{
    const char *at = data;
    while (len > 0) {
        const char *end = memchr(at, '\n', len);
        size_t piece = end ? (size_t)(end - at) : len;
        int r = sc_buf_add(&lines->buf, at, piece);
        if (r == 0 && end)
            r = take_line(lines);
        if (r < 0)
            return r;
        piece += end != NULL;
        at += piece;
        len -= piece;
    }
    return 0;
}
