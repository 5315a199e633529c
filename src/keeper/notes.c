/* Secrets stay out: of a spec the values of variables, stdin, code and files' contents are only hashed or
 * left out; keys are told by their ids; of a command only its name is told. */
#include "keeper/notes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "judge/judge.h"
#include "keeper/parts.h"
#include "keeper/state.h"

#define NOBODY_NS SC_NS_PER_S

const double NOTES_BOUNDS_MS[NOTES_BUCKETS - 1] = {0.1, 0.25, 0.5, 1,   2.5,  5,   10,
                                                   25,  50,   100, 250, 1000, 5000};

static void put(struct keeper *keeper, const struct tenant *tenant, json_t *record)
{
    if (record)
        events_tell(keeper, tenant, record);
    if (keeper->audit)
        (void)sc_audit_write(keeper->audit, record); /* counted there */
    else
        json_decref(record);
}

/* Is there anybody to make records for? */
static bool is_heard(const struct keeper *keeper)
{
    return keeper->audit || !TAILQ_EMPTY(&keeper->watchers);
}

/* ---- who ---- */

static json_t *who(const struct tenant *tenant, uid_t uid, const char *key)
{
    if (tenant && *key)
        return json_pack("{s:s, s:s}", "tenant", tenant->name, "key", key);
    if (tenant)
        return json_pack("{s:s}", "tenant", tenant->name);
    return json_pack("{s:I}", "uid", (json_int_t)uid);
}

/* ---- the keeper itself ---- */

void note_begin(struct keeper *keeper)
{
    put(keeper, NULL, json_pack("{s:s, s:i}", "event", "keeper.start", "pid", (int)getpid()));
}

void note_end(struct keeper *keeper)
{
    put(keeper, NULL, json_pack("{s:s}", "event", "keeper.end"));
}

const char *note_trouble(struct keeper *keeper)
{
    if (!keeper->audit || !keeper->options->audit_strict || !sc_audit_fails(keeper->audit))
        return NULL;
    put(keeper, NULL, json_pack("{s:s}", "event", "audit.resumed"));
    return sc_audit_fails(keeper->audit) ? "the audit stream can not be written" : NULL;
}

/* Of those that nobody knows there may be many: at most a record a second, which counts. */
void note_nobody(struct keeper *keeper)
{
    uint64_t now = sc_now_ns();
    keeper->counts.unauthorized++;
    keeper->nobodies++;
    if (now - keeper->nobody_ns < NOBODY_NS)
        return;
    put(keeper, NULL,
        json_pack("{s:s, s:I}", "event", "unauthorized", "count", (json_int_t)keeper->nobodies));
    keeper->nobody_ns = now;
    keeper->nobodies = 0;
}

void note_forbidden(const struct caller *caller, const struct sc_keeper_request *request, const char *reply)
{
    json_t *value = NULL;
    json_error_t where;
    caller->keeper->counts.forbidden++;
    if (!reply || sc_json_load(reply, strlen(reply), 0, &value, &where) < 0)
        return;
    const char *field = json_string_value(json_object_get(json_object_get(value, "error"), "field"));
    put(caller->keeper, caller->tenant,
        json_pack("{s:s, s:o, s:s, s:s*}", "event", "forbidden", "who",
                  who(caller->tenant, caller->uid, caller->key), "request", sc_keeper_request_name(request),
                  "field", field));
    json_decref(value);
}

/* ---- specs ---- */

static void hash_bytes(const void *data, size_t len, char ret_hash[SC_SHA256_TEXT])
{
    struct sc_sha256 sum;
    sc_sha256_init(&sum);
    sc_sha256_add(&sum, data, len);
    sc_sha256_text(&sum, ret_hash);
}

static void add_text(struct sc_sha256 *sum, const char *text)
{
    sc_sha256_add(sum, text, strlen(text) + 1);
}

/* Names of variables, and files by path and content. */
static void add_rest(struct sc_sha256 *sum, const struct sc_spec *spec)
{
    char hash[SC_SHA256_TEXT];
    for (size_t i = 0; i < spec->env.n; i++) {
        sc_sha256_add(sum, spec->env.v[i], strcspn(spec->env.v[i], "=")); /* secrets among them */
        sc_sha256_add(sum, "", 1);
    }
    for (size_t i = 0; i < spec->n_files; i++) {
        const struct sc_spec_file *file = &spec->files[i];
        add_text(sum, file->path ? file->path : "");
        hash_bytes(file->data ? file->data : "", file->data ? file->len : 0, hash);
        add_text(sum, file->host ? file->host : hash);
    }
}

