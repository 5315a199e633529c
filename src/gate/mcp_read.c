/* Requests that read a stream of /mcp: by events as they come, or its answers as one text once it is over. A
 * request that goes leaves its stream as it is; another may go on with it. */
#include <stdlib.h>
#include <string.h>

#include "gate/mcp_peer.h"

#define RETRY "1000" /* ms until a client whose connection broke comes again */
#define SIGN_OF_LIFE_NS (25 * SC_NS_PER_S)
#define CANCELLED (-32000)

struct mcp_reader {
    struct mcp_stream *stream;
    struct mcp_peer *peer;
    bool whole;
    uint64_t told_ns;
};

/* ---- joining and leaving ---- */

static void detach(struct request *request)
{
    struct mcp_reader *reader = request->of_handler;
    reader->stream->reader = NULL;
    reader->peer->since_ns = sc_now_ns();
    request->of_handler = NULL;
    request->free_handler = NULL;
    request->more = NULL;
    free(reader);
}

static void on_left(struct request *request)
{
    struct mcp_reader *reader = request->of_handler;
    struct mcp_peer *peer = reader->peer;
    detach(request);
    mcp_log_trim(&peer->log);
}

static void on_more(struct request *request);

static bool attach(struct request *request, struct mcp_stream *stream, struct mcp_peer *peer, bool whole)
{
    struct mcp_reader *reader = calloc(1, sizeof *reader);
    if (!reader) {
        problem(request, "sandbox", "", "gate: out of memory");
        return false;
    }
    *reader = (struct mcp_reader){.stream = stream, .peer = peer, .whole = whole, .told_ns = sc_now_ns()};
    stream->reader = request;
    request->of_handler = reader;
    request->free_handler = on_left;
    request->more = on_more;
    return true;
}

/* ---- answers as one text ---- */

/* [a, b] of a batch, else the one. NULL: there is none, or memory ran out. */
static char *join_answers(const struct mcp_stream *stream, size_t *ret_len)
{
    const struct mcp_event *event;
    struct sc_buf text;
    size_t n = 0;
    int r = 0;
    sc_buf_init(&text, MCP_LOG_ALL_MAX);
    TAILQ_FOREACH(event, &stream->events, entry)
    {
        if (!event->is_answer || r < 0)
            continue;
        if (stream->is_batch)
            r = sc_buf_add_str(&text, n ? "," : "[");
        if (r == 0)
            r = sc_buf_add(&text, event->text, event->len);
        n++;
    }
    if (r == 0 && n && stream->is_batch)
        r = sc_buf_add_str(&text, "]");
    char *whole = r == 0 && n ? sc_buf_steal(&text, ret_len) : NULL;
    sc_buf_fini(&text);
    return whole;
}

static void give_whole(struct request *request, struct mcp_stream *stream)
{
    size_t len = 0;
    if (!stream->is_over)
        return;
    char *text = join_answers(stream, &len);
    detach(request);
    if (stream->is_lost)
        problem(request, "overloaded", "", "the answer is too large for what is free here now");
    else if (text)
        answer_text(request, MHD_HTTP_OK, "application/json", text, len);
    else
        mcp_refuse(request, MHD_HTTP_CONFLICT, CANCELLED, "the request was cancelled");
    if (stream->is_lost)
        free(text);
    mcp_log_drop(stream); /* nobody was told its events' ids */
}

/* ---- events ---- */

static size_t backlog(const struct request *request)
{
    return request->out.len - request->out_at;
}

static void write_text(struct request *request, const char *text)
{
    stream_bytes(request, text, strlen(text));
}

static void write_event(struct request *request, const struct mcp_stream *stream,
                        const struct mcp_event *event)
{
    char id[MCP_EVENT_ID];
    mcp_log_place(stream, id); /* the event is the last that was taken */
    write_text(request, "id: ");
    write_text(request, id);
    write_text(request, "\nevent: message\ndata: ");
    stream_bytes(request, event->text, event->len);
    write_text(request, "\n\n");
}

/* An answer goes in a piece of its own: some clients forget what stood before it in the same one. */
static void give_events(struct request *request, struct mcp_stream *stream)
{
    struct mcp_reader *reader = request->of_handler;
    while (stream->next && backlog(request) < SC_GATE_WINDOW &&
           !(stream->next->is_answer && backlog(request))) {
        const struct mcp_event *event = mcp_log_next(stream);
        write_event(request, stream, event);
        reader->told_ns = sc_now_ns();
    }
    if (stream->next || !stream->is_over)
        return;
    bool is_lost = stream->is_lost;
    detach(request);
    if (is_lost)
        stream_break(request);
    else
        stream_end(request);
}

static void prime(struct request *request, const struct mcp_stream *stream)
{
    char id[MCP_EVENT_ID];
    mcp_log_place(stream, id);
    write_text(request, "id: ");
    write_text(request, id);
    write_text(request, "\nretry: " RETRY "\ndata: \n\n");
}

static void on_more(struct request *request)
{
    struct mcp_reader *reader = request->of_handler;
    uint64_t now = sc_now_ns();
    if (reader->whole) {
        /* A client that is gone is told nothing; its connection ends. */
        if (request->out_broken)
            mcp_refuse(request, MHD_HTTP_CONFLICT, CANCELLED, "the client is gone");
        return;
    }
    if (now - reader->told_ns > SIGN_OF_LIFE_NS && backlog(request) == 0) {
        write_text(request, ": alive\n\n");
        reader->told_ns = now;
    }
    give_events(request, reader->stream);
}

/* ---- what others see ---- */

void mcp_read_begin(struct request *request, struct mcp_stream *stream, struct mcp_peer *peer, bool primes)
{
    if (!attach(request, stream, peer, false))
        return;
    answer_stream(request, MHD_HTTP_OK, "text/event-stream");
    answer_header(request, "X-Accel-Buffering", "no");
    if (primes)
        prime(request, stream);
    give_events(request, stream);
}

void mcp_read_whole(struct request *request, struct mcp_stream *stream, struct mcp_peer *peer)
{
    if (attach(request, stream, peer, true))
        give_whole(request, stream);
}

void mcp_read_on(struct mcp_stream *stream)
{
    struct request *request = stream->reader;
    const struct mcp_reader *reader = request ? request->of_handler : NULL;
    if (!reader)
        return;
    if (reader->whole)
        give_whole(request, stream);
    else
        give_events(request, stream);
}

void mcp_read_end(struct mcp_stream *stream)
{
    struct request *request = stream->reader;
    if (!request)
        return;
    bool whole = ((struct mcp_reader *)request->of_handler)->whole;
    detach(request);
    if (whole)
        mcp_refuse(request, MHD_HTTP_NOT_FOUND, MCP_NO_SESSION, "the session has ended");
    else
        stream_end(request);
}
