/* The one writer of results. docs/result.md describes the object.
 *
 * Everything that may hold bytes of the program's making (output, artifact paths, denials) goes through
 * add_text_member: valid UTF-8 as it is, else with U+FFFD, and the exact bytes beside it where the object has
 * a place for them. NUL bytes are text: JSON writes them as \u0000. */
#include "result/result.h"

#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/num.h"
#include "base/text.h"
#include "spec/spec.h"

/* An object in the making. jansson answers NULL with an error, so one flag tells of every failure. */
struct writer {
    json_t *object;
    bool failed;
};

static struct writer begin(void)
{
    return (struct writer){.object = json_object()};
}

static void put(struct writer *w, const char *key, json_t *value)
{
    if (json_object_set_new_nocheck(w->object, key, value) < 0)
        w->failed = true;
}

/* A finished part of `w`. */
static void put_part(struct writer *w, const char *key, struct writer *part)
{
    w->failed = w->failed || part->failed;
    put(w, key, part->object);
}

static void append_part(struct writer *w, json_t *array, struct writer *part)
{
    w->failed = w->failed || part->failed;
    if (json_array_append_new(array, part->object) < 0)
        w->failed = true;
}

/* Bytes as JSON text; NULL when memory ran out. */
static json_t *text_value(const void *data, size_t len, bool *ret_exact)
{
    *ret_exact = sc_utf8_valid(data, len);
    if (*ret_exact)
        return json_stringn_nocheck(len ? data : "", len);
    struct sc_buf buf;
    sc_buf_init(&buf, SIZE_MAX / 2);
    json_t *value =
        sc_utf8_replace(&buf, data, len) < 0 ? NULL : json_stringn_nocheck((const char *)buf.data, buf.len);
    sc_buf_fini(&buf);
    return value;
}

static void put_b64(struct writer *w, const char *key, const void *data, size_t len)
{
    struct sc_buf buf;
    sc_buf_init(&buf, SIZE_MAX / 2);
    if (sc_b64_encode(&buf, data, len) < 0)
        w->failed = true;
    else
        put(w, key, json_stringn_nocheck((const char *)buf.data, buf.len));
    sc_buf_fini(&buf);
}

/* `key_b64` (or NULL) is written only where the bytes were not UTF-8. */
static void put_bytes(struct writer *w, const char *key, const char *key_b64, const void *data, size_t len)
{
    bool exact;
    put(w, key, text_value(data, len, &exact));
    if (!exact && key_b64)
        put_b64(w, key_b64, data, len);
}

static void put_text(struct writer *w, const char *key, const char *text)
{
    if (text)
        put_bytes(w, key, NULL, text, strlen(text));
    else
        put(w, key, json_null());
}

static void put_bool(struct writer *w, const char *key, bool value)
{
    put(w, key, json_boolean(value));
}

static void put_count(struct writer *w, const char *key, uint64_t value)
{
    put(w, key, json_integer((json_int_t)sc_min_u64(value, INT64_MAX)));
}

/* For figures that are never 0 where the kernel tells them. */
static void put_known(struct writer *w, const char *key, uint64_t value)
{
    if (value)
        put_count(w, key, value);
    else
        put(w, key, json_null());
}

static void put_ms(struct writer *w, const char *key, uint64_t ns)
{
    put(w, key, json_real((double)ns / (double)SC_NS_PER_MS));
}

static void put_names(struct writer *w, const char *key, const char *const *names, uint32_t bits)
{
    json_t *array = json_array();
    for (unsigned bit = 0; names[bit]; bit++)
        if (bits & 1u << bit && json_array_append_new(array, json_string(names[bit])) < 0)
            w->failed = true;
    put(w, key, array);
}

static void put_signal(struct writer *w, int number)
{
    char name[32];
    if (number <= 0) {
        put(w, "signal", json_null());
        put(w, "signal_name", json_null());
        return;
    }
    const char *abbreviation = sigabbrev_np(number);
    if (abbreviation)
        snprintf(name, sizeof name, "SIG%s", abbreviation);
    else if (number == SIGRTMIN)
        snprintf(name, sizeof name, "SIGRTMIN");
    else if (number > SIGRTMIN && number <= SIGRTMAX)
        snprintf(name, sizeof name, "SIGRTMIN+%d", number - SIGRTMIN);
    else
        snprintf(name, sizeof name, "SIG%d", number);
    put(w, "signal", json_integer(number));
    put(w, "signal_name", json_string(name));
}

