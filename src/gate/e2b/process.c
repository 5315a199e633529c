/* A process lives longer than the request that started it: what it says goes to whoever follows it at that
 * moment, and is dropped when nobody does. The gate's end is its end. */
#include "gate/e2b/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

#define KEPT_NS (30 * SC_NS_PER_S) /* after its end, for those who still want to hear of that */
#define QUIET_NS (20 * SC_NS_PER_S)

static struct follower *follower_of(struct request *request)
{
    struct e2b_call *call = request->of_handler;
    return call->state;
}

/* ---- what followers are told ---- */

static void tell(struct follower *follower, json_t *event)
{
    follower->told_ns = sc_now_ns();
    connect_send(follower->request, json_pack("{s:O}", "event", event));
}

static void tell_start(struct follower *follower)
{
    json_t *event = json_pack("{s:{s:I}}", "start", "pid", follower->process->pid);
    follower->begun = true;
    tell(follower, event);
    json_decref(event);
}

static void leave(struct follower *follower)
{
    if (follower->process)
        TAILQ_REMOVE(&follower->process->followers, follower, entry);
    follower->process = NULL;
}

static void tell_last(struct follower *follower)
{
    struct process *process = follower->process;
    if (process->end)
        tell(follower, process->end);
    connect_end(follower->request, process->end ? NULL : process->code, process->message);
    leave(follower);
}

void follower_free(struct request *request)
{
    struct follower *follower = follower_of(request);
    struct process *process = follower->process;
    leave(follower);
    if (process && process->ask && process->ask->link)
        link_pause(process->ask->link, false);
    free(follower);
}

/* Called at least once a second, and when its client has taken what there was. */
static void on_room(struct request *request)
{
    struct follower *follower = follower_of(request);
    struct process *process = follower->process;
    if (!process)
        return;
    if (process->ask && process->ask->link && request->out.len - request->out_at < SC_GATE_WINDOW / 2)
        link_pause(process->ask->link, false);
    if (follower->begun && sc_now_ns() - follower->told_ns > QUIET_NS) {
        json_t *event = json_pack("{s:{}}", "keepalive");
        tell(follower, event);
        json_decref(event);
    }
}

void process_follow(struct request *request, struct process *process)
{
    struct follower *follower = follower_of(request);
    follower->request = request;
    follower->process = process;
    follower->told_ns = sc_now_ns();
    TAILQ_INSERT_TAIL(&process->followers, follower, entry);
    request->more = on_room;
    if (process->pid)
        tell_start(follower);
    if (process->ended_ns)
        tell_last(follower);
}

/* ---- what it says ---- */

static void on_event(void *userdata, const char *text, size_t len)
{
    struct process *process = userdata;
    struct follower *follower;
    json_t *value = NULL;
    json_error_t where;
    if (sc_json_load(text, len, JSON_ALLOW_NUL, &value, &where) < 0)
        return;
    const json_t *started = json_object_get(value, "started");
    if (started) {
        process->number = json_integer_value(json_object_get(started, "process"));
        process->pid = json_integer_value(json_object_get(started, "pid"));
        TAILQ_FOREACH(follower, &process->followers, entry)
        {
            tell_start(follower);
        }
    }
    json_decref(value);
}

/* Half a line is never sent here: the keeper's are short and come whole. */
static void take_events(struct process *process, const char *data, size_t len)
{
    const char *stop;
    while ((stop = memchr(data, '\n', len))) {
        on_event(process, data, (size_t)(stop - data));
        len -= (size_t)(stop + 1 - data);
        data = stop + 1;
    }
}

static void on_output(void *userdata, enum sc_keeper_stream stream, const void *data, size_t len)
{
    struct process *process = userdata;
    struct follower *follower;
    struct sc_buf text;
    if (stream == SC_KEEPER_EVENTS) {
        take_events(process, data, len);
        return;
    }
    const char *name = process->pty ? "pty" : stream == SC_KEEPER_STDERR ? "stderr" : "stdout";
    sc_buf_init(&text, 2 * len + 8);
    if (TAILQ_EMPTY(&process->followers) || sc_b64_encode(&text, data, len) < 0) {
        sc_buf_fini(&text);
        return;
    }
    json_t *event = json_pack("{s:{s:o}}", "data", name, json_stringn((char *)text.data, text.len));
    sc_buf_fini(&text);
    TAILQ_FOREACH(follower, &process->followers, entry)
    {
        struct request *request = follower->request;
        tell(follower, event);
        if (process->ask->link && request->out.len - request->out_at > SC_GATE_WINDOW)
            link_pause(process->ask->link, true);
    }
    json_decref(event);
}

/* ---- what it is told ---- */

static void pump(struct process *process)
{
    size_t n = process->ask ? process->ask->credit : 0;
    n = n < process->input.len ? n : process->input.len;
    if (!process->ask || !process->ask->link)
        return;
    if (n > 0 && ask_input(process->ask, process->input.data, n) == 0) {
        memmove(process->input.data, process->input.data + n, process->input.len - n);
        process->input.len -= n;
    }
    if (process->input.len == 0 && process->input_ends && process->takes_input) {
        process->takes_input = false;
        (void)ask_input_end(process->ask);
    }
}

static void on_credit(void *userdata)
{
    pump(userdata);
}

