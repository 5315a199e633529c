#include "gate/port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "gate/port_answer.h"

#define HEAD_MAX (96u * 1024)

struct passing {
    struct sc_buf head; /* of what is asked, until it has gone */
    bool is_sent;
    struct port_tunnel *tunnel; /* once the program has agreed to another protocol */
    struct port_answer answer;
};

static void free_passing(struct request *request)
{
    struct passing *passing = request->of_handler;
    sc_buf_fini(&passing->head);
    port_tunnel_free(passing->tunnel);
    free(passing);
    request->of_handler = NULL;
}

/* ---- what is asked ---- */

/* Between two neighbours only, or ours: the keys of this service are no program's. */
static bool stays_here(const char *name)
{
    static const char *const names[] = {
        "Host",   "Connection",     "Keep-Alive",          "Proxy-Connection",
        "TE",     "Trailer",        "Transfer-Encoding",   "Upgrade",
        "Expect", "Content-Length", "Authorization",       "X-API-Key",
        "Cookie", "Set-Cookie",     "Proxy-Authorization", "Proxy-Authenticate"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcasecmp(name, names[i]))
            return true;
    return false;
}

/* The same of the other protocol's own. */
static bool stays_of_e2b(const char *name)
{
    static const char *const names[] = {"X-Access-Token", "E2B-Traffic-Access-Token", "E2b-Sandbox-Id",
                                        "E2b-Sandbox-Port"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcasecmp(name, names[i]))
            return true;
    return false;
}

/* Is it a word of the list that Connection holds? */
static bool is_named(const char *list, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = list; at && *at;) {
        at += strspn(at, ", \t");
        size_t n = strcspn(at, ", \t");
        if (n == len && n > 0 && !strncasecmp(at, name, n))
            return true;
        at += n;
    }
    return false;
}

struct fields {
    struct sc_buf *head;
    const char *connection;
    bool of_e2b;
    int r;
};

static enum MHD_Result add_field(void *userdata, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct fields *fields = userdata;
    (void)kind;
    if (fields->r == 0 && !stays_here(name) && !(fields->of_e2b && stays_of_e2b(name)) &&
        !is_named(fields->connection, name))
        fields->r = sc_buf_printf(fields->head, "%s: %s\r\n", name, value ? value : "");
    return MHD_YES;
}

