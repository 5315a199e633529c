/* Contexts: names under which an interpreter keeps state, and the runner that serves each. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/json.h"
#include "snap/taken.h"
#include "snap/session_parts.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define NAME_LETTERS LETTERS "0123456789-_."

/* ---- asking for a run ---- */

static size_t env_bytes(const char *const *env)
{
    size_t n = 0;
    for (; env && *env; env++)
        n += strlen(*env) + 1;
    return n;
}

static int check_run(const struct sc_session_run *run, struct sc_err *err)
{
    if (run->lang != SC_LANG_PYTHON && run->lang != SC_LANG_NODE && run->lang != SC_LANG_BASH)
        return sc_err_usage(err, "language", "language: %s: allowed in a session: python, node, bash",
                            sc_lang_name(run->lang));
    if (run->mode != SC_MODE_RICH && run->mode != SC_MODE_RESTRICTED)
        return sc_err_usage(err, "mode", "mode: %s: allowed in a session: rich, restricted",
                            sc_mode_name(run->mode));
    if (run->mode == SC_MODE_RESTRICTED && run->lang != SC_LANG_PYTHON)
        return sc_err_usage(err, "mode", "mode: restricted: allowed with language python, not %s",
                            sc_lang_name(run->lang));
    if (run->code_len > SC_SPEC_CODE_MAX)
        return sc_err_usage(err, "code", "code: %zu bytes: at most %llu are allowed", run->code_len,
                            SC_SPEC_CODE_MAX);
    if (run->stdin_data && run->stdin_len > SC_SPEC_STDIN_MAX)
        return sc_err_usage(err, "stdin", "stdin: %zu bytes: at most %llu are allowed", run->stdin_len,
                            SC_SPEC_STDIN_MAX);
    if (env_bytes(run->env) > SC_SPEC_ARGS_BYTES_MAX)
        return sc_err_usage(err, "env", "env: %zu bytes: at most %llu are allowed", env_bytes(run->env),
                            SC_SPEC_ARGS_BYTES_MAX);
    size_t len = run->context ? strlen(run->context) : 1;
    if (len == 0 || len > SC_SESSION_NAME_MAX || (run->context && strspn(run->context, NAME_LETTERS) != len))
        return sc_err_usage(err, "context",
                            "context: its name: allowed are 1 to %d letters, digits, \"-\", \"_\", \".\"",
                            SC_SESSION_NAME_MAX);
    return 0;
}

static const char *name_of(const struct sc_session_run *run)
{
    if (run->context)
        return run->context;
    return run->mode == SC_MODE_RESTRICTED ? sc_mode_name(run->mode) : sc_lang_name(run->lang);
}

static struct sc_context *find(const struct sc_session *session, const char *name)
{
    struct sc_context *context = session->contexts;
    while (context && strcmp(context->name, name) != 0)
        context = context->next;
    return context;
}

static int make_context(struct sc_session *session, const struct sc_session_run *run,
                        struct sc_context **ret_context, struct sc_err *err)
{
    if (session->n_contexts >= SC_SESSION_CONTEXTS_MAX)
        return sc_err_usage(err, "context",
                            "context: %s: there are %d already, more are not allowed: a restart "
                            "forgets one",
                            name_of(run), SC_SESSION_CONTEXTS_MAX);
    struct sc_context *context = calloc(1, sizeof *context);
    if (!context)
        return sc_err_sys(err, -ENOMEM, "context");
    snprintf(context->name, sizeof context->name, "%s", name_of(run));
    context->lang = run->lang;
    context->mode = run->mode;
    struct sc_context **end = &session->contexts;
    while (*end)
        end = &(*end)->next;
    *end = context;
    session->n_contexts++;
    *ret_context = context;
    return 0;
}

static int get_context(struct sc_session *session, const struct sc_session_run *run,
                       struct sc_context **ret_context, struct sc_err *err)
{
    struct sc_context *context = find(session, name_of(run));
    if (!context)
        return make_context(session, run, ret_context, err);
    if (context->lang != run->lang || context->mode != run->mode)
        return sc_err_usage(err, "context", "context: %s: it is %s, %s: allowed is a run of the same kind",
                            context->name, sc_lang_name(context->lang), sc_mode_name(context->mode));
    *ret_context = context;
    return 0;
}

