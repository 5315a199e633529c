/* `snapcell shell`: a terminal of the cell's own, relayed to the caller's. */
#include "base/fd.h"
#include "cell/cell.h"
#include "cli/job.h"
#include "cli/relay.h"
#include "cli/report.h"
#include "cli/say.h"
#include "cli/signals.h"

struct shell {
    struct sc_cli_job job;
    struct sc_cli_relay relay;
    int signal_fd;
    int failed; /* negative errno: the terminal could not be handed over */
};

static void give_terminal(void *userdata, int master_fd)
{
    struct shell *shell = userdata;
    shell->failed = sc_cli_relay_give(&shell->relay, master_fd);
}

static int is_cancelled(void *userdata)
{
    const struct shell *shell = userdata;
    return shell->failed < 0;
}

static int run_cell(struct shell *shell, struct sc_result *result, struct sc_err *err)
{
    const struct sc_callbacks callbacks = {
        .userdata = shell,
        .cancelled = is_cancelled,
        .cancel_fd = shell->signal_fd,
        .terminal = give_terminal,
    };
    struct sc_works *works = NULL;
    int r = sc_works_new(shell->job.plan, &works, err);
    if (r == 0)
        r = sc_cell_run(works, &callbacks, 0, result, err);
    sc_works_free(works);
    if (r == 0 && shell->failed < 0)
        r = sc_err_sys(err, shell->failed, "terminal relay");
    return r;
}

static void tell(const struct shell *shell, const struct sc_result *result, bool verbose)
{
    struct sc_buf text;
    sc_buf_init(&text, 256 * 1024);
    if (verbose)
        sc_cli_report_long(result, &shell->job.plan->limits, &text);
    else
        sc_cli_report_short(result, &text);
    sc_cli_tell(text.data, text.len);
    sc_buf_fini(&text);
}

static int run_job(struct shell *shell, bool verbose)
{
    const struct sc_limits *limits = &shell->job.plan->limits;
    struct sc_err err = {0};
    struct sc_result result;
    /* The relay first: it must hold nothing of the cell. */
    if (sc_cli_relay_start(&shell->relay, &err) < 0)
        return sc_cli_fail(&err);
    if (sc_cli_signals_open(&shell->signal_fd, &err) < 0) {
        sc_cli_relay_stop(&shell->relay);
        return sc_cli_fail(&err);
    }
    sc_result_init(&result, limits->stdout, limits->stderr);
    int r = run_cell(shell, &result, &err);
    sc_cli_relay_stop(&shell->relay);
    if (r == 0)
        tell(shell, &result, verbose);
    int status = r < 0 ? sc_cli_fail(&err) : sc_result_exit_status(&result);
    sc_result_fini(&result);
    sc_close(&shell->signal_fd);
    return status;
}

int sc_cli_shell(const struct sc_cli_args *args)
{
    struct shell shell = {.signal_fd = -1};
    struct sc_err err = {0};
    if (sc_cli_job_init(&shell.job, args, &err) < 0)
        return sc_cli_fail(&err);
    int status = sc_cli_job_plan(&shell.job, &err) < 0 ? sc_cli_fail(&err)
                                                       : run_job(&shell, args->flags & SC_FLAG_VERBOSE);
    sc_cli_job_fini(&shell.job);
    return status;
}
