/* Answers: whole ones, and streams that are written as the keeper speaks. A request that has nothing to say
 * is suspended, and its client's socket watched, so that one that has gone is noticed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/json.h"
#include "gate/parts.h"

/* ---- waiting ---- */

static void on_gone(void *userdata, uint32_t events)
{
    struct request *request = userdata;
    (void)events;
    watch_remove(request->gate, &request->gone);
    request->watched = false;
    request->out_broken = true;
    if (request->ask)
        ask_cancel(request->ask);
    else
        body_wake(request);
    /* A stream finds out by writing. */
    if (request->queued && request->suspended)
        body_wake(request);
}

void request_sleep(struct request *request)
{
    if (request->suspended)
        return;
    request->suspended = true;
    MHD_suspend_connection(request->connection);
    request->gone = (struct watch){.fd = request->person->sock, .ready = on_gone, .userdata = request};
    if (!request->out_broken)
        request->watched = watch_add(request->gate, &request->gone, EPOLLRDHUP) == 0;
}

void request_unwatch(struct request *request)
{
    if (request->watched)
        watch_remove(request->gate, &request->gone);
    request->watched = false;
}

void body_wake(struct request *request)
{
    if (!request->suspended)
        return;
    request->suspended = false;
    request_unwatch(request);
    MHD_resume_connection(request->connection);
    request->gate->daemon_ready = true;
}

/* ---- answers ---- */

static void set_answer(struct request *request, unsigned status, struct MHD_Response *response,
                       const char *type)
{
    if (request->answered) {
        if (response)
            MHD_destroy_response(response);
        return;
    }
    request->answered = true;
    request->status = status;
    request->response = response;
    if (response && type)
        (void)MHD_add_response_header(response, "Content-Type", type);
    if (response) {
        (void)MHD_add_response_header(response, "Cache-Control", "no-store");
        (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
        if (request->gate->draining)
            (void)MHD_add_response_header(response, "Connection", "close");
    }
    body_wake(request);
}

void answer_text(struct request *request, unsigned status, const char *type, char *text, size_t len)
{
    if (!text) {
        problem(request, "sandbox", "", "gate: out of memory");
        return;
    }
    struct MHD_Response *response = MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
    if (!response)
        free(text);
    set_answer(request, status, response, type);
}

void answer_json(struct request *request, unsigned status, json_t *value)
{
    char *text = sc_json_dump(value, JSON_COMPACT);
    json_decref(value);
    answer_text(request, status, "application/json", text, text ? strlen(text) : 0);
}

void answer_empty(struct request *request, unsigned status)
{
    set_answer(request, status, MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT), NULL);
}

bool answer_upgrade(struct request *request, MHD_UpgradeHandler handler, void *userdata)
{
    struct MHD_Response *response = MHD_create_response_for_upgrade(handler, userdata);
    if (!response) {
        problem(request, "sandbox", "", "gate: out of memory");
        return false;
    }
    set_answer(request, MHD_HTTP_SWITCHING_PROTOCOLS, response, NULL);
    return true;
}

void answer_header(struct request *request, const char *name, const char *value)
{
    if (request->response)
        (void)MHD_add_response_header(request->response, name, value);
}

enum MHD_Result answer_queue(struct request *request)
{
    struct gate *gate = request->gate;
    request->queued = true;
    gate->counters.by_class[request->status / 100 % 6]++;
    if (!request->response)
        return MHD_NO;
    enum MHD_Result r = MHD_queue_response(request->connection, request->status, request->response);
    MHD_destroy_response(request->response);
    request->response = NULL;
    return r;
}

/* ---- streams ---- */

static ssize_t give_stream(void *userdata, uint64_t at, char *room, size_t size)
{
    struct request *request = userdata;
    size_t left = request->out.len - request->out_at;
    (void)at;
    if (left == 0 && (request->out_broken || request->out_ended))
        return request->out_broken ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
    if (left == 0) {
        request_sleep(request);
        return 0;
    }
    size_t n = left < size ? left : size;
    memcpy(room, request->out.data + request->out_at, n);
    request->out_at += n;
    if (request->out_at == request->out.len) {
        request->out_at = 0;
        sc_buf_fini(&request->out);
    }
    if (request->ask && request->ask->link && request->out.len - request->out_at < SC_GATE_WINDOW / 2)
        link_pause(request->ask->link, false);
    if (request->more && request->out.len - request->out_at < SC_GATE_WINDOW / 2)
        request->more(request);
    return (ssize_t)n;
}

void answer_stream(struct request *request, unsigned status, const char *type)
{
    answer_stream_of(request, status, type, MHD_SIZE_UNKNOWN);
}

void answer_stream_of(struct request *request, unsigned status, const char *type, uint64_t size)
{
    struct MHD_Response *response =
        MHD_create_response_from_callback(size, 32 * 1024, give_stream, request, NULL);
    sc_buf_init(&request->out, 4 * (size_t)SC_KEEPER_REPLY_MAX);
    set_answer(request, status, response, type);
}

void stream_bytes(struct request *request, const void *data, size_t len)
{
    if (request->out_ended || request->out_broken || len == 0)
        return;
    if (!request->out.data)
        sc_buf_init(&request->out, 4 * (size_t)SC_KEEPER_REPLY_MAX);
    /* What was given already makes room once it is the larger part. */
    if (request->out_at > SC_GATE_WINDOW && request->out_at > request->out.len / 2) {
        memmove(request->out.data, request->out.data + request->out_at, request->out.len - request->out_at);
        request->out.len -= request->out_at;
        request->out_at = 0;
    }
    if (sc_buf_add(&request->out, data, len) < 0)
        request->out_broken = true;
    if (request->ask && request->ask->link && request->out.len - request->out_at > SC_GATE_WINDOW)
        link_pause(request->ask->link, true);
    body_wake(request);
}

void stream_event_text(struct request *request, const char *event, const char *text, size_t len)
{
    if (request->framing == FRAMING_SSE) {
        stream_bytes(request, "event: ", strlen("event: "));
        stream_bytes(request, event, strlen(event));
        stream_bytes(request, "\ndata: ", strlen("\ndata: "));
        stream_bytes(request, text, len);
        stream_bytes(request, "\n\n", 2);
        return;
    }
    stream_bytes(request, "{\"event\":\"", strlen("{\"event\":\""));
    stream_bytes(request, event, strlen(event));
    stream_bytes(request, "\",\"data\":", strlen("\",\"data\":"));
    stream_bytes(request, text, len);
    stream_bytes(request, "}\n", 2);
}

void stream_event(struct request *request, const char *event, json_t *value)
{
    char *text = sc_json_dump(value, JSON_COMPACT);
    json_decref(value);
    if (text)
        stream_event_text(request, event, text, strlen(text));
    else
        request->out_broken = true;
    free(text);
}

void stream_end(struct request *request)
{
    request->out_ended = true;
    body_wake(request);
}

void stream_break(struct request *request)
{
    request->out_broken = true;
    body_wake(request);
}

int accepted_framing(struct request *request)
{
    const char *accept = MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "Accept");
    if (accept && strcasestr(accept, "text/event-stream"))
        return FRAMING_SSE;
    if (accept && strcasestr(accept, "application/x-ndjson"))
        return FRAMING_NDJSON;
    return FRAMING_RAW;
}
