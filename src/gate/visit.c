#include "gate/visit.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "gate/body.h"

/* Should this gate die in between, nobody comes back: the session's own clock ends it. */
#define IDLE_MS 10000

static void on_started(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct request *request = userdata;
    json_t *value = NULL;
    json_error_t where;
    request->ask = NULL;
    if (!ok) {
        problem_keeper(request, error);
        return;
    }
    (void)sc_json_load(ok, len, 0, &value, &where);
    const char *name = json_string_value(json_object_get(value, "session"));
    request->visit = name ? strdup(name) : NULL;
    json_decref(value);
    if (request->visit)
        request->go(request);
    else
        problem(request, "sandbox", "", "the keeper's answer could not be read");
}

json_t *visit_message(json_t *spec, const json_t *turn)
{
    json_t *message = json_pack("{s:s, s:o, s:i, s:f}", "request", "session.start", "spec", spec, "idle_ms",
                                IDLE_MS, "total_ms", SC_KEEPER_TOTAL_MS_MAX);
    if (message)
        body_turn(turn, message);
    return message;
}

void visit_begin(struct request *request, json_t *spec, void (*go)(struct request *request))
{
    static const struct ask_events events = {.done = on_started};
    int why = 0;
    json_t *message = visit_message(spec, request->body);
    request->go = go;
    request->ask = ask_begin(request->gate, message, request->person->token, false, &events, request, &why);
    if (!request->ask)
        problem_begin(request, why);
}

bool visit_is_gone(const json_t *error)
{
    const char *kind = json_string_value(json_object_get(error, "kind"));
    const char *field = json_string_value(json_object_get(error, "field"));
    return kind && field && !strcmp(kind, "not_found") && !strcmp(field, "session");
}

void visit_forget(struct gate *gate, const char *token, const char *session)
{
    static const struct ask_events nobody_listens = {NULL};
    int why;
    json_t *message = json_pack("{s:s, s:s}", "request", "session.end", "session", session);
    /* One that cannot be told ends by its clock. */
    (void)ask_begin(gate, message, token, false, &nobody_listens, NULL, &why);
}

void visit_end(struct request *request)
{
    if (!request->visit)
        return;
    visit_forget(request->gate, request->person->token, request->visit);
    free(request->visit);
    request->visit = NULL;
}
