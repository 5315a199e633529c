/* HTTP as far as libmicrohttpd leaves it to us: from a connection to a request with a route, its body, and
 * back. What a request means is its route's business. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "base/num.h"
#include "gate/visit.h"
#include "spec/json_read.h"

#define HEADERS_MAX (64u * 1024)      /* of one connection: request line, headers, libmicrohttpd's own */
#define IDLE_S 75                     /* nothing comes and nothing goes */
#define HEADERS_NS (90 * SC_NS_PER_S) /* a request's headers are whole by then, or the connection ends */
#define BODY_NS (300 * SC_NS_PER_S)   /* the same of a body that is kept */
#define NEWCOMER_NS (2 * SC_NS_PER_S)
#define BODY_MAX (64u * 1024 * 1024)
#define UNWANTED_MAX (1024u * 1024) /* of a body that is refused before it began */
#define VALUES_MAX 200000

/* ---- what comes ---- */

/* Smuggling: two lengths, or a coding that is not understood, and the next request would begin elsewhere for
 * somebody between us and the client. */
struct framing {
    unsigned lengths, codings;
    bool odd;
};

static enum MHD_Result look_at_header(void *userdata, enum MHD_ValueKind kind, const char *name,
                                      const char *value)
{
    struct framing *framing = userdata;
    (void)kind;
    if (!strcasecmp(name, "Content-Length")) {
        framing->lengths++;
        framing->odd = framing->odd || !value || !*value || value[strspn(value, "0123456789")];
    }
    if (!strcasecmp(name, "Transfer-Encoding")) {
        framing->codings++;
        framing->odd = framing->odd || !value || strcasecmp(value, "chunked") != 0;
    }
    return MHD_YES;
}

static bool framing_ok(struct request *request)
{
    struct framing framing = {0};
    (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, look_at_header, &framing);
    if (framing.odd || framing.lengths > 1 || framing.codings > 1 || (framing.lengths && framing.codings)) {
        problem(request, "framing", "", "allowed is one Content-Length, or Transfer-Encoding: chunked");
        answer_header(request, "Connection", "close");
        request->ends_connection = true;
        return false;
    }
    return true;
}

/* Path, query, route. */
static bool find_route(struct request *request, const char *method)
{
    unsigned status = 404;
    char allowed[64] = "";
    struct sc_err err = {0};
    char *query = request->uri ? strchr(request->uri, '?') : NULL;
    if (!request->uri) {
        problem(request, "uri_too_long", "uri", "uri: at most %d bytes are allowed", URI_MAX);
        return false;
    }
    if (query)
        *query++ = '\0';
    request->query_text = query ? query : "";
    if (e2b_wants_port(request)) {
        request->route = e2b_port_route(method);
        request->raw_query = query;
        if (!request->route)
            problem(request, "method", "", "not allowed to a port of a sandbox: %.20s", method);
        return request->route;
    }
    const bool theirs = request->person->debug || e2b_wants(request);
    request->route =
        theirs ? NULL
               : route_find(ROUTES, method, request->uri, request->params, &status, allowed, sizeof allowed);
    if (!request->route && status == 404)
        request->route =
            route_find(E2B_ROUTES, method, request->uri, request->params, &status, allowed, sizeof allowed);
    if (!request->route && status == 405) {
        problem(request, "method", "", "allowed here: %s", allowed);
        answer_header(request, "Allow", allowed);
        return false;
    }
    if (request->route && request->person->debug && !(request->route->flags & ROUTE_OPEN)) {
        request->route = NULL; /* what needs a key is served where keys are */
        status = 404;
    }
    if (!request->route) {
        problem(request, status == 400 ? "usage" : "not_found", "path", "%s",
                status == 400 ? "path: holds an escape that is none, a NUL, or what is no UTF-8"
                              : "path: nothing is served there; /openapi.json lists what is");
        return false;
    }
    if (request->route->flags & ROUTE_PASSES) {
        request->raw_query = query;
        return true;
    }
    static const struct field none[] = {{NULL}};
    if (request->route->flags & ROUTE_TEXT)
        return true;
    if (fields_from_query(request->route->query ? request->route->query : none, query ? query : "",
                          &request->query, &err) == 0)
        return true;
    problem_err(request, &err);
    return false;
}

