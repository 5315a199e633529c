/* Code and commands: single runs, and those of a session. */
#include <string.h>

#include "gate/body.h"
#include "gate/follow.h"
#include "gate/visit.h"
#include "spec/lang.h"

/* In one piece, or as events when the client asks for them. */
static void run(struct request *request, json_t *message)
{
    request->framing = accepted_framing(request);
    if (request->framing == FRAMING_RAW)
        ask_and_answer(request, message, MHD_HTTP_OK);
    else
        (void)follow_begin(request, message, NULL, NULL);
}

/* Code in a language with a runner is run through it unless the client says otherwise: that is what waits
 * warm, and what tells values. */
static bool is_rich(const json_t *spec)
{
    const char *language = json_string_value(json_object_get(spec, "language"));
    json_t *args = json_object_get(spec, "args");
    return json_object_get(spec, "code") && !args && language &&
           (!strcmp(language, "python") || !strcmp(language, "node") || !strcmp(language, "bash"));
}

static void once(struct request *request, json_t *spec)
{
    bool streams = accepted_framing(request) != FRAMING_RAW;
    run(request, json_pack("{s:s, s:o, s:s}", "request", "once", "spec", spec, "output",
                           streams ? "stream" : "reply"));
}

/* ---- programs as they are: a command in a session of its own ---- */

static json_t *strings(const json_t *list)
{
    json_t *copy = json_is_array(list) ? json_copy((json_t *)list) : json_array();
    return copy;
}

/* Code becomes the file that plain runs have, and a command that runs it. 0, or it was answered. */
static int add_source(struct request *request, json_t *spec, json_t **ret_command)
{
    enum sc_lang lang = SC_LANG_AUTO;
    const char *name = json_string_value(json_object_get(spec, "language"));
    const struct sc_lang_row *row = name && sc_lang_by_name(name, &lang) == 0 ? sc_lang_row(lang) : NULL;
    if (!row || !row->source_name) {
        problem(request, "usage", "language",
                "language: is needed with code; allowed are python, node, bash, java");
        return -1;
    }
    json_t *files = strings(json_object_get(spec, "files"));
    json_t *arguments = json_object_get(spec, "args");
    (void)json_array_append_new(
        files, json_pack("{s:s, s:O}", "path", row->source_name, "content", json_object_get(spec, "code")));
    (void)json_object_set_new(spec, "files", files);
    *ret_command = json_pack("[s, s]", row->interpreter, row->source_name);
    if (json_is_array(arguments))
        (void)json_array_extend(*ret_command, arguments);
    return 0;
}

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
    static const char *const gone[] = {"command", "code",  "language",  "args",
                                       "mode",    "stdin", "stdin_b64", NULL};
    static const char *const kept[] = {"stdin", "stdin_b64", NULL};
    json_t *command = json_incref(json_object_get(spec, "command"));
    json_t *message = json_pack("{s:s}", "request", "exec");
    if (!command && add_source(request, spec, &command) < 0) {
        json_decref(message);
        json_decref(spec);
        return;
    }
    (void)json_object_set_new(message, "command", command);
    for (size_t i = 0; kept[i]; i++)
        if (json_object_get(spec, kept[i]))
            (void)json_object_set(message, kept[i], json_object_get(spec, kept[i]));
    for (size_t i = 0; gone[i]; i++)
        (void)json_object_del(spec, gone[i]);
    body_turn(request, message);
    json_decref(request->body);
    request->body = message;
    visit_begin(request, spec, go_plain);
}

void handle_run(struct request *request)
{
    static const char *const of_queue[] = {"priority", "deadline_ms", NULL};
    json_t *spec = body_spec(request, of_queue);
    if (!spec)
        return;
    const char *mode = json_string_value(json_object_get(spec, "mode"));
    bool code = json_is_string(json_object_get(spec, "code")),
         command = json_is_array(json_object_get(spec, "command"));
    if (code == command) {
        problem(request, "usage", code ? "command" : "code", "code, command: one of the two must be given");
        json_decref(spec);
        return;
    }
    if (!mode && is_rich(spec))
        (void)json_object_set_new(spec, "mode", json_string("rich"));
    mode = json_string_value(json_object_get(spec, "mode"));
    if (!mode || !strcmp(mode, "plain"))
        run_plain(request, spec);
    else
        once(request, spec);
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
