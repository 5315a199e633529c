/* Handlers that need no thought: health, one question to the keeper and its answer. */
#include <string.h>

#include "gate/parts.h"

/* ---- one question, one answer ---- */

static void on_done(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct request *request = userdata;
    request->ask = NULL;
    if (!ok) {
        problem_keeper(request, error);
        return;
    }
    if (request->success == MHD_HTTP_NO_CONTENT) {
        answer_empty(request, request->success);
        return;
    }
    char *text = strndup(ok, len);
    answer_text(request, request->success, "application/json", text, text ? strlen(text) : 0);
}

void ask_and_answer(struct request *request, json_t *message, unsigned status)
{
    static const struct ask_events events = {.done = on_done};
    int why = 0;
    request->success = status;
    request->ask = ask_begin(request->gate, message, request->person->token, false, &events, request, &why);
    if (!request->ask)
        problem_begin(request, why);
}

json_t *message_of(struct request *request, const char *name)
{
    return json_pack("{s:s, s:s}", "request", name, "session", request->params[0] ? request->params[0] : "");
}

json_t *message_with_body(struct request *request, const char *name)
{
    json_t *message = message_of(request, name);
    if (message && json_object_update(message, request->body) == 0)
        return message;
    json_decref(message);
    return NULL; /* ask_begin tells that memory ran out */
}

/* ---- health ---- */

void handle_health(struct request *request)
{
    answer_json(request, MHD_HTTP_OK, json_pack("{s:s}", "status", "ok"));
}

/* Nobody is spoken for, so the keeper answers `unauthorized`: that it answers is all that is asked. */
static void on_word(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct request *request = userdata;
    const char *kind = json_string_value(json_object_get(error, "kind"));
    (void)len;
    request->ask = NULL;
    if (ok || (kind && !strcmp(kind, "unauthorized")))
        answer_json(request, MHD_HTTP_OK, json_pack("{s:s}", "status", "ready"));
    else
        problem_keeper(request, error);
}

/* Ready: the keeper answers, and the service is not ending. */
void handle_ready(struct request *request)
{
    static const struct ask_events events = {.done = on_word};
    int why = 0;
    if (request->gate->draining) {
        problem(request, "draining", "", "the service is ending and takes no new requests");
        return;
    }
    request->ask = ask_begin(request->gate, json_pack("{s:s}", "request", "session.list"), NULL, false,
                             &events, request, &why);
    if (!request->ask)
        problem_begin(request, why);
}

void handle_templates(struct request *request)
{
    ask_and_answer(request, json_pack("{s:s}", "request", "templates"), MHD_HTTP_OK);
}

void handle_host(struct request *request)
{
    ask_and_answer(request, json_pack("{s:s}", "request", "host"), MHD_HTTP_OK);
}
