/* What a sandbox tells of itself: is it there, its environment, its use. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gate/e2b/e2b.h"

static void on_health(struct request *request, const struct e2b_said *said)
{
    if (e2b_fine(request, said))
        answer_empty(request, MHD_HTTP_NO_CONTENT);
}

static json_t *info(void)
{
    return json_pack("{s:s}", "request", "session.info");
}

void e2b_handle_health(struct request *request)
{
    if (e2b_enter(request))
        e2b_ask(request, info(), false, on_health);
}

/* ---- the environment ---- */

static void on_envs(struct request *request, const struct e2b_said *said)
{
    if (!e2b_fine(request, said))
        return;
    json_t *all = json_object();
    const char *text = e2b_text(said->ok, "stdout");
    char *copy = strdup(text ? text : ""), *rest = copy, *line;
    while (rest && (line = strsep(&rest, "\n"))) {
        char *value = strchr(line, '=');
        if (!value)
            continue;
        *value++ = '\0';
        (void)json_object_set_new(all, line, json_string(value));
    }
    free(copy);
    answer_json(request, MHD_HTTP_OK, all);
}

/* As a program there sees it. */
void e2b_handle_envs(struct request *request)
{
    if (e2b_enter(request))
        e2b_ask(request,
                json_pack("{s:s, s:[s], s:s}", "request", "exec", "command", "env", "output", "reply"), false,
                on_envs);
}

/* ---- its use ---- */

/* Processor time is told as its share since the sandbox was made; memory as its peak. */
static json_t *metric(const json_t *told)
{
    const json_t *usage = json_object_get(told, "usage"), *limits = json_object_get(told, "limits");
    double cpus = json_number_value(json_object_get(limits, "cpus"));
    double age_ms = (double)json_integer_value(json_object_get(told, "age_ms"));
    double used_ms = (double)json_integer_value(json_object_get(usage, "cpu_ms"));
    int count = cpus > 1 ? (int)cpus : 1;
    char now[40];
    e2b_time(0, now, sizeof now);
    return json_pack("{s:s, s:I, s:i, s:f, s:I, s:I, s:i, s:I, s:I}", "timestamp", now, "timestampUnix",
                     (json_int_t)time(NULL), "cpuCount", count, "cpuUsedPct",
                     age_ms > 0 ? 100 * used_ms / age_ms / count : 0.0, "memUsed",
                     json_integer_value(json_object_get(usage, "memory_peak_bytes")), "memTotal",
                     json_integer_value(json_object_get(limits, "memory_bytes")), "memCache", 0, "diskUsed",
                     json_integer_value(json_object_get(usage, "disk_bytes")), "diskTotal",
                     json_integer_value(json_object_get(limits, "disk_bytes")));
}

static void on_metrics(struct request *request, const struct e2b_said *said)
{
    if (e2b_fine(request, said))
        answer_json(request, MHD_HTTP_OK, json_pack("[o]", metric(said->ok)));
}

/* One sample: now. */
void e2b_handle_metrics(struct request *request)
{
    struct e2b_call *call = e2b_call(request);
    if (!call)
        return;
    snprintf(call->session, sizeof call->session, "%s", request->params[0]);
    e2b_ask(request, info(), false, on_metrics);
}

static void on_inside(struct request *request, const struct e2b_said *said)
{
    if (!e2b_fine(request, said))
        return;
    json_t *one = metric(said->ok);
    json_int_t total = json_integer_value(json_object_get(one, "memTotal"));
    json_int_t used = json_integer_value(json_object_get(one, "memUsed"));
    json_t *all = json_pack(
        "{s:O, s:O, s:O, s:I, s:I, s:i, s:I, s:I, s:O, s:O}", "ts", json_object_get(one, "timestampUnix"),
        "cpu_count", json_object_get(one, "cpuCount"), "cpu_used_pct", json_object_get(one, "cpuUsedPct"),
        "mem_total", total, "mem_used", used, "mem_cache", 0, "mem_total_mib", total / 1048576,
        "mem_used_mib", used / 1048576, "disk_used", json_object_get(one, "diskUsed"), "disk_total",
        json_object_get(one, "diskTotal"));
    json_decref(one);
    answer_json(request, MHD_HTTP_OK, all);
}

void e2b_handle_inside_metrics(struct request *request)
{
    if (e2b_enter(request))
        e2b_ask(request, info(), false, on_inside);
}

static bool is_asked(const char *list, const char *id)
{
    size_t len = strlen(id);
    for (const char *at = list; (at = strstr(at, id)); at += len)
        if ((at == list || at[-1] == ',') && (at[len] == ',' || !at[len]))
            return true;
    return false;
}

static void on_all(struct request *request, const struct e2b_said *said)
{
    const struct e2b_call *call = request->of_handler;
    json_t *all = json_object(), *session;
    size_t i;
    if (!e2b_fine(request, said)) {
        json_decref(all);
        return;
    }
    json_array_foreach(json_object_get(said->ok, "sessions"), i, session)
    {
        const char *id = e2b_text(session, "session");
        if (e2b_is_sandbox(session) && id && is_asked(call->state, id))
            (void)json_object_set_new(all, id, metric(session));
    }
    answer_json(request, MHD_HTTP_OK, json_pack("{s:o}", "sandboxes", all));
}

static void free_text(struct request *request)
{
    struct e2b_call *call = request->of_handler;
    free(call->state);
}

void e2b_handle_all_metrics(struct request *request)
{
    struct e2b_call *call = e2b_call(request);
    if (!call)
        return;
    call->state = e2b_query(request, "sandbox_ids", 0);
    call->free_state = free_text;
    if (call->state)
        e2b_ask(request, json_pack("{s:s}", "request", "session.list"), false, on_all);
    else
        problem(request, "usage", "sandbox_ids", "sandbox_ids: is missing");
}

/* What a sandbox's programs write is its clients', and kept nowhere. */
void e2b_handle_logs(struct request *request)
{
    answer_json(request, MHD_HTTP_OK, json_pack("{s:[], s:[]}", "logs", "logEntries"));
}
