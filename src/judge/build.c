/* The build: one cell, whose outputs go into the store. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "judge/parts.h"

/* Callbacks of the build's cell, which also takes artifacts. */
struct building {
    struct sc_judge_work *work;
};

static int is_cancelled(void *userdata)
{
    return sc_judge_cancelled(((struct building *)userdata)->work);
}

static int take_output(void *userdata, const char *path, int fd, uint64_t size)
{
    return sc_store_put(&((struct building *)userdata)->work->store, path, fd, size);
}

static void say(struct sc_judge_report *report, enum sc_verdict verdict, const char *message)
{
    report->build_verdict = verdict;
    snprintf(report->build_message, sizeof report->build_message, "%s", message);
}

/* A build that ended well may still have left nothing, or too much. */
static void judge_build(struct sc_judge_report *report)
{
    const struct sc_result *result = &report->build;
    if (result->status == SC_STATUS_SANDBOX_ERROR)
        say(report, SC_VERDICT_SANDBOX_ERROR, result->message);
    else if (result->status == SC_STATUS_CANCELLED)
        say(report, SC_VERDICT_SKIPPED, result->message);
    else if (result->status != SC_STATUS_OK)
        say(report, SC_VERDICT_BUILD_ERROR, result->message);
    else if (result->limits_hit & SC_HIT_ARTIFACTS)
        say(report, SC_VERDICT_BUILD_ERROR, "the build's outputs pass the limits on artifacts");
    else if (result->n_artifacts == 0)
        say(report, SC_VERDICT_BUILD_ERROR, "the build left none of its outputs");
    else
        say(report, SC_VERDICT_ACCEPTED, "");
}

int sc_judge_build(struct sc_judge_work *work, struct sc_err *err)
{
    struct sc_judge_report *report = work->report;
    struct building building = {work};
    struct sc_callbacks callbacks = sc_judge_cell_callbacks(work, NULL);
    struct sc_setup setup;
    callbacks.userdata = &building;
    callbacks.cancelled = is_cancelled;
    callbacks.artifact = take_output;
    int r = sc_setup_open(&setup, &work->task->build, &(struct sc_setup_change){0}, work->host, err);
    if (r < 0)
        return sc_err_wrap(err, r, "build");
    report->has_build = true;
    sc_result_init(&report->build, setup.plan->limits.stdout, setup.plan->limits.stderr);
    r = sc_cell_run(setup.works, &callbacks, 0, &report->build, err);
    sc_setup_close(&setup);
    if (r < 0)
        return sc_err_wrap(err, r, "build");
    judge_build(report);
    return 0;
}
