/* The one writer of results. docs/result.md describes the object.
 *
 * Everything that may hold bytes of the program's making (output, artifact paths, denials) goes through
 * sc_writer_put_bytes. */
#include "result/result.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "result/inside.h"
#include "result/writer.h"
#include "spec/spec.h"

static void put_names(struct sc_writer *w, const char *key, const char *const *names, uint32_t bits)
{
    json_t *array = json_array();
    for (unsigned bit = 0; names[bit]; bit++)
        if (bits & 1u << bit && json_array_append_new(array, json_string(names[bit])) < 0)
            w->failed = true;
    sc_writer_put(w, key, array);
}

static void put_usage(struct sc_writer *w, const struct sc_usage *usage)
{
    struct sc_writer u = sc_writer_begin();
    sc_writer_put_ms(&u, "wall_ms", usage->wall_ns);
    sc_writer_put_ms(&u, "start_ms", usage->start_ns);
    sc_writer_put_ms(&u, "queue_ms", usage->queue_ns);
    sc_writer_put_ms(&u, "cpu_user_ms", usage->cpu_user_ns);
    sc_writer_put_ms(&u, "cpu_system_ms", usage->cpu_system_ns);
    sc_writer_put_ms(&u, "cpu_ms", usage->cpu_user_ns + usage->cpu_system_ns);
    sc_writer_put_known(&u, "memory_peak_bytes", usage->memory_peak_bytes);
    sc_writer_put_known(&u, "rss_peak_bytes", usage->rss_peak_bytes);
    sc_writer_put_known(&u, "tasks_peak", usage->tasks_peak);
    sc_writer_put_count(&u, "stdout_bytes", usage->stdout_bytes);
    sc_writer_put_count(&u, "stderr_bytes", usage->stderr_bytes);
    sc_writer_put_count(&u, "disk_bytes", usage->disk_bytes);
    sc_writer_put_count(&u, "disk_inodes", usage->disk_inodes);
    sc_writer_put_part(w, "usage", &u);
}

static void put_denials(struct sc_writer *w, const struct sc_result *result)
{
    json_t *array = json_array();
    for (size_t i = 0; i < result->n_denials; i++) {
        const struct sc_denial *denial = &result->denials[i];
        struct sc_writer d = sc_writer_begin();
        sc_writer_put_text(&d, "layer", denial->layer);
        sc_writer_put_text(&d, "action", denial->action);
        sc_writer_put_text(&d, "resource", denial->resource);
        sc_writer_put_text(&d, "rule", denial->rule);
        sc_writer_put_count(&d, "count", denial->count);
        sc_writer_put_text(&d, "hint", denial->hint);
        sc_writer_append_part(w, array, &d);
    }
    sc_writer_put(w, "denials", array);
}

static void put_shown(struct sc_writer *w, const char *key, const char *text)
{
    char shown[1024];
    if (*text)
        sc_writer_put_text(w, key, sc_text_show(shown, sizeof shown, text, strlen(text)));
}

static const char *protocol_name(uint8_t protocol)
{
    switch (protocol) {
    case IPPROTO_TCP:
        return "tcp";
    case IPPROTO_UDP:
        return "udp";
    case IPPROTO_ICMP:
    case IPPROTO_ICMPV6:
        return "icmp";
    default:
        return "other";
    }
}

static void put_network(struct sc_writer *w, const struct sc_result *result)
{
    if (!result->has_network)
        return;
    json_t *array = json_array();
    for (size_t i = 0; i < result->n_network; i++) {
        const struct sc_network_record *record = &result->network[i];
        struct sc_writer n = sc_writer_begin();
        sc_writer_put_text(&n, "what", record->what);
        sc_writer_put_text(&n, "verdict", record->allowed ? "allowed" : "denied");
        put_shown(&n, "name", record->name);
        put_shown(&n, "address", record->address);
        if (strcmp(record->what, "name") != 0)
            sc_writer_put_text(&n, "protocol", protocol_name(record->protocol));
        if (record->port)
            sc_writer_put_count(&n, "port", record->port);
        put_shown(&n, "rule", record->rule);
        put_shown(&n, "reason", record->reason);
        sc_writer_put_count(&n, "count", record->count);
        if (!strcmp(record->what, "connection")) {
            sc_writer_put_count(&n, "bytes_out", record->bytes_out);
            sc_writer_put_count(&n, "bytes_in", record->bytes_in);
        }
        sc_writer_append_part(w, array, &n);
    }
    sc_writer_put(w, "network", array);
}

