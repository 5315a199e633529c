/* The engine of a batch: begins jobs while there is room for what they bring, and writes answers in the order
 * in which they come. */
#include "gate/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#define AT_ONCE 8
#define RETRY_MS 200        /* where the keeper does not say when to ask again */
#define RETRY_MS_MAX 10000u /* it may know better by then */

static bool has_room(const struct batch *batch)
{
    return batch->request->out.len - batch->request->out_at < SC_GATE_WINDOW;
}

/* ---- answers ---- */

/* What is not ok ends a batch that asks for it. */
static bool is_ok(const struct batch_lane *lane)
{
    json_t *value = NULL;
    json_error_t where;
    if (!strcmp(lane->name, "error") ||
        sc_json_load(lane->answer, lane->answer_len, JSON_ALLOW_NUL, &value, &where) < 0)
        return false;
    bool task = !strcmp(lane->name, "report");
    const char *word = json_string_value(json_object_get(value, task ? "verdict" : "status"));
    bool ok = word && !strcmp(word, task ? "accepted" : "ok");
    json_decref(value);
    return ok;
}

/* {"id", "job", "result", "report" or "error"}; its JSON goes on as the keeper made it. */
static void write_line(const struct batch_lane *lane, const struct batch_job *job, const char *duplicate_of)
{
    struct request *request = lane->batch->request;
    json_t *head = json_pack("{s:s}", "id", job->id);
    if (head && *job->hash)
        (void)json_object_set_new(head, "job", json_string(job->hash));
    if (head && job->error)
        (void)json_object_set_new(head, "line", json_integer((json_int_t)job->line));
    if (head && duplicate_of)
        (void)json_object_set_new(head, "duplicate_of", json_string(duplicate_of));
    char *text = sc_json_dump(head, JSON_COMPACT);
    json_decref(head);
    if (!text || !lane->answer) {
        free(text);
        stream_break(request); /* better cut than with a hole in it */
        return;
    }
    stream_bytes(request, text, strlen(text) - 1); /* without its brace */
    stream_bytes(request, ",\"", 2);
    stream_bytes(request, lane->name, strlen(lane->name));
    stream_bytes(request, "\":", 2);
    stream_bytes(request, lane->answer, lane->answer_len);
    stream_bytes(request, "}\n", 2);
    free(text);
}

/* Of those that have this answer, as many as the client has room for. True: all were told. */
static bool tell_others(const struct batch_lane *lane)
{
    struct batch_job *other;
    while ((other = STAILQ_FIRST(&lane->job->others)) && has_room(lane->batch)) {
        STAILQ_REMOVE_HEAD(&lane->job->others, entry);
        write_line(lane, other, lane->job->id);
        batch_job_free(other);
    }
    return !other;
}

/* ---- jobs ---- */

static void drop_waiting(struct batch *batch)
{
    struct batch_job *job;
    while ((job = STAILQ_FIRST(&batch->waiting))) {
        STAILQ_REMOVE_HEAD(&batch->waiting, entry);
        batch_job_free(job);
    }
}

/* All that has no answer ends without one. */
static void stop(struct batch *batch)
{
    batch->stopped = true;
    drop_waiting(batch);
    for (size_t i = 0; i < batch->at_once; i++) {
        struct batch_lane *lane = &batch->lanes[i];
        if (lane->job && !lane->name) {
            lane_drop(lane);
            batch->n_running--;
        }
    }
}

static void serve_lane(struct batch_lane *lane)
{
    struct batch *batch = lane->batch;
    struct batch_job *job = STAILQ_FIRST(&batch->waiting);
    if (lane->name && tell_others(lane)) {
        lane_drop(lane);
        batch->n_running--;
    }
    if (lane->job || !job || !has_room(batch) || sc_now_ns() < batch->hold_until_ns)
        return;
    STAILQ_REMOVE_HEAD(&batch->waiting, entry);
    batch->n_running++;
    lane_start(lane, job);
}