/* Not to be guessed from inside, so that no run can speak for the next one. */
static int make_id(char ret_id[SC_RUNNER_ID_LEN + 1])
{
    uint64_t number;
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        return -EIO;
    snprintf(ret_id, SC_RUNNER_ID_LEN + 1, "%016llx", (unsigned long long)number);
    return 0;
}

static int add_env(struct sc_buf *input, const char *const *env)
{
    int r = 0;
    for (; env && *env && r == 0; env++)
        r = sc_buf_add(input, *env, strlen(*env) + 1);
    return r;
}

static int make_input(struct sc_task *task, const struct sc_session_run *run)
{
    char with_stdin[24] = "-", with_env[24] = "";
    int r = make_id(task->run_id);
    if (run->env && *run->env)
        snprintf(with_env, sizeof with_env, " %zu", env_bytes(run->env));
    if (run->stdin_data)
        snprintf(with_stdin, sizeof with_stdin, "%zu", run->stdin_len);
    if (r == 0)
        r = sc_buf_printf(&task->input, "run %s %zu %s %s%s\n", task->run_id, run->code_len, with_stdin,
                          sc_mode_name(run->mode), with_env);
    if (r == 0)
        r = add_env(&task->input, run->env);
    if (r == 0)
        r = sc_buf_add(&task->input, run->code, run->code_len);
    if (r == 0 && run->stdin_data)
        r = sc_buf_add(&task->input, run->stdin_data, run->stdin_len);
    return r;
}

int sc_session_run(struct sc_session *session, const struct sc_session_run *asked,
                   const struct sc_task_events *events, void *userdata, uint32_t *ret_task,
                   struct sc_err *err)
{
    const struct sc_session_run own = sc_taken_run(asked), *run = &own;
    struct sc_context *context = NULL;
    int r = check_run(run, err);
    if (r == 0)
        r = sc_task_allowed(session, &run->limits, err);
    if (r == 0)
        r = get_context(session, run, &context, err);
    if (r < 0 || !context)
        return r;
    struct sc_task *task = sc_task_new(session, &run->limits, events, userdata);
    if (!task)
        return sc_err_sys(err, -ENOMEM, "run");
    r = make_input(task, run);
    r = r < 0 ? sc_err_sys(err, r, "run") : sc_task_read_first(task, run, err);
    if (r < 0) {
        sc_task_free(task);
        return r;
    }
    task->context = context;
    task->result.mode = run->mode;
    sc_task_add(task);
    *ret_task = task->id;
    sc_context_pump(session, context);
    return 0;
}

/* ---- runners ---- */

static const char *runner_path(enum sc_lang lang)
{
    return lang == SC_LANG_PYTHON ? "/snapcell/python/runner.py"
           : lang == SC_LANG_NODE ? "/snapcell/node/runner.js"
                                  : "/snapcell/bash/runner.bash";
}

/* docs/runner-protocol.md */
static void fill_argv(const struct sc_context *context, const char *interpreter, const char *argv[10])
{
    bool restricted = context->mode == SC_MODE_RESTRICTED;
    size_t n = 0;
    argv[n++] = interpreter;
    if (context->lang == SC_LANG_BASH) {
        argv[n++] = "--norc";
        argv[n++] = "--noprofile";
    }
    if (context->lang == SC_LANG_NODE && context->is_zygote) {
        argv[n++] = "--single-threaded";
        argv[n++] = "--v8-pool-size=0";
    }
    if (restricted) { /* nothing that stands in the home folder is run at its start */
        argv[n++] = "-E";
        argv[n++] = "-s";
    }
    argv[n++] = runner_path(context->lang);
    if (restricted)
        argv[n++] = "--restricted";
    if (context->is_zygote)
        argv[n++] = "--zygote";
    else if (context->is_serving)
        argv[n++] = "--forkable";
    argv[n] = NULL;
}

