/* Sessions: made, listed, told about, ended. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "gate/body.h"

#define LIST_STANDARD 1000

/* ---- made ---- */

static void on_made(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct request *request = userdata;
    json_t *value = NULL;
    json_error_t where;
    char place[128];
    request->ask = NULL;
    if (!ok) {
        problem_keeper(request, error);
        return;
    }
    (void)sc_json_load(ok, len, 0, &value, &where);
    const char *id = json_string_value(json_object_get(value, "session"));
    if (id) {
        snprintf(place, sizeof place, "/v1/sessions/%.64s", id);
        answer_json(request, MHD_HTTP_CREATED, json_incref(value));
        answer_header(request, "Location", place);
    } else {
        problem(request, "sandbox", "", "the keeper's answer could not be read");
    }
    json_decref(value);
}

void handle_session_create(struct request *request)
{
    static const struct ask_events events = {.done = on_made};
    static const char *const own[] = {"name",     "idle_ms",     "total_ms", "metadata",
                                      "priority", "deadline_ms", NULL};
    int why = 0;
    json_t *spec = body_spec(request, own);
    json_t *message = spec ? json_pack("{s:s, s:o}", "request", "session.start", "spec", spec) : NULL;
    if (!spec)
        return;
    for (size_t i = 0; own[i] && message; i++) {
        json_t *value = json_object_get(request->body, own[i]);
        if (value && json_object_set(message, own[i], value) < 0) {
            json_decref(message);
            message = NULL;
        }
    }
    request->ask = ask_begin(request->gate, message, request->person->token, false, &events, request, &why);
    if (!request->ask)
        problem_begin(request, why);
}

/* ---- listed ---- */

static bool has_metadata(const json_t *session, const char *wanted)
{
    char name[65];
    const char *equals = strchr(wanted, '=');
    size_t len = equals ? (size_t)(equals - wanted) : strlen(wanted);
    if (len >= sizeof name)
        return false;
    memcpy(name, wanted, len);
    name[len] = '\0';
    const char *value = json_string_value(json_object_get(json_object_get(session, "metadata"), name));
    return value && (!equals || !strcmp(value, equals + 1));
}

static bool is_wanted(const json_t *session, const json_t *query)
{
    const char *prefix = json_string_value(json_object_get(query, "prefix"));
    const char *metadata = json_string_value(json_object_get(query, "metadata"));
    const char *name = json_string_value(json_object_get(session, "session"));
    if (prefix && (!name || strncmp(name, prefix, strlen(prefix)) != 0))
        return false;
    return !metadata || has_metadata(session, metadata);
}

static void on_list(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct request *request = userdata;
    json_t *all = NULL, *wanted = json_array(), *session;
    json_error_t where;
    const json_t *limit = json_object_get(request->query, "limit");
    size_t i, most = limit ? (size_t)json_integer_value(limit) : LIST_STANDARD;
    request->ask = NULL;
    if (!ok || sc_json_load(ok, len, JSON_ALLOW_NUL, &all, &where) < 0) {
        json_decref(wanted);
        if (ok)
            problem(request, "sandbox", "", "the keeper's answer could not be read");
        else
            problem_keeper(request, error);
        return;
    }
    json_array_foreach(json_object_get(all, "sessions"), i, session)
    {
        if (json_array_size(wanted) < most && is_wanted(session, request->query))
            (void)json_array_append(wanted, session);
    }
    json_decref(all);
    answer_json(request, MHD_HTTP_OK, json_pack("{s:o}", "sessions", wanted));
}

void handle_session_list(struct request *request)
{
    static const struct ask_events events = {.done = on_list};
    int why = 0;
    request->ask = ask_begin(request->gate, json_pack("{s:s}", "request", "session.list"),
                             request->person->token, false, &events, request, &why);
    if (!request->ask)
        problem_begin(request, why);
}

/* ---- one of them ---- */

void handle_session_get(struct request *request)
{
    ask_and_answer(request, message_of(request, "session.info"), MHD_HTTP_OK);
}

/* Every request that names a session sets its idle clock back; this one does nothing else. */
void handle_keepalive(struct request *request)
{
    ask_and_answer(request, message_of(request, "session.info"), MHD_HTTP_OK);
}

void handle_session_delete(struct request *request)
{
    ask_and_answer(request, message_of(request, "session.end"), MHD_HTTP_OK);
}

static void on_info(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct request *request = userdata;
    json_t *info = NULL;
    json_error_t where;
    request->ask = NULL;
    if (!ok) {
        problem_keeper(request, error);
        return;
    }
    if (sc_json_load(ok, len, JSON_ALLOW_NUL, &info, &where) == 0)
        answer_json(request, MHD_HTTP_OK, json_incref(json_object_get(info, "usage")));
    else
        problem(request, "sandbox", "", "the keeper's answer could not be read");
    json_decref(info);
}

void handle_session_metrics(struct request *request)
{
    static const struct ask_events events = {.done = on_info};
    int why = 0;
    request->ask = ask_begin(request->gate, message_of(request, "session.info"), request->person->token,
                             false, &events, request, &why);
    if (!request->ask)
        problem_begin(request, why);
}

void handle_contexts(struct request *request)
{
    ask_and_answer(request, message_of(request, "context.list"), MHD_HTTP_OK);
}

void handle_context_restart(struct request *request)
{
    json_t *message = message_of(request, "context.restart");
    if (message)
        (void)json_object_set_new(message, "context", json_string(request->params[1]));
    ask_and_answer(request, message, MHD_HTTP_NO_CONTENT);
}

void handle_network(struct request *request)
{
    json_t *message = message_of(request, "session.network");
    if (message)
        (void)json_object_update(message, request->body);
    ask_and_answer(request, message, MHD_HTTP_NO_CONTENT);
}

void handle_interrupt(struct request *request)
{
    json_t *message = message_of(request, "run.interrupt");
    if (message)
        (void)json_object_update(message, request->body);
    ask_and_answer(request, message, MHD_HTTP_OK);
}
