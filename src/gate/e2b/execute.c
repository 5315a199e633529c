/* POST /execute: a run in a context, told line by line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "gate/e2b/e2b.h"
#include "gate/e2b/contexts.h"
#include "gate/e2b/shell.h"

/* Their clients have clocks of their own; the sandbox's end is the last one. */
#define WALL_MS (24 * 3600 * 1000)
#define OUTPUT_MOST (16 * 1024 * 1024)
#define QUIET_NS (5 * SC_NS_PER_S)
#define HELD_MOST (64u * 1024)

struct execution {
    json_int_t number;
    const char *language; /* ours */
    bool begun;
    uint64_t told_ns;
    struct lines displays;
    struct sc_buf held[2]; /* of stdout, stderr: a line that is not whole yet */
};

static struct execution *execution_of(struct request *request)
{
    struct e2b_call *call = request->of_handler;
    return call->state;
}

static void free_execution(struct request *request)
{
    struct execution *execution = execution_of(request);
    lines_fini(&execution->displays);
    sc_buf_fini(&execution->held[0]);
    sc_buf_fini(&execution->held[1]);
    free(execution);
}

/* ---- lines ---- */

/* In ASCII, as some clients read each piece of the stream as text by itself. */
static void tell(struct request *request, json_t *event)
{
    struct execution *execution = execution_of(request);
    char *text = sc_json_dump(event, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(event);
    if (!text) {
        stream_break(request);
        return;
    }
    execution->told_ns = sc_now_ns();
    stream_bytes(request, text, strlen(text));
    stream_bytes(request, "\n", 1);
    free(text);
}

static void begin(struct request *request)
{
    struct execution *execution = execution_of(request);
    if (execution->begun)
        return;
    execution->begun = true;
    answer_stream(request, MHD_HTTP_OK, "application/x-ndjson");
    tell(request,
         json_pack("{s:s, s:I}", "type", "number_of_executions", "execution_count", execution->number));
}

static void tell_text(struct request *request, bool error, const void *data, size_t len)
{
    struct sc_buf text;
    char now[40];
    if (len == 0)
        return;
    sc_buf_init(&text, 3 * len + 1);
    e2b_time(0, now, sizeof now);
    if (sc_utf8_replace(&text, data, len) == 0)
        tell(request, json_pack("{s:s, s:o, s:s}", "type", error ? "stderr" : "stdout", "text",
                                json_stringn((char *)text.data, text.len), "timestamp", now));
    else
        stream_break(request);
    sc_buf_fini(&text);
}

/* What is held and whole: up to the last line's end, or, with `all`, up to the last character's. */
static void flush(struct request *request, bool error, bool all)
{
    struct sc_buf *held = &execution_of(request)->held[error];
    size_t n = held->len;
    if (all)
        n -= follow_unfinished(held->data, n);
    else
        while (n > 0 && held->data[n - 1] != '\n')
            n--;
    tell_text(request, error, held->data, n);
    if (n == held->len) {
        sc_buf_fini(held);
    } else if (n > 0) {
        memmove(held->data, held->data + n, held->len - n);
        held->len -= n;
    }
}

/* Programs write a line in pieces; it is told whole, or what there is of it after a second. */
static void pass(struct request *request, bool error, const void *data, size_t len)
{
    struct sc_buf *held = &execution_of(request)->held[error];
    if (!held->data)
        sc_buf_init(held, 2 * HELD_MOST + SC_FRAME_MAX);
    if (sc_buf_add(held, data, len) < 0)
        stream_break(request);
    else
        flush(request, error, held->len > HELD_MOST);
}

static void on_display(void *userdata, const char *text, size_t len)
{
    struct request *request = userdata;
    json_t *forms = NULL;
    json_error_t where;
    if (sc_json_load(text, len, JSON_ALLOW_NUL, &forms, &where) < 0)
        return;
    tell(request, e2b_result(forms, false));
    json_decref(forms);
}

static void on_output(void *userdata, enum sc_keeper_stream stream, const void *data, size_t len)
{
    struct request *request = userdata;
    struct execution *execution = execution_of(request);
    if (stream == SC_KEEPER_EVENTS)
        return;
    begin(request);
    if (stream == SC_KEEPER_DISPLAYS) {
        flush(request, false, true);
        flush(request, true, true);
        lines_add(&execution->displays, data, len, on_display, request);
    } else {
        pass(request, stream == SC_KEEPER_STDERR, data, len);
    }
}

/* ---- the end ---- */

static void tell_error(struct request *request, const char *name, const char *value, const char *traceback)
{
    tell(request, json_pack("{s:s, s:s, s:s, s:s}", "type", "error", "name", name, "value", value,
                            "traceback", traceback));
}

/* Why a run ended that did not end by itself. */
static void tell_cause(struct request *request, const json_t *result)
{
    static const struct {
        const char *status, *name;
    } rows[] = {{"timeout", "TimeoutError"},      {"cpu_timeout", "TimeoutError"},
                {"out_of_memory", "MemoryError"}, {"cancelled", "KeyboardInterrupt"},
                {"blocked", "Blocked"},           {"process_limit", "ProcessLimit"},
                {"disk_limit", "DiskLimit"},      {"output_limit", "OutputLimit"},
                {"signaled", "Killed"},           {"sandbox_error", "SandboxError"}};
    const char *status = e2b_text(result, "status"), *message = e2b_text(result, "message");
    const char *name = "SystemExit";
    char code[24];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].status, status))
            name = rows[i].name;
    snprintf(code, sizeof code, "%lld", (long long)json_integer_value(json_object_get(result, "exit_code")));
    if (!message || !*message || !strcmp(name, "SystemExit"))
        message = code;
    tell_error(request, name, message, message);
}

