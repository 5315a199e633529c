/* What the judge tells. docs/judge.md describes the object. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "judge/judge.h"
#include "result/writer.h"

void sc_judge_report_fini(struct sc_judge_report *report)
{
    if (!report)
        return;
    for (size_t i = 0; i < report->n_tests; i++) {
        sc_buf_fini(&report->tests[i].out);
        sc_buf_fini(&report->tests[i].err);
    }
    free(report->tests);
    if (report->has_build)
        sc_result_fini(&report->build);
    *report = (struct sc_judge_report){0};
}

static void put_exit(struct sc_writer *w, int exit_code, int signal)
{
    sc_writer_put(w, "exit_code", exit_code >= 0 ? json_integer(exit_code) : json_null());
    sc_writer_put_signal(w, signal);
}

static void put_outputs(struct sc_writer *w, const struct sc_result *build)
{
    json_t *array = json_array();
    for (size_t i = 0; i < build->n_artifacts; i++) {
        struct sc_writer a = sc_writer_begin();
        sc_writer_put_bytes(&a, "path", "path_b64", build->artifacts[i].path,
                            strlen(build->artifacts[i].path));
        sc_writer_put_count(&a, "size", build->artifacts[i].size);
        sc_writer_append_part(w, array, &a);
    }
    sc_writer_put(w, "outputs", array);
}

/* What matched a pattern of the outputs and was not taken: links above all. */
static void put_skipped(struct sc_writer *w, const struct sc_result *build)
{
    json_t *array = json_array();
    for (size_t i = 0; i < build->n_skipped; i++) {
        struct sc_writer s = sc_writer_begin();
        sc_writer_put_bytes(&s, "path", "path_b64", build->skipped[i].path, strlen(build->skipped[i].path));
        sc_writer_put_text(&s, "why", build->skipped[i].why);
        sc_writer_append_part(w, array, &s);
    }
    sc_writer_put(w, "skipped", array);
}

static void put_build(struct sc_writer *w, const struct sc_judge_report *report)
{
    const struct sc_result *build = &report->build;
    struct sc_writer b = sc_writer_begin();
    sc_writer_put_text(&b, "verdict", SC_VERDICT_NAMES[report->build_verdict]);
    sc_writer_put_text(&b, "message", report->build_message);
    put_exit(&b, build->exit_code, build->signal);
    sc_writer_put_ms(&b, "cpu_ms", build->usage.cpu_user_ns + build->usage.cpu_system_ns);
    sc_writer_put_ms(&b, "wall_ms", build->usage.wall_ns);
    sc_writer_put_known(&b, "memory_peak_bytes", build->usage.memory_peak_bytes);
    sc_writer_put_bytes(&b, "stdout", "stdout_b64", build->out.kept.data, build->out.kept.len);
    sc_writer_put_bytes(&b, "stderr", "stderr_b64", build->err.kept.data, build->err.kept.len);
    put_outputs(&b, build);
    put_skipped(&b, build);
    sc_writer_put_part(w, "build", &b);
}

static void put_test(struct sc_writer *w, json_t *array, const struct sc_judged *judged, const char *name,
                     bool shown)
{
    struct sc_writer t = sc_writer_begin();
    sc_writer_put_text(&t, "name", name);
    sc_writer_put_text(&t, "verdict", SC_VERDICT_NAMES[judged->verdict]);
    sc_writer_put_text(&t, "message", judged->message);
    sc_writer_put_ms(&t, "cpu_ms", judged->cpu_ns);
    sc_writer_put_ms(&t, "wall_ms", judged->wall_ns);
    sc_writer_put_known(&t, "memory_peak_bytes", judged->memory_peak_bytes);
    put_exit(&t, judged->exit_code, judged->signal);
    if (shown) {
        sc_writer_put_bytes(&t, "stdout", "stdout_b64", judged->out.data, judged->out.len);
        sc_writer_put_bytes(&t, "stderr", "stderr_b64", judged->err.data, judged->err.len);
    }
    sc_writer_append_part(w, array, &t);
}

static void put_summary(struct sc_writer *w, const struct sc_judge_report *report)
{
    uint64_t accepted = 0, skipped = 0, cpu = 0, cpu_most = 0, memory_most = 0;
    for (size_t i = 0; i < report->n_tests; i++) {
        const struct sc_judged *judged = &report->tests[i];
        accepted += judged->verdict == SC_VERDICT_ACCEPTED;
        skipped += judged->verdict == SC_VERDICT_SKIPPED;
        cpu += judged->cpu_ns;
        cpu_most = sc_max_u64(cpu_most, judged->cpu_ns);
        memory_most = sc_max_u64(memory_most, judged->memory_peak_bytes);
    }
    struct sc_writer s = sc_writer_begin();
    sc_writer_put_count(&s, "tests", report->n_tests);
    sc_writer_put_count(&s, "accepted", accepted);
    sc_writer_put_count(&s, "failed", report->n_tests - accepted - skipped);
    sc_writer_put_count(&s, "skipped", skipped);
    sc_writer_put_ms(&s, "cpu_ms", cpu);
    sc_writer_put_ms(&s, "cpu_ms_most", cpu_most);
    sc_writer_put_known(&s, "memory_peak_bytes_most", memory_most);
    sc_writer_put_part(w, "summary", &s);
}

char *sc_judge_report_to_json(const struct sc_judge_report *report, const struct sc_judge_task *task,
                              int indent)
{
    struct sc_writer w = sc_writer_begin();
    json_t *tests = json_array();
    sc_writer_put_text(&w, "verdict", SC_VERDICT_NAMES[report->verdict]);
    if (report->has_build)
        put_build(&w, report);
    else
        sc_writer_put(&w, "build", json_null());
    for (size_t i = 0; i < report->n_tests; i++)
        put_test(&w, tests, &report->tests[i], task->tests[i].name, task->shown_bytes > 0);
    sc_writer_put(&w, "tests", tests);
    put_summary(&w, report);
    size_t flags = JSON_REAL_PRECISION(15) | (indent > 0 ? JSON_INDENT((size_t)indent & 31) : 0);
    char *text = w.failed ? NULL : sc_json_dump(w.object, flags);
    json_decref(w.object);
    return text;
}
