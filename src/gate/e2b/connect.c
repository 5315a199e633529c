/* The Connect protocol as their clients speak it: JSON, over HTTP/1.1, not compressed. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "gate/e2b/e2b.h"

#define FLAG_END 2u
#define UNARY "application/json"
#define STREAM "application/connect+json"

int connect_read(const void *data, size_t len, const char **ret_payload, size_t *ret_len)
{
    uint32_t size;
    const uint8_t *bytes = data;
    if (len < CONNECT_HEAD || bytes[0] != 0)
        return -EINVAL;
    memcpy(&size, bytes + 1, sizeof size);
    if (ntohl(size) != len - CONNECT_HEAD)
        return -EINVAL;
    *ret_payload = (const char *)bytes + CONNECT_HEAD;
    *ret_len = len - CONNECT_HEAD;
    return 0;
}

void connect_head(uint8_t ret_head[CONNECT_HEAD], uint8_t flags, uint32_t len)
{
    uint32_t size = htonl(len);
    ret_head[0] = flags;
    memcpy(ret_head + 1, &size, sizeof size);
}

static void send_frame(struct request *request, uint8_t flags, json_t *value)
{
    uint8_t head[CONNECT_HEAD];
    char *text = sc_json_dump(value, JSON_COMPACT);
    json_decref(value);
    if (!request->answered)
        answer_stream(request, MHD_HTTP_OK, STREAM);
    if (!text) {
        stream_break(request);
        return;
    }
    connect_head(head, flags, (uint32_t)strlen(text));
    stream_bytes(request, head, sizeof head);
    stream_bytes(request, text, strlen(text));
    free(text);
}

void connect_send(struct request *request, json_t *value)
{
    send_frame(request, 0, value);
}

void connect_end(struct request *request, const char *code, const char *message)
{
    if (request->out_ended)
        return;
    send_frame(request, FLAG_END,
               code ? json_pack("{s:{s:s, s:s}}", "error", "code", code, "message", message) : json_object());
    stream_end(request);
}

static const struct {
    const char *code;
    unsigned status;
} CODES[] = {
    {"canceled", 499},
    {"unknown", 500},
    {"invalid_argument", 400},
    {"deadline_exceeded", 504},
    {"not_found", 404},
    {"already_exists", 409},
    {"permission_denied", 403},
    {"resource_exhausted", 429},
    {"failed_precondition", 400},
    {"aborted", 409},
    {"out_of_range", 400},
    {"unimplemented", 501},
    {"internal", 500},
    {"unavailable", 503},
    {"data_loss", 500},
    {"unauthenticated", 401},
};

unsigned connect_status(const char *code)
{
    for (size_t i = 0; i < sizeof CODES / sizeof *CODES; i++)
        if (!strcmp(CODES[i].code, code))
            return CODES[i].status;
    return 500;
}

/* What the cell's own files answered. */
static const char *code_of_file(const char *code)
{
    static const struct {
        const char *name, *code;
    } rows[] = {{"ENOENT", "not_found"},          {"EEXIST", "already_exists"},
                {"EACCES", "permission_denied"},  {"EPERM", "permission_denied"},
                {"EROFS", "permission_denied"},   {"ELOOP", "failed_precondition"},
                {"ENOSPC", "resource_exhausted"}, {"EDQUOT", "resource_exhausted"}};
    for (size_t i = 0; code && i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, code))
            return rows[i].code;
    return "invalid_argument";
}

const char *connect_code(const char *kind, const char *field, const json_t *more)
{
    static const struct {
        const char *kind, *code;
    } rows[] = {{"usage", "invalid_argument"},
                {"json", "invalid_argument"},
                {"unauthorized", "unauthenticated"},
                {"forbidden", "permission_denied"},
                {"not_found", "not_found"},
                {"conflict", "failed_precondition"},
                {"cancelled", "canceled"},
                {"too_many", "resource_exhausted"},
                {"too_large", "resource_exhausted"},
                {"unsupported", "unimplemented"},
                {"sandbox", "internal"},
                {"media_type", "invalid_argument"}};
    if (!strcmp(kind, "file"))
        return code_of_file(e2b_text(more, "code"));
    if (!strcmp(kind, "ended") && strcmp(field, "session") != 0)
        return "not_found";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].kind, kind))
            return rows[i].code;
    return "unavailable";
}

void connect_refuse(struct request *request, const char *code, const char *format, ...)
{
    char message[2 * SC_ERR_MESSAGE_MAX];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    if (request->route->flags & ROUTE_FOLLOWS)
        connect_end(request, code, message);
    else
        answer_json(request, connect_status(code), json_pack("{s:s, s:s}", "code", code, "message", message));
}
