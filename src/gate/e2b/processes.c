/* process.Process: the methods. Each asks the keeper first, who knows whether the sandbox's token is right.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "gate/e2b/filesystem.h"
#include "gate/e2b/process.h"

#define WALL_LEAST_MS 10
#define WALL_MOST_MS (24ull * 3600 * 1000)
#define ARGS_MAX 1024

static bool enter(struct request *request, const char *const *names)
{
    struct e2b_call *call;
    if (!e2b_enter(request) || !e2b_user(request, NULL) || !e2b_read_body(request))
        return false;
    call = request->of_handler;
    return e2b_only(request, call->body, names);
}

struct process *process_selected(struct request *request, const json_t *selector)
{
    const struct e2b_call *call = request->of_handler;
    struct e2b *memory = memory_of(request->gate);
    const char *tag = e2b_text(selector, "tag");
    json_int_t pid = json_integer_value(json_object_get(selector, "pid"));
    struct process *process, *found = NULL;
    if (memory)
        processes_trim(memory);
    TAILQ_FOREACH(process, &memory->processes, entry)
    {
        bool fits = tag ? *process->tag && !strcmp(process->tag, tag) : process->pid && process->pid == pid;
        /* The newest of several: a number may come again after its process has ended. */
        if (fits && !strcmp(process->session, call->session))
            found = process;
    }
    if (!found && tag)
        connect_refuse(request, "not_found", "process with tag %.64s not found", tag);
    else if (!found)
        connect_refuse(request, "not_found", "process with pid %lld not found", (long long)pid);
    return found;
}

/* Of those that live. */
static struct process *selected_alive(struct request *request)
{
    const struct e2b_call *call = request->of_handler;
    struct process *process = process_selected(request, json_object_get(call->body, "process"));
    if (process && process->ended_ns) {
        connect_refuse(request, "not_found", "the process has ended");
        return NULL;
    }
    return process;
}

static void ask_first(struct request *request, e2b_next *next)
{
    e2b_ask(request, json_pack("{s:s}", "request", "process.list"), false, next);
}

/* ---- started ---- */

/* 0: none. */
static uint64_t wall_of(const struct request *request)
{
    const char *given = e2b_header(request, "Connect-Timeout-Ms");
    uint64_t ms = 0;
    if (!given || sc_parse_u64(given, &ms) < 0 || ms == 0 || ms > WALL_MOST_MS)
        return 0;
    return ms < WALL_LEAST_MS ? WALL_LEAST_MS : ms;
}

static json_t *words_of(const json_t *config)
{
    json_t *words = json_array(), *word;
    size_t i;
    const char *command = e2b_text(config, "cmd");
    bool fine = command && *command;
    (void)json_array_append_new(words, json_string(command ? command : ""));
    json_array_foreach(json_object_get(config, "args"), i, word)
    {
        fine = fine && json_is_string(word) && i < ARGS_MAX;
        (void)json_array_append(words, word);
    }
    if (fine)
        return words;
    json_decref(words);
    return NULL;
}

static bool size_of(const json_t *body, int *ret_rows, int *ret_cols)
{
    const json_t *size = json_object_get(json_object_get(body, "pty"), "size");
    *ret_rows = (int)json_integer_value(json_object_get(size, "rows"));
    *ret_cols = (int)json_integer_value(json_object_get(size, "cols"));
    return *ret_rows >= 1 && *ret_rows <= 10000 && *ret_cols >= 1 && *ret_cols <= 10000;
}

static json_t *command_message(const struct request *request, const json_t *config, json_t *words, bool pty,
                               bool takes_input)
{
    const struct e2b_call *call = request->of_handler;
    json_t *message = json_pack("{s:s, s:o}", "request", "command", "command", words);
    json_t *env = json_object_get(config, "envs");
    const char *folder = e2b_text(config, "cwd");
    char *path = folder && *folder ? e2b_path(folder) : NULL;
    uint64_t wall_ms = wall_of(request);
    int rows, cols;
    if (message && json_is_object(env))
        (void)json_object_set(message, "env", env);
    if (message && path)
        (void)json_object_set_new(message, "cwd", json_string(path));
    if (message && wall_ms)
        (void)json_object_set_new(message, "limits", json_pack("{s:I}", "wall_ms", (json_int_t)wall_ms));
    if (message && pty && size_of(call->body, &rows, &cols)) {
        (void)json_object_set_new(message, "pty", json_true());
        (void)json_object_set_new(message, "rows", json_integer(rows));
        (void)json_object_set_new(message, "cols", json_integer(cols));
    }
    if (message && !takes_input)
        (void)json_object_set_new(message, "no_stdin", json_true());
    free(path);
    return message;
}

