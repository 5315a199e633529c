/* `snapcell run`: one program in one cell. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/cell.h"
#include "cli/job.h"
#include "cli/report.h"
#include "cli/say.h"
#include "cli/signals.h"
#include "cli/sink.h"
#include "snap/session.h"

struct run {
    const struct sc_cli_args *args;
    struct sc_cli_job job;
    struct sc_cli_sink out, err;
    int signal_fd;
};

static bool wants(const struct run *run, enum sc_cli_flag flag)
{
    return run->args->flags & flag;
}

static void take_output(void *userdata, int stream, const void *data, size_t len)
{
    struct run *run = userdata;
    sc_cli_sink_add(stream == STDOUT_FILENO ? &run->out : &run->err, data, len);
}

/* Asked about ten times a second: also the moment to write what a slow reader left waiting. */
static int is_cancelled(void *userdata)
{
    struct run *run = userdata;
    sc_cli_sink_push(&run->out);
    sc_cli_sink_push(&run->err);
    return run->out.broken || run->err.broken;
}

/* Everything that still waits goes out, each stream as far as its reader lets it. */
static void finish_output(struct run *run)
{
    sc_cli_sink_finish(&run->out, run->signal_fd);
    sc_cli_sink_finish(&run->err, run->signal_fd);
}

static void tell(struct run *run, const struct sc_result *result)
{
    struct sc_buf text;
    sc_buf_init(&text, 256 * 1024);
    if (wants(run, SC_FLAG_VERBOSE))
        sc_cli_report_long(result, &run->job.plan->limits, &text);
    else if (!wants(run, SC_FLAG_JSON))
        sc_cli_report_short(result, &text);
    /* The program's last line may be unfinished; ours starts on its own. */
    if (text.len && ((run->err.guarded && run->err.mid_line) || (run->out.guarded && run->out.mid_line)))
        sc_cli_tell("\n", 1);
    if (text.len)
        sc_cli_tell(text.data, text.len);
    sc_buf_fini(&text);
}

/* Exit status of a run that has a result. */
static int answer(struct run *run, const struct sc_result *result)
{
    if (!wants(run, SC_FLAG_JSON))
        sc_cli_report_inside(result, &run->out, &run->err);
    finish_output(run);
    tell(run, result);
    if (wants(run, SC_FLAG_JSON) && sc_cli_print_json(sc_result_to_json(result, 2)) != SC_CLI_EXIT_OK)
        return SC_CLI_EXIT_FAILED;
    /* A reader that went away took what it wanted; a disk that is full did not. */
    if (run->out.broken && run->out.broken != -EPIPE) {
        sc_cli_say("stdout: %s", strerror(-run->out.broken));
        return SC_CLI_EXIT_FAILED;
    }
    return sc_result_exit_status(result);
}

/* Exit status of a run that never came to a result. JSON readers get one all the same. */
static int answer_failure(const struct sc_cli_args *args, const struct sc_err *err)
{
    struct sc_result result;
    if (!(args->flags & SC_FLAG_JSON) || err->kind == SC_ERR_USAGE)
        return sc_cli_fail(err);
    sc_result_init(&result, 1, 1);
    result.status = SC_STATUS_SANDBOX_ERROR;
    result.exit_code = -1;
    snprintf(result.message, sizeof result.message, "%.*s", (int)sizeof result.message - 1, err->message);
    (void)sc_cli_print_json(sc_result_to_json(&result, 2));
    sc_result_fini(&result);
    return SC_CLI_EXIT_FAILED;
}

static int run_cell(struct run *run, struct sc_result *result, struct sc_err *err)
{
    bool live = !wants(run, SC_FLAG_JSON);
    const struct sc_callbacks callbacks = {
        .userdata = run,
        .output = live ? take_output : NULL,
        .cancelled = is_cancelled,
        .cancel_fd = run->signal_fd,
    };
    struct sc_works *works = NULL;
    int r = sc_works_new(run->job.plan, &works, err);
    if (r == 0)
        r = sc_run_once(works, &callbacks, 0, result, err);
    sc_works_free(works);
    return r;
}

static int run_job(struct run *run)
{
    const struct sc_limits *limits = &run->job.plan->limits;
    bool raw = wants(run, SC_FLAG_RAW);
    struct sc_err err = {0};
    struct sc_result result;
    int status;
    if (sc_cli_signals_open(&run->signal_fd, &err) < 0)
        return answer_failure(run->args, &err);
    sc_cli_sink_init(&run->out, STDOUT_FILENO, raw, limits->stdout + SC_CLI_INSIDE_MAX);
    sc_cli_sink_init(&run->err, STDERR_FILENO, raw, limits->stderr + SC_CLI_INSIDE_MAX);
    sc_result_init(&result, limits->stdout, limits->stderr);
    if (run_cell(run, &result, &err) < 0)
        status = answer_failure(run->args, &err);
    else
        status = answer(run, &result);
    sc_result_fini(&result);
    sc_cli_sink_fini(&run->out);
    sc_cli_sink_fini(&run->err);
    sc_close(&run->signal_fd);
    return status;
}

int sc_cli_run(const struct sc_cli_args *args)
{
    struct run run = {.args = args, .signal_fd = -1};
    struct sc_err err = {0};
    if (args->texts[SC_TEXT_URL])
        return sc_cli_run_url(args);
    if (args->texts[SC_TEXT_KEY_FILE]) {
        sc_err_usage(&err, "key-file", "key-file: allowed with --url");
        return sc_cli_fail(&err);
    }
    if (args->flags & SC_FLAG_WARM)
        return sc_cli_run_warm(args);
    if (args->texts[SC_TEXT_SOCKET]) {
        sc_err_usage(&err, "socket", "socket: allowed with --warm");
        return sc_cli_fail(&err);
    }
    if (sc_cli_job_init(&run.job, args, &err) < 0)
        return answer_failure(args, &err);
    int status = sc_cli_job_plan(&run.job, &err) < 0 ? answer_failure(args, &err) : run_job(&run);
    sc_cli_job_fini(&run.job);
    return status;
}
