/* The verdict, from evidence: what the supervisor itself did, what the kernel counted, what wait said. Never
 * from exit code 137 or from anything the program wrote. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/num.h"
#include "cell/feed.h"
#include "cell/run.h"
#include "cell/usage.h"

/* What the cell took before START is not the program's: files, and sealing (nearly all of it system calls),
 * which a cell that was made ahead has behind it then. */
static void leave_out_start(const struct sc_run *run, struct sc_usage *usage)
{
    uint64_t system = sc_min_u64(run->cpu_fed_ns, usage->cpu_system_ns);
    usage->cpu_system_ns -= system;
    usage->cpu_user_ns -= sc_min_u64(run->cpu_fed_ns - system, usage->cpu_user_ns);
}

static void count_usage(struct sc_run *run)
{
    struct sc_usage *usage = &run->result->usage;
    usage->wall_ns = run->started_ns ? run->ended_ns - run->started_ns : 0;
    usage->stdout_bytes = run->result->out.total;
    usage->stderr_bytes = run->result->err.total;
    /* Resident peaks reach us through wait: the agent's own children, and what it reaped. */
    usage->rss_peak_bytes = sc_max_u64(run->exit.rss_peak_bytes, (uint64_t)run->death.usage.ru_maxrss * 1024);
    usage->cpu_user_ns = sc_max_u64(run->exit.user_ns, sc_timeval_ns(&run->death.usage.ru_utime));
    usage->cpu_system_ns = sc_max_u64(run->exit.system_ns, sc_timeval_ns(&run->death.usage.ru_stime));
    if (sc_cell_look(&run->cell, run->ready, run->plan, usage, &run->result->limits_hit))
        sc_result_deny(run->result, "limit", "tasks", "process or thread", "tasks",
                       "the cell was at its limit of processes and threads; --tasks raises it");
    leave_out_start(run, usage);
    if (run->cell.space.has_group && sc_group_oom(&run->cell.space.group))
        run->result->limits_hit |= SC_HIT_MEMORY;
}

static void say(struct sc_result *result, enum sc_status status, const char *text)
{
    result->status = status;
    snprintf(result->message, sizeof result->message, "%s", text);
}

#define DISK_HITS (SC_HIT_DISK | SC_HIT_DISK_INODES | SC_HIT_TMP | SC_HIT_TMP_INODES | SC_HIT_SHM)

static void judge_code(struct sc_run *run, int code)
{
    struct sc_result *result = run->result;
    result->exit_code = code;
    if (code == 0)
        say(result, SC_STATUS_OK, "");
    else if (result->limits_hit & SC_HIT_TASKS)
        say(result, SC_STATUS_PROCESS_LIMIT, "the program failed after it had reached the limit of tasks");
    else if (result->limits_hit & DISK_HITS)
        say(result, SC_STATUS_DISK_LIMIT, "the program failed after it had filled a file system");
    else {
        result->status = SC_STATUS_ERROR;
        snprintf(result->message, sizeof result->message, "the program ended with exit code %d", code);
    }
}

/* Where no group counts, the kernel ends a process that is over its own limit with a signal of that meaning.
 * It counts ticks for that, and tells the time that really passed: under load the two differ. */
static bool over_own_cpu(const struct sc_run *run, int number)
{
    uint64_t used = run->exit.user_ns + run->exit.system_ns, limit = run->plan->limits.cpu;
    if (!(run->plan->degraded & SC_DEGRADE_CPU))
        return false;
    return (number == SIGXCPU && used >= limit / 2) || (number == SIGKILL && used >= limit);
}