/* For this task, or ahead of any: NULL. */
static int start_runner(struct sc_session *session, struct sc_context *context, struct sc_task *task,
                        struct sc_err *err)
{
    static const char *const node_env[] = {"LD_PRELOAD=/snapcell/fork/libsnapcell-nodefork.so", NULL};
    char room[SC_PLAN_INTERPRETER_MAX];
    const char *argv[10];
    struct sc_command command = {.argv = argv, .flags = SC_COMMAND_RUNNER};
    context->is_forked = false;
    context->is_serving = session->is_forkable && context->lang == SC_LANG_PYTHON && !context->is_zygote;
    fill_argv(context, sc_plan_interpreter(session->plan, context->lang, room), argv);
    if (context->is_zygote || context->is_serving) {
        command.flags |= SC_COMMAND_SOCKET;
        command.env = context->is_zygote && context->lang == SC_LANG_NODE ? node_env : NULL;
    }
    return sc_process_start(session, context, task, &command, &context->runner, err);
}

int sc_context_start(struct sc_session *session, struct sc_context *context, struct sc_err *err)
{
    return start_runner(session, context, NULL, err);
}

static struct sc_task *first_waiting(const struct sc_session *session, const struct sc_context *context)
{
    struct sc_task *task = session->tasks;
    while (task && (task->context != context || task->state != SC_TASK_WAITING))
        task = task->next;
    return task;
}

static void hand_over(struct sc_process *runner, struct sc_task *task)
{
    if (!task->process)
        task->begun_ns = sc_now_ns();
    task->process = runner;
    runner->task = task;
    runner->context->runs++;
    task->result.context_lost = runner->context->lost;
    runner->context->lost = false;
    sc_runner_begin(&runner->reader, task->run_id);
    sc_task_start(task);
    sc_task_push(task);
}

static void remove_context(struct sc_session *session, struct sc_context *context)
{
    struct sc_context **at = &session->contexts;
    while (*at != context)
        at = &(*at)->next;
    *at = context->next;
    session->n_contexts--;
    sc_buf_fini(&context->piece);
    free(context);
}

void sc_context_pump(struct sc_session *session, struct sc_context *context)
{
    struct sc_process *runner = context->runner;
    struct sc_task *task = first_waiting(session, context);
    struct sc_err err = {0};
    if (session->ending)
        return;
    if (!task && !runner && context->forget) {
        remove_context(session, context);
    } else if (task && !runner) {
        context->forget = false;
        if (start_runner(session, context, task, &err) < 0) {
            sc_judge_say(task, SC_STATUS_SANDBOX_ERROR, "%s", err.message);
            sc_task_finish(task);
        }
    } else if (task && runner->reader.is_ready && !runner->reader.in_run && !context->prelude &&
               !runner->killed && !runner->exited) {
        hand_over(runner, task);
    }
}

static void on_ready(void *userdata)
{
    struct sc_process *runner = userdata;
    if (sc_prelude_next(runner))
        return;
    runner->patience_ns = 0;
    sc_birth_over(runner->session, NULL);
    sc_context_pump(runner->session, runner->context);
}

static void on_loaded(void *userdata, json_t *error)
{
    struct sc_process *runner = userdata;
    sc_prelude_loaded(runner, error);
    if (!runner->killed)
        on_ready(runner);
}

static void no_memory(struct sc_process *runner)
{
    runner->is_unread = true;
    sc_process_kill(runner);
}

static void on_display(void *userdata, json_t *forms)
{
    struct sc_process *runner = userdata;
    struct sc_task *task = runner->task;
    if (!task)
        return;
    struct sc_inside *inside = &task->result.inside;
    inside->present = true;
    if (!inside->displays)
        inside->displays = json_array();
    if (json_array_append(inside->displays, forms) < 0) {
        no_memory(runner);
        return;
    }
    if (!task->events.display)
        return;
    char *text = sc_json_dump(forms, JSON_COMPACT | JSON_ENCODE_ANY);
    if (text)
        task->events.display(task->userdata, text, strlen(text));
    free(text);
}

