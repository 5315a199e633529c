/* Debug mode: older clients then speak to two fixed ports of loopback, without a key and without naming a
 * sandbox. Behind these stands one sandbox, made when the first of them comes and again when it has ended. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "gate/e2b/memory.h"

#define TIME_MS (24 * 3600 * 1000)

/* ---- those who wait ---- */

static bool waits(const struct request *request)
{
    return request->person->debug && !request->identified && !request->answered && !request->ask;
}

/* Whose request may go on, or is refused with an error. */
static void settle(struct gate *gate, const json_t *error)
{
    struct request *request, *next;
    gate->e2b->debug_is_making = false;
    for (request = TAILQ_FIRST(&gate->requests); request; request = next) {
        next = TAILQ_NEXT(request, entry);
        if (!waits(request))
            continue;
        if (error) {
            problem_keeper(request, error);
        } else {
            request->identified = true;
            body_wake(request);
        }
    }
}

static void fail(struct gate *gate)
{
    json_t *error = json_pack("{s:s, s:s, s:s}", "kind", "sandbox", "field", "", "message",
                              "the sandbox could not be made");
    settle(gate, error);
    json_decref(error);
}

/* ---- made: identify, session.start, session.access ---- */

static json_t *value_of(const char *ok, size_t len)
{
    json_t *value = NULL;
    json_error_t where;
    if (sc_json_load(ok, len, JSON_ALLOW_NUL, &value, &where) < 0)
        return NULL;
    return value;
}

static void ask(struct gate *gate, json_t *message, const char *as, const struct ask_events *events)
{
    int why = 0;
    if (!ask_begin(gate, message, as, false, events, gate, &why))
        fail(gate);
}

static void on_access(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct gate *gate = userdata;
    json_t *value = ok ? value_of(ok, len) : NULL;
    const char *secret = e2b_text(value, "access");
    if (secret)
        snprintf(gate->e2b->debug_secret, sizeof gate->e2b->debug_secret, "%s", secret);
    if (secret || error)
        settle(gate, error);
    else
        fail(gate);
    json_decref(value);
}

static void on_started(void *userdata, const char *ok, size_t len, const json_t *error)
{
    static const struct ask_events events = {.done = on_access};
    struct gate *gate = userdata;
    json_t *value = ok ? value_of(ok, len) : NULL;
    const char *id = e2b_text(value, "session");
    if (id) {
        snprintf(gate->e2b->debug_session, sizeof gate->e2b->debug_session, "%s", id);
        ask(gate, json_pack("{s:s, s:s}", "request", "session.access", "session", id), gate->e2b->debug_as,
            &events);
    } else if (error) {
        settle(gate, error);
    } else {
        fail(gate);
    }
    json_decref(value);
}

static void on_identified(void *userdata, const char *ok, size_t len, const json_t *error)
{
    static const struct ask_events events = {.done = on_started};
    struct gate *gate = userdata;
    json_t *value = ok ? value_of(ok, len) : NULL;
    const char *token = e2b_text(value, "token");
    bool network = json_is_true(json_object_get(value, "network"));
    if (token) {
        json_t *spec = json_pack("{s:s, s:{s:s}}", "template", e2b_template("code-interpreter-v1"), "network",
                                 "mode", network ? "open" : "none");
        if (spec && gate->options->e2b_accepts)
            (void)json_object_set(spec, "allow_degraded", gate->options->e2b_accepts);
        snprintf(gate->e2b->debug_as, sizeof gate->e2b->debug_as, "%s", token);
        ask(gate,
            json_pack("{s:s, s:o, s:{s:s}, s:i, s:i}", "request", "session.start", "spec", spec, "metadata",
                      "e2b..template", "code-interpreter-v1", "idle_ms", TIME_MS, "total_ms", TIME_MS),
            token, &events);
    } else if (error) {
        settle(gate, error);
    } else {
        fail(gate);
    }
    json_decref(value);
}

static void make(struct gate *gate)
{
    static const struct ask_events events = {.done = on_identified};
    *gate->e2b->debug_session = '\0';
    if (gate->e2b->debug_is_making)
        return;
    gate->e2b->debug_is_making = true;
    ask(gate, json_pack("{s:s, s:s}", "request", "identify", "key", gate->options->e2b_key), NULL, &events);
}

/* ---- asked for ---- */

static void on_there(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct request *request = userdata;
    (void)len;
    (void)error;
    request->ask = NULL;
    if (ok) {
        request->identified = true;
        body_wake(request);
    } else if (!request->out_broken) {
        make(request->gate);
    }
}

int e2b_debug_enter(struct request *request)
{
    static const struct ask_events events = {.done = on_there};
    struct e2b *memory = memory_of(request->gate);
    int why = -ENOMEM;
    if (!memory) {
        problem_begin(request, why);
        return 0;
    }
    if (!*memory->debug_session || memory->debug_is_making) {
        make(request->gate);
        return 0;
    }
    request->ask = ask_begin(request->gate,
                             json_pack("{s:s, s:s, s:s}", "request", "session.info", "session",
                                       memory->debug_session, "access", memory->debug_secret),
                             NULL, false, &events, request, &why);
    if (!request->ask)
        problem_begin(request, why);
    return 0;
}
