/* The control plane: sandboxes made, told about, kept alive, ended. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "gate/e2b/sandbox.h"
#include "gate/e2b/memory.h"

/* The sandbox that the path names. False: it was answered. */
bool sandbox_named(struct request *request)
{
    struct e2b_call *call = e2b_call(request);
    const char *id = request->params[0];
    if (!call)
        return false;
    if (strlen(id) > 64 ||
        strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != strlen(id)) {
        problem(request, "not_found", "session", "there is no such sandbox");
        return false;
    }
    memcpy(call->session, id, strlen(id) + 1);
    return true;
}

static json_t *message_named(const char *name)
{
    return json_pack("{s:s}", "request", name);
}

/* ---- what a client may work with ---- */

void given_free(struct request *request)
{
    struct e2b_call *call = request->of_handler;
    struct given *given = call->state;
    json_decref(given->all);
    free(given->template_id);
    free(given);
}

/* `domain` is what clients make names of ports with; without one they would take E2B's own. */
json_t *sandbox_object(const struct request *request, const char *template_id, const char *id,
                       const char *secret)
{
    char token[E2B_TOKEN + 1], room[32];
    snprintf(token, sizeof token, "%s%s", id, secret);
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s?}", "templateID", template_id, "sandboxID", id,
                  "clientID", "snapcell", "envdVersion", E2B_ENVD_VERSION, "envdAccessToken", token,
                  "trafficAccessToken", token, "domain", who_domain(request, room, sizeof room));
    explicit_bzero(token, sizeof token);
    return object;
}

static void on_access(struct request *request, const struct e2b_said *said)
{
    struct e2b_call *call = request->of_handler;
    const struct given *given = call->state;
    if (!e2b_fine(request, said))
        return;
    const char *secret = e2b_text(said->ok, "access");
    memory_know(request->gate, call->session, secret);
    answer_json(request, given->status, sandbox_object(request, given->template_id, call->session, secret));
}

void sandbox_give(struct request *request)
{
    e2b_ask(request, message_named("session.access"), false, on_access);
}

/* ---- made ---- */

static void on_started(struct request *request, const struct e2b_said *said)
{
    struct e2b_call *call = request->of_handler;
    const char *kind = e2b_text(said->error, "kind"), *field = e2b_text(said->error, "field");
    if (kind && field && !strcmp(kind, "usage") &&
        (!strcmp(field, "template") || !strcmp(field, "spec.template"))) {
        sandbox_from_snapshot(request, said->error);
        return;
    }
    if (!e2b_fine(request, said))
        return;
    const char *id = e2b_text(said->ok, "session");
    snprintf(call->session, sizeof call->session, "%s", id ? id : "");
    sandbox_give(request);
}

void e2b_handle_create(struct request *request)
{
    struct given *given = e2b_state(request, sizeof *given, given_free);
    if (!given || !e2b_read_body(request))
        return;
    struct e2b_call *call = request->of_handler;
    json_t *message = e2b_start_message(request);
    if (!message)
        return;
    given->template_id = strdup(e2b_text(call->body, "templateID"));
    given->status = MHD_HTTP_CREATED;
    e2b_ask(request, message, false, on_started);
}

/* ---- found again ---- */

static void on_lengthened(struct request *request, const struct e2b_said *said)
{
    if (e2b_fine(request, said))
        sandbox_give(request);
}

/* Of one of ours; else it was answered. */
bool sandbox_is_ours(struct request *request, const struct e2b_said *said)
{
    if (!e2b_fine(request, said))
        return false;
    if (e2b_is_sandbox(said->ok))
        return true;
    problem(request, "not_found", "session", "there is no such sandbox");
    return false;
}

static void on_found(struct request *request, const struct e2b_said *said)
{
    struct e2b_call *call = request->of_handler;
    struct given *given = call->state;
    if (!sandbox_is_ours(request, said))
        return;
    given->template_id = strdup(e2b_text(json_object_get(said->ok, "metadata"), "e2b..template"));
    const char *state = e2b_text(said->ok, "state");
    if (state && !strcmp(state, "paused")) {
        given->status = MHD_HTTP_CREATED;
        sandbox_resume(request);
        return;
    }
    if (json_integer_value(json_object_get(said->ok, "left_ms")) >= given->timeout_ms) {
        sandbox_give(request);
        return;
    }
    json_t *message = message_named("session.time");
    if (message)
        (void)json_object_set_new(message, "left_ms", json_integer(given->timeout_ms));
    e2b_ask(request, message, false, on_lengthened);
}

void e2b_handle_connect(struct request *request)
{
    static const char *const names[] = {"timeout", "memory", "autoPause", NULL};
    struct given *given = e2b_state(request, sizeof *given, given_free);
    if (!given || !sandbox_named(request) || !e2b_read_body(request))
        return;
    struct e2b_call *call = request->of_handler;
    if (!e2b_only(request, call->body, names) || !(given->timeout_ms = e2b_timeout(request, "timeout")))
        return;
    given->status = MHD_HTTP_OK;
    e2b_ask(request, message_named("session.info"), false, on_found);
}

static void on_got(struct request *request, const struct e2b_said *said)
{
    char room[32];
    if (!sandbox_is_ours(request, said))
        return;
    json_t *told = e2b_describe(said->ok);
    const char *domain = who_domain(request, room, sizeof room);
    if (told && domain)
        (void)json_object_set_new(told, "domain", json_string(domain));
    answer_json(request, MHD_HTTP_OK, told);
}

void e2b_handle_get(struct request *request)
{
    if (sandbox_named(request))
        e2b_ask(request, message_named("session.info"), false, on_got);
}

/* ---- its time, its end ---- */

static void on_set(struct request *request, const struct e2b_said *said)
{
    if (e2b_fine(request, said))
        answer_empty(request, MHD_HTTP_NO_CONTENT);
}

static void set_time(struct request *request, const char *name)
{
    const char *const names[] = {name, NULL};
    struct e2b_call *call;
    json_int_t ms;
    if (!sandbox_named(request) || !e2b_read_body(request))
        return;
    call = request->of_handler;
    if (!e2b_only(request, call->body, names) || !(ms = e2b_timeout(request, name)))
        return;
    json_t *message = message_named("session.time");
    if (message)
        (void)json_object_set_new(message, "left_ms", json_integer(ms));
    e2b_ask(request, message, false, on_set);
}

void e2b_handle_timeout(struct request *request)
{
    set_time(request, "timeout");
}

void e2b_handle_refresh(struct request *request)
{
    set_time(request, "duration");
}

void e2b_handle_kill(struct request *request)
{
    if (sandbox_named(request))
        e2b_ask(request, message_named("session.end"), false, on_set);
}

/* ---- its network ---- */

void e2b_handle_network(struct request *request)
{
    char why[200] = "";
    json_t *network = NULL;
    if (!sandbox_named(request) || !e2b_read_body(request))
        return;
    struct e2b_call *call = request->of_handler;
    int r = e2b_network(call->body, &network, why, sizeof why);
    if (r < 0) {
        problem(request, "usage", "network", "%s", why);
        return;
    }
    json_t *message = json_pack("{s:s, s:o}", "request", "session.network", "network", network);
    e2b_ask(request, message, false, on_set);
}

/* ---- what others do ---- */

void e2b_handle_unserved(struct request *request)
{
    problem(request, "unsupported", "", "not served here; docs/e2b.md tells what is");
}
