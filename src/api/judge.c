/* Build once, run many. */
#include "judge/judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/parts.h"

struct snapcell_judgement {
    struct sc_judge_task task;
    struct sc_judge_report report;
};

/* The caller's callbacks, which know nothing of the library's structures. */
static void pass_test(void *userdata, size_t test, const struct sc_judged *judged)
{
    const struct snapcell_judge_callbacks *callbacks = userdata;
    callbacks->tested(callbacks->userdata, test, SC_VERDICT_NAMES[judged->verdict]);
}

static int ask(void *userdata)
{
    const struct snapcell_judge_callbacks *callbacks = userdata;
    return callbacks->cancelled(callbacks->userdata);
}

static int judge(struct snapcell_judgement *judgement, const struct snapcell_host *host,
                 const struct snapcell_judge_callbacks *callbacks, struct sc_err *err)
{
    const struct snapcell_judge_callbacks own = callbacks ? *callbacks : (struct snapcell_judge_callbacks){0};
    const struct sc_judge_callbacks inner = {.userdata = (void *)&own,
                                             .tested = own.tested ? pass_test : NULL,
                                             .cancelled = own.cancelled ? ask : NULL,
                                             .cancel_fd = -1};
    int r = sc_api_check_parent(&judgement->task.run, host, err);
    return r < 0 ? r : sc_judge(&judgement->task, &host->host, &inner, &judgement->report, err);
}

int snapcell_judge(const char *json, size_t len, const struct snapcell_host *host,
                   const struct snapcell_judge_callbacks *callbacks,
                   struct snapcell_judgement **ret_judgement, struct snapcell_error *error)
{
    struct sc_err *err = sc_api_error(error);
    struct snapcell_judgement *judgement = calloc(1, sizeof *judgement);
    if (!judgement)
        return sc_api_no_memory(err);
    sc_judge_task_init(&judgement->task);
    int r = sc_judge_task_from_json(&judgement->task, json, len, err);
    if (r == 0)
        r = judge(judgement, host, callbacks, err);
    if (r < 0) {
        snapcell_judgement_free(judgement);
        return r;
    }
    *ret_judgement = judgement;
    return 0;
}

void snapcell_judgement_free(struct snapcell_judgement *judgement)
{
    if (!judgement)
        return;
    sc_judge_report_fini(&judgement->report);
    sc_judge_task_fini(&judgement->task);
    free(judgement);
}

const char *snapcell_judgement_verdict(const struct snapcell_judgement *judgement)
{
    return SC_VERDICT_NAMES[judgement->report.verdict];
}

size_t snapcell_judgement_tests(const struct snapcell_judgement *judgement)
{
    return judgement->report.n_tests;
}

const char *snapcell_judgement_test_verdict(const struct snapcell_judgement *judgement, size_t test)
{
    const struct sc_judge_report *report = &judgement->report;
    return test < report->n_tests ? SC_VERDICT_NAMES[report->tests[test].verdict] : NULL;
}

uint64_t snapcell_judgement_test_cpu_ns(const struct snapcell_judgement *judgement, size_t test)
{
    const struct sc_judge_report *report = &judgement->report;
    return test < report->n_tests ? report->tests[test].cpu_ns : 0;
}

char *snapcell_judgement_json(const struct snapcell_judgement *judgement)
{
    return sc_judge_report_to_json(&judgement->report, &judgement->task, 2);
}