static void tell_end(struct request *request, const json_t *result)
{
    const char *status = e2b_text(result, "status");
    const json_t *value = json_object_get(result, "value"), *error = json_object_get(result, "error");
    static const char cut[] = "\n[what was written beyond 16 MiB is left out]\n";
    if (json_is_true(json_object_get(result, "stdout_truncated")))
        tell_text(request, false, cut, strlen(cut));
    if (json_is_true(json_object_get(result, "stderr_truncated")))
        tell_text(request, true, cut, strlen(cut));
    if (json_is_object(value))
        tell(request, e2b_result(value, true));
    if (json_is_object(error)) {
        const char *trace = e2b_text(error, "traceback");
        tell_error(request, e2b_text(error, "name"), e2b_text(error, "message"), trace ? trace : "");
    } else if (status && strcmp(status, "ok") != 0) {
        tell_cause(request, result);
    }
    tell(request, json_pack("{s:s}", "type", "end_of_execution"));
}

static void on_done(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct request *request = userdata;
    struct execution *execution = execution_of(request);
    json_t *result = NULL;
    json_error_t where;
    request->ask = NULL;
    if (ok && sc_json_load(ok, len, JSON_ALLOW_NUL, &result, &where) < 0)
        result = NULL;
    if (!result && !execution->begun) {
        problem_keeper(request, error);
        return;
    }
    begin(request);
    for (int i = 0; i < 2; i++) {
        flush(request, i, false);
        tell_text(request, i, execution->held[i].data, execution->held[i].len);
        sc_buf_fini(&execution->held[i]);
    }
    if (result)
        tell_end(request, result);
    else
        tell(request, json_pack("{s:s}", "type", "unexpected_end_of_execution"));
    json_decref(result);
    stream_end(request);
}

/* Called at least once a second. */
static void on_second(struct request *request)
{
    struct execution *execution = execution_of(request);
    if (request->ask && execution->begun && sc_now_ns() - execution->told_ns > SC_NS_PER_S / 2) {
        flush(request, false, true);
        flush(request, true, true);
    }
    if (!request->ask || sc_now_ns() - execution->told_ns < QUIET_NS)
        return;
    begin(request);
    tell(request, json_pack("{s:s}", "type", "keepalive"));
}

/* ---- the beginning ---- */

static void run(struct request *request, const char *context, const char *language)
{
    static const struct ask_events events = {.output = on_output, .done = on_done};
    struct e2b_call *call = request->of_handler;
    struct execution *execution = execution_of(request);
    int why = -ENOMEM;
    json_t *code = json_object_get(call->body, "code");
    code = !strcmp(language, "python") ? shell_code(code) : json_incref(code);
    json_t *message = json_pack("{s:s, s:s, s:o, s:s, s:s, s:{s:i, s:i, s:i}}", "request", "run", "language",
                                language, "code", code, "context", context, "output", "stream", "limits",
                                "wall_ms", WALL_MS, "stdout_bytes", OUTPUT_MOST, "stderr_bytes", OUTPUT_MOST);
    json_t *env = json_object_get(call->body, "env_vars");
    if (message && json_is_object(env) && json_object_size(env) > 0)
        (void)json_object_set(message, "env", env);
    if (!message || e2b_address(request, message) < 0) {
        json_decref(message);
        problem_begin(request, -ENOMEM);
        return;
    }
    execution->told_ns = sc_now_ns();
    request->more = on_second;
    request->ask = ask_begin(request->gate, message, NULL, true, &events, request, &why);
    if (!request->ask)
        problem_begin(request, why);
}

/* A context that was made by name has had a run that made it. */
static void on_contexts(struct request *request, const struct e2b_said *said)
{
    struct e2b_call *call = request->of_handler;
    struct execution *execution = execution_of(request);
    const char *id = e2b_text(call->body, "context_id");
    const char *name = id ? id : execution->language;
    json_t *context;
    size_t i;
    if (!e2b_fine(request, said))
        return;
    execution->number = 1;
    json_array_foreach(json_object_get(said->ok, "contexts"), i, context)
    {
        if (strcmp(e2b_text(context, "name"), name) != 0 || contexts_is_gone(request, context))
            continue;
        bool own = !strcmp(name, e2b_text(context, "language"));
        execution->number = json_integer_value(json_object_get(context, "runs")) + own;
        char language[32];
        snprintf(language, sizeof language, "%s", e2b_text(context, "language"));
        run(request, name, language);
        return;
    }
    if (id && !contexts_language(id)) {
        char shown[100];
        sc_text_show(shown, sizeof shown, id, strlen(id));
        problem(request, "not_found", "context_id", "Context %s not found", shown);
        return;
    }
    run(request, name, id ? contexts_language(id) : execution->language);
}

void e2b_handle_execute(struct request *request)
{
    static const char *const names[] = {"code", "context_id", "language", "env_vars", NULL};
    struct execution *execution = e2b_state(request, sizeof *execution, free_execution);
    if (!execution || !e2b_enter(request) || !e2b_read_body(request))
        return;
    struct e2b_call *call = request->of_handler;
    const char *language = e2b_text(call->body, "language"), *id = e2b_text(call->body, "context_id");
    if (!e2b_only(request, call->body, names))
        return;
    if (!e2b_text(call->body, "code")) {
        problem(request, "usage", "code", "code: must be a text");
        return;
    }
    if (language && id) {
        problem(request, "usage", "language", "language, context_id: only one of the two may be given");
        return;
    }
    execution->language = contexts_language(language ? language : "python");
    if (!execution->language) {
        problem(request, "usage", "language", "language: allowed here are python, javascript, bash");
        return;
    }
    e2b_ask(request, json_pack("{s:s}", "request", "context.list"), false, on_contexts);
}
