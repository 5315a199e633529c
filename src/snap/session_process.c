/* Runners and commands in the cell: their start, what the agent tells of them, their end. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/num.h"
#include "snap/session_parts.h"

static void on_started(void *userdata, pid_t pid_inside)
{
    struct sc_process *process = userdata;
    (void)pid_inside;
    process->started = true;
    if (process->context || !process->task)
        return; /* a runner has begun when it says so */
    process->patience_ns = 0;
    sc_task_start(process->task);
    sc_task_push(process->task);
}

static void on_output(void *userdata, enum sc_stream_number stream, const void *data, size_t len)
{
    struct sc_process *process = userdata;
    if (stream == SC_STREAM_RUNNER && process->context)
        sc_context_hear(process, data, len);
    else if (process->task && (stream == SC_STREAM_OUT || stream == SC_STREAM_ERR))
        sc_task_take(process->task, (int)stream, data, len);
    /* What nobody asked for, such as a background process's words between two runs, is dropped. */
    sc_live_took(process->session->live, process->op, stream, len);
}

static void on_room(void *userdata, enum sc_stream_number stream)
{
    struct sc_process *process = userdata;
    (void)stream;
    if (process->task && process->task->state == SC_TASK_RUNNING && process->task->input.len > 0)
        sc_task_push(process->task);
    else if (process->context && process->context->piece.len > 0)
        sc_prelude_push(process);
}

static void on_unread(void *userdata)
{
    struct sc_process *process = userdata;
    process->lost_input = true;
}

static void on_exited(void *userdata, const struct sc_command_end *end)
{
    struct sc_process *process = userdata;
    struct sc_task *task = process->task;
    bool keep = task && task->background && task->stop == SC_STOP_NONE;
    process->exited = true;
    process->end = *end;
    if (!process->context && task) {
        sc_judge_count(task);
        task->result.usage.rss_peak_bytes = end->rss_peak_bytes;
        sc_judge_dead(task, process);
        sc_task_finish(task);
    }
    /* Nobody is left who could ask for what it left running. Of a runner the answer waits for that. */
    if (!keep)
        sc_process_kill(process);
    if (process->context && process->session->n_below > 0) {
        /* It is never gone before all that was forked from it is. */
        sc_context_gone(process);
        sc_process_leave(process);
    }
}

static void on_gone(void *userdata)
{
    struct sc_process *process = userdata;
    if (process->context)
        sc_context_gone(process);
    else if (process->task)
        process->task->process = NULL; /* the cell died under it: its end will answer */
    sc_process_free(process);
}

static void on_failed(void *userdata, const struct sc_msg_failed *failed)
{
    struct sc_process *process = userdata;
    struct sc_task *task = process->task;
    if (!sc_live_is_alive(process->session->live)) {
        on_gone(process);
        return;
    }
    if (process->context) {
        sc_context_not_started(process, failed);
    } else if (task) {
        sc_judge_failed(task, failed);
        sc_task_finish(task);
    }
    sc_process_free(process);
}

static const struct sc_live_op_events EVENTS = {
    .started = on_started,
    .output = on_output,
    .room = on_room,
    .unread = on_unread,
    .exited = on_exited,
    .gone = on_gone,
    .failed = on_failed,
};

static struct sc_process *process_new(struct sc_session *session, struct sc_context *context,
                                      struct sc_task *task)
{
    struct sc_process *process = calloc(1, sizeof *process);
    if (!process)
        return NULL;
    *process = (struct sc_process){
        .session = session,
        .context = context,
        .task = task,
        .patience_ns = sc_now_ns() + SC_READY_PATIENCE_NS,
    };
    sc_runner_init(&process->reader);
    return process;
}

/* Into the list, once it is under way; frees one that is not. */
static int add_process(struct sc_process *process, int r, struct sc_process **ret_process)
{
    struct sc_session *session = process->session;
    if (r < 0) {
        free(process);
        return r;
    }
    if (process->task) {
        process->task->begun_ns = sc_now_ns();
        process->task->process = process;
    }
    process->next = session->processes;
    session->processes = process;
    *ret_process = process;
    return 0;
}

int sc_process_start(struct sc_session *session, struct sc_context *context, struct sc_task *task,
                     const struct sc_command *command, struct sc_process **ret_process, struct sc_err *err)
{
    struct sc_process *process = process_new(session, context, task);
    if (!process)
        return sc_err_sys(err, -ENOMEM, "process");
    int r = sc_live_command(session->live, command, &EVENTS, process, &process->op, err);
    return add_process(process, r, ret_process);
}

int sc_process_fork(struct sc_session *session, struct sc_context *context, const struct sc_process *program,
                    const struct sc_command *like, struct sc_process **ret_process, struct sc_err *err)
{
    struct sc_process *process = process_new(session, context, NULL);
    if (!process)
        return sc_err_sys(err, -ENOMEM, "process");
    int r = sc_live_adopt(session->live, program->session->live, program->op, like, &EVENTS, process,
                          &process->op, err);
    return add_process(process, r, ret_process);
}

void sc_process_kill(struct sc_process *process)
{
    if (process->killed)
        return;
    process->killed = true;
    process->is_ours = !process->exited;
    process->patience_ns = sc_now_ns() + SC_DEATH_PATIENCE_NS;
    sc_live_signal(process->session->live, process->op, SIGKILL,
                   process->session->n_below > 0 ? SC_SIGNAL_OWN : SC_SIGNAL_TREE);
}

void sc_process_leave(struct sc_process *process)
{
    if (process->context)
        process->context->runner = NULL;
    process->context = NULL;
    process->task = NULL;
    process->patience_ns = 0;
}

void sc_process_interrupt(struct sc_process *process)
{
    sc_live_signal(process->session->live, process->op, SIGINT, SC_SIGNAL_GROUP);
}

void sc_process_free(struct sc_process *process)
{
    struct sc_process **at = &process->session->processes;
    while (*at != process)
        at = &(*at)->next;
    *at = process->next;
    sc_runner_fini(&process->reader);
    free(process);
}

void sc_processes_check(struct sc_session *session, uint64_t now)
{
    for (struct sc_process *process = session->processes; process; process = process->next) {
        if (!process->patience_ns || now < process->patience_ns)
            continue;
        if (process->killed) {
            process->patience_ns = 0;
            sc_session_fail(session, "failed", SC_STATUS_SANDBOX_ERROR,
                            "processes of the cell did not die when they were killed");
        } else {
            sc_process_kill(process);
        }
    }
}

uint64_t sc_processes_next_ns(const struct sc_session *session)
{
    uint64_t next = UINT64_MAX;
    for (const struct sc_process *process = session->processes; process; process = process->next)
        if (process->patience_ns)
            next = sc_min_u64(next, process->patience_ns);
    return next;
}