/* What was asked for is right as far as it can be told before. */
static void begin(struct request *request)
{
    const struct e2b_call *call = request->of_handler;
    json_t *config = json_object_get(call->body, "process");
    const json_t *input = json_object_get(call->body, "stdin");
    bool pty = json_is_object(json_object_get(call->body, "pty"));
    bool takes_input = pty || !input || json_is_true(input);
    json_t *message = command_message(request, config, words_of(config), pty, takes_input);
    process_begin(request, message, config, e2b_text(call->body, "tag"), pty, takes_input);
}

static void on_folder(struct request *request, const struct e2b_said *said)
{
    const struct e2b_call *call = request->of_handler;
    const char *type = e2b_text(json_array_get(said->lines, 0), "type");
    bool is_missing = said->error && !strcmp(e2b_text(said->error, "kind"), "file");
    if (is_missing || (type && strcmp(type, "folder") != 0 && strcmp(type, "link") != 0))
        connect_refuse(request, "invalid_argument", "cwd '%.2000s' does not exist",
                       e2b_text(json_object_get(call->body, "process"), "cwd"));
    else if (e2b_fine(request, said))
        begin(request);
}

void e2b_handle_process_start(struct request *request)
{
    static const char *const names[] = {"process", "pty", "tag", "stdin", NULL};
    static const char *const of_config[] = {"cmd", "args", "envs", "cwd", NULL};
    int rows, cols;
    if (!e2b_state(request, sizeof(struct follower), follower_free) || !enter(request, names))
        return;
    const struct e2b_call *call = request->of_handler;
    json_t *config = json_object_get(call->body, "process");
    const char *tag = e2b_text(call->body, "tag");
    if (!e2b_only(request, config, of_config))
        return;
    bool pty = json_is_object(json_object_get(call->body, "pty"));
    if (pty && !size_of(call->body, &rows, &cols)) {
        connect_refuse(request, "invalid_argument", "pty.size: rows and cols must be 1 to 10000");
        return;
    }
    if (tag && strlen(tag) > TAG_MAX) {
        connect_refuse(request, "invalid_argument", "tag: at most %d bytes are allowed", TAG_MAX);
        return;
    }
    json_t *words = words_of(config);
    if (!words) {
        connect_refuse(request, "invalid_argument", "process: cmd and args must be texts, at most %d",
                       ARGS_MAX);
        return;
    }
    json_decref(words);
    const char *folder = e2b_text(config, "cwd");
    char *path = folder && *folder ? e2b_path(folder) : NULL;
    if (path)
        file_ask(request, "file.stat", path, on_folder);
    else
        begin(request);
    free(path);
}

/* ---- followed ---- */

static void on_connect(struct request *request, const struct e2b_said *said)
{
    const struct e2b_call *call = request->of_handler;
    if (!e2b_fine(request, said))
        return;
    struct process *process = process_selected(request, json_object_get(call->body, "process"));
    if (process)
        process_follow(request, process);
}

void e2b_handle_process_connect(struct request *request)
{
    static const char *const names[] = {"process", NULL};
    if (e2b_state(request, sizeof(struct follower), follower_free) && enter(request, names))
        ask_first(request, on_connect);
}

/* ---- listed ---- */

static void on_list(struct request *request, const struct e2b_said *said)
{
    const struct e2b_call *call = request->of_handler;
    struct e2b *memory = memory_of(request->gate);
    json_t *all = json_array();
    const struct process *process;
    if (!memory || !e2b_fine(request, said)) {
        json_decref(all);
        return;
    }
    TAILQ_FOREACH(process, &memory->processes, entry)
    {
        if (strcmp(process->session, call->session) != 0 || !process->pid || process->ended_ns)
            continue;
        json_t *told = json_pack("{s:O, s:I}", "config", process->config, "pid", process->pid);
        if (told && *process->tag)
            (void)json_object_set_new(told, "tag", json_string(process->tag));
        (void)json_array_append_new(all, told);
    }
    answer_json(request, MHD_HTTP_OK, json_pack("{s:o}", "processes", all));
}

void e2b_handle_process_list(struct request *request)
{
    static const char *const names[] = {NULL};
    if (enter(request, names))
        ask_first(request, on_list);
}

/* ---- spoken to ---- */

