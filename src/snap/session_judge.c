/* The verdict on a request, from evidence: what we did ourselves, what the kernel counted, what wait said.
 * Only where all of that is silent does the word of the runner decide between ok and error, which is the
 * program's own to say. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/num.h"
#include "base/text.h"
#include "cell/usage.h"
#include "snap/session_parts.h"

#define DISK_HITS (SC_HIT_DISK | SC_HIT_DISK_INODES | SC_HIT_TMP | SC_HIT_TMP_INODES | SC_HIT_SHM)

void sc_judge_say(struct sc_task *task, enum sc_status status, const char *format, ...)
{
    va_list ap;
    task->result.status = status;
    va_start(ap, format);
    vsnprintf(task->result.message, sizeof task->result.message, format, ap);
    va_end(ap);
}

static const char *kind_of(const struct sc_task *task)
{
    return task->context ? "run" : "command";
}

static void say_tasks(struct sc_result *result)
{
    result->limits_hit |= SC_HIT_TASKS;
    sc_result_deny(result, "limit", "tasks", "process or thread", "tasks",
                   "the cell was at its limit of processes and threads; --tasks raises it");
}

/* Limits that were touched since the hand-over; a full disk is told for as long as it is full. */
static void count_hits(struct sc_task *task, const struct sc_live_view *now)
{
    struct sc_result *result = &task->result;
    const struct sc_live_counts *before = &task->base.counts;
    result->limits_hit |= now->hits & DISK_HITS;
    if (now->counts.memory_kills > before->memory_kills)
        result->limits_hit |= SC_HIT_MEMORY;
    if (now->counts.tasks > before->tasks)
        say_tasks(result);
    sc_live_network(task->session->live, result);
    sc_cell_deny_network(result, now->counts.network - sc_min_u64(now->counts.network, before->network));
}

/* The kernel counts user and system time of the whole cell; a run's share is split as the cell's was. */
static void count_cpu(struct sc_task *task, const struct sc_usage *now)
{
    struct sc_usage *usage = &task->result.usage, *before = &task->base.usage;
    sc_tasks_share_cpu(task->session);
    uint64_t user = now->cpu_user_ns - sc_min_u64(now->cpu_user_ns, before->cpu_user_ns);
    uint64_t system = now->cpu_system_ns - sc_min_u64(now->cpu_system_ns, before->cpu_system_ns);
    double part = user + system > 0 ? (double)system / (double)(user + system) : 0;
    usage->cpu_system_ns = sc_min_u64(task->cpu_ns, (uint64_t)((double)task->cpu_ns * part));
    usage->cpu_user_ns = task->cpu_ns - usage->cpu_system_ns;
}

void sc_judge_count(struct sc_task *task)
{
    struct sc_result *result = &task->result;
    struct sc_live_view *now = &task->session->seen;
    result->degraded = task->session->plan->degraded;
    result->agent_shares_uid = task->session->plan->agent_shares_uid;
    result->usage.stdout_bytes = result->out.total;
    result->usage.stderr_bytes = result->err.total;
    if (!task->started_ns)
        return;
    result->usage.wall_ns = sc_now_ns() - task->started_ns;
    sc_live_look_at_memory(task->session->live);
    sc_live_look(task->session->live, now);
    result->usage.memory_peak_bytes = now->usage.memory_peak_bytes;
    result->usage.tasks_peak = now->usage.tasks_peak;
    result->usage.disk_bytes = now->usage.disk_bytes;
    result->usage.disk_inodes = now->usage.disk_inodes;
    count_cpu(task, &now->usage);
    count_hits(task, now);
}

/* In restricted mode in the words that callers of such tools expect: seconds, with one decimal at least. */
static void say_timeout(struct sc_task *task)
{
    const uint64_t tenth_ns = SC_NS_PER_S / 10, wall = task->limits.wall;
    if (!task->context || task->context->mode != SC_MODE_RESTRICTED)
        sc_judge_say(task, SC_STATUS_TIMEOUT, "the %s was ended at its wall-clock limit", kind_of(task));
    else if (wall % tenth_ns == 0)
        sc_judge_say(task, SC_STATUS_TIMEOUT, "Execution timed out after %.1fs", (double)wall / 1e9);
    else
        sc_judge_say(task, SC_STATUS_TIMEOUT, "Execution timed out after %.12gs", (double)wall / 1e9);
}

