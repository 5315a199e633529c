/* Sandboxes on disk and back, copies of them, and snapshots, as far as sessions have them: a pause keeps
 * files, no memory; what is to be copied must have been made for it. */
#include <stdlib.h>
#include <string.h>

#include "gate/e2b/memory.h"
#include "gate/e2b/sandbox.h"

#define IDLE_MS (24 * 3600 * 1000)
#define COPIES_MOST 64

static json_t *info(void)
{
    return json_pack("{s:s}", "request", "session.info");
}

/* ---- to disk and back ---- */

static void on_paused(struct request *request, const struct e2b_said *said)
{
    if (e2b_fine(request, said))
        answer_empty(request, MHD_HTTP_NO_CONTENT);
}

static void on_running(struct request *request, const struct e2b_said *said)
{
    const char *state = e2b_text(said->ok, "state");
    if (!sandbox_is_ours(request, said))
        return;
    if (state && !strcmp(state, "paused"))
        problem(request, "conflict", "", "the sandbox is paused already");
    else
        e2b_ask(request, json_pack("{s:s}", "request", "session.pause"), false, on_paused);
}

void e2b_handle_pause(struct request *request)
{
    static const char *const names[] = {"memory", NULL};
    if (!sandbox_named(request) || !e2b_read_body(request))
        return;
    const struct e2b_call *call = request->of_handler;
    if (!e2b_only(request, call->body, names))
        return;
    if (json_is_false(json_object_get(call->body, "memory")))
        e2b_ask(request, info(), false, on_running);
    else
        problem(request, "unsupported", "memory",
                "memory: cannot be kept: a pause keeps files alone, and must be asked for with memory: false "
                "(keepMemory: false)");
}

static void on_resumed(struct request *request, const struct e2b_said *said)
{
    if (e2b_fine(request, said))
        sandbox_give(request);
}

void sandbox_resume(struct request *request)
{
    const struct e2b_call *call = request->of_handler;
    const struct given *given = call->state;
    e2b_ask(request,
            json_pack("{s:s, s:i, s:I}", "request", "session.resume", "idle_ms", IDLE_MS, "total_ms",
                      given->timeout_ms),
            false, on_resumed);
}

static void on_resting(struct request *request, const struct e2b_said *said)
{
    struct e2b_call *call = request->of_handler;
    struct given *given = call->state;
    const char *state = e2b_text(said->ok, "state");
    if (!sandbox_is_ours(request, said))
        return;
    given->template_id = strdup(e2b_text(json_object_get(said->ok, "metadata"), "e2b..template"));
    if (state && !strcmp(state, "paused"))
        sandbox_resume(request);
    else
        problem(request, "conflict", "", "the sandbox is running already");
}

void e2b_handle_resume(struct request *request)
{
    static const char *const names[] = {"timeout", "autoPause", NULL};
    struct given *given = e2b_state(request, sizeof *given, given_free);
    if (!given || !sandbox_named(request) || !e2b_read_body(request))
        return;
    const struct e2b_call *call = request->of_handler;
    if (!e2b_only(request, call->body, names) || !(given->timeout_ms = e2b_timeout(request, "timeout")))
        return;
    if (json_is_true(json_object_get(call->body, "autoPause"))) {
        problem(request, "usage", "autoPause",
                "autoPause: a sandbox of this version ends at its time, it is not paused");
        return;
    }
    given->status = MHD_HTTP_CREATED;
    e2b_ask(request, info(), false, on_resting);
}

/* ---- copies ---- */

static void next_copy(struct request *request);

static void on_copy_access(struct request *request, const struct e2b_said *said)
{
    struct e2b_call *call = request->of_handler;
    struct given *given = call->state;
    if (!e2b_fine(request, said))
        return;
    const char *id = json_string_value(json_array_get(given->all, given->at));
    const char *secret = e2b_text(said->ok, "access");
    memory_know(request->gate, id, secret);
    json_t *one = json_pack("{s:o}", "sandbox", sandbox_object(request, given->template_id, id, secret));
    (void)json_array_set_new(given->all, given->at++, one);
    next_copy(request);
}

static void next_copy(struct request *request)
{
    struct e2b_call *call = request->of_handler;
    struct given *given = call->state;
    const char *id = json_string_value(json_array_get(given->all, given->at));
    if (!id) {
        answer_json(request, MHD_HTTP_CREATED, json_incref(given->all));
        return;
    }
    e2b_ask(request, json_pack("{s:s, s:s}", "request", "session.access", "session", id), false,
            on_copy_access);
}

static void on_copied(struct request *request, const struct e2b_said *said)
{
    struct e2b_call *call = request->of_handler;
    struct given *given = call->state;
    if (!e2b_fine(request, said))
        return;
    given->all = json_copy(json_object_get(said->ok, "sessions"));
    next_copy(request);
}

