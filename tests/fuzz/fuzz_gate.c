/* libFuzzer target: what the gate reads itself. The first byte picks the reader: a path and its query; a JSON
 * body by the table of one of the routes; or what the keeper says, cut into lines. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "gate/port_answer.h"
#include "gate/body.h"
#include "gate/follow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Nothing is served here. */
#define X(name)                                                                                              \
    void handle_##name(struct request *request)                                                              \
    {                                                                                                        \
        (void)request;                                                                                       \
    }
HANDLERS(X)
#undef X

static void check_error(int r, const struct sc_err *err)
{
    if (r < 0 && (err->kind == SC_ERR_NONE || !*err->message || strchr(err->message, '\n') ||
                  !sc_utf8_valid(err->field, strlen(err->field))))
        abort();
}

static void read_query(const struct field *fields, const char *query)
{
    struct sc_err err = {0};
    json_t *object = NULL;
    int r = fields_from_query(fields, query, &object, &err);
    check_error(r, &err);
    if ((r == 0) != (object != NULL))
        abort();
    /* What was read passes again. */
    if (r == 0 && fields_check(fields, object, &err) < 0)
        abort();
    json_decref(object);
}

static void read_uri(char *uri)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "DELETE", "PATCH"};
    char *query = strchr(uri, '?');
    if (query)
        *query++ = '\0';
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        char *params[ROUTE_PARAMS_MAX] = {NULL};
        char allowed[64] = "", *copy = strdup(uri);
        unsigned status = 0;
        const struct route *route =
            route_find(ROUTES, methods[i], copy, params, &status, allowed, sizeof allowed);
        for (size_t k = 0; route && k < ROUTE_PARAMS_MAX && params[k]; k++)
            if (!*params[k] || !sc_utf8_valid(params[k], strlen(params[k])))
                abort();
        if (route && route->query && query)
            read_query(route->query, query);
        if (!route && status != 404 && status != 405 && status != 400)
            abort();
        free(copy);
    }
}

static void read_body(const struct field *fields, const char *text, size_t len)
{
    struct sc_err err = {0};
    json_error_t where;
    json_t *body = NULL;
    if (sc_json_count(text, len) > 10000 ||
        sc_json_load(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &body, &where) < 0)
        return;
    if (json_is_object(body))
        check_error(fields_check(fields, body, &err), &err);
    json_decref(body);
}

static void on_line(void *userdata, const char *text, size_t len)
{
    size_t *sum = userdata;
    if (len == 0 || memchr(text, '\n', len))
        abort();
    *sum += len;
}

/* However they are cut, the lines are the same. */
static void read_lines(const uint8_t *data, size_t size)
{
    struct lines lines = {.held.data = NULL};
    size_t piece = size ? data[0] % 17 + 1u : 1, whole = 0, cut = 0;
    for (size_t at = 0; at < size; at += piece)
        lines_add(&lines, data + at, at + piece < size ? piece : size - at, on_line, &cut);
    lines_fini(&lines);
    lines_add(&lines, data, size, on_line, &whole);
    lines_fini(&lines);
    if (whole != cut)
        abort();
}

struct heard {
    struct port_answer answer;
    size_t heads, body;
};

static void on_answer_head(void *userdata)
{
    struct heard *heard = userdata;
    const char *name, *value;
    size_t at = 0;
    heard->heads++;
    if (heard->answer.status < 200 || heard->answer.status > 599)
        abort();
    while (port_answer_field(&heard->answer, &at, &name, &value))
        if (!*name || strpbrk(name, ": \r\n") || strpbrk(value, "\r\n"))
            abort();
}

static void on_answer_body(void *userdata, const uint8_t *data, size_t len)
{
    struct heard *heard = userdata;
    (void)data;
    if (heard->heads != 1 || len == 0)
        abort();
    heard->body += len;
}

/* However it is cut, the same answer is heard. */
static void read_answer(const uint8_t *data, size_t size)
{
    static const struct port_events events = {on_answer_head, on_answer_body};
    struct heard *whole = malloc(sizeof *whole), *cut = malloc(sizeof *cut);
    size_t piece = size ? data[0] % 17 + 1u : 1;
    int r = 0, other;
    whole->heads = whole->body = cut->heads = cut->body = 0;
    port_answer_init(&whole->answer, size && data[0] & 0x80);
    port_answer_init(&cut->answer, size && data[0] & 0x80);
    for (size_t at = 1; at < size && r == 0; at += piece)
        r = port_answer_take(&cut->answer, data + at, at + piece < size ? piece : size - at, &events, cut);
    other = size > 1 ? port_answer_take(&whole->answer, data + 1, size - 1, &events, whole) : 0;
    if (r != other || whole->heads != cut->heads || whole->body != cut->body)
        abort();
    free(whole);
    free(cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct field *const bodies[] = {RUN_FIELDS,    SESSION_FIELDS, CODE_FIELDS,
                                                 EXEC_FIELDS,   COMMAND_FIELDS, CHECK_FIELDS,
                                                 SIGNAL_FIELDS, RESIZE_FIELDS,  CHANGE_FIELDS};
    size_t n = sizeof bodies / sizeof *bodies;
    if (size < 1 || size > 100000)
        return 0;
    char *text = malloc(size);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (data[0] < n)
        read_body(bodies[data[0]], text, size - 1);
    else if (data[0] == n)
        read_lines(data + 1, size - 1);
    else if (data[0] == n + 1)
        read_answer(data + 1, size - 1);
    else
        read_uri(text);
    free(text);
    return 0;
}
