#include "net/http_strict.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/* Servers that listen to these do something else than the first line says. */
static const char *const OVERRIDES[] = {"x-http-method-override", "x-http-method", "x-method-override",
                                        "x-original-url",         "x-rewrite-url", NULL};

/* Some servers take '_' for '-' in the names of fields. */
static bool same_field(const char *line, size_t len, const char *field)
{
    size_t name = strlen(field);
    if (len <= name || line[name] != ':')
        return false;
    for (size_t i = 0; i < name; i++) {
        char c = line[i] == '_' ? '-' : line[i];
        if (strncasecmp(&c, field + i, 1) != 0)
            return false;
    }
    return true;
}

static bool field_is_fine(const char *line, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((line[i] < ' ' && line[i] != '\t') || line[i] == 0x7f)
            return false;
    for (size_t i = 0; OVERRIDES[i]; i++)
        if (same_field(line, len, OVERRIDES[i]))
            return false;
    /* Only as the framing is read: "transfer_encoding" is what a server might take for it. */
    const char *colon = memchr(line, ':', len);
    bool unusual = colon && memchr(line, '_', (size_t)(colon - line));
    return !(unusual &&
             (same_field(line, len, "transfer-encoding") || same_field(line, len, "content-length")));
}

/* "METHOD /path?query HTTP/1.1" */
static int read_first(const char *line, size_t len, struct sc_net_request *ret_request)
{
    const char *blank = memchr(line, ' ', len), *path = blank ? blank + 1 : NULL;
    const char *end = path ? memchr(path, ' ', len - (size_t)(path - line)) : NULL;
    if (!end)
        return -EPROTO;
    for (const char *at = path; at < end; at++)
        if (*at <= ' ' || *at >= 0x7f || *at == '#')
            return -EPROTO;
    const char *query = memchr(path, '?', (size_t)(end - path));
    struct sc_net_request request = {line, (size_t)(blank - line), path,
                                     (size_t)((query ? query : end) - path)};
    for (size_t i = 0; i < request.method_len; i++)
        if ((line[i] < 'A' || line[i] > 'Z') && line[i] != '-')
            return -EPROTO;
    if (request.method_len == 0 || request.method_len > SC_NET_METHOD_MAX ||
        (request.method_len == 5 && !memcmp(line, "TRACE", 5)) ||
        !sc_net_path_is_plain(request.path, request.path_len))
        return -EPROTO;
    *ret_request = request;
    return 0;
}

int sc_http_strict(const uint8_t *head, size_t len, struct sc_net_request *ret_request)
{
    const char *text = (const char *)head, *end = text + len;
    struct sc_net_request request = {0};
    for (const char *line = text; line < end;) {
        const char *eol = memchr(line, '\n', (size_t)(end - line));
        if (!eol || eol == line || eol[-1] != '\r')
            return -EPROTO;
        size_t n = (size_t)(eol - line) - 1;
        int r = line == text ? read_first(line, n, &request) : field_is_fine(line, n) ? 0 : -EPROTO;
        if (r < 0)
            return r;
        line = eol + 1;
    }
    *ret_request = request;
    return 0;
}
