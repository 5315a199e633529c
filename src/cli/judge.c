/* `snapcell judge`: a task's build and tests. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/num.h"
#include "base/text.h"
#include "cli/job.h"
#include "cli/say.h"
#include "cli/signals.h"
#include "judge/judge.h"

#define EXIT_NOT_ACCEPTED 1
#define EXIT_CANCELLED 130

struct judging {
    const struct sc_cli_args *args;
    struct sc_judge_task task;
    struct sc_host host;
    int signal_fd;
};

static int read_task(struct sc_judge_task *task, const char *path, struct sc_err *err)
{
    struct sc_buf text;
    sc_buf_init(&text, SC_SPEC_JSON_MAX);
    int r = sc_buf_read_file(&text, AT_FDCWD, path);
    if (r < 0)
        r = sc_err_usage(err, "", "%s: must be a readable file of at most 64M with a task in JSON: %s", path,
                         strerror(-r));
    else
        r = sc_judge_task_from_json(task, text.data ? (const char *)text.data : "", text.len, err);
    sc_buf_fini(&text);
    return r;
}

/* Options of cells hold for those of every part. */
static int apply_options(struct judging *judging, struct sc_err *err)
{
    struct sc_spec *const parts[] = {&judging->task.build, &judging->task.run, &judging->task.checker};
    int r = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && r == 0; i++) {
        r = sc_cli_apply(parts[i], judging->args, err);
        if (r == 0)
            r = sc_cli_cgroup_parent(parts[i], err);
    }
    return r;
}

static int set_jobs(struct judging *judging, struct sc_err *err)
{
    const char *text = judging->args->texts[SC_TEXT_JOBS];
    uint64_t jobs = 0;
    if (!text)
        return 0;
    if (sc_parse_u64(text, &jobs) < 0 || jobs < 1 || jobs > SC_JUDGE_JOBS_MAX)
        return sc_err_usage(err, "jobs", "jobs: %s: allowed 1 to %d", text, SC_JUDGE_JOBS_MAX);
    judging->task.jobs = (unsigned)jobs;
    return 0;
}

/* What is wrong with the task is told before anything is done, the probe included. */
static int prepare(struct judging *judging, struct sc_err *err)
{
    const struct sc_cli_args *args = judging->args;
    if (args->n_operands != 1)
        return sc_err_usage(err, "", "judge: needs one operand, the file of the task");
    int r = read_task(&judging->task, args->operands[0], err);
    if (r == 0)
        r = apply_options(judging, err);
    if (r == 0)
        r = set_jobs(judging, err);
    if (r == 0)
        r = sc_judge_task_check(&judging->task, 0, err);
    const struct sc_host_options options = {.cgroup_parent = judging->task.run.cgroup_parent,
                                            .want_scope = true};
    if (r == 0)
        r = sc_host_probe(&judging->host, &options, err);
    return r == 0 ? sc_cli_signals_open(&judging->signal_fd, err) : r;
}

/* Heap text, NULL when memory ran out. */
static void print(char *text)
{
    (void)sc_cli_print(text); /* a reader that went away does not change the verdict */
}

/* A line for each test, as it ends. Names and messages may be of anybody's making: they stay on it. */
static void tell_test(void *userdata, size_t i, const struct sc_judged *judged)
{
    const char *name = ((const struct judging *)userdata)->task.tests[i].name;
    char shown[64], message[512], peak[32] = "-", *line = NULL;
    sc_text_show(shown, sizeof shown, name, strlen(name));
    sc_text_show(message, sizeof message, judged->message, strlen(judged->message));
    if (judged->memory_peak_bytes)
        sc_format_bytes((judged->memory_peak_bytes + SC_MIB - 1) / SC_MIB * SC_MIB, peak, sizeof peak);
    if (asprintf(&line, "%-18s  %-16s cpu %.3f s  wall %.3f s  memory %s  %s\n",
                 SC_VERDICT_NAMES[judged->verdict], shown, (double)judged->cpu_ns / (double)SC_NS_PER_S,
                 (double)judged->wall_ns / (double)SC_NS_PER_S, peak, message) < 0)
        line = NULL;
    print(line);
}

/* Why nothing could run: the compiler's own words go with it. */
static void tell_build(const struct sc_judge_report *report)
{
    if (!report->has_build || report->build_verdict == SC_VERDICT_ACCEPTED)
        return;
    sc_cli_tell(report->build.out.kept.data, report->build.out.kept.len);
    sc_cli_tell(report->build.err.kept.data, report->build.err.kept.len);
    sc_cli_say("build: %s", report->build_message);
}

static void tell_sum(const struct sc_judge_report *report)
{
    size_t accepted = 0;
    for (size_t i = 0; i < report->n_tests; i++)
        accepted += report->tests[i].verdict == SC_VERDICT_ACCEPTED;
    char *line = NULL;
    if (asprintf(&line, "%s: %zu of %zu tests accepted\n", SC_VERDICT_NAMES[report->verdict], accepted,
                 report->n_tests) < 0)
        line = NULL;
    print(line);
}

static int exit_status(const struct judging *judging, const struct sc_judge_report *report)
{
    struct pollfd cancel = {judging->signal_fd, POLLIN, 0};
    if (poll(&cancel, 1, 0) > 0)
        return EXIT_CANCELLED;
    if (report->verdict == SC_VERDICT_SANDBOX_ERROR)
        return SC_CLI_EXIT_FAILED;
    return report->verdict == SC_VERDICT_ACCEPTED ? SC_CLI_EXIT_OK : EXIT_NOT_ACCEPTED;
}

static int run_task(struct judging *judging)
{
    bool json = judging->args->flags & SC_FLAG_JSON;
    const struct sc_judge_callbacks callbacks = {
        .userdata = judging, .tested = json ? NULL : tell_test, .cancel_fd = judging->signal_fd};
    struct sc_judge_report report;
    struct sc_err err = {0};
    if (sc_judge(&judging->task, &judging->host, &callbacks, &report, &err) < 0)
        return sc_cli_fail(&err);
    int status = exit_status(judging, &report);
    if (json) {
        int printed = sc_cli_print_json(sc_judge_report_to_json(&report, &judging->task, 2));
        status = printed == SC_CLI_EXIT_OK ? status : printed;
    } else {
        tell_build(&report);
        tell_sum(&report);
    }
    sc_judge_report_fini(&report);
    return status;
}

int sc_cli_judge(const struct sc_cli_args *args)
{
    struct judging judging = {.args = args, .signal_fd = -1};
    struct sc_err err = {0};
    sc_judge_task_init(&judging.task);
    int status = prepare(&judging, &err) < 0 ? sc_cli_fail(&err) : run_task(&judging);
    sc_judge_task_fini(&judging.task);
    sc_close(&judging.signal_fd);
    return status;
}