static bool type_is(const char *type, const char *wanted)
{
    size_t len = strcspn(type, "; ");
    return len == strlen(wanted) && !strncasecmp(type, wanted, len);
}

static bool body_type_ok(struct request *request)
{
    const char *type = MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "Content-Type");
    const enum body_kind kind = request->route->body_kind;
    const bool lines = kind == BODY_LINES;
    const bool json = kind == BODY_JSON || (kind == BODY_WHOLE && (request->route->flags & ROUTE_FOREIGN));
    if ((!json && !lines) || !type)
        return true;
    if (type_is(type, "application/json") || (lines && type_is(type, "application/x-ndjson")))
        return true;
    problem(request, "media_type", "Content-Type", "Content-Type: allowed is application/json%s",
            lines ? ", application/x-ndjson" : "");
    return false;
}

static void begin(struct request *request, const char *method)
{
    struct gate *gate = request->gate;
    request->seen = true;
    request->counted = true;
    TAILQ_INSERT_TAIL(&gate->requests, request, entry);
    gate->n_requests++;
    gate->counters.requests++;
    if (!framing_ok(request) || !find_route(request, method) || !who_may(request) || !body_type_ok(request))
        return;
    if (request->person->debug)
        request->identified = e2b_debug_enter(request) > 0;
    else if (request->route->flags & ROUTE_OPEN)
        request->identified = true;
    else if (gate->draining)
        problem(request, "draining", "", "the service is ending and takes no new requests");
    else
        request->identified = who_identify(request) > 0;
}

/* The JSON body, by its route's table. */
static bool read_body(struct request *request)
{
    struct sc_err err = {0};
    json_error_t where;
    const char *text = request->raw.data ? (const char *)request->raw.data : "";
    int r = 0;
    if (request->raw.len == 0)
        request->body = json_object();
    else if (sc_json_count(text, request->raw.len) > VALUES_MAX)
        r = sc_err_usage(&err, "body",
                         "body: at most %d JSON values, and 4096 bytes for one number, are allowed",
                         VALUES_MAX);
    else if ((r = sc_json_load(text, request->raw.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
                               &request->body, &where)) == -EINVAL)
        r = sc_json_parse_error(&where, &err);
    else if (r < 0)
        r = sc_err_sys(&err, r, "body");
    sc_buf_fini(&request->raw);
    if (r == 0 && !json_is_object(request->body))
        r = sc_err_usage(&err, "body", "body: must be a JSON object");
    static const struct field none[] = {{NULL}};
    if (r == 0)
        r = fields_check(request->route->body ? request->route->body : none, request->body, &err);
    if (r < 0)
        problem_err(request, &err);
    return r == 0;
}

/* Where the body goes: to the request's own ask, or to a command. */
static struct ask *sink_of(const struct request *request)
{
    return request->feeds ? command_ask(request->feeds) : request->ask;
}

static enum MHD_Result take_upload(struct request *request, const char *data, size_t *size)
{
    if (request->answered) {
        /* Nobody wants the rest, but libmicrohttpd answers behind it only. Of a stranger it is not waited
         * for. */
        request->unwanted += *size;
        *size = 0;
        bool waits = request->started &&
                     (request->route->body_kind == BODY_STREAM || request->route->body_kind == BODY_FED);
        return request->unwanted > UNWANTED_MAX && !waits ? MHD_NO : MHD_YES;
    }
    if (request->route->body_kind == BODY_NONE) {
        problem(request, "usage", "body", "body: none is taken here");
    } else if (request->route->body_kind == BODY_JSON || request->route->body_kind == BODY_WHOLE) {
        if (request->raw.len + *size > BODY_MAX)
            problem(request, "too_large", "body", "body: at most %u bytes are allowed", BODY_MAX);
        else if (sc_buf_add(&request->raw, data, *size) < 0)
            problem(request, "sandbox", "", "gate: out of memory");
    } else if (request->route->body_kind == BODY_LINES) {
        batch_fed(request, data, *size);
    } else if (request->feed) {
        size_t n = request->feed(request, data, *size);
        if (n == 0 && !request->answered)
            request_sleep(request);
        *size -= n;
        return MHD_YES;
    } else if (sink_of(request)) {
        struct ask *sink = sink_of(request);
        size_t n = sink->link ? sink->credit : 0;
        n = n < *size ? n : *size;
        if (n == 0 || ask_input(sink, data, n) < 0) {
            request_sleep(request);
            return MHD_YES; /* nothing was taken: it comes again */
        }
        *size -= n;
        return MHD_YES;
    }
    *size = 0;
    return MHD_YES;
}