static void judge_signal(struct sc_run *run, int number)
{
    struct sc_result *result = run->result;
    result->signal = number;
    if (over_own_cpu(run, number)) {
        result->limits_hit |= SC_HIT_CPU;
        result->passed_ns = run->plan->limits.cpu;
        say(result, SC_STATUS_CPU_TIMEOUT, "the program used up its processor time");
    } else {
        if (number == SIGXFSZ)
            result->limits_hit |= SC_HIT_FILE_SIZE;
        result->status = SC_STATUS_SIGNALED;
        snprintf(result->message, sizeof result->message, "the program was ended by signal %d (%s)", number,
                 strsignal(number));
    }
}

static void judge_failure(struct sc_run *run, struct sc_err *err)
{
    struct sc_result *result = run->result;
    const struct sc_msg_failed *failed = &run->failed;
    if (!strcmp(failed->stage, "exec") &&
        (failed->code == -ENOENT || failed->code == -EACCES || failed->code == -ENOEXEC)) {
        /* Nothing of ours: the command does not exist in the cell, or is no program. As a shell tells it. */
        result->status = SC_STATUS_ERROR;
        result->exit_code = failed->code == -ENOENT ? 127 : 126;
        snprintf(result->message, sizeof result->message, "%s: cannot be started in the cell: %s",
                 failed->object, strerror(-failed->code));
        return;
    }
    result->status = SC_STATUS_SANDBOX_ERROR;
    snprintf(result->message, sizeof result->message, "stage %s: %s: %s", failed->stage, failed->object,
             strerror(-failed->code));
    sc_err_set(err, SC_ERR_SANDBOX, failed->code, "%s", result->message);
}

static void judge_agent(struct sc_run *run)
{
    if (run->result->limits_hit & SC_HIT_MEMORY)
        say(run->result, SC_STATUS_OUT_OF_MEMORY, "the cell ran out of memory");
    else
        say(run->result, SC_STATUS_SANDBOX_ERROR, "the cell's process 1 ended without a report");
}

/* A file that does not fit was refused before anything ran: the request is at fault, not the program. */
static int refuse_files(struct sc_run *run, struct sc_err *err)
{
    const struct sc_msg_failed *failed = &run->failed;
    if (run->end != SC_END_FAILED || strcmp(failed->stage, "file") != 0)
        return 0;
    return sc_feed_refused(failed, err);
}

int sc_run_judge(struct sc_run *run, struct sc_err *err)
{
    struct sc_result *result = run->result;
    int r = refuse_files(run, err);
    if (r < 0)
        return r;
    result->degraded = run->plan->degraded;
    result->agent_shares_uid = run->plan->agent_shares_uid;
    count_usage(run);
    sc_cell_deny_network(result, sc_cell_network_refused(&run->cell));
    int status = run->exit.wait_status;
    switch (run->end) {
    case SC_END_EXIT:
        /* A kill for memory means the whole cell's. Version 1 tells of it while the rest still runs, and may
         * be a little late. */
        if (result->limits_hit & SC_HIT_MEMORY)
            say(result, SC_STATUS_OUT_OF_MEMORY, "the cell ran out of memory");
        else if (WIFEXITED(status))
            judge_code(run, WEXITSTATUS(status));
        else
            judge_signal(run, WTERMSIG(status));
        break;
    case SC_END_WALL:
        result->passed_ns = run->plan->limits.wall;
        say(result, SC_STATUS_TIMEOUT, "the program was ended at its wall-clock limit");
        break;
    case SC_END_CPU:
        result->passed_ns = run->plan->limits.cpu;
        say(result, SC_STATUS_CPU_TIMEOUT, "the program used up its processor time");
        break;
    case SC_END_MEMORY:
        say(result, SC_STATUS_OUT_OF_MEMORY, "the cell ran out of memory");
        break;
    case SC_END_OUTPUT:
        say(result, SC_STATUS_OUTPUT_LIMIT, "the program wrote more than its output limit");
        break;
    case SC_END_CANCEL:
        say(result, SC_STATUS_CANCELLED, "the run was cancelled");
        break;
    case SC_END_FAILED:
        judge_failure(run, err);
        break;
    default:
        judge_agent(run);
    }
    return 0;
}