static void put_artifacts(struct sc_writer *w, const struct sc_result *result)
{
    json_t *array = json_array();
    for (size_t i = 0; i < result->n_artifacts; i++) {
        const struct sc_artifact *artifact = &result->artifacts[i];
        struct sc_writer a = sc_writer_begin();
        sc_writer_put_bytes(&a, "path", "path_b64", artifact->path, strlen(artifact->path));
        sc_writer_put_count(&a, "size", artifact->size);
        sc_writer_put_text(&a, "saved", artifact->saved);
        sc_writer_append_part(w, array, &a);
    }
    sc_writer_put(w, "artifacts", array);
}

static void put_skipped(struct sc_writer *w, const struct sc_result *result)
{
    json_t *array = json_array();
    for (size_t i = 0; i < result->n_skipped; i++) {
        const struct sc_artifact_skip *skip = &result->skipped[i];
        struct sc_writer s = sc_writer_begin();
        sc_writer_put_bytes(&s, "path", "path_b64", skip->path, strlen(skip->path));
        sc_writer_put_text(&s, "why", skip->why);
        sc_writer_append_part(w, array, &s);
    }
    sc_writer_put(w, "skipped", array);
}

static void put_output(struct sc_writer *w, const struct sc_result *result)
{
    sc_writer_put_bytes(w, "stdout", "stdout_b64", result->out.kept.data, result->out.kept.len);
    sc_writer_put_bytes(w, "stderr", "stderr_b64", result->err.kept.data, result->err.kept.len);
    sc_writer_put_bool(w, "stdout_truncated", result->out.truncated);
    sc_writer_put_bool(w, "stderr_truncated", result->err.truncated);
}

static void put_end(struct sc_writer *w, const struct sc_result *result)
{
    sc_writer_put_text(w, "status", SC_STATUS_NAMES[result->status]);
    sc_writer_put(w, "exit_code", result->exit_code >= 0 ? json_integer(result->exit_code) : json_null());
    sc_writer_put_signal(w, result->signal);
    sc_writer_put_text(w, "message", result->message);
}

static void put_start(struct sc_writer *w, const struct sc_result *result)
{
    struct sc_writer start = sc_writer_begin();
    sc_writer_put_text(&start, "kind", SC_START_NAMES[result->start]);
    if (result->start == SC_START_WARM)
        sc_writer_put_ms(&start, "parked_ms", result->parked_ns);
    if (result->zygote_age_ns)
        sc_writer_put_ms(&start, "zygote_age_ms", result->zygote_age_ns);
    if (result->template)
        sc_writer_put_text(&start, "template", result->template);
    if (result->trouble)
        sc_writer_put_bytes(&start, "trouble", NULL, result->trouble, strlen(result->trouble));
    sc_writer_put_text(w, "backend", "native");
    sc_writer_put_part(w, "start", &start);
}

/* One object's text followed by another's members, both printed with the same flags. Takes both; NULL when
 * memory ran out. */
static char *join_objects(char *first, char *second)
{
    size_t len = strlen(first) - 1; /* without its brace, and the new line before that */
    while (len && first[len - 1] == '\n')
        len--;
    const char *members = second + 1, *between = *members == '\n' ? "," : ", ";
    char *joined = first;
    if (*members != '}') {
        size_t size = len + strlen(between) + strlen(members) + 1;
        joined = realloc(first, size);
        if (joined)
            snprintf(joined + len, size - len, "%s%s", between, members);
        else
            free(first);
    }
    free(second);
    return joined;
}

char *sc_result_to_json(const struct sc_result *result, int indent)
{
    struct sc_writer w = sc_writer_begin();
    put_end(&w, result);
    put_output(&w, result);
    put_usage(&w, &result->usage);
    put_names(&w, "limits_hit", SC_HIT_NAMES, result->limits_hit);
    put_names(&w, "degraded", SC_DEGRADE_NAMES, result->degraded);
    if (result->agent_shares_uid)
        sc_writer_put_bool(&w, "agent_shares_uid", true);
    put_denials(&w, result);
    put_network(&w, result);
    put_artifacts(&w, result);
    put_skipped(&w, result);
    put_start(&w, result);
    /* 15 digits: nanoseconds of a week, without a double's noise behind them. What the run said about itself
     * keeps all digits it has. */
    size_t flags = indent > 0 ? JSON_INDENT((size_t)indent & 31) : 0;
    char *outside = w.failed ? NULL : sc_json_dump(w.object, JSON_REAL_PRECISION(15) | flags);
    json_t *object = sc_result_inside_object(result);
    char *inside = sc_json_dump(object, flags);
    json_decref(w.object);
    json_decref(object);
    if (outside && inside)
        return join_objects(outside, inside);
    free(outside);
    free(inside);
    return NULL;
}
