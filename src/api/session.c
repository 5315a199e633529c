/* Sessions: runs and commands. Each call drives the session until its own answer is there. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "api/parts.h"
#include "base/fd.h"
#include "snap/session_wait.h"

#define CANCEL_POLL_NS (100 * SC_NS_PER_MS)

static void on_ended(void *userdata, const char *why, const char *message)
{
    struct snapcell_session *session = userdata;
    session->is_over = true;
    snprintf(session->end_message, sizeof session->end_message, "%s: %s", why, message);
}

static int over(const struct snapcell_session *session, struct sc_err *err)
{
    return sc_err_set(err, SC_ERR_USAGE, -ESHUTDOWN, "session: it is over (%s): allowed is a new one",
                      session->end_message);
}

/* An interrupt of before is forgotten: it was meant for a call that had ended by then. */
static void forget_interrupt(struct snapcell_session *session)
{
    uint64_t count;
    ssize_t n = read(session->interrupt_fd, &count, sizeof count);
    (void)n;
}

int sc_api_session_wait(struct snapcell_session *session, const struct snapcell_callbacks *callbacks,
                        uint32_t task, const bool *done, struct sc_err *err)
{
    bool asks = callbacks && callbacks->cancelled;
    bool is_cancelled = false;
    while (!*done && !session->is_over) {
        struct pollfd interrupt = {is_cancelled ? -1 : session->interrupt_fd, POLLIN, 0};
        uint64_t until = asks ? sc_now_ns() + CANCEL_POLL_NS : UINT64_MAX;
        int r = sc_session_wait(session->session, &interrupt, 1, until, err);
        if (r < 0)
            return r;
        if (is_cancelled || *done)
            continue;
        is_cancelled = interrupt.revents || (asks && callbacks->cancelled(callbacks->userdata));
        if (is_cancelled && task)
            sc_session_cancel(session->session, task);
    }
    return *done ? 0 : over(session, err);
}

int sc_api_session_look(struct snapcell_session *session, struct sc_err *err)
{
    int r = session->is_over ? 0 : sc_session_step(session->session, err);
    if (r == 0 && session->is_over)
        r = over(session, err);
    return r;
}

/* ---- life ---- */

static int open_parts(struct snapcell_session *session, const struct snapcell_session_options *options,
                      struct sc_err *err)
{
    const struct sc_session_events events = {.userdata = session, .ended = on_ended};
    const struct sc_session_options times = {
        .idle_ns = options ? options->idle_ms * SC_NS_PER_MS : 0,
        .total_ns = options ? options->total_ms * SC_NS_PER_MS : 0,
    };
    session->interrupt_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (session->interrupt_fd < 0)
        return sc_err_sys(err, -errno, "eventfd");
    int r = sc_works_new(session->plan, &session->works, err);
    return r < 0 ? r : sc_session_open(session->works, &times, &events, &session->session, err);
}

int sc_api_session_open(struct snapcell_session *session, const struct sc_spec *spec,
                        const struct snapcell_host *host, const struct snapcell_session_options *options,
                        struct sc_err *err)
{
    int r = sc_api_plan(spec, true, host, &session->spec, &session->plan, err);
    return r < 0 ? r : open_parts(session, options, err);
}

int snapcell_session_new(struct snapcell_spec *spec, const struct snapcell_host *host,
                         const struct snapcell_session_options *options,
                         struct snapcell_session **ret_session, struct snapcell_error *error)
{
    struct sc_err *err = sc_api_error(error);
    struct snapcell_session *session = calloc(1, sizeof *session);
    if (!session)
        return sc_api_no_memory(err);
    session->interrupt_fd = session->vault_lock = -1;
    int r = sc_api_session_open(session, &spec->spec, host, options, err);
    if (r < 0) {
        snapcell_session_free(session);
        return r;
    }
    *ret_session = session;
    return 0;
}

void snapcell_session_free(struct snapcell_session *session)
{
    if (!session)
        return;
    sc_session_close(session->session);
    sc_pause_free(session->pause);
    sc_works_free(session->works);
    sc_plan_free(session->plan);
    sc_spec_fini(&session->spec);
    sc_close(&session->interrupt_fd);
    sc_close(&session->vault_lock);
    free(session);
}

int snapcell_session_end(struct snapcell_session *session, struct snapcell_error *error)
{
    struct sc_err *err = sc_api_error(error);
    int r = 0;
    sc_session_end(session->session);
    while (r == 0 && !session->is_over)
        r = sc_session_wait(session->session, NULL, 0, UINT64_MAX, err);
    return r;
}

int snapcell_session_interrupt(struct snapcell_session *session)
{
    const uint64_t one = 1;
    return write(session->interrupt_fd, &one, sizeof one) == sizeof one ? 0 : -errno;
}

char *snapcell_session_json(const struct snapcell_session *session)
{
    return sc_session_describe(session->session);
}