static void start(struct request *request)
{
    request->started = true;
    request->person->reading = false;
    if (request->route->body_kind == BODY_JSON && !read_body(request))
        return;
    request->route->start(request);
}

/* A client that is still sending a short body would not see an answer that ends its connection. */
static bool answers_now(struct request *request)
{
    const char *length = MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "Content-Length");
    const char *coding =
        MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "Transfer-Encoding");
    uint64_t bytes = 0;
    if (MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "Expect"))
        return true;
    if (request->ends_connection)
        return true;
    return !coding && (!length || sc_parse_u64(length, &bytes) < 0 || bytes > UNWANTED_MAX);
}

/* The headers are there. libmicrohttpd makes the same call once more when it was slept in. An answer that is
 * known here is queued here: then the connection is ended instead of its body being read. */
static enum MHD_Result take_head(struct request *request, const char *method)
{
    if (!request->seen)
        begin(request, method);
    if (!request->answered && !request->identified) {
        request_sleep(request);
        return MHD_YES;
    }
    request->headed = true;
    enum body_kind kind = request->route ? request->route->body_kind : BODY_NONE;
    if (!request->answered && (kind == BODY_STREAM || kind == BODY_LINES || kind == BODY_FED))
        start(request);
    request->person->reading =
        !request->answered && (kind == BODY_JSON || kind == BODY_LINES || kind == BODY_WHOLE);
    return request->answered && answers_now(request) ? answer_queue(request) : MHD_YES;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data, size_t *size,
                                  void **state)
{
    struct request *request = *state;
    (void)cls;
    (void)connection;
    (void)url;
    (void)version;
    if (!request)
        return MHD_NO;
    if (!request->headed)
        return take_head(request, method);
    if (*size > 0)
        return take_upload(request, data, size);
    if (request->queued)
        return MHD_YES;
    if (!request->answered && !request->started)
        start(request);
    if (!request->answered && request->route->body_kind == BODY_LINES) {
        request->person->reading = false;
        batch_fed_all(request);
    } else if (request->feeds) {
        command_fed(request);
    } else if (!request->answered && request->fed && !request->in_ended) {
        request->in_ended = true;
        request->fed(request);
    } else if (!request->answered && request->route->body_kind == BODY_STREAM && !request->in_ended) {
        request->in_ended = request->ask && ask_input_end(request->ask) == 0;
    }
    if (request->answered)
        return answer_queue(request);
    request_sleep(request);
    return MHD_YES;
}

/* ---- coming and going ---- */

static void *on_uri(void *cls, const char *uri, struct MHD_Connection *connection)
{
    struct front *front = cls;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct request *request = calloc(1, sizeof *request);
    if (!request || !info || !info->socket_context) {
        free(request);
        return NULL;
    }
    request->gate = front->gate;
    request->connection = connection;
    request->person = info->socket_context;
    request->person->busy = true;
    request->person->known = true;
    request->person->since_ns = sc_now_ns();
    request->uri = strlen(uri) <= URI_MAX ? strdup(uri) : NULL;
    sc_buf_init(&request->raw, BODY_MAX);
    return request;
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode why)
{
    struct request *request = *state;
    (void)cls;
    (void)connection;
    (void)why;
    if (!request)
        return;
    *state = NULL;
    request_unwatch(request);
    command_unfed(request);
    if (request->forget)
        request->forget(request);
    if (request->ask)
        ask_forget(request->ask);
    if (request->free_handler)
        request->free_handler(request);
    visit_end(request);
    if (request->response)
        MHD_destroy_response(request->response);
    if (request->counted) {
        TAILQ_REMOVE(&request->gate->requests, request, entry);
        request->gate->n_requests--;
    }
    request->person->busy = request->person->reading = false;
    request->person->since_ns = sc_now_ns();
    json_decref(request->query);
    json_decref(request->body);
    sc_buf_fini(&request->raw);
    sc_buf_fini(&request->out);
    free(request->uri);
    free(request);
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct front *front = cls;
    struct person *person = *context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        person = calloc(1, sizeof *person);
        if (!person || !info) {
            free(person);
            return; /* its first request is refused */
        }
        *person = (struct person){.connection = connection,
                                  .sock = info->connect_fd,
                                  .tcp = front->tcp,
                                  .debug = front->debug,
                                  .since_ns = sc_now_ns()};
        TAILQ_INSERT_TAIL(&front->gate->people, person, entry);
        front->gate->n_connections++;
        *context = person;
    } else if (person) {
        free(person->key);
        TAILQ_REMOVE(&front->gate->people, person, entry);
        front->gate->n_connections--;
        free(person);
        *context = NULL;
    }
}