static void on_update(struct request *request, const struct e2b_said *said)
{
    const struct e2b_call *call = request->of_handler;
    int rows, cols;
    if (!e2b_fine(request, said))
        return;
    struct process *process = selected_alive(request);
    if (!process)
        return;
    if (!process->pty || !size_of(call->body, &rows, &cols)) {
        connect_refuse(request, "invalid_argument",
                       process->pty ? "pty.size: rows and cols must be 1 to 10000"
                                    : "the process has no terminal");
        return;
    }
    (void)ask_resize(process->ask, (uint16_t)rows, (uint16_t)cols);
    answer_json(request, MHD_HTTP_OK, json_object());
}

void e2b_handle_process_update(struct request *request)
{
    static const char *const names[] = {"process", "pty", NULL};
    if (enter(request, names))
        ask_first(request, on_update);
}

static void on_input(struct request *request, const struct e2b_said *said)
{
    const struct e2b_call *call = request->of_handler;
    const json_t *input = json_object_get(call->body, "input");
    struct sc_buf bytes;
    if (!e2b_fine(request, said))
        return;
    struct process *process = selected_alive(request);
    const char *text = process ? e2b_text(input, process->pty ? "pty" : "stdin") : NULL;
    if (!process)
        return;
    if (!process->takes_input || process->input_ends) {
        connect_refuse(request, "failed_precondition", "the process takes no input");
        return;
    }
    sc_buf_init(&bytes, 64u * 1024 * 1024);
    if (!text || sc_b64_decode(&bytes, text, strlen(text)) < 0)
        connect_refuse(request, "invalid_argument", "input.%s: must be base64",
                       process->pty ? "pty" : "stdin");
    else if (!process_feed(process, bytes.data ? bytes.data : (const uint8_t *)"", bytes.len))
        connect_refuse(request, "resource_exhausted", "input: %u bytes wait for the process already",
                       INPUT_MAX);
    else
        answer_json(request, MHD_HTTP_OK, json_object());
    sc_buf_fini(&bytes);
}

void e2b_handle_process_input(struct request *request)
{
    static const char *const names[] = {"process", "input", NULL};
    if (enter(request, names))
        ask_first(request, on_input);
}

static void on_close(struct request *request, const struct e2b_said *said)
{
    if (!e2b_fine(request, said))
        return;
    struct process *process = selected_alive(request);
    if (!process)
        return;
    if (process->pty) {
        connect_refuse(request, "failed_precondition",
                       "a terminal's input is ended by its own means: send \\x04");
        return;
    }
    process_feed_end(process);
    answer_json(request, MHD_HTTP_OK, json_object());
}

void e2b_handle_process_close(struct request *request)
{
    static const char *const names[] = {"process", NULL};
    if (enter(request, names))
        ask_first(request, on_close);
}

/* ---- signals ---- */

static const char *signal_of(const json_t *body)
{
    const json_t *value = json_object_get(body, "signal");
    const char *name = json_string_value(value);
    json_int_t number = json_integer_value(value);
    if (number == 9 || (name && !strcmp(name, "SIGNAL_SIGKILL")))
        return "KILL";
    if (number == 15 || (name && !strcmp(name, "SIGNAL_SIGTERM")))
        return "TERM";
    return NULL;
}

static void on_signalled(struct request *request, const struct e2b_said *said)
{
    if (e2b_fine(request, said))
        answer_json(request, MHD_HTTP_OK, json_object());
}

static void on_signal(struct request *request, const struct e2b_said *said)
{
    const struct e2b_call *call = request->of_handler;
    if (!e2b_fine(request, said))
        return;
    const struct process *process = selected_alive(request);
    if (process)
        e2b_ask(request,
                json_pack("{s:s, s:I, s:s, s:s}", "request", "process.signal", "process", process->number,
                          "signal", signal_of(call->body), "whom", "tree"),
                false, on_signalled);
}

void e2b_handle_process_signal(struct request *request)
{
    static const char *const names[] = {"process", "signal", NULL};
    if (!enter(request, names))
        return;
    const struct e2b_call *call = request->of_handler;
    if (!signal_of(call->body)) {
        connect_refuse(request, "invalid_argument", "signal: allowed are SIGNAL_SIGKILL, SIGNAL_SIGTERM");
        return;
    }
    ask_first(request, on_signal);
}

void e2b_handle_rpc_unserved(struct request *request)
{
    problem(request, "unsupported", "", "this method is not served here");
}
