/* Code and commands: single runs, and those of a session. */
#include "gate/body.h"
#include "gate/follow.h"
#include "gate/single.h"
#include "gate/visit.h"

/* In one piece, or as events when the client asks for them. */
static void run(struct request *request, json_t *message)
{
    request->framing = accepted_framing(request);
    if (request->framing == FRAMING_RAW)
        ask_and_answer(request, message, MHD_HTTP_OK);
    else
        (void)follow_begin(request, message, NULL, NULL);
}

static void once(struct request *request, json_t *spec)
{
    bool streams = accepted_framing(request) != FRAMING_RAW;
    run(request, json_pack("{s:s, s:o, s:s}", "request", "once", "spec", spec, "output",
                           streams ? "stream" : "reply"));
}

/* ---- programs as they are: a command in a session of its own ---- */

/* request->body is the message by now. */
static void go_plain(struct request *request)
{
    bool streams = accepted_framing(request) != FRAMING_RAW;
    json_t *message = json_copy(request->body);
    if (message) {
        (void)json_object_del(message, "priority");
        (void)json_object_del(message, "deadline_ms");
        (void)json_object_set_new(message, "session", json_string(request->visit));
        (void)json_object_set_new(message, "output", json_string(streams ? "stream" : "reply"));
    }
    run(request, message);
}

static void run_plain(struct request *request, json_t *spec)
{
    struct sc_err err = {0};
    json_t *message = NULL;
    if (single_split(spec, &message, &err) < 0) {
        problem_err(request, &err);
        json_decref(spec);
        return;
    }
    body_turn(request->body, message);
    json_decref(request->body);
    request->body = message;
    visit_begin(request, spec, go_plain);
}

void handle_run(struct request *request)
{
    static const char *const of_queue[] = {"priority", "deadline_ms", NULL};
    struct sc_err err = {0};
    bool plain = false;
    json_t *spec = body_spec(request, of_queue);
    if (!spec)
        return;
    if (single_kind(spec, &plain, &err) < 0) {
        problem_err(request, &err);
        json_decref(spec);
    } else if (plain) {
        run_plain(request, spec);
    } else {
        once(request, spec);
    }
}

/* ---- tasks ---- */

void handle_judge(struct request *request)
{
    json_t *task = json_copy(request->body);
    (void)json_object_del(task, "priority");
    (void)json_object_del(task, "deadline_ms");
    json_t *message = json_pack("{s:s, s:o}", "request", "judge", "judge", task);
    if (message)
        body_turn(request->body, message);
    ask_and_answer(request, message, MHD_HTTP_OK);
}

/* ---- code that is only read ---- */

static void go_check(struct request *request)
{
    json_t *message = json_copy(request->body);
    if (message) {
        (void)json_object_set_new(message, "request", json_string("check"));
        (void)json_object_set_new(message, "session", json_string(request->visit));
    }
    ask_and_answer(request, message, MHD_HTTP_OK);
}

void handle_check(struct request *request)
{
    static const char *const of_check[] = {"language", "code", "validate", NULL};
    json_t *spec = body_spec(request, of_check);
    if (!spec)
        return;
    (void)json_object_del(request->body, "allow_degraded");
    visit_begin(request, spec, go_check);
}

/* ---- in a session ---- */

void handle_session_run(struct request *request)
{
    json_t *message = body_message(request, "run", accepted_framing(request) != FRAMING_RAW);
    if (message)
        run(request, message);
}

void handle_session_exec(struct request *request)
{
    json_t *message = body_message(request, "exec", accepted_framing(request) != FRAMING_RAW);
    if (message)
        run(request, message);
}
