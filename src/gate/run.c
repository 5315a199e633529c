/* Code and commands: single runs, and those of a session. */
#include <string.h>

#include "gate/body.h"
#include "gate/follow.h"

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

void handle_run(struct request *request)
{
    bool streams = accepted_framing(request) != FRAMING_RAW;
    json_t *spec = body_spec(request, NULL);
    if (!spec)
        return;
    const json_t *mode = json_object_get(spec, "mode");
    if ((!mode || json_is_null(mode)) && is_rich(spec))
        (void)json_object_set_new(spec, "mode", json_string("rich"));
    run(request, json_pack("{s:s, s:o, s:s}", "request", "once", "spec", spec, "output",
                           streams ? "stream" : "reply"));
}

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