static void put_usage(struct writer *w, const struct sc_usage *usage)
{
    struct writer u = begin();
    put_ms(&u, "wall_ms", usage->wall_ns);
    put_ms(&u, "start_ms", usage->start_ns);
    put_ms(&u, "queue_ms", usage->queue_ns);
    put_ms(&u, "cpu_user_ms", usage->cpu_user_ns);
    put_ms(&u, "cpu_system_ms", usage->cpu_system_ns);
    put_ms(&u, "cpu_ms", usage->cpu_user_ns + usage->cpu_system_ns);
    put_known(&u, "memory_peak_bytes", usage->memory_peak_bytes);
    put_known(&u, "rss_peak_bytes", usage->rss_peak_bytes);
    put_known(&u, "tasks_peak", usage->tasks_peak);
    put_count(&u, "stdout_bytes", usage->stdout_bytes);
    put_count(&u, "stderr_bytes", usage->stderr_bytes);
    put_count(&u, "disk_bytes", usage->disk_bytes);
    put_count(&u, "disk_inodes", usage->disk_inodes);
    put_part(w, "usage", &u);
}

static void put_denials(struct writer *w, const struct sc_result *result)
{
    json_t *array = json_array();
    for (size_t i = 0; i < result->n_denials; i++) {
        const struct sc_denial *denial = &result->denials[i];
        struct writer d = begin();
        put_text(&d, "layer", denial->layer);
        put_text(&d, "action", denial->action);
        put_text(&d, "resource", denial->resource);
        put_text(&d, "rule", denial->rule);
        put_count(&d, "count", denial->count);
        put_text(&d, "hint", denial->hint);
        append_part(w, array, &d);
    }
    put(w, "denials", array);
}

static void put_artifacts(struct writer *w, const struct sc_result *result)
{
    json_t *array = json_array();
    for (size_t i = 0; i < result->n_artifacts; i++) {
        const struct sc_artifact *artifact = &result->artifacts[i];
        struct writer a = begin();
        put_bytes(&a, "path", "path_b64", artifact->path, strlen(artifact->path));
        put_count(&a, "size", artifact->size);
        put_text(&a, "saved", artifact->saved);
        append_part(w, array, &a);
    }
    put(w, "artifacts", array);
}

static void put_skipped(struct writer *w, const struct sc_result *result)
{
    json_t *array = json_array();
    for (size_t i = 0; i < result->n_skipped; i++) {
        const struct sc_artifact_skip *skip = &result->skipped[i];
        struct writer s = begin();
        put_bytes(&s, "path", "path_b64", skip->path, strlen(skip->path));
        put_text(&s, "why", skip->why);
        append_part(w, array, &s);
    }
    put(w, "skipped", array);
}

static void put_output(struct writer *w, const struct sc_result *result)
{
    put_bytes(w, "stdout", "stdout_b64", result->out.kept.data, result->out.kept.len);
    put_bytes(w, "stderr", "stderr_b64", result->err.kept.data, result->err.kept.len);
    put_bool(w, "stdout_truncated", result->out.truncated);
    put_bool(w, "stderr_truncated", result->err.truncated);
}

static void put_end(struct writer *w, const struct sc_result *result)
{
    put_text(w, "status", SC_STATUS_NAMES[result->status]);
    put(w, "exit_code", result->exit_code >= 0 ? json_integer(result->exit_code) : json_null());
    put_signal(w, result->signal);
    put_text(w, "message", result->message);
}

static void put_start(struct writer *w)
{
    struct writer start = begin();
    put_text(&start, "kind", "cold");
    put_text(w, "backend", "native");
    put_part(w, "start", &start);
}

char *sc_result_to_json(const struct sc_result *result, int indent)
{
    struct writer w = begin();
    put_end(&w, result);
    put_output(&w, result);
    put_usage(&w, &result->usage);
    put_names(&w, "limits_hit", SC_HIT_NAMES, result->limits_hit);
    put_names(&w, "degraded", SC_DEGRADE_NAMES, result->degraded);
    if (result->agent_shares_uid)
        put_bool(&w, "agent_shares_uid", true);
    put_denials(&w, result);
    put_artifacts(&w, result);
    put_skipped(&w, result);
    put_start(&w);
    /* 15 digits: nanoseconds of a week, without a double's noise behind them. */
    size_t flags = JSON_REAL_PRECISION(15) | (indent > 0 ? JSON_INDENT((size_t)indent & 31) : 0);
    char *text = w.failed ? NULL : sc_json_dump(w.object, flags);
    json_decref(w.object);
    return text;
}