bool process_feed(struct process *process, const void *data, size_t len)
{
    if (sc_buf_add(&process->input, data, len) < 0)
        return false;
    pump(process);
    return true;
}

void process_feed_end(struct process *process)
{
    process->input_ends = true;
    pump(process);
}

/* ---- its end ---- */

static json_t *end_event(const json_t *result)
{
    const char *signal = e2b_text(result, "signal_name");
    int exit_code = (int)json_integer_value(json_object_get(result, "exit_code"));
    char status[64];
    if (signal) {
        int number = (int)json_integer_value(json_object_get(result, "signal"));
        snprintf(status, sizeof status, "signal: %s",
                 number == 9    ? "killed"
                 : number == 15 ? "terminated"
                                : signal);
        return json_pack("{s:{s:i, s:b, s:s, s:s}}", "end", "exitCode", -1, "exited", 0, "status", status,
                         "error", status);
    }
    snprintf(status, sizeof status, "exit status %d", exit_code);
    json_t *event =
        json_pack("{s:{s:i, s:b, s:s}}", "end", "exitCode", exit_code, "exited", 1, "status", status);
    if (event && exit_code)
        (void)json_object_set_new(json_object_get(event, "end"), "error", json_string(status));
    return event;
}

static void end_with(struct process *process, const char *code, const char *message)
{
    snprintf(process->code, sizeof process->code, "%s", code);
    process->message = strdup(message);
}

static void read_result(struct process *process, const json_t *result)
{
    const char *status = e2b_text(result, "status"), *message = e2b_text(result, "message");
    if (!status)
        end_with(process, "internal", "the keeper's answer could not be read");
    else if (!strcmp(status, "timeout"))
        end_with(process, "deadline_exceeded", "the command was ended by its timeout");
    else if (!strcmp(status, "sandbox_error"))
        end_with(process, "internal", message ? message : "");
    else if (!process->pid)
        end_with(process, "invalid_argument", message ? message : "the command could not be started");
    else if (!strcmp(status, "cancelled"))
        end_with(process, "unavailable", "the sandbox has ended");
    else
        process->end = end_event(result);
}

static void process_free(struct e2b *memory, struct process *process)
{
    TAILQ_REMOVE(&memory->processes, process, entry);
    memory->n_processes--;
    json_decref(process->config);
    json_decref(process->end);
    sc_buf_fini(&process->input);
    free(process->message);
    free(process);
}

static void on_done(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct process *process = userdata;
    struct follower *follower;
    json_t *result = NULL;
    json_error_t where;
    process->ask = NULL;
    process->ended_ns = sc_now_ns();
    if (ok && sc_json_load(ok, len, JSON_ALLOW_NUL, &result, &where) < 0)
        result = NULL;
    while (error && (follower = TAILQ_FIRST(&process->followers))) {
        struct request *request = follower->request;
        leave(follower);
        problem_keeper(request, error);
    }
    if (!error)
        read_result(process, result);
    else
        end_with(process, "unavailable", "the sandbox has ended");
    json_decref(result);
    while ((follower = TAILQ_FIRST(&process->followers)))
        tell_last(follower);
    if (!process->pid)
        process_free(process->gate->e2b, process);
}

void processes_trim(struct e2b *memory)
{
    struct process *process, *next;
    uint64_t now = sc_now_ns();
    for (process = TAILQ_FIRST(&memory->processes); process; process = next) {
        next = TAILQ_NEXT(process, entry);
        if (process->ended_ns && now - process->ended_ns > KEPT_NS && TAILQ_EMPTY(&process->followers))
            process_free(memory, process);
    }
}

void processes_close(struct e2b *memory)
{
    struct process *process;
    struct follower *follower;
    while ((process = TAILQ_FIRST(&memory->processes))) {
        while ((follower = TAILQ_FIRST(&process->followers)))
            leave(follower);
        if (process->ask)
            ask_forget(process->ask);
        process_free(memory, process);
    }
}

/* ---- its beginning ---- */

void process_begin(struct request *request, json_t *message, json_t *config, const char *tag, bool pty,
                   bool takes_input)
{
    static const struct ask_events events = {.output = on_output, .credit = on_credit, .done = on_done};
    const struct e2b_call *call = request->of_handler;
    struct e2b *memory = memory_of(request->gate);
    int why = -ENOMEM;
    struct process *process = NULL;
    if (memory)
        processes_trim(memory);
    if (memory && memory->n_processes >= PROCESSES_MAX)
        why = -EAGAIN;
    else if (memory)
        process = calloc(1, sizeof *process);
    if (!process || !message || e2b_address(request, message) < 0) {
        free(process);
        json_decref(message);
        problem_begin(request, why);
        return;
    }
    *process = (struct process){
        .gate = request->gate, .config = json_incref(config), .pty = pty, .takes_input = takes_input};
    snprintf(process->session, sizeof process->session, "%s", call->session);
    snprintf(process->tag, sizeof process->tag, "%s", tag ? tag : "");
    sc_buf_init(&process->input, INPUT_MAX);
    TAILQ_INIT(&process->followers);
    TAILQ_INSERT_TAIL(&memory->processes, process, entry);
    memory->n_processes++;
    process_follow(request, process);
    process->ask = ask_begin(request->gate, message, NULL, true, &events, process, &why);
    if (!process->ask) {
        leave(follower_of(request));
        process_free(memory, process);
        problem_begin(request, why);
    }
}
