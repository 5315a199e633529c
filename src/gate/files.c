/* Files of a session: their bytes pass through here in pieces, whatever their size, at the pace of the slower
 * end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "gate/body.h"
#include "gate/follow.h"

static const char *path_of(const struct request *request)
{
    const char *query = json_string_value(json_object_get(request->query, "path"));
    return query ? query : request->params[1] ? request->params[1] : ".";
}

/* {"request", "session", "path"}, and those of the query that the keeper's request has too. */
static json_t *file_message(struct request *request, const char *name, const char *const *fields)
{
    json_t *message = message_of(request, name);
    int r = message ? json_object_set_new(message, "path", json_string(path_of(request))) : -1;
    for (; r == 0 && fields && *fields; fields++) {
        json_t *value = json_object_get(request->query, *fields);
        r = value ? json_object_set(message, *fields, value) : 0;
    }
    if (r < 0) {
        json_decref(message);
        message = NULL;
    }
    return message;
}

/* ---- out: bytes ---- */

static void on_bytes(void *userdata, enum sc_keeper_stream stream, const void *data, size_t len)
{
    struct request *request = userdata;
    if (stream != SC_KEEPER_STDOUT)
        return;
    if (!request->answered)
        answer_stream(request, MHD_HTTP_OK, request->route->answer);
    stream_bytes(request, data, len);
}

static void on_bytes_done(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct request *request = userdata;
    (void)len;
    request->ask = NULL;
    if (!ok && !request->answered) {
        problem_keeper(request, error);
        return;
    }
    if (!request->answered)
        answer_stream(request, MHD_HTTP_OK, request->route->answer);
    if (ok)
        stream_end(request);
    else
        stream_break(request);
}

static void begin(struct request *request, json_t *message, const struct ask_events *events)
{
    int why = 0;
    request->ask = ask_begin(request->gate, message, request->person->token, true, events, request, &why);
    if (!request->ask)
        problem_begin(request, why);
}

static void download(struct request *request, json_t *message)
{
    static const struct ask_events events = {.output = on_bytes, .done = on_bytes_done};
    begin(request, message, &events);
}

void handle_file_read(struct request *request)
{
    static const char *const fields[] = {"offset", "length", NULL};
    download(request, file_message(request, "file.read", fields));
}

void handle_tar_out(struct request *request)
{
    download(request, file_message(request, "file.tar_out", NULL));
}

/* ---- out: entries ---- */

struct listing {
    struct lines lines;
    struct request *request;
    bool one, some;
    const char *event; /* what a line is, of those that are followed */
};

static void free_listing(struct request *request)
{
    struct listing *listing = request->of_handler;
    lines_fini(&listing->lines);
    free(listing);
    request->of_handler = NULL;
}

static void on_entry(void *userdata, const char *text, size_t len)
{
    struct listing *listing = userdata;
    struct request *request = listing->request;
    if (!request->answered) {
        answer_stream(request, MHD_HTTP_OK, "application/json");
        if (!listing->one)
            stream_bytes(request, "{\"entries\":[", strlen("{\"entries\":["));
    }
    if (listing->some)
        stream_bytes(request, listing->one ? "" : ",", listing->one ? 0 : 1);
    listing->some = true;
    stream_bytes(request, text, len);
}

static void on_entries(void *userdata, enum sc_keeper_stream stream, const void *data, size_t len)
{
    struct request *request = userdata;
    struct listing *listing = request->of_handler;
    if (stream == SC_KEEPER_EVENTS)
        lines_add(&listing->lines, data, len, on_entry, listing);
}

static void on_entries_done(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct request *request = userdata;
    struct listing *listing = request->of_handler;
    (void)len;
    request->ask = NULL;
    if (!ok && !request->answered) {
        problem_keeper(request, error);
        return;
    }
    if (!ok) {
        stream_break(request);
        return;
    }
    if (!request->answered) {
        answer_json(request, MHD_HTTP_OK, json_pack("{s:[]}", "entries"));
        return;
    }
    if (!listing->one)
        stream_bytes(request, "]}", 2);
    stream_end(request);
}