/* Those that are numbers, in the units of a request. */
static json_t *limits_of(const struct sc_spec *spec)
{
    struct sc_limits limits = spec->limits;
    json_t *object = json_object();
    int r = object ? 0 : -1;
    for (const struct sc_limit_row *row = SC_LIMIT_ROWS; row->option && r == 0; row++) {
        uint64_t value = *sc_limit_value(&limits, row);
        if (value == SC_UNSET || value == SC_DERIVED)
            continue;
        bool milli = row->kind == SC_LIMIT_MILLI;
        json_int_t whole = (json_int_t)(row->kind == SC_LIMIT_DURATION ? value / SC_NS_PER_MS : value);
        r = json_object_set_new(object, row->json,
                                milli ? json_real((double)value / 1000) : json_integer(whole));
    }
    if (r < 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

json_t *note_subject(const struct sc_spec *spec)
{
    struct sc_spec bare = *spec; /* borrows all; what is left out is not freed by it */
    struct sc_sha256 sum;
    char of_spec[SC_SHA256_TEXT], of_code[SC_SHA256_TEXT] = "";
    bare.env = (struct sc_strv){0};
    bare.code = bare.stdin_data = NULL;
    bare.code_len = bare.stdin_len = bare.n_files = 0;
    char *text = sc_spec_to_json(&bare);
    if (!text)
        return NULL;
    if (spec->code)
        hash_bytes(spec->code, spec->code_len, of_code);
    sc_sha256_init(&sum);
    add_text(&sum, text);
    add_rest(&sum, spec);
    add_text(&sum, of_code);
    sc_sha256_text(&sum, of_spec);
    json_t *subject =
        json_pack("{s:s, s:s*, s:s*, s:o}", "spec", of_spec, "code", spec->code ? of_code : NULL, "template",
                  spec->template, "limits", limits_of(spec));
    free(text);
    return subject;
}

/* ---- sessions ---- */

void note_session_start(const struct keeper_session *session)
{
    session->keeper->counts.sessions_started++;
    journal_began(session);
    if (!is_heard(session->keeper))
        return;
    json_t *record = json_pack("{s:s, s:o, s:s}", "event", "session.start", "who",
                               who(session->tenant, session->owner, session->key), "session", session->id);
    int r = record && session->subject ? json_object_update(record, session->subject) : 0;
    if (r == 0 && *session->parent)
        r = json_object_set_new(record, "parent", json_string(session->parent));
    if (r == 0 && *session->snapshot)
        r = json_object_set_new(record, "snapshot", json_string(session->snapshot));
    if (r < 0) {
        json_decref(record);
        record = NULL;
    }
    put(session->keeper, session->tenant, record);
}

void note_lost(struct keeper *keeper, const char *tenant, const char *id)
{
    put(keeper, NULL,
        json_pack("{s:s, s:{s:s}, s:s, s:s}", "event", "session.end", "who", "tenant", tenant, "session", id,
                  "why", "lost"));
}

void note_session_end(const struct keeper_session *session)
{
    if (!is_heard(session->keeper) || !*session->id)
        return;
    put(session->keeper, session->tenant,
        json_pack("{s:s, s:o, s:s, s:s}", "event", "session.end", "who",
                  who(session->tenant, session->owner, session->key), "session", session->id, "why",
                  session->why));
}

/* ---- results ---- */

static void observe(struct histogram *histogram, uint64_t ns)
{
    double ms = (double)ns / (double)SC_NS_PER_MS;
    size_t i = 0;
    while (i < NOTES_BUCKETS - 1 && ms > NOTES_BOUNDS_MS[i])
        i++;
    histogram->counts[i]++;
    histogram->sum_ms += ms;
}

static void count_denial(struct counts *counts, const struct sc_denial *denial)
{
    size_t i = 0;
    while (i < counts->n_denials && (strcmp(counts->denials[i].layer, denial->layer) != 0 ||
                                     strcmp(counts->denials[i].action, denial->action) != 0 ||
                                     strcmp(counts->denials[i].rule, denial->rule) != 0))
        i++;
    if (i == NOTES_DENIALS) {
        counts->denials_more += denial->count;
        return;
    }
    struct denial_count *into = &counts->denials[i];
    if (i == counts->n_denials) {
        memcpy(into->layer, denial->layer, sizeof into->layer);
        memcpy(into->action, denial->action, sizeof into->action);
        memcpy(into->rule, denial->rule, sizeof into->rule);
        counts->n_denials++;
    }
    into->count += denial->count;
}

static void count_result(const struct call *call, const struct sc_result *result)
{
    struct counts *counts = &call->session->keeper->counts;
    if (call->session->tenant)
        call->session->tenant->results++;
    if (result->status < NOTES_STATUSES)
        counts->results[result->status]++;
    for (size_t i = 0; i < result->n_denials; i++)
        count_denial(counts, &result->denials[i]);
    if (call->request.verb != SC_KEEPER_ONCE)
        return;
    counts->starts[result->start]++;
    observe(&counts->start[result->start], result->usage.start_ns);
    observe(&counts->queue, call->session->queued_ns);
}

/* Without what is of the program's making, but for verdict and figures. */
static json_t *verdict_of(const struct sc_result *result)
{
    struct sc_result bare = *result; /* borrows all */
    bare.out.kept.len = bare.err.kept.len = 0;
    bare.inside = (struct sc_inside){0};
    bare.findings = NULL;
    char *text = sc_result_to_json(&bare, 0);
    json_t *whole = NULL, *verdict = json_object();
    json_error_t where;
    static const char *const kept[] = {"status",  "exit_code", "signal_name", "usage",
                                       "denials", "degraded",  "limits_hit",  "artifacts",
                                       "start",   "network",   NULL};
    int r = text && verdict ? sc_json_load(text, strlen(text), 0, &whole, &where) : -ENOMEM;
    for (size_t i = 0; kept[i] && r == 0; i++) {
        json_t *value = json_object_get(whole, kept[i]);
        if (value && !json_is_null(value) && json_object_set(verdict, kept[i], value) < 0)
            r = -ENOMEM;
    }
    json_decref(whole);
    free(text);
    if (r < 0) {
        json_decref(verdict);
        return NULL;
    }
    return verdict;
}

/* Of a request within a session: its own code, and the spec of the session. */
static int add_subject(json_t *record, const struct call *call)
{
    const struct keeper_session *session = call->session;
    char hash[SC_SHA256_TEXT];
    int r = session->subject ? json_object_update(record, session->subject) : 0;
    if (r == 0 && *session->id)
        r = json_object_set_new(record, "session", json_string(session->id));
    if (r == 0 && call->request.verb == SC_KEEPER_RUN && call->request.spec.code) {
        hash_bytes(call->request.spec.code, call->request.spec.code_len, hash);
        r = json_object_set_new(record, "code", json_string(hash));
    }
    return r;
}

static json_t *record_of(const struct call *call)
{
    const struct keeper_session *session = call->session;
    json_t *record = json_pack("{s:s, s:o, s:s}", "event", "run", "who",
                               who(session->tenant, session->owner, session->key), "request",
                               sc_keeper_request_name(&call->request));
    if (record && add_subject(record, call) < 0) {
        json_decref(record);
        return NULL;
    }
    return record;
}

void note_result(struct call *call, const struct sc_result *result)
{
    call->noted = true;
    count_result(call, result);
    if (!is_heard(call->session->keeper))
        return;
    json_t *record = record_of(call), *verdict = verdict_of(result);
    int r = record && verdict ? json_object_update(record, verdict) : -1;
    /* Without one nothing was decided but that. */
    if (r == 0 && !result->has_network)
        r = json_object_set_new(record, "network", json_string("none"));
    json_decref(verdict);
    if (r < 0) {
        json_decref(record);
        record = NULL;
    }
    put(call->session->keeper, call->session->tenant, record);
}

static bool is_change(const struct sc_keeper_request *request)
{
    return request->verb == SC_KEEPER_FILE && request->file != SC_FILE_LIST &&
           request->file != SC_FILE_STAT && request->file != SC_FILE_WATCH;
}

static json_t *outcome(const char *reply)
{
    json_t *value = NULL;
    json_error_t where;
    if (!reply || sc_json_load(reply, strlen(reply), 0, &value, &where) < 0)
        return json_string("unanswered");
    const char *kind = json_string_value(json_object_get(json_object_get(value, "error"), "kind"));
    json_t *word = json_string(kind ? kind : "ok");
    json_decref(value);
    return word;
}

void note_task(const struct caller *caller, json_t *subject, const struct noted_task *task, const char *reply)
{
    json_t *record;
    if (caller->tenant)
        caller->tenant->results++;
    if (!is_heard(caller->keeper))
        return;
    record = json_pack("{s:s, s:o, s:s}", "event", "run", "who",
                       who(caller->tenant, caller->uid, caller->key), "request", "judge");
    int r = record && subject ? json_object_update(record, subject) : -1;
    if (r == 0 && task->ended && task->verdict < SC_VERDICTS) {
        r = json_object_set_new(record, "verdict", json_string(SC_VERDICT_NAMES[task->verdict]));
        if (r == 0)
            r = json_object_set_new(record, "tests", json_integer((json_int_t)task->tests));
        if (r == 0)
            r = json_object_set_new(record, "accepted", json_integer((json_int_t)task->accepted));
    } else if (r == 0) {
        r = json_object_set_new(record, "outcome", outcome(reply));
    }
    if (r < 0) {
        json_decref(record);
        record = NULL;
    }
    put(caller->keeper, caller->tenant, record);
}

void note_call_end(struct call *call, const char *reply)
{
    const enum sc_keeper_verb verb = call->request.verb;
    bool runs = verb == SC_KEEPER_RUN || verb == SC_KEEPER_ONCE || verb == SC_KEEPER_EXEC ||
                verb == SC_KEEPER_COMMAND;
    if (call->noted || !is_heard(call->session->keeper) || !(runs || is_change(&call->request)))
        return;
    call->noted = true;
    json_t *record = runs ? record_of(call)
                          : json_pack("{s:s, s:o, s:s, s:s, s:s*, s:s*}", "event", "file", "who",
                                      who(call->session->tenant, call->session->owner, call->session->key),
                                      "request", sc_keeper_request_name(&call->request), "session",
                                      call->session->id, "path", call->request.path, "to", call->request.to);
    if (record && json_object_set_new(record, "outcome", outcome(reply)) < 0) {
        json_decref(record);
        record = NULL;
    }
    put(call->session->keeper, call->session->tenant, record);
}