static void on_copied_from(struct request *request, const struct e2b_said *said)
{
    struct e2b_call *call = request->of_handler;
    struct given *given = call->state;
    json_t *metadata = json_object_get(said->ok, "metadata"), *count = json_object_get(call->body, "count");
    if (!sandbox_is_ours(request, said))
        return;
    given->template_id = strdup(e2b_text(metadata, "e2b..template"));
    e2b_ask(request,
            json_pack("{s:s, s:I, s:O, s:i, s:I}", "request", "session.fork", "copies",
                      count ? json_integer_value(count) : 1, "metadata", metadata, "idle_ms", IDLE_MS,
                      "total_ms", given->timeout_ms),
            false, on_copied);
}

void e2b_handle_fork(struct request *request)
{
    static const char *const names[] = {"timeout", "count", NULL};
    struct given *given = e2b_state(request, sizeof *given, given_free);
    if (!given || !sandbox_named(request) || !e2b_read_body(request))
        return;
    const struct e2b_call *call = request->of_handler;
    const json_t *count = json_object_get(call->body, "count");
    if (!e2b_only(request, call->body, names) || !(given->timeout_ms = e2b_timeout(request, "timeout")))
        return;
    if (count && (json_integer_value(count) < 1 || json_integer_value(count) > COPIES_MOST))
        problem(request, "usage", "count", "count: allowed are 1 to %d", COPIES_MOST);
    else
        e2b_ask(request, info(), false, on_copied_from);
}

/* ---- snapshots ---- */

static json_t *snapshot_told(const char *id)
{
    return json_pack("{s:s, s:[]}", "snapshotID", id, "names");
}

static void on_kept(struct request *request, const struct e2b_said *said)
{
    if (e2b_fine(request, said))
        answer_json(request, MHD_HTTP_CREATED, snapshot_told(e2b_text(said->ok, "snapshot")));
}

static void on_kept_from(struct request *request, const struct e2b_said *said)
{
    struct e2b_call *call = request->of_handler;
    json_t *name = json_object_get(call->body, "name");
    if (!sandbox_is_ours(request, said))
        return;
    json_t *message = json_pack("{s:s, s:O}", "request", "session.snapshot", "metadata",
                                json_object_get(said->ok, "metadata"));
    if (message && name && !json_is_null(name))
        (void)json_object_set(message, "name", name);
    e2b_ask(request, message, false, on_kept);
}

void e2b_handle_snapshot(struct request *request)
{
    static const char *const names[] = {"name", NULL};
    if (!sandbox_named(request) || !e2b_read_body(request))
        return;
    const struct e2b_call *call = request->of_handler;
    if (e2b_only(request, call->body, names))
        e2b_ask(request, info(), false, on_kept_from);
}

static void on_snapshots(struct request *request, const struct e2b_said *said)
{
    char *of = e2b_query(request, "sandboxID", 0);
    json_t *all = json_array(), *session;
    size_t i;
    if (e2b_fine(request, said)) {
        json_array_foreach(json_object_get(said->ok, "sessions"), i, session)
        {
            const char *state = e2b_text(session, "state"), *parent = e2b_text(session, "parent");
            if (state && !strcmp(state, "snapshot") && (!of || (parent && !strcmp(parent, of))))
                (void)json_array_append_new(all, snapshot_told(e2b_text(session, "session")));
        }
        answer_json(request, MHD_HTTP_OK, json_incref(all));
    }
    json_decref(all);
    free(of);
}

void e2b_handle_snapshots(struct request *request)
{
    e2b_ask(request, json_pack("{s:s}", "request", "session.list"), false, on_snapshots);
}

void e2b_handle_template_delete(struct request *request)
{
    e2b_ask(request, json_pack("{s:s, s:s}", "request", "snapshot.end", "snapshot", request->params[0]),
            false, on_paused);
}

/* ---- a sandbox that begins from one ---- */

static void on_begun(struct request *request, const struct e2b_said *said)
{
    struct e2b_call *call = request->of_handler;
    const char *kind = e2b_text(said->error, "kind");
    if (kind && (!strcmp(kind, "not_found") || !strcmp(kind, "usage"))) {
        problem(request, "not_found", "templateID",
                "templateID: %.128s: there is no template and no snapshot of this name",
                e2b_text(call->body, "templateID"));
        return;
    }
    if (!e2b_fine(request, said))
        return;
    const char *id = json_string_value(json_array_get(json_object_get(said->ok, "sessions"), 0));
    snprintf(call->session, sizeof call->session, "%s", id ? id : "");
    sandbox_give(request);
}

void sandbox_from_snapshot(struct request *request, const json_t *error)
{
    struct e2b_call *call = request->of_handler;
    const json_t *env = json_object_get(call->body, "envVars");
    (void)error;
    json_t *start = e2b_start_message(request);
    if (!start)
        return;
    if (json_object_size(env) > 0) {
        json_decref(start);
        problem(request, "usage", "envVars", "envVars: a sandbox from a snapshot has the snapshot's");
        return;
    }
    json_t *message = json_pack(
        "{s:s, s:s, s:O, s:O, s:O}", "request", "snapshot.start", "snapshot",
        e2b_text(call->body, "templateID"), "metadata", json_object_get(start, "metadata"), "idle_ms",
        json_object_get(start, "idle_ms"), "total_ms", json_object_get(start, "total_ms"));
    json_decref(start);
    e2b_ask(request, message, false, on_begun);
}
