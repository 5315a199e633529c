/* A session for people and programs to look at. */
#include <jansson.h>

#include "base/json.h"
#include "base/num.h"
#include "snap/session_parts.h"

static json_t *ms(uint64_t ns)
{
    return json_integer((json_int_t)(ns / SC_NS_PER_MS));
}

static const char *context_state(const struct sc_context *context)
{
    const struct sc_process *runner = context->runner;
    if (!runner)
        return "stopped";
    if (runner->killed || runner->exited)
        return "ending";
    if (!runner->reader.is_ready)
        return "starting";
    return runner->reader.in_run ? "running" : "idle";
}

static json_t *describe_contexts(const struct sc_session *session)
{
    json_t *list = json_array();
    for (const struct sc_context *context = session->contexts; context; context = context->next)
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:s, s:i}", "name", context->name, "language",
                                        sc_lang_name(context->lang), "mode", sc_mode_name(context->mode),
                                        "state", context_state(context), "runs", (int)context->runs));
    return list;
}

static json_t *describe_tasks(const struct sc_session *session, uint64_t now)
{
    json_t *list = json_array();
    for (const struct sc_task *task = session->tasks; task; task = task->next)
        json_array_append_new(list, json_pack("{s:I, s:s, s:s?, s:s, s:o}", "id", (json_int_t)task->id,
                                              "kind", task->context ? "run" : "exec", "context",
                                              task->context ? task->context->name : NULL, "state",
                                              task->state == SC_TASK_RUNNING ? "running" : "waiting",
                                              "age_ms", ms(now - task->asked_ns)));
    return list;
}

static json_t *describe_usage(const struct sc_session *session)
{
    struct sc_usage usage = {0};
    sc_live_usage(session->live, &usage);
    return json_pack("{s:o, s:I, s:I, s:I, s:I}", "cpu_ms", ms(sc_live_cpu_ns(session->live)),
                     "memory_peak_bytes", (json_int_t)usage.memory_peak_bytes, "tasks_peak",
                     (json_int_t)usage.tasks_peak, "disk_bytes", (json_int_t)usage.disk_bytes, "disk_inodes",
                     (json_int_t)usage.disk_inodes);
}

char *sc_session_describe(const struct sc_session *session)
{
    uint64_t now = sc_now_ns(), age = now - session->opened_ns, quiet = now - session->touched_ns;
    uint64_t total_left = session->options.total_ns - sc_min_u64(session->options.total_ns, age);
    uint64_t idle_left = session->options.idle_ns;
    if (session->n_tasks == 0)
        idle_left -= sc_min_u64(idle_left, quiet);
    json_t *all = json_pack("{s:s?, s:o, s:o, s:o, s:o, s:o, s:o}", "ending", session->ending, "age_ms",
                            ms(age), "left_ms", ms(total_left), "idle_left_ms", ms(idle_left), "contexts",
                            describe_contexts(session), "tasks", describe_tasks(session, now), "usage",
                            describe_usage(session));
    char *text = sc_json_dump(all, JSON_INDENT(2));
    json_decref(all);
    return text;
}
