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

/* "Connection" may name fields that are to be thrown away on the way. */
static bool keeps_fields(const char *text, size_t len)
{
    static const char *const words[] = {"close", "keep-alive", "te"};
    for (size_t at = 0; at < len;) {
        size_t n = 0;
        bool known = false;
        while (at < len && strchr(", \t", text[at]))
            at++;
        while (at + n < len && !strchr(", \t", text[at + n]))
            n++;
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            known = known || (n == strlen(words[i]) && !strncasecmp(text + at, words[i], n));
        if (n && !known)
            return false;
        at += n;
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
    if (same_field(line, len, "connection") && !keeps_fields(line + 11, len - 11))
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

int sc_http_write_head(struct sc_buf *out, const uint8_t *head, size_t len, const struct sc_net_rule *rule)
{
    const char *text = (const char *)head, *end = text + len;
    int r = 0;
    if (!rule)
        return sc_buf_add(out, head, len);
    for (const char *line = text, *after; line < end && r == 0; line = after) {
        after = (const char *)memchr(line, '\n', (size_t)(end - line)) + 1;
        size_t n = (size_t)(after - line);
        if (n == 2) /* the end */
            r = sc_buf_printf(out, "%s: %s\r\n", rule->secret_field, rule->secret);
        if (r == 0 && !same_field(line, n, rule->secret_field))
            r = sc_buf_add(out, line, n);
    }
    return r;
}
