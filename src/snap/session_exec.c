/* Commands of a session that are not runs of code. */
#include <errno.h>
#include <string.h>

#include "snap/session_parts.h"

static int check_exec(const struct sc_session_exec *exec, struct sc_err *err)
{
    if (!exec->argv || !exec->argv[0] || !exec->argv[0][0])
        return sc_err_usage(err, "argv", "argv: it is empty: allowed is at least a command's name");
    if (exec->stdin_data && exec->stdin_len > SC_SPEC_STDIN_MAX)
        return sc_err_usage(err, "stdin", "stdin: %zu bytes: at most %llu are allowed", exec->stdin_len,
                            SC_SPEC_STDIN_MAX);
    return 0;
}

int sc_session_exec(struct sc_session *session, const struct sc_session_exec *exec,
                    const struct sc_task_events *events, void *userdata, uint32_t *ret_task,
                    struct sc_err *err)
{
    bool has_input = exec->stdin_data && exec->stdin_len > 0;
    const struct sc_command command = {
        .argv = exec->argv,
        .env = exec->env,
        .cwd = exec->cwd,
        .flags = has_input ? SC_COMMAND_STDIN : 0,
    };
    int r = check_exec(exec, err);
    if (r == 0)
        r = sc_task_allowed(session, &exec->limits, err);
    if (r < 0)
        return r;
    struct sc_process *process = NULL;
    struct sc_task *task = sc_task_new(session, &exec->limits, events, userdata);
    if (!task)
        return sc_err_sys(err, -ENOMEM, "command");
    task->background = exec->background;
    if (has_input && (r = sc_buf_add(&task->input, exec->stdin_data, exec->stdin_len)) < 0)
        sc_err_sys(err, r, "stdin");
    if (r == 0)
        r = sc_process_start(session, NULL, task, &command, &process, err);
    if (r < 0) {
        sc_task_free(task);
        return r;
    }
    sc_task_add(task);
    *ret_task = task->id;
    return 0;
}