/* libmicrohttpd's own clock only knows of silence; who sends a byte now and then is met here. */
void http_sweep(struct gate *gate)
{
    struct person *person;
    struct request *request;
    uint64_t now = sc_now_ns();
    TAILQ_FOREACH(request, &gate->requests, entry)
    {
        if (request->more)
            request->more(request);
    }
    TAILQ_FOREACH(person, &gate->people, entry)
    {
        if (!person->busy && now - person->since_ns > HEADERS_NS)
            (void)shutdown(person->sock, SHUT_RDWR);
        else if (person->reading && now - person->since_ns > BODY_NS)
            (void)shutdown(person->sock, SHUT_RDWR);
    }
}

/* New clients are the next gate's. Those that have just come may be about to ask. */
void http_quiesce(struct gate *gate)
{
    for (size_t i = 0; i < gate->options->n_listeners; i++) {
        struct front *front = &gate->fronts[i];
        if (!front->daemon || front->quiet)
            continue;
        front->quiet = true;
        MHD_socket listener = MHD_quiesce_daemon(front->daemon);
        if (listener != MHD_INVALID_SOCKET)
            close(listener);
    }
}

bool http_is_idle(const struct gate *gate)
{
    const struct person *person;
    uint64_t now = sc_now_ns();
    TAILQ_FOREACH(person, &gate->people, entry)
    {
        if (!person->known && now - person->since_ns < NEWCOMER_NS)
            return false;
    }
    return gate->n_requests == 0;
}

/* Paths and queries are taken apart before they are decoded. */
static size_t leave_escaped(void *cls, struct MHD_Connection *connection, char *text)
{
    (void)cls;
    (void)connection;
    return strlen(text);
}

static void on_front(void *userdata, uint32_t events)
{
    struct gate *gate = userdata;
    (void)events;
    gate->daemon_ready = true; /* the loop runs it */
}

static int open_front(struct gate *gate, struct front *front, const struct sc_gate_listener *listener)
{
    front->gate = gate;
    front->tcp = listener->tcp;
    front->debug = listener->e2b_debug;
    front->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE, 0, NULL, NULL, on_request, front,
        MHD_OPTION_LISTEN_SOCKET, listener->fd, MHD_OPTION_CONNECTION_LIMIT, gate->options->clients,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_S, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
        MHD_OPTION_URI_LOG_CALLBACK, on_uri, front, MHD_OPTION_NOTIFY_COMPLETED, on_completed, front,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, front, MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL,
        MHD_OPTION_END);
    if (!front->daemon)
        return -EIO;
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(front->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (!info)
        return -EIO;
    front->watch = (struct watch){.fd = info->epoll_fd, .ready = on_front, .userdata = gate};
    return watch_add(gate, &front->watch, EPOLLIN);
}

int http_open(struct gate *gate)
{
    int r = 0;
    for (size_t i = 0; i < gate->options->n_listeners && r == 0; i++)
        r = open_front(gate, &gate->fronts[i], &gate->options->listeners[i]);
    return r;
}

void http_close(struct gate *gate)
{
    struct request *request;
    /* libmicrohttpd will not stop with one that sleeps. */
    TAILQ_FOREACH(request, &gate->requests, entry)
    {
        request->out_broken = true;
        if (request->cut)
            request->cut(request);
        body_wake(request);
    }
    for (size_t i = 0; i < gate->options->n_listeners; i++)
        if (gate->fronts[i].daemon) {
            MHD_stop_daemon(gate->fronts[i].daemon);
            gate->fronts[i].daemon = NULL;
        }
}