static void say_cpu(struct sc_task *task)
{
    task->result.passed_ns = task->limits.cpu;
    sc_judge_say(task, SC_STATUS_CPU_TIMEOUT, "the %s used up its processor time", kind_of(task));
}

/* True when we ended it ourselves: then that is the verdict, whatever else happened. */
static bool judge_stop(struct sc_task *task)
{
    const char *what = kind_of(task);
    switch (task->stop) {
    case SC_STOP_WALL:
        say_timeout(task);
        return true;
    case SC_STOP_CPU:
        say_cpu(task);
        return true;
    case SC_STOP_OUTPUT:
        sc_judge_say(task, SC_STATUS_OUTPUT_LIMIT, "the %s wrote more than its output limit", what);
        return true;
    case SC_STOP_CANCEL:
        sc_judge_say(task, SC_STATUS_CANCELLED, "the %s was cancelled", what);
        return true;
    default:
        return false;
    }
}

/* True when the kernel's first kill for memory ended the whole session: whatever the rest of it said then. */
static bool judge_memory(struct sc_task *task)
{
    const struct sc_session *session = task->session;
    if (!session->ending || session->end_status != SC_STATUS_OUT_OF_MEMORY)
        return false;
    sc_judge_say(task, SC_STATUS_OUT_OF_MEMORY, "%s", session->end_message);
    return true;
}

/* A failure after a limit was touched has that limit's status, as with single runs. */
static enum sc_status failed_as(const struct sc_task *task)
{
    if (task->result.limits_hit & SC_HIT_TASKS)
        return SC_STATUS_PROCESS_LIMIT;
    return task->result.limits_hit & DISK_HITS ? SC_STATUS_DISK_LIMIT : SC_STATUS_ERROR;
}

static void judge_code(struct sc_task *task, int code)
{
    task->result.exit_code = code;
    if (code == 0)
        sc_judge_say(task, SC_STATUS_OK, "%s", "");
    else
        sc_judge_say(task, failed_as(task), "the %s ended with exit code %d", kind_of(task), code);
}

/* "ZeroDivisionError: division by zero (line 3)": text from inside, made fit for one line. */
static void tell_error(struct sc_task *task, enum sc_status status, const char *prefix, const json_t *error)
{
    char name[64], message[320], line[32] = "";
    const json_t *text = json_object_get(error, "message"), *number = json_object_get(error, "line");
    const char *said = json_string_value(json_object_get(error, "name"));
    sc_text_show(message, sizeof message, json_string_value(text), json_string_length(text));
    sc_text_show(name, sizeof name, said, strlen(said));
    if (json_is_integer(number))
        snprintf(line, sizeof line, " (line %lld)", (long long)json_integer_value(number));
    sc_judge_say(task, status, "%s%s%s%s", prefix ? prefix : name, *message ? ": " : "", message, line);
}

void sc_judge_said(struct sc_task *task, const struct sc_runner_result *said)
{
    if (judge_stop(task) || judge_memory(task))
        return;
    task->result.exit_code = said->exit_code;
    switch (said->status) {
    case SC_RUNNER_OK:
    case SC_RUNNER_EXIT:
        judge_code(task, said->exit_code);
        break;
    case SC_RUNNER_INTERRUPTED:
        sc_judge_say(task, SC_STATUS_ERROR, "the run was interrupted from inside");
        break;
    case SC_RUNNER_SYNTAX_ERROR:
        sc_judge_say(task, SC_STATUS_SYNTAX_ERROR, "Syntax error");
        if (said->error)
            tell_error(task, SC_STATUS_SYNTAX_ERROR, "Syntax error", said->error);
        break;
    case SC_RUNNER_ERROR:
        sc_judge_say(task, failed_as(task), "the run failed");
        if (said->error)
            tell_error(task, failed_as(task), NULL, said->error);
        break;
    }
}