int snapcell_session_restart(struct snapcell_session *session, const char *context,
                             struct snapcell_error *error)
{
    struct sc_err *err = sc_api_error(error);
    int r = sc_session_restart(session->session, context);
    if (r < 0)
        return sc_err_set(err, SC_ERR_USAGE, r, "context: %s: there is none of that name", context);
    return 0;
}

/* ---- runs and commands ---- */

struct call {
    const struct snapcell_callbacks *callbacks; /* or NULL */
    struct snapcell_result *result;
    struct sc_err refusal; /* kind NONE: there is none */
    bool done;
};

static void take_output(void *userdata, int stream, const void *data, size_t len)
{
    const struct snapcell_callbacks *callbacks = ((struct call *)userdata)->callbacks;
    if (callbacks && callbacks->output)
        callbacks->output(callbacks->userdata, stream, data, len);
}

static void take_result(void *userdata, struct sc_result *result)
{
    struct call *call = userdata;
    sc_result_move(&call->result->result, result);
    call->done = true;
}

static void take_refusal(void *userdata, const struct sc_err *err)
{
    struct call *call = userdata;
    call->refusal = *err;
    call->done = true;
}

static const struct sc_task_events EVENTS = {
    .output = take_output, .done = take_result, .refused = take_refusal};

static int begin(struct snapcell_session *session, const struct snapcell_callbacks *callbacks,
                 struct call *ret_call, struct sc_err *err)
{
    forget_interrupt(session);
    int r = sc_api_session_look(session, err);
    if (r < 0)
        return r;
    struct snapcell_result *result = calloc(1, sizeof *result);
    if (!result)
        return sc_api_no_memory(err);
    sc_result_init(&result->result, 0, 0);
    *ret_call = (struct call){.callbacks = callbacks, .result = result};
    return 0;
}

/* A session's end answers what is under way, too: that is a result. */
static int finish(struct snapcell_session *session, struct call *call, uint32_t task, int r,
                  struct snapcell_result **ret_result, struct sc_err *err)
{
    if (r == 0)
        r = sc_api_session_wait(session, call->callbacks, task, &call->done, err);
    if (r == 0 && call->refusal.kind != SC_ERR_NONE)
        r = sc_err_usage(err, call->refusal.field, "%s", call->refusal.message);
    if (r < 0) {
        snapcell_result_free(call->result);
        return r;
    }
    *ret_result = call->result;
    return 0;
}

static int take_words(const struct snapcell_code *code, struct sc_session_run *run, struct sc_err *err)
{
    const char *mode = code->mode ? code->mode : "rich";
    if (!code->language || sc_lang_by_name(code->language, &run->lang) < 0)
        return sc_err_usage(err, "language", "language: %s: allowed in a session: python, node, bash",
                            code->language ? code->language : "");
    run->mode = !strcmp(mode, "rich") ? SC_MODE_RICH : SC_MODE_RESTRICTED;
    if (strcmp(mode, sc_mode_name(run->mode)) != 0)
        return sc_err_usage(err, "mode", "mode: %s: allowed in a session: rich, restricted", mode);
    return 0;
}

int snapcell_session_run(struct snapcell_session *session, const struct snapcell_code *code,
                         const struct snapcell_callbacks *callbacks, struct snapcell_result **ret_result,
                         struct snapcell_error *error)
{
    struct sc_err *err = sc_api_error(error);
    uint32_t task = 0;
    struct call call;
    struct sc_session_run run = {
        .context = code->context,
        .code = code->code,
        .code_len = code->code_len,
        .stdin_data = code->stdin_data,
        .stdin_len = code->stdin_len,
    };
    int r = take_words(code, &run, err);
    if (r == 0)
        r = begin(session, callbacks, &call, err);
    if (r < 0)
        return r;
    sc_session_limits(session->session, code->wall_ms * SC_NS_PER_MS, code->cpu_ms * SC_NS_PER_MS,
                      &run.limits);
    r = sc_session_run(session->session, &run, &EVENTS, &call, &task, err);
    return finish(session, &call, task, r, ret_result, err);
}

int snapcell_session_exec(struct snapcell_session *session, const struct snapcell_command *command,
                          const struct snapcell_callbacks *callbacks, struct snapcell_result **ret_result,
                          struct snapcell_error *error)
{
    struct sc_err *err = sc_api_error(error);
    uint32_t task = 0;
    struct call call;
    struct sc_session_exec exec = {
        .argv = command->argv,
        .env = command->env,
        .cwd = command->cwd,
        .stdin_data = command->stdin_data,
        .stdin_len = command->stdin_len,
        .background = command->background,
    };
    int r = begin(session, callbacks, &call, err);
    if (r < 0)
        return r;
    sc_session_limits(session->session, command->wall_ms * SC_NS_PER_MS, command->cpu_ms * SC_NS_PER_MS,
                      &exec.limits);
    r = sc_session_exec(session->session, &exec, &EVENTS, &call, &task, err);
    return finish(session, &call, task, r, ret_result, err);
}
