/* Events of a run: the keeper's streams cut into pieces that are text wherever the bytes are. */
#include "gate/follow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

#define CHARACTER_MAX 4

struct follow {
    struct request *request;
    follow_started *started;
    follow_room *room;
    bool begun;
    struct lines displays, events;
    uint8_t tail[2][CHARACTER_MAX]; /* of stdout, stderr: a character that is not whole yet */
    size_t tail_len[2];
};

/* ---- pieces of output ---- */

size_t follow_unfinished(const uint8_t *data, size_t len)
{
    for (size_t back = 1; back < CHARACTER_MAX && back <= len; back++) {
        uint8_t byte = data[len - back];
        if ((byte & 0xc0) == 0x80)
            continue;
        size_t whole = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
        return whole > back ? back : 0;
    }
    return 0;
}

static void begin_stream(struct follow *follow, json_t *start)
{
    struct request *request = follow->request;
    if (follow->begun) {
        json_decref(start);
        return;
    }
    follow->begun = true;
    answer_stream(request, MHD_HTTP_OK,
                  request->framing == FRAMING_SSE ? "text/event-stream" : "application/x-ndjson");
    stream_event(request, "start", start ? start : json_object());
}

static json_t *text_of(const void *data, size_t len)
{
    struct sc_buf text, exact;
    json_t *value = NULL;
    if (sc_utf8_valid(data, len))
        return json_pack("{s:o}", "text", json_stringn(data, len));
    sc_buf_init(&text, 3 * len + 1);
    sc_buf_init(&exact, 2 * len + 8);
    if (sc_utf8_replace(&text, data, len) == 0 && sc_b64_encode(&exact, data, len) == 0)
        value = json_pack("{s:o, s:o}", "text", json_stringn((char *)text.data, text.len), "b64",
                          json_stringn((char *)exact.data, exact.len));
    sc_buf_fini(&text);
    sc_buf_fini(&exact);
    return value;
}

static void emit(struct follow *follow, bool error, const void *data, size_t len)
{
    if (len)
        stream_event(follow->request, error ? "stderr" : "stdout", text_of(data, len));
}

static void pass_output(struct follow *follow, bool error, const void *data, size_t len)
{
    uint8_t *tail = follow->tail[error];
    size_t *tail_len = &follow->tail_len[error], left;
    struct sc_buf whole;
    sc_buf_init(&whole, len + CHARACTER_MAX);
    if (sc_buf_add(&whole, tail, *tail_len) < 0 || sc_buf_add(&whole, data, len) < 0) {
        stream_break(follow->request);
    } else {
        left = follow_unfinished(whole.data, whole.len);
        emit(follow, error, whole.data, whole.len - left);
        memcpy(tail, whole.data + whole.len - left, left);
        *tail_len = left;
    }
    sc_buf_fini(&whole);
}

static void on_display(void *userdata, const char *text, size_t len)
{
    struct follow *follow = userdata;
    stream_event_text(follow->request, "display", text, len);
}

static void on_event_line(void *userdata, const char *text, size_t len)
{
    struct follow *follow = userdata;
    json_t *value = NULL;
    json_error_t where;
    if (sc_json_load(text, len, JSON_ALLOW_NUL, &value, &where) < 0)
        return;
    json_t *started = json_object_get(value, "started");
    if (json_is_object(started) && follow->started && !follow->begun) {
        follow->started(follow->request, follow->request->ask, started);
        begin_stream(follow, json_incref(started));
    }
    json_decref(value);
}

static void on_output(void *userdata, enum sc_keeper_stream stream, const void *data, size_t len)
{
    struct request *request = userdata;
    struct follow *follow = request->of_handler;
    if (stream == SC_KEEPER_EVENTS) {
        lines_add(&follow->events, data, len, on_event_line, follow);
        return;
    }
    begin_stream(follow, NULL);
    if (stream == SC_KEEPER_DISPLAYS)
        lines_add(&follow->displays, data, len, on_display, follow);
    else
        pass_output(follow, stream == SC_KEEPER_STDERR, data, len);
}

/* ---- the end ---- */

static void tell_denials(struct request *request, const char *ok, size_t len)
{
    json_t *result = NULL, *denial;
    json_error_t where;
    size_t i;
    if (sc_json_load(ok, len, JSON_ALLOW_NUL, &result, &where) < 0)
        return;
    json_array_foreach(json_object_get(result, "denials"), i, denial)
    {
        stream_event(request, "denial", json_incref(denial));
    }
    json_decref(result);
}

static void on_done(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct request *request = userdata;
    struct follow *follow = request->of_handler;
    request->ask = NULL;
    if (request->forget)
        request->forget(request);
    if (!ok && !follow->begun) {
        problem_keeper(request, error);
        return;
    }
    begin_stream(follow, NULL);
    for (int i = 0; i < 2; i++)
        emit(follow, i, follow->tail[i], follow->tail_len[i]);
    if (ok) {
        tell_denials(request, ok, len);
        stream_event_text(request, "end", ok, len);
    } else {
        unsigned status;
        const char *kind = json_string_value(json_object_get(error, "kind"));
        const char *field = json_string_value(json_object_get(error, "field"));
        const char *message = json_string_value(json_object_get(error, "message"));
        char *text =
            problem_text(kind ? kind : "sandbox", field ? field : "", message ? message : "", error, &status);
        if (text)
            stream_event_text(request, "error", text, strlen(text));
        free(text);
    }
    stream_end(request);
}

static void free_follow(struct request *request)
{
    struct follow *follow = request->of_handler;
    lines_fini(&follow->displays);
    lines_fini(&follow->events);
    free(follow);
    request->of_handler = NULL;
}

static void on_credit(void *userdata)
{
    struct request *request = userdata;
    struct follow *follow = request->of_handler;
    if (follow->room)
        follow->room(request);
}

struct follow *follow_begin(struct request *request, json_t *message, follow_started *started,
                            follow_room *room)
{
    static const struct ask_events events = {.output = on_output, .credit = on_credit, .done = on_done};
    int why = 0;
    struct follow *follow = calloc(1, sizeof *follow);
    if (!follow) {
        json_decref(message);
        problem_begin(request, -ENOMEM);
        return NULL;
    }
    *follow = (struct follow){.request = request, .started = started, .room = room};
    request->of_handler = follow;
    request->free_handler = free_follow;
    request->ask = ask_begin(request->gate, message, request->person->token, true, &events, request, &why);
    if (!request->ask)
        problem_begin(request, why);
    return follow;
}
