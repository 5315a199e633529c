/* libFuzzer target: any bytes as a judge's task. What is taken must pass or fail the check, and its report be
 * written, without touching anything. Built by tests/fuzz/run. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "judge/judge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A report as it is before anything ran, named by the task. */
static void write_report(const struct sc_judge_task *task)
{
    struct sc_judged *tests = calloc(task->n_tests + 1, sizeof *tests);
    const struct sc_judge_report report = {.tests = tests, .n_tests = task->n_tests};
    char *text = tests ? sc_judge_report_to_json(&report, task, 0) : NULL;
    if (!text)
        abort();
    free(text);
    free(tests);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sc_judge_task task;
    struct sc_err err = {0};
    sc_judge_task_init(&task);
    int r = sc_judge_task_from_json(&task, (const char *)data, size, &err);
    if (r == 0) {
        write_report(&task);
        r = sc_judge_task_check(&task, 8ull << 30, &err);
    }
    if (r < 0 && (err.kind == SC_ERR_NONE || !*err.message || strchr(err.message, '\n')))
        abort();
    sc_judge_task_fini(&task);
    return 0;
}