static void on_result(void *userdata, const struct sc_runner_result *said)
{
    struct sc_process *runner = userdata;
    struct sc_task *task = runner->task;
    if (runner->killed || !task)
        return; /* too late: its death answers */
    struct sc_inside *inside = &task->result.inside;
    inside->present = true;
    inside->value = json_incref(said->value);
    inside->locals = json_incref(said->locals);
    inside->error = json_incref(said->error);
    if (!inside->displays && !(inside->displays = json_array())) {
        no_memory(runner);
        return;
    }
    sc_judge_count(task);
    sc_judge_said(task, said);
    sc_task_finish(task);
    sc_context_pump(runner->session, runner->context);
}

static void on_forkable(void *userdata, const char *reason)
{
    sc_prelude_forkable(userdata, reason);
}

void sc_context_hear(struct sc_process *runner, const void *data, size_t len)
{
    static const struct sc_runner_events events = {on_ready, on_display, on_result, on_loaded, on_forkable};
    if (runner->reader.is_broken || runner->killed)
        return;
    int r = sc_runner_read(&runner->reader, data, len, &events, runner);
    if (r == -ENOMEM)
        no_memory(runner);
    else if (r < 0)
        sc_process_kill(runner);
}

static void finish_dead(struct sc_process *runner)
{
    struct sc_task *task = runner->task;
    sc_task_unserve(task, runner->lost_input);
    task->result.context_lost = true;
    sc_judge_count(task);
    task->result.usage.rss_peak_bytes = runner->end.rss_peak_bytes;
    sc_judge_dead(task, runner);
    sc_task_finish(task);
}

void sc_context_gone(struct sc_process *runner)
{
    struct sc_context *context = runner->context;
    context->runner = NULL;
    context->prelude = NULL;
    sc_birth_over(runner->session, "its interpreter ended while it was being forked");
    if (!runner->exited) { /* the cell died under it: its end will answer */
        if (runner->task && runner->lost_input)
            sc_task_unserve(runner->task, true);
        if (runner->task)
            runner->task->process = NULL;
        return;
    }
    if (runner->task)
        finish_dead(runner);
    else
        context->lost |= runner->reader.is_ready && !context->forget;
    sc_context_pump(runner->session, context);
}

void sc_context_not_started(struct sc_process *runner, const struct sc_msg_failed *failed)
{
    struct sc_context *context = runner->context;
    context->runner = NULL;
    if (runner->session->birth)
        sc_birth_failed(runner->session, failed);
    if (runner->task) {
        sc_judge_failed(runner->task, failed);
        sc_task_finish(runner->task);
    }
    sc_context_pump(runner->session, context);
}

int sc_context_of(struct sc_session *session, enum sc_lang lang, enum sc_mode mode,
                  struct sc_context **ret_context, struct sc_err *err)
{
    const struct sc_session_run kind = {.lang = lang, .mode = mode};
    int r = check_run(&kind, err);
    return r < 0 ? r : get_context(session, &kind, ret_context, err);
}

const struct sc_context *sc_context_find(const struct sc_session *session, enum sc_lang lang,
                                         enum sc_mode mode)
{
    const struct sc_session_run kind = {.lang = lang, .mode = mode};
    return find(session, name_of(&kind));
}

int sc_session_remember(struct sc_session *session, const char *name, enum sc_lang lang, enum sc_mode mode,
                        struct sc_err *err)
{
    const struct sc_session_run kind = {.lang = lang, .mode = mode, .context = name};
    struct sc_context *context = NULL;
    int r = check_run(&kind, err);
    if (r == 0)
        r = get_context(session, &kind, &context, err);
    if (r == 0)
        context->lost = true;
    return r;
}

int sc_session_restart(struct sc_session *session, const char *name)
{
    struct sc_context *context = find(session, name);
    if (!context || session->ending)
        return -ENOENT;
    session->touched_ns = sc_now_ns();
    context->forget = true;
    context->lost = false;
    if (!context->runner) {
        sc_context_pump(session, context);
        return 0;
    }
    struct sc_task *task = context->runner->task;
    if (task && task->state == SC_TASK_WAITING) { /* it waits for the next runner instead */
        task->process = NULL;
        context->runner->task = NULL;
    } else if (task && task->stop == SC_STOP_NONE) {
        task->stop = SC_STOP_CANCEL;
    }
    sc_process_kill(context->runner);
    return 0;
}
