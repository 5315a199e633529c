/* Copies of sessions: forks, snapshots, rollbacks, and sessions that begin from a snapshot. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "gate/body.h"

static void ask_it(struct request *request, json_t *message, const struct ask_events *events)
{
    int why = 0;
    request->ask = ask_begin(request->gate, message, request->person->token, false, events, request, &why);
    if (!request->ask)
        problem_begin(request, why);
}

/* ---- from a session ---- */

void handle_session_fork(struct request *request)
{
    ask_and_answer(request, message_with_body(request, "session.fork"), MHD_HTTP_CREATED);
}

static void on_kept(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct request *request = userdata;
    request->ask = NULL;
    if (ok)
        answer_made(request, ok, len, "snapshot", "/v1/snapshots/");
    else
        problem_keeper(request, error);
}

void handle_session_snapshot(struct request *request)
{
    static const struct ask_events events = {.done = on_kept};
    ask_it(request, message_with_body(request, "session.snapshot"), &events);
}

void handle_session_rollback(struct request *request)
{
    ask_and_answer(request, message_with_body(request, "session.rollback"), MHD_HTTP_OK);
}

/* ---- from a snapshot ---- */

/* The keeper's only copy, as what was made. What it calls the snapshot, the client has called `from`. */
static void on_started(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct request *request = userdata;
    json_t *value = NULL;
    json_error_t where;
    request->ask = NULL;
    if (!ok) {
        const char *field = json_string_value(json_object_get(error, "field"));
        json_t *told = json_copy((json_t *)error);
        if (told && field && !strcmp(field, "snapshot"))
            (void)json_object_set_new(told, "field", json_string("from"));
        problem_keeper(request, told ? told : error);
        json_decref(told);
        return;
    }
    (void)sc_json_load(ok, len, 0, &value, &where);
    json_t *made = json_pack("{s:O*}", "session", json_array_get(json_object_get(value, "sessions"), 0));
    char *text = sc_json_dump(made, JSON_COMPACT);
    answer_made(request, text ? text : "", text ? strlen(text) : 0, "session", "/v1/sessions/");
    free(text);
    json_decref(made);
    json_decref(value);
}

void session_start_from(struct request *request)
{
    static const struct ask_events events = {.done = on_started};
    static const char *const taken[] = {"name",     "idle_ms",         "total_ms", "metadata",
                                        "forkable", "inherit_secrets", NULL};
    const char *name;
    json_t *value;
    json_t *message = json_pack("{s:s, s:O}", "request", "snapshot.start", "snapshot",
                                json_object_get(request->body, "from"));
    json_object_foreach(request->body, name, value)
    {
        size_t i = 0;
        while (taken[i] && strcmp(taken[i], name) != 0)
            i++;
        if (taken[i] && message)
            (void)json_object_set(message, name, value);
        if (taken[i] || json_is_null(value) || !strcmp(name, "from"))
            continue;
        json_decref(message);
        problem(
            request, "usage", name,
            "%s: with from all is the snapshot's; allowed are name, idle_ms, total_ms, metadata, forkable, "
            "inherit_secrets",
            name);
        return;
    }
    ask_it(request, message, &events);
}

/* ---- snapshots ---- */

static json_t *message_about(const struct request *request, const char *name)
{
    return json_pack("{s:s, s:s}", "request", name, "snapshot", request->params[0] ? request->params[0] : "");
}

static void on_told(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct request *request = userdata;
    json_t *session = NULL;
    json_error_t where;
    request->ask = NULL;
    if (!ok)
        problem_keeper(request, error);
    else if (sc_json_load(ok, len, JSON_ALLOW_NUL, &session, &where) < 0)
        problem(request, "sandbox", "", "the keeper's answer could not be read");
    else
        answer_json(request, MHD_HTTP_OK, snapshot_of(session));
    json_decref(session);
}

void handle_snapshot_get(struct request *request)
{
    static const struct ask_events events = {.done = on_told};
    ask_it(request, message_about(request, "snapshot.info"), &events);
}

void handle_snapshot_delete(struct request *request)
{
    ask_and_answer(request, message_about(request, "snapshot.end"), MHD_HTTP_OK);
}
