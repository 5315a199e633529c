/* /mcp: the Model Context Protocol by Streamable HTTP. Headers and bodies are looked at here; what a message
 * means is the engine's (gate/mcp/). docs/mcp.md tells it to those who configure clients. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "gate/body.h"
#include "gate/mcp_peer.h"

#define WALL_MS 30000          /* of a run that asks for no other, as with `snapcell mcp` */
#define IDLE_MS (600 * 1000.0) /* of the cell behind a client that may have gone without a word */
#define DEADLINE_MS 30000      /* half of what clients usually wait for an answer */

/* JSON-RPC and what clients expect of a server by HTTP. */
enum { PARSE_ERROR = -32700, INVALID_REQUEST = -32600, BAD_REQUEST = -32000 };

void mcp_refuse(struct request *request, unsigned status, int code, const char *format, ...)
{
    char message[SC_ERR_MESSAGE_MAX];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    answer_json(request, status, sc_mcp_refusal(code, message));
    if (status == MHD_HTTP_TOO_MANY_REQUESTS)
        answer_header(request, "Retry-After", "1");
}

/* ---- headers ---- */

static const char *header(const struct request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

struct accepted {
    bool given, json, events;
};

static enum MHD_Result add_accepted(void *userdata, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    struct accepted *accepted = userdata;
    (void)kind;
    if (!strcasecmp(name, "Accept") && value) {
        accepted->given = true;
        mcp_accept_read(value, &accepted->json, &accepted->events);
    }
    return MHD_YES;
}

static struct accepted accepted_by(struct request *request)
{
    struct accepted accepted = {0};
    (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, add_accepted, &accepted);
    accepted.json = accepted.json || !accepted.given;
    return accepted;
}

/* True: it may go on; else it was answered. Absent is 2025-03-26, which did not have this header. */
static bool revision_ok(struct request *request)
{
    const char *revision = header(request, "MCP-Protocol-Version");
    if (!revision || sc_mcp_knows_revision(revision))
        return true;
    mcp_refuse(request, MHD_HTTP_BAD_REQUEST, BAD_REQUEST,
               "MCP-Protocol-Version: %.64s: allowed are 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25",
               revision);
    return false;
}

/* The client that the request names; NULL: it was answered. */
static struct mcp_peer *peer_of(struct request *request)
{
    const char *id = header(request, "Mcp-Session-Id");
    struct mcp_peer *peer = id ? mcp_peer_find(request, id) : NULL;
    if (!id)
        mcp_refuse(request, MHD_HTTP_BAD_REQUEST, BAD_REQUEST,
                   "Mcp-Session-Id: is missing; the answer to initialize gives one");
    else if (!peer)
        mcp_refuse(request, MHD_HTTP_NOT_FOUND, MCP_NO_SESSION,
                   "Mcp-Session-Id: there is no such session (any more): initialize begins another");
    return peer;
}

/* ---- a new client ---- */

static int parse_spec(const char *text, json_t **ret_spec, struct sc_err *err)
{
    json_error_t where;
    json_t *spec = NULL;
    int r = sc_json_load(text, strlen(text), JSON_REJECT_DUPLICATES, &spec, &where);
    if (r == -ENOMEM)
        return sc_err_sys(err, r, "spec");
    if (r == 0 && json_is_object(spec)) {
        *ret_spec = spec;
        return 0;
    }
    json_decref(spec);
    return sc_err_usage(err, "spec", "spec: must be a JSON object%s%s", r < 0 ? ": " : "",
                        r < 0 ? where.text : "");
}

/* The fields of a session, but for those that stand beside its spec. */
static int check_spec(const json_t *spec, struct sc_err *err)
{
    static const char *const not_here[] = {"name", "metadata", "priority", "deadline_ms", NULL};
    int r = 0;
    for (size_t i = 0; r == 0 && not_here[i]; i++)
        if (json_object_get(spec, not_here[i]))
            r = sc_err_usage(err, not_here[i], "%s: is not taken here", not_here[i]);
    if (r == 0)
        r = fields_check(SESSION_FIELDS, spec, err);
    if (r == 0)
        r = body_check_paths(spec, err);
    if (r < 0)
        sc_err_below(err, "spec");
    return r;
}

/* What it wants of its cell stands in the query, since that is all that every client's configuration has room
 * for. */
static int read_spec(const struct request *request, json_t **ret_spec, struct sc_err *err)
{
    const char *text = json_string_value(json_object_get(request->query, "spec"));
    json_t *spec = NULL, *template = json_object_get(request->query, "template");
    int r = text ? parse_spec(text, &spec, err) : 0;
    if (r == 0 && !text)
        spec = json_object();
    if (r == 0 && template && json_object_set(spec, "template", template) < 0)
        r = sc_err_sys(err, -ENOMEM, "template");
    if (r == 0)
        r = check_spec(spec, err);
    if (r < 0)
        json_decref(spec);
    else
        *ret_spec = spec;
    return r;
}

/* A time that stands beside the spec. */
static double take_time(json_t *spec, const char *name, double standard)
{
    json_t *given = json_object_get(spec, name);
    double ms = json_is_number(given) ? json_number_value(given) : standard;
    (void)json_object_del(spec, name);
    return ms;
}

static void set_wall(json_t *spec)
{
    json_t *limits = json_object_get(spec, "limits");
    if (json_object_get(spec, "template") || json_object_get(limits, "wall_ms"))
        return;
    if (!limits) {
        limits = json_object();
        (void)json_object_set_new(spec, "limits", limits);
    }
    (void)json_object_set_new(limits, "wall_ms", json_integer(WALL_MS));
}

static struct mcp_peer *new_peer(struct request *request)
{
    struct mcp_peer *peer = NULL;
    struct sc_err err = {0};
    json_t *spec = NULL;
    int r = read_spec(request, &spec, &err);
    if (r < 0) {
        problem_err(request, &err);
        return NULL;
    }
    struct sc_mcp_options options = {.spec = spec, .deadline_ms = DEADLINE_MS};
    options.idle_ms = take_time(spec, "idle_ms", IDLE_MS);
    options.total_ms = take_time(spec, "total_ms", 0);
    set_wall(spec);
    r = mcp_peer_new(request, &options, &peer, &err);
    json_decref(spec);
    if (r == -EAGAIN)
        mcp_refuse(request, MHD_HTTP_TOO_MANY_REQUESTS, BAD_REQUEST, "%s", err.message);
    else if (r < 0)
        problem_err(request, &err);
    return r == 0 ? peer : NULL;
}

/* ---- POST ---- */

/* Ids of the requests in a message, or of all in a batch; empty: it has none. NULL: refused, *ret_why says
 * why. */
static json_t *ids_of(struct mcp_peer *peer, const json_t *message, const char **ret_why)
{
    json_t *ids = json_array(), *one;
    const json_t *id = NULL;
    size_t i;
    *ret_why = NULL;
    if (json_is_array(message)) {
        if (!sc_mcp_takes_batches(peer->engine) || json_array_size(message) == 0)
            *ret_why = "a batch is not allowed";
        json_array_foreach(message, i, one)
        {
            if (sc_mcp_kind(one, &id) == SC_MCP_REQUEST)
                (void)json_array_append(ids, (json_t *)id);
        }
    } else if (sc_mcp_kind(message, &id) == SC_MCP_NO_MESSAGE) {
        *ret_why = "not a message of JSON-RPC 2.0";
    } else if (id) {
        (void)json_array_append(ids, (json_t *)id);
    }
    /* Answers are told apart by it. */
    json_array_foreach(ids, i, one)
    {
        if (mcp_log_stream_of(&peer->log, one))
            *ret_why = "id: is that of a request that is under way";
        for (size_t k = 0; k < i; k++)
            if (json_equal(json_array_get(ids, k), one))
                *ret_why = "id: is given twice";
    }
    if (!*ret_why)
        return ids;
    json_decref(ids);
    return NULL;
}

/* Whether the stream holds its answers and nothing else. */
static bool is_plain(const struct mcp_stream *stream)
{
    const struct mcp_event *event;
    TAILQ_FOREACH(event, &stream->events, entry)
    {
        if (!event->is_answer)
            return false;
    }
    return stream->is_over && !stream->is_lost;
}

static bool primes(const struct mcp_peer *peer)
{
    const char *revision = sc_mcp_revision(peer->engine);
    return revision && strcmp(revision, "2025-11-25") >= 0; /* older clients choke on an event without data */
}

/* `ids`: taken. */
static void post_requests(struct request *request, struct mcp_peer *peer, const json_t *message, json_t *ids,
                          struct accepted accepted)
{
    struct mcp_stream *stream = mcp_log_stream(&peer->log, ids);
    if (!stream) {
        problem(request, "sandbox", "", "gate: out of memory");
        return;
    }
    stream->is_batch = json_is_array(message);
    mcp_peer_take(peer, message, stream);
    if (!accepted.events || (accepted.json && is_plain(stream)))
        mcp_read_whole(request, stream, peer);
    else
        mcp_read_begin(request, stream, peer, primes(peer));
}

static bool is_initialize(const json_t *message)
{
    const char *method = json_string_value(json_object_get(message, "method"));
    return json_is_object(message) && method && !strcmp(method, "initialize");
}

static void post_message(struct request *request, const json_t *message, struct accepted accepted)
{
    const char *why = NULL;
    bool is_new = is_initialize(message) && !header(request, "Mcp-Session-Id");
    struct mcp_peer *peer = is_new ? new_peer(request) : peer_of(request);
    json_t *ids = peer ? ids_of(peer, message, &why) : NULL;
    if (!peer)
        return;
    if (!ids) {
        mcp_refuse(request, MHD_HTTP_BAD_REQUEST, INVALID_REQUEST, "%s", why);
    } else if (json_array_size(ids) > 0) {
        post_requests(request, peer, message, ids, accepted);
    } else {
        json_decref(ids);
        mcp_peer_take(peer, message, peer->general);
        answer_empty(request, MHD_HTTP_ACCEPTED);
    }
    if (is_new && sc_mcp_revision(peer->engine))
        answer_header(request, "Mcp-Session-Id", peer->id);
    else if (is_new)
        mcp_peer_end(peer);
}

void handle_mcp_post(struct request *request)
{
    struct accepted accepted = accepted_by(request);
    struct sc_err err = {0};
    json_t *message = NULL;
    if (!accepted.json && !accepted.events) {
        mcp_refuse(request, MHD_HTTP_NOT_ACCEPTABLE, BAD_REQUEST,
                   "Accept: must take application/json or text/event-stream");
        return;
    }
    if (!revision_ok(request))
        return;
    int r = sc_mcp_read(request->raw.data ? (const char *)request->raw.data : "", request->raw.len, &message,
                        &err);
    sc_buf_fini(&request->raw);
    if (r == 0)
        post_message(request, message, accepted);
    else if (r == -ENOMEM)
        problem_err(request, &err);
    else
        mcp_refuse(request, r == -EMSGSIZE ? MHD_HTTP_CONTENT_TOO_LARGE : MHD_HTTP_BAD_REQUEST,
                   r == -EMSGSIZE ? INVALID_REQUEST : PARSE_ERROR, "%s", err.message);
    json_decref(message);
}

/* ---- GET, DELETE ---- */

/* Where the client left off, in whichever stream that was; its former reader has lost the connection, which
 * it may not have noticed. */
static void resume(struct request *request, struct mcp_peer *peer, const char *event_id)
{
    struct mcp_stream *stream = NULL;
    int r = mcp_log_resume(&peer->log, event_id, &stream);
    if (r < 0) {
        mcp_refuse(request, MHD_HTTP_BAD_REQUEST, BAD_REQUEST, "Last-Event-ID: %s",
                   r == -ENOENT ? "what came behind it is not kept any more"
                                : "is none that this session has given");
        return;
    }
    mcp_read_end(stream);
    mcp_read_begin(request, stream, peer, false);
}

void handle_mcp_get(struct request *request)
{
    const char *event_id = header(request, "Last-Event-ID");
    if (!accepted_by(request).events) {
        mcp_refuse(request, MHD_HTTP_NOT_ACCEPTABLE, BAD_REQUEST, "Accept: must take text/event-stream");
        return;
    }
    struct mcp_peer *peer = revision_ok(request) ? peer_of(request) : NULL;
    if (!peer)
        return;
    if (event_id && *event_id)
        resume(request, peer, event_id);
    else if (peer->general->reader)
        mcp_refuse(request, MHD_HTTP_CONFLICT, BAD_REQUEST, "another request reads this session's stream");
    else
        mcp_read_begin(request, peer->general, peer, primes(peer));
}

void handle_mcp_delete(struct request *request)
{
    struct mcp_peer *peer = revision_ok(request) ? peer_of(request) : NULL;
    if (!peer)
        return;
    mcp_peer_end(peer);
    answer_empty(request, MHD_HTTP_NO_CONTENT);
}