static void list(struct request *request, json_t *message, bool one)
{
    static const struct ask_events events = {.output = on_entries, .done = on_entries_done};
    struct listing *listing = calloc(1, sizeof *listing);
    if (!listing) {
        json_decref(message);
        problem_begin(request, -ENOMEM);
        return;
    }
    *listing = (struct listing){.request = request, .one = one};
    request->of_handler = listing;
    request->free_handler = free_listing;
    begin(request, message, &events);
}

void handle_list(struct request *request)
{
    list(request, file_message(request, "file.list", NULL), false);
}

void handle_stat(struct request *request)
{
    list(request, file_message(request, "file.stat", NULL), true);
}

/* ---- out: changes ---- */

static void on_change(void *userdata, const char *text, size_t len)
{
    struct listing *listing = userdata;
    struct request *request = listing->request;
    bool started = len > 10 && !strncmp(text, "{\"started\"", 10);
    if (!request->answered)
        answer_stream(request, MHD_HTTP_OK,
                      request->framing == FRAMING_SSE ? "text/event-stream" : "application/x-ndjson");
    if (started)
        stream_event_text(request, "start", "{}", 2);
    else
        stream_event_text(request, listing->event, text, len);
}

static void on_changes(void *userdata, enum sc_keeper_stream stream, const void *data, size_t len)
{
    struct request *request = userdata;
    struct listing *listing = request->of_handler;
    if (stream == SC_KEEPER_EVENTS)
        lines_add(&listing->lines, data, len, on_change, listing);
}

static void on_changes_done(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct request *request = userdata;
    (void)len;
    request->ask = NULL;
    if (!ok && !request->answered) {
        problem_keeper(request, error);
        return;
    }
    stream_end(request);
}

static void follow_lines(struct request *request, json_t *message, const char *name)
{
    static const struct ask_events events = {.output = on_changes, .done = on_changes_done};
    struct listing *listing = calloc(1, sizeof *listing);
    if (!listing) {
        json_decref(message);
        problem_begin(request, -ENOMEM);
        return;
    }
    *listing = (struct listing){.request = request, .event = name};
    request->of_handler = listing;
    request->free_handler = free_listing;
    request->framing = accepted_framing(request);
    begin(request, message, &events);
}

void handle_watch(struct request *request)
{
    follow_lines(request, file_message(request, "file.watch", NULL), "change");
}

/* GET /v1/events: what happens in the service, as the keeper notes it. */
void handle_events(struct request *request)
{
    follow_lines(request, json_pack("{s:s}", "request", "events"), "note");
}

/* ---- in ---- */

static void on_credit(void *userdata)
{
    body_wake(userdata);
}

static void on_taken(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct request *request = userdata;
    request->ask = NULL;
    if (!ok) {
        problem_keeper(request, error);
        return;
    }
    char *text = strndup(ok, len);
    answer_text(request, request->route->status, "application/json", text, text ? strlen(text) : 0);
}

static void upload(struct request *request, json_t *message)
{
    static const struct ask_events events = {.credit = on_credit, .done = on_taken};
    begin(request, message, &events);
}

void handle_file_write(struct request *request)
{
    static const char *const fields[] = {"mode", NULL};
    bool append = json_is_true(json_object_get(request->query, "append"));
    upload(request, file_message(request, append ? "file.append" : "file.write", fields));
}

void handle_tar_in(struct request *request)
{
    upload(request, file_message(request, "file.tar_in", NULL));
}

/* ---- the rest ---- */

void handle_mkdir(struct request *request)
{
    static const char *const fields[] = {"mode", "parents", NULL};
    ask_and_answer(request, file_message(request, "file.mkdir", fields), MHD_HTTP_CREATED);
}

void handle_file_remove(struct request *request)
{
    static const char *const fields[] = {"recursive", NULL};
    ask_and_answer(request, file_message(request, "file.remove", fields), MHD_HTTP_OK);
}

void handle_file_change(struct request *request)
{
    json_t *to = json_object_get(request->body, "to"), *mode = json_object_get(request->body, "mode");
    if ((to != NULL) == (mode != NULL)) {
        problem(request, "usage", "to", "to, mode: one of the two must be given");
        return;
    }
    json_t *message = file_message(request, to ? "file.rename" : "file.chmod", NULL);
    if (message)
        (void)json_object_set(message, to ? "to" : "mode", to ? to : mode);
    ask_and_answer(request, message, MHD_HTTP_OK);
}