/* The end of an interpreter that had not said a word yet. */
static bool judge_unready(struct sc_task *task, const struct sc_process *process)
{
    const char *lang = sc_lang_name(task->context->lang);
    if (process->reader.is_ready)
        return false;
    if (process->is_ours)
        sc_judge_say(task, SC_STATUS_SANDBOX_ERROR, "the %s interpreter was not ready after %llu s", lang,
                     (unsigned long long)(SC_READY_PATIENCE_NS / SC_NS_PER_S));
    else
        sc_judge_say(task, SC_STATUS_SANDBOX_ERROR,
                     "the %s interpreter ended before it was ready (wait status %#x): %s", lang,
                     (unsigned)process->end.wait_status,
                     task->result.err.kept.len ? "its words are in stderr" : "it said nothing");
    return true;
}

/* A kill that was not ours, while the kernel counted one for memory. */
static bool is_memory(const struct sc_task *task, const struct sc_process *process)
{
    int status = process->end.wait_status;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && task->result.limits_hit & SC_HIT_MEMORY &&
           !process->is_ours;
}

/* Where no group counts, the kernel ends a process that is over its own limit (src/cell/run_judge.c). */
static bool is_over_cpu(const struct sc_task *task, const struct sc_process *process)
{
    const struct sc_command_end *end = &process->end;
    return task->session->plan->degraded & SC_DEGRADE_CPU && WIFSIGNALED(end->wait_status) &&
           WTERMSIG(end->wait_status) == SIGXCPU &&
           end->cpu_user_ns + end->cpu_system_ns >= task->limits.cpu / 2;
}

/* Of a context: its interpreter is dead and no result came. Of a command: the command ended. */
void sc_judge_dead(struct sc_task *task, const struct sc_process *process)
{
    if (judge_stop(task) || judge_memory(task))
        return;
    int status = process->end.wait_status;
    if (is_memory(task, process)) {
        sc_judge_say(task, SC_STATUS_OUT_OF_MEMORY, "the kernel ended the %s for memory",
                     task->context ? "interpreter" : "command");
    } else if (is_over_cpu(task, process)) {
        task->result.limits_hit |= SC_HIT_CPU;
        say_cpu(task);
    } else if (process->is_unread) {
        sc_judge_say(task, SC_STATUS_SANDBOX_ERROR, "memory ran out reading what the interpreter said");
    } else if (task->context && process->reader.trouble[0]) {
        sc_judge_say(task, SC_STATUS_ERROR, "the interpreter broke its protocol and was ended: %s",
                     process->reader.trouble);
    } else if (task->context && judge_unready(task, process)) {
        return;
    } else if (WIFEXITED(status)) {
        judge_code(task, WEXITSTATUS(status));
    } else {
        int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        task->result.signal = number;
        if (number == SIGXFSZ)
            task->result.limits_hit |= SC_HIT_FILE_SIZE;
        sc_judge_say(task, SC_STATUS_SIGNALED, "the %s was ended by signal %d (%s)",
                     task->context ? "interpreter" : "command", number, strsignal(number));
    }
}

/* There was no process to be had, and the kernel has counted that it refused some to this cell. */
static bool was_crowded_out(struct sc_task *task, const struct sc_msg_failed *failed)
{
    struct sc_live_view *now = &task->session->seen;
    if (failed->code != -EAGAIN)
        return false;
    sc_live_look(task->session->live, now);
    return now->counts.tasks > 0;
}

/* It could not even be started: as a shell tells it when the program is at fault, else ours. */
void sc_judge_failed(struct sc_task *task, const struct sc_msg_failed *failed)
{
    const char *what = task->context ? sc_lang_name(task->context->lang) : "command";
    if (judge_stop(task) || judge_memory(task))
        return;
    sc_judge_count(task);
    if (!strcmp(failed->stage, "exec") &&
        (failed->code == -ENOENT || failed->code == -EACCES || failed->code == -ENOEXEC)) {
        task->result.exit_code = failed->code == -ENOENT ? 127 : 126;
        sc_judge_say(task, SC_STATUS_ERROR, "%s: %.90s: cannot be started in the cell: %s", what,
                     failed->object, strerror(-failed->code));
        return;
    }
    if (was_crowded_out(task, failed)) {
        say_tasks(&task->result);
        sc_judge_say(task, SC_STATUS_PROCESS_LIMIT,
                     "%s: cannot be started: what runs in the cell already is at its limit of tasks", what);
        return;
    }
    sc_judge_say(task, SC_STATUS_SANDBOX_ERROR, "%s: stage %.28s: %.90s: %s", what, failed->stage,
                 failed->object, strerror(-failed->code));
}