static const char *field_of(const struct request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

/* WebSockets are what is asked for so. */
static bool wants_upgrade(const struct request *request, const char *method)
{
    const char *upgrade = field_of(request, "Upgrade"), *connection = field_of(request, "Connection");
    return !strcmp(method, "GET") && upgrade && !strcasecmp(upgrade, "websocket") && connection &&
           is_named(connection, "Upgrade");
}

static int write_head(struct request *request, struct sc_buf *head, const struct port_way *way)
{
    struct fields fields = {head, field_of(request, "Connection"), request->route->flags & ROUTE_E2B, 0};
    const char *length = field_of(request, "Content-Length");
    sc_buf_init(head, HEAD_MAX);
    int r = sc_buf_printf(head, "%s %s HTTP/1.1\r\nHost: localhost:%u\r\nConnection: %s\r\n", way->method,
                          way->target, way->port,
                          wants_upgrade(request, way->method) ? "Upgrade\r\nUpgrade: websocket" : "close");
    if (r == 0 && length)
        r = sc_buf_printf(head, "Content-Length: %s\r\n", length);
    (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, add_field, &fields);
    if (r == 0)
        r = fields.r;
    return r == 0 ? sc_buf_add_str(head, "\r\n") : r;
}

/* Once there is room for it, which is before any of the body. */
static void send_head(struct request *request)
{
    struct passing *passing = request->of_handler;
    if (passing->is_sent || !request->ask || !request->ask->link)
        return;
    passing->is_sent = ask_input(request->ask, passing->head.data, passing->head.len) == 0;
    sc_buf_fini(&passing->head);
    if (!passing->is_sent)
        ask_cancel(request->ask);
}

static void on_credit(void *userdata)
{
    struct request *request = userdata;
    send_head(request);
    struct port_tunnel *tunnel = ((struct passing *)request->of_handler)->tunnel;
    if (tunnel)
        port_tunnel_room(tunnel);
    else
        body_wake(request);
}

/* ---- what is answered ---- */

/* Our own say how an answer may be kept; pages of a cell's must not act as this service's own. */
static bool is_ours(const char *name)
{
    return !strcasecmp(name, "Cache-Control") || !strcasecmp(name, "X-Content-Type-Options") ||
           !strcasecmp(name, "Content-Type") || !strcasecmp(name, "Date");
}

static void cut(struct request *request)
{
    port_tunnel_cut(((struct passing *)request->of_handler)->tunnel);
}

/* False: it was answered with a problem. */
static bool answer_switched(struct request *request)
{
    struct passing *passing = request->of_handler;
    passing->tunnel = port_tunnel_new(request);
    if (!passing->tunnel) {
        problem_begin(request, -ENOMEM);
        return false;
    }
    request->cut = cut;
    if (!port_tunnel_answer(passing->tunnel))
        return false;
    answer_header(request, "Upgrade", "websocket");
    return true;
}

static void on_head(void *userdata)
{
    struct request *request = userdata;
    const struct port_answer *answer = &((struct passing *)request->of_handler)->answer;
    const char *name, *value, *type = NULL, *connection = NULL;
    for (size_t at = 0; port_answer_field(answer, &at, &name, &value);) {
        if (!strcasecmp(name, "Content-Type"))
            type = value;
        if (!strcasecmp(name, "Connection"))
            connection = value;
    }
    if (answer->status == MHD_HTTP_SWITCHING_PROTOCOLS) {
        if (!answer_switched(request))
            return;
    } else if (answer->state == PORT_WHOLE) {
        answer_empty(request, answer->status);
        if (type)
            answer_header(request, "Content-Type", type);
    } else {
        answer_stream(request, answer->status, type);
    }
    for (size_t at = 0; port_answer_field(answer, &at, &name, &value);)
        if (!stays_here(name) && !is_ours(name) && !is_named(connection, name))
            answer_header(request, name, value);
    answer_header(request, "Content-Security-Policy", "sandbox allow-scripts allow-forms");
}

static void on_body(void *userdata, const uint8_t *data, size_t len)
{
    struct request *request = userdata;
    struct port_tunnel *tunnel = ((struct passing *)request->of_handler)->tunnel;
    if (tunnel)
        port_tunnel_say(tunnel, data, len);
    else
        stream_bytes(request, data, len);
}

/* Nothing that still comes matters. */
static void let_go(struct request *request)
{
    struct ask *ask = request->ask;
    request->ask = NULL;
    if (ask)
        ask_forget(ask);
}

static void refuse(struct request *request, const char *why)
{
    if (request->answered)
        stream_break(request);
    else
        problem(request, "port", "port", "port: %s", why);
}

static void on_output(void *userdata, enum sc_keeper_stream stream, const void *data, size_t len)
{
    static const struct port_events events = {on_head, on_body};
    struct request *request = userdata;
    struct passing *passing = request->of_handler;
    if (stream != SC_KEEPER_STDOUT)
        return;
    int r = port_answer_take(&passing->answer, data, len, &events, request);
    if (r == 0)
        return;
    let_go(request);
    if (r < 0)
        refuse(request, "what answers there is no HTTP/1, or does not tell where its answer ends");
    else
        stream_end(request);
}

static void on_done(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct request *request = userdata;
    const struct passing *passing = request->of_handler;
    const char *kind = json_string_value(json_object_get(error, "kind"));
    (void)len;
    request->ask = NULL;
    if (passing->tunnel)
        port_tunnel_end(passing->tunnel);
    else if (ok && request->answered && port_answer_end(&passing->answer) == 0)
        stream_end(request);
    else if (!ok && !request->answered && kind && strcmp(kind, "file") != 0)
        problem_keeper(request, error);
    else
        refuse(request, ok ? "it was closed before there was a whole answer" : PORT_CLOSED);
}

/* ---- the beginning ---- */

static bool target_is_fine(const char *target)
{
    for (const char *at = target; *at; at++)
        if (*at <= ' ' || *at >= 0x7f)
            return false;
    return *target == '/';
}

/* NULL: memory ran out. */
static json_t *message_to(const struct port_way *way)
{
    json_t *message =
        json_pack("{s:s, s:s, s:i}", "request", "port", "session", way->session, "port", (int)way->port);
    if (message && way->access && json_object_set_new(message, "access", json_string(way->access)) < 0) {
        json_decref(message);
        return NULL;
    }
    return message;
}

void port_pass(struct request *request, const struct port_way *way)
{
    static const struct ask_events events = {.output = on_output, .credit = on_credit, .done = on_done};
    int why = -ENOMEM;
    if (field_of(request, "Transfer-Encoding")) {
        problem(request, "framing", "Transfer-Encoding",
                "Transfer-Encoding: to a port a Content-Length is needed");
        return;
    }
    if (!target_is_fine(way->target)) {
        problem(request, "usage", "path", "path: characters that are no URL's");
        return;
    }
    struct passing *passing = calloc(1, sizeof *passing);
    if (!passing || write_head(request, &passing->head, way) < 0) {
        if (passing)
            sc_buf_fini(&passing->head);
        free(passing);
        problem_begin(request, -ENOMEM);
        return;
    }
    port_answer_init(&passing->answer, !strcmp(way->method, "HEAD"));
    passing->answer.may_upgrade = wants_upgrade(request, way->method);
    request->of_handler = passing;
    request->free_handler = free_passing;
    request->in_ended =
        true; /* the connection stays open both ways: many take its end for a client that is gone */
    json_t *message = message_to(way);
    if (message)
        request->ask = ask_begin(request->gate, message, way->access ? NULL : request->person->token, true,
                                 &events, request, &why);
    if (request->ask)
        send_head(request);
    else
        problem_begin(request, why);
}

/* ---- /v1/sessions/{session}/ports/{port}/… ---- */

void handle_port(struct request *request)
{
    char *rest = strchr(request->params[1], '/');
    uint64_t port = 0;
    char *target = NULL;
    size_t digits = rest ? (size_t)(rest - request->params[1]) : strlen(request->params[1]);
    char number[8] = "";
    if (digits < sizeof number)
        memcpy(number, request->params[1], digits);
    if (sc_parse_u64(number, &port) < 0 || port < 1 || port > 65535) {
        problem(request, "usage", "port", "port: %.40s: allowed are 1 to 65535", request->params[1]);
        return;
    }
    if (asprintf(&target, "%s%s%s", rest ? rest : "/", request->raw_query ? "?" : "",
                 request->raw_query ? request->raw_query : "") < 0) {
        problem_begin(request, -ENOMEM);
        return;
    }
    port_pass(request, &(struct port_way){.session = request->params[0],
                                          .port = (unsigned)port,
                                          .method = request->route->method,
                                          .target = target});
    free(target);
}
