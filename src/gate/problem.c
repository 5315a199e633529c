/* Problem documents (RFC 9457). The table is all there is: it also goes into the OpenAPI document. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "gate/parts.h"
#include "gate/visit.h"

#define URN "urn:snapcell:problem:"

const struct problem_row PROBLEMS[] = {
    {"usage", 422, "The request is wrong"},
    {"json", 400, "The body is no JSON"},
    {"framing", 400, "The request's length is not told clearly"},
    {"host_header", 421, "The Host header names another service"},
    {"origin", 403, "Web pages may not use this service"},
    {"unauthorized", 401, "A valid key is needed"},
    {"forbidden", 403, "This key may not do that"},
    {"not_found", 404, "There is no such thing"},
    {"method", 405, "This method is not served here"},
    {"conflict", 409, "The present state does not allow that"},
    {"busy", 409, "Something else is under way"},
    {"not_forkable", 409, "It holds what cannot be copied"},
    {"ended", 410, "The session has ended"},
    {"too_large", 413, "The request is too large"},
    {"uri_too_long", 414, "The path is too long"},
    {"media_type", 415, "This media type is not taken here"},
    {"cancelled", 409, "It was cancelled"},
    {"too_many", 429, "Too many requests"},
    {"sandbox", 500, "Snapcell itself failed"},
    {"unsupported", 501, "This version or this host cannot do that"},
    {"host", 503, "This host cannot do that"},
    {"overloaded", 503, "The service is full"},
    {"draining", 503, "The service is ending"},
    {"keeper_away", 503, "The keeper does not answer"},
    {"keeper_lost", 503, "The keeper went away"},
    {"port", 502, "Nothing usable answers at this port"},
    {"file", 409, "The cell's files answered with an error"},
    {NULL},
};

static const struct problem_row *row_of(const char *kind)
{
    const struct problem_row *row = PROBLEMS;
    while (row->kind && strcmp(row->kind, kind) != 0)
        row++;
    return row->kind ? row : row_of("sandbox");
}

/* What the cell's own files answered, by the errno's name. */
static unsigned file_status(const char *code)
{
    static const struct {
        const char *code;
        unsigned status;
    } rows[] = {{"ENOENT", 404},  {"ENOTDIR", 409},      {"EACCES", 403}, {"EPERM", 403},  {"EROFS", 403},
                {"ENOSPC", 507},  {"EDQUOT", 507},       {"EFBIG", 507},  {"EINVAL", 422}, {"ELOOP", 422},
                {"EBADMSG", 422}, {"ENAMETOOLONG", 422}, {"EPROTO", 422}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].code, code))
            return rows[i].status;
    return 409;
}

char *problem_text(const char *kind, const char *field, const char *message, const json_t *more,
                   unsigned *ret_status)
{
    const struct problem_row *row = row_of(kind);
    char type[96], shown[2 * SC_ERR_MESSAGE_MAX];
    const char *code = json_string_value(json_object_get(more, "code"));
    *ret_status = !strcmp(row->kind, "file") && code ? file_status(code) : row->status;
    snprintf(type, sizeof type, URN "%s", row->kind);
    sc_text_show(shown, sizeof shown, message, strlen(message));
    json_t *object = json_pack("{s:s, s:s, s:i, s:s}", "type", type, "title", row->title, "status",
                               (int)*ret_status, "detail", shown);
    const char *name;
    json_t *value;
    if (object && *field)
        (void)json_object_set_new(object, "field", json_string(field));
    json_object_foreach((json_t *)more, name, value)
    {
        if (object && strcmp(name, "kind") != 0 && strcmp(name, "message") != 0 && strcmp(name, "field") != 0)
            (void)json_object_set(object, name, value);
    }
    char *text = sc_json_dump(object, JSON_COMPACT);
    json_decref(object);
    return text;
}

static void answer(struct request *request, const char *kind, const char *field, const char *message,
                   const json_t *more)
{
    static const char no_memory[] =
        "{\"type\":\"" URN "sandbox\",\"title\":\"Snapcell itself failed\",\"status\":500,"
        "\"detail\":\"gate: out of memory\"}";
    unsigned status = 500;
    char wait[24];
    if (request->route && request->route->refuse) {
        request->route->refuse(request, kind, field, message, more);
        return;
    }
    char *text = problem_text(kind, field, message, more, &status);
    if (!text)
        text = strdup(no_memory);
    if (!text) {
        request->answered = true; /* without a response: the connection is closed */
        body_wake(request);
        return;
    }
    answer_text(request, status, "application/problem+json", text, strlen(text));
    json_int_t ms = json_integer_value(json_object_get(more, "retry_after_ms"));
    snprintf(wait, sizeof wait, "%lld", ms > 0 && ms < 3600000 ? (long long)(ms + 999) / 1000 : 1);
    if (status == 429 || status == 503)
        answer_header(request, "Retry-After", wait);
    if (status == 401)
        answer_header(request, "WWW-Authenticate", "Bearer realm=\"snapcell\"");
}

void problem(struct request *request, const char *kind, const char *field, const char *format, ...)
{
    char message[SC_ERR_MESSAGE_MAX];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    answer(request, kind, field, message, NULL);
}

void problem_err(struct request *request, const struct sc_err *err)
{
    static const char *const kinds[] = {[SC_ERR_NONE] = "sandbox",
                                        [SC_ERR_USAGE] = "usage",
                                        [SC_ERR_HOST] = "host",
                                        [SC_ERR_SANDBOX] = "sandbox"};
    answer(request, kinds[err->kind], err->field, err->message, NULL);
}

/* The gate's message has what the client sent as `spec` or `judge` below itself: the field's path is told as
 * the client knows it. */
static const char *as_sent(const char *text)
{
    static const char *const wholes[] = {"spec.", "judge."};
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
        if (!strncmp(text, wholes[i], strlen(wholes[i])))
            return text + strlen(wholes[i]);
    return text;
}

void problem_keeper(struct request *request, const json_t *error)
{
    const char *kind = json_string_value(json_object_get(error, "kind"));
    const char *field = json_string_value(json_object_get(error, "field"));
    const char *message = json_string_value(json_object_get(error, "message"));
    if (request->visit && visit_is_gone(error)) {
        problem(request, "sandbox", "", VISIT_GONE);
        return;
    }
    answer(request, kind ? kind : "sandbox", as_sent(field ? field : ""), as_sent(message ? message : ""),
           error);
}

void problem_begin(struct request *request, int why)
{
    if (why == -EMSGSIZE)
        problem(request, "too_large", "body", "body: at most %u bytes are allowed", SC_KEEPER_REQUEST_MAX);
    else if (why == -EAGAIN)
        problem(request, "overloaded", "", "too many requests wait for the keeper");
    else
        problem(request, "sandbox", "", "gate: out of memory");
}
