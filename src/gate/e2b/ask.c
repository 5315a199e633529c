/* Handlers ask the keeper one thing after another; between two steps nothing of theirs is on a stack. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "gate/e2b/memory.h"

static void free_call(struct request *request)
{
    struct e2b_call *call = request->of_handler;
    if (call->free_state)
        call->free_state(request);
    seeking_free(call->seeking);
    lines_fini(&call->lines);
    json_decref(call->collected);
    json_decref(call->body);
    explicit_bzero(call->access, sizeof call->access);
    free(call);
    request->of_handler = NULL;
}

struct e2b_call *e2b_call(struct request *request)
{
    if (request->of_handler)
        return request->of_handler;
    request->of_handler = calloc(1, sizeof(struct e2b_call));
    if (!request->of_handler) {
        problem_begin(request, -ENOMEM);
        return NULL;
    }
    request->free_handler = free_call;
    return request->of_handler;
}

void *e2b_state(struct request *request, size_t size, void (*free_state)(struct request *request))
{
    struct e2b_call *call = e2b_call(request);
    if (!call)
        return NULL;
    call->state = calloc(1, size);
    if (call->state)
        call->free_state = free_state;
    else
        problem_begin(request, -ENOMEM);
    return call->state;
}

int e2b_address(struct request *request, json_t *message)
{
    const struct e2b_call *call = request->of_handler;
    int r = 0;
    if (*call->session && !json_object_get(message, "session"))
        r = json_object_set_new(message, "session", json_string(call->session));
    if (r == 0 && *call->access)
        r = json_object_set_new(message, "access", json_string(call->access));
    else if (r == 0)
        r = json_object_set_new(message, "as", json_string(request->person->token));
    return r < 0 ? -ENOMEM : 0;
}

static void on_line(void *userdata, const char *text, size_t len)
{
    struct request *request = userdata;
    struct e2b_call *call = request->of_handler;
    json_t *value = NULL;
    json_error_t where;
    if (sc_json_load(text, len, JSON_ALLOW_NUL, &value, &where) == 0 && call->collected)
        (void)json_array_append_new(call->collected, value);
}

static void on_output(void *userdata, enum sc_keeper_stream stream, const void *data, size_t len)
{
    struct request *request = userdata;
    struct e2b_call *call = request->of_handler;
    if (stream == SC_KEEPER_EVENTS)
        lines_add(&call->lines, data, len, on_line, request);
}

static void on_done(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct request *request = userdata;
    struct e2b_call *call = request->of_handler;
    json_t *value = NULL, *lines = call->collected;
    json_error_t where;
    request->ask = NULL;
    call->collected = NULL;
    if (ok && *call->access)
        memory_know(request->gate, call->session, call->access);
    if (ok && sc_json_load(ok, len, JSON_ALLOW_NUL | JSON_DECODE_ANY, &value, &where) < 0)
        problem(request, "sandbox", "", "the keeper's answer could not be read");
    else if (request->out_broken)
        problem(request, "cancelled", "", "the client has gone");
    else
        call->next(request, &(struct e2b_said){.ok = value, .error = error, .lines = lines});
    json_decref(value);
    json_decref(lines);
}

void e2b_ask(struct request *request, json_t *message, bool streams, e2b_next *next)
{
    static const struct ask_events events = {.output = on_output, .done = on_done};
    struct e2b_call *call = e2b_call(request);
    int why = -ENOMEM;
    if (!call || !message || e2b_address(request, message) < 0) {
        json_decref(message);
        if (call)
            problem_begin(request, -ENOMEM);
        return;
    }
    call->next = next;
    lines_fini(&call->lines);
    json_decref(call->collected);
    call->collected = streams ? json_array() : NULL;
    request->ask = ask_begin(request->gate, message, NULL, streams, &events, request, &why);
    if (!request->ask)
        problem_begin(request, why);
}

bool e2b_fine(struct request *request, const struct e2b_said *said)
{
    if (said->error)
        problem_keeper(request, said->error);
    return !said->error;
}