/* The keeper that knew who the client is has gone: what has not begun is left out, and the answer cut, so
 * that the client sees that it is not all. */
static bool is_orphaned(const struct batch *batch)
{
    return batch->generation != batch->request->gate->generation && !STAILQ_EMPTY(&batch->waiting);
}

static void pump(struct batch *batch)
{
    struct request *request = batch->request;
    if (batch->pumping || request->out_ended || request->out_broken)
        return;
    batch->pumping = true;
    bool orphaned = is_orphaned(batch), refused;
    do {
        refused = false;
        if (orphaned)
            drop_waiting(batch);
        for (size_t i = 0; i < batch->at_once; i++) {
            serve_lane(&batch->lanes[i]);
            /* Answered at once: the next may begin. */
            refused = refused || (batch->lanes[i].name && has_room(batch));
        }
    } while (refused && !request->out_broken);
    if (batch->n_running == 0 && orphaned)
        stream_break(request);
    else if (batch->n_running == 0 && STAILQ_EMPTY(&batch->waiting))
        stream_end(request);
    batch->pumping = false;
}

void batch_lane_done(struct batch_lane *lane)
{
    struct batch *batch = lane->batch;
    write_line(lane, lane->job, NULL);
    if (batch->stop_first && !batch->stopped && lane->answer && !is_ok(lane))
        stop(batch);
    pump(batch);
}

void batch_lane_again(struct batch_lane *lane, uint64_t retry_ms)
{
    struct batch *batch = lane->batch;
    uint64_t ms = retry_ms ? retry_ms : RETRY_MS;
    STAILQ_INSERT_HEAD(&batch->waiting, lane->job, entry);
    lane->job = NULL;
    batch->n_running--;
    batch->hold_until_ns = sc_now_ns() + (ms < RETRY_MS_MAX ? ms : RETRY_MS_MAX) * SC_NS_PER_MS;
    pump(batch);
}

/* ---- the request ---- */

static void more(struct request *request)
{
    pump(request->of_handler);
}

static void free_tables(struct batch *batch)
{
    json_decref(batch->ids);
    json_decref(batch->keys);
    json_decref(batch->contents);
    batch->ids = batch->keys = batch->contents = NULL;
}

static void free_batch(struct request *request)
{
    struct batch *batch = request->of_handler;
    for (size_t i = 0; i < SC_GATE_BATCH_LANES_MAX; i++)
        lane_drop(&batch->lanes[i]);
    drop_waiting(batch);
    free_tables(batch);
    sc_buf_fini(&batch->held);
    free(batch);
    request->of_handler = NULL;
}

void handle_batch(struct request *request)
{
    struct batch *batch = calloc(1, sizeof *batch);
    const json_t *at_once = json_object_get(request->query, "at_once");
    if (!batch) {
        problem(request, "sandbox", "", "gate: out of memory");
        return;
    }
    batch->request = request;
    batch->at_once = at_once ? (size_t)json_integer_value(at_once) : AT_ONCE;
    batch->same_once = json_is_true(json_object_get(request->query, "same_once"));
    batch->stop_first = json_is_true(json_object_get(request->query, "stop_first"));
    batch->generation = request->person->generation;
    batch->ids = json_object();
    batch->keys = json_object();
    batch->contents = json_object();
    STAILQ_INIT(&batch->waiting);
    for (size_t i = 0; i < SC_GATE_BATCH_LANES_MAX; i++)
        batch->lanes[i].batch = batch;
    request->of_handler = batch;
    request->free_handler = free_batch;
}

void batch_go(struct batch *batch)
{
    free_tables(batch);
    answer_stream(batch->request, MHD_HTTP_OK, "application/x-ndjson");
    batch->request->more = more;
    pump(batch);
}

void batch_fed(struct request *request, const void *data, size_t len)
{
    (void)batch_take(request->of_handler, data, len); /* it answers itself */
}

void batch_fed_all(struct request *request)
{
    if (batch_take_end(request->of_handler))
        batch_go(request->of_handler);
}
