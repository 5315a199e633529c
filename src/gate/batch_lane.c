/* One job of a batch, through the keeper: `once`, `judge`, or for a program as it is a session, the command
 * in it, and the session's end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "gate/batch.h"
#include "gate/body.h"
#include "gate/single.h"
#include "gate/visit.h"

/* What the lane had for its job, but not the answer. */
static void tidy(struct batch_lane *lane)
{
    struct request *request = lane->batch->request;
    if (lane->session)
        visit_forget(request->gate, request->person->token, lane->session);
    free(lane->session);
    json_decref(lane->message);
    lane->session = NULL;
    lane->message = NULL;
}

static void answer(struct batch_lane *lane, const char *name, char *text)
{
    tidy(lane);
    lane->name = name;
    lane->answer = text;
    lane->answer_len = text ? strlen(text) : 0;
    batch_lane_done(lane);
}

static void answer_error(struct batch_lane *lane, const char *kind, const char *field, const char *message)
{
    json_t *error = json_pack("{s:s, s:s, s:s}", "kind", kind, "field", field, "message", message);
    answer(lane, "error", sc_json_dump(error, JSON_COMPACT));
    json_decref(error);
}

static void answer_err(struct batch_lane *lane, const struct sc_err *err)
{
    answer_error(lane, err->kind == SC_ERR_USAGE ? "usage" : "sandbox", err->field, err->message);
}

/* The keeper has no room now, or this tenant has what it may have: the job did not begin and can wait. Who
 * has set it a deadline hears of it. */
static bool has_no_room(const struct batch_lane *lane, const json_t *error)
{
    const char *kind = json_string_value(json_object_get(error, "kind"));
    bool deadline = json_object_get(lane->batch->request->query, "deadline_ms") != NULL;
    return kind && (!strcmp(kind, "too_many") || (!strcmp(kind, "overloaded") && !deadline));
}

static void on_refused(struct batch_lane *lane, const json_t *error)
{
    if (has_no_room(lane, error)) {
        json_int_t ms = json_integer_value(json_object_get(error, "retry_after_ms"));
        tidy(lane);
        batch_lane_again(lane, ms > 0 ? (uint64_t)ms : 0);
        return;
    }
    answer(lane, "error", sc_json_dump(error, JSON_COMPACT));
}

/* ---- one request after another ---- */

static void on_done(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct batch_lane *lane = userdata;
    lane->ask = NULL;
    if (!ok && lane->session && visit_is_gone(error))
        answer_error(lane, "sandbox", "", VISIT_GONE);
    else if (!ok)
        on_refused(lane, error);
    else
        answer(lane, lane->job->is_task ? "report" : "result", strndup(ok, len));
}

static void begin(struct batch_lane *lane, json_t *message, const struct ask_events *events)
{
    struct request *request = lane->batch->request;
    int why = 0;
    lane->ask = ask_begin(request->gate, message, request->person->token, false, events, lane, &why);
    if (lane->ask)
        return;
    if (why == -EAGAIN) {
        tidy(lane);
        batch_lane_again(lane, 0);
    } else {
        answer_error(lane, "sandbox", "", "gate: out of memory");
    }
}

static void on_session(void *userdata, const char *ok, size_t len, const json_t *error)
{
    static const struct ask_events events = {.done = on_done};
    struct batch_lane *lane = userdata;
    json_t *value = NULL;
    json_error_t where;
    lane->ask = NULL;
    if (!ok) {
        on_refused(lane, error);
        return;
    }
    (void)sc_json_load(ok, len, 0, &value, &where);
    const char *name = json_string_value(json_object_get(value, "session"));
    lane->session = name ? strdup(name) : NULL;
    json_decref(value);
    json_t *message = lane->message;
    lane->message = NULL;
    if (lane->session && json_object_set_new(message, "session", json_string(lane->session)) == 0 &&
        json_object_set_new(message, "output", json_string("reply")) == 0) {
        begin(lane, message, &events);
        return;
    }
    json_decref(message);
    answer_error(lane, "sandbox", "", "the keeper's answer could not be read");
}

static void start_plain(struct batch_lane *lane, json_t *spec)
{
    static const struct ask_events events = {.done = on_session};
    struct sc_err err = {0};
    if (single_split(spec, &lane->message, &err) < 0) {
        sc_err_below(&err, "spec");
        answer_err(lane, &err);
        json_decref(spec);
        return;
    }
    begin(lane, visit_message(spec, lane->batch->request->query), &events);
}

static void start_once(struct batch_lane *lane, json_t *spec)
{
    static const struct ask_events events = {.done = on_done};
    json_t *message = json_pack("{s:s, s:o, s:s}", "request", "once", "spec", spec, "output", "reply");
    if (message)
        body_turn(lane->batch->request->query, message);
    begin(lane, message, &events);
}

static void start_task(struct batch_lane *lane, json_t *task)
{
    static const struct ask_events events = {.done = on_done};
    json_t *message = json_pack("{s:s, s:o}", "request", "judge", "judge", task);
    if (message)
        body_turn(lane->batch->request->query, message);
    begin(lane, message, &events);
}

void lane_start(struct batch_lane *lane, struct batch_job *job)
{
    struct sc_err err = {0};
    bool plain = false;
    lane->job = job;
    if (job->error) {
        answer(lane, "error", sc_json_dump(job->error, JSON_COMPACT));
        return;
    }
    json_t *spec = batch_part(job);
    if (!spec) {
        answer_error(lane, "sandbox", "", "gate: out of memory");
    } else if (job->is_task) {
        start_task(lane, spec);
    } else if (single_kind(spec, &plain, &err) < 0) {
        sc_err_below(&err, "spec");
        answer_err(lane, &err);
        json_decref(spec);
    } else if (plain) {
        start_plain(lane, spec);
    } else {
        start_once(lane, spec);
    }
}

void lane_drop(struct batch_lane *lane)
{
    if (!lane->job)
        return;
    if (lane->ask)
        ask_forget(lane->ask);
    lane->ask = NULL;
    tidy(lane);
    free(lane->answer);
    batch_job_free(lane->job);
    *lane = (struct batch_lane){.batch = lane->batch};
}
