/* Sessions: made, listed, told about, ended. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "gate/body.h"

#define LIST_STANDARD 1000

/* ---- made ---- */

void answer_made(struct request *request, const char *ok, size_t len, const char *member, const char *prefix)
{
    json_t *value = NULL;
    json_error_t where;
    char place[128];
    (void)sc_json_load(ok, len, 0, &value, &where);
    const char *id = json_string_value(json_object_get(value, member));
    if (id) {
        snprintf(place, sizeof place, "%s%.64s", prefix, id);
        answer_json(request, MHD_HTTP_CREATED, json_incref(value));
        answer_header(request, "Location", place);
    } else {
        problem(request, "sandbox", "", "the keeper's answer could not be read");
    }
    json_decref(value);
}

static void on_made(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct request *request = userdata;
    request->ask = NULL;
    if (ok)
        answer_made(request, ok, len, "session", "/v1/sessions/");
    else
        problem_keeper(request, error);
}

void handle_session_create(struct request *request)
{
    static const struct ask_events events = {.done = on_made};
    static const char *const own[] = {"name",     "idle_ms",     "total_ms", "metadata",
                                      "priority", "deadline_ms", "from",     NULL};
    int why = 0;
    const json_t *from = json_object_get(request->body, "from");
    if (from && !json_is_null(from)) {
        session_start_from(request);
        return;
    }
    if (json_is_true(json_object_get(request->body, "inherit_secrets"))) {
        problem(request, "usage", "inherit_secrets", "inherit_secrets: allowed with from");
        return;
    }
    (void)json_object_del(request->body, "inherit_secrets");
    json_t *spec = body_spec(request, own);
    json_t *message = spec ? json_pack("{s:s, s:o}", "request", "session.start", "spec", spec) : NULL;
    if (!spec)
        return;
    for (size_t i = 0; own[i] && message; i++) {
        json_t *value = json_object_get(request->body, own[i]);
        if (value && !json_is_null(value) && json_object_set(message, own[i], value) < 0) {
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

static bool is_snapshot(const json_t *session)
{
    const char *state = json_string_value(json_object_get(session, "state"));
    return state && !strcmp(state, "snapshot");
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

json_t *snapshot_of(const json_t *session)
{
    json_t *snapshot = json_copy((json_t *)session);
    if (!snapshot)
        return NULL;
    (void)json_object_set(snapshot, "snapshot", json_object_get(session, "session"));
    (void)json_object_del(snapshot, "session");
    (void)json_object_del(snapshot, "state");
    return snapshot;
}

/* Those of the keeper's list that are wanted; its own reference. */
static json_t *pick(const json_t *all, const json_t *query, bool snapshots)
{
    const json_t *limit = json_object_get(query, "limit");
    size_t i, most = limit ? (size_t)json_integer_value(limit) : LIST_STANDARD;
    json_t *wanted = json_array(), *session;
    json_array_foreach((json_t *)all, i, session)
    {
        if (json_array_size(wanted) < most && is_snapshot(session) == snapshots && is_wanted(session, query))
            (void)json_array_append_new(wanted, snapshots ? snapshot_of(session) : json_incref(session));
    }
    return wanted;
}

static void answer_list(struct request *request, const char *ok, size_t len, const json_t *error,
                        bool snapshots)
{
    json_t *all = NULL;
    json_error_t where;
    request->ask = NULL;
    if (!ok)
        problem_keeper(request, error);
    else if (sc_json_load(ok, len, JSON_ALLOW_NUL, &all, &where) < 0)
        problem(request, "sandbox", "", "the keeper's answer could not be read");
    else
        answer_json(request, MHD_HTTP_OK,
                    json_pack("{s:o}", snapshots ? "snapshots" : "sessions",
                              pick(json_object_get(all, "sessions"), request->query, snapshots)));
    json_decref(all);
}

static void on_sessions(void *userdata, const char *ok, size_t len, const json_t *error)
{
    answer_list(userdata, ok, len, error, false);
}

static void on_snapshots(void *userdata, const char *ok, size_t len, const json_t *error)
{
    answer_list(userdata, ok, len, error, true);
}

static void list(struct request *request, const struct ask_events *events)
{
    int why = 0;
    request->ask = ask_begin(request->gate, json_pack("{s:s}", "request", "session.list"),
                             request->person->token, false, events, request, &why);
    if (!request->ask)
        problem_begin(request, why);
}

void handle_session_list(struct request *request)
{
    static const struct ask_events events = {.done = on_sessions};
    list(request, &events);
}

void handle_snapshot_list(struct request *request)
{
    static const struct ask_events events = {.done = on_snapshots};
    list(request, &events);
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

void handle_session_pause(struct request *request)
{
    ask_and_answer(request, message_of(request, "session.pause"), MHD_HTTP_OK);
}

void handle_session_resume(struct request *request)
{
    ask_and_answer(request, message_with_body(request, "session.resume"), MHD_HTTP_OK);
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
    int r = sc_json_load(ok, len, JSON_ALLOW_NUL, &info, &where);
    json_t *usage = json_object_get(info, "usage");
    if (usage)
        answer_json(request, MHD_HTTP_OK, json_incref(usage));
    else if (r == 0)
        problem(request, "conflict", "session", "session: %s: it is paused; resume it first",
                request->params[0]);
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
    ask_and_answer(request, message_with_body(request, "session.network"), MHD_HTTP_NO_CONTENT);
}

void handle_interrupt(struct request *request)
{
    ask_and_answer(request, message_with_body(request, "run.interrupt"), MHD_HTTP_OK);
}
