/* Commands of a session with a client at their streams. The request that starts one is answered by its
 * events, as they happen; what is said to it comes by requests of their own. The gate remembers which request
 * follows which process for as long as it does; a gate that was started anew knows none. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "gate/body.h"
#include "gate/follow.h"

/* One command that is followed. */
struct command {
    TAILQ_ENTRY(command) entry;
    struct request *owner;
    struct ask *ask;
    char *session;
    json_int_t process;
    bool takes_input;
    struct request *feeder; /* a request whose body is its input just now */
};

/* ---- started and followed ---- */

static void forget(struct request *request)
{
    struct command *command = request->command;
    if (!command)
        return;
    TAILQ_REMOVE(&request->gate->commands, command, entry);
    if (command->feeder) {
        command->feeder->feeds = NULL;
        problem(command->feeder, "ended", "process", "the command has ended");
    }
    free(command->session);
    free(command);
    request->command = NULL;
}

static void on_started(struct request *request, struct ask *ask, json_t *started)
{
    struct command *command = calloc(1, sizeof *command);
    if (command)
        command->session = strdup(request->params[0]);
    if (!command || !command->session) {
        free(command);
        return; /* it is followed all the same; nothing can be said to it */
    }
    command->owner = request;
    command->ask = ask;
    command->process = json_integer_value(json_object_get(started, "process"));
    command->takes_input = json_is_true(json_object_get(request->body, "stdin"));
    request->command = command;
    request->forget = forget;
    TAILQ_INSERT_TAIL(&request->gate->commands, command, entry);
}

static void on_room(struct request *request)
{
    if (request->command && request->command->feeder)
        body_wake(request->command->feeder);
}

void handle_command_start(struct request *request)
{
    bool background = json_is_true(json_object_get(request->body, "background"));
    bool input = json_is_true(json_object_get(request->body, "stdin"));
    json_t *message = body_message(request, "command", true);
    if (!message)
        return;
    (void)json_object_del(message, "output");
    (void)json_object_del(message, "stdin");
    if (!input && !background && !json_is_true(json_object_get(request->body, "pty")))
        (void)json_object_set_new(message, "no_stdin", json_true());
    if (background) {
        ask_and_answer(request, message, MHD_HTTP_OK);
        return;
    }
    request->framing = accepted_framing(request);
    (void)follow_begin(request, message, on_started, on_room);
}

/* ---- what is said to it ---- */

static bool read_process(struct request *request, json_int_t *ret_process)
{
    uint64_t number = 0;
    if (sc_parse_u64(request->params[1], &number) == 0 && number > 0 && number <= UINT32_MAX) {
        *ret_process = (json_int_t)number;
        return true;
    }
    problem(request, "usage", "process", "process: must be a number, 1 to 4294967295");
    return false;
}

/* One that the same client, by its token, follows through this gate. NULL: it was answered. */
static struct command *find(struct request *request)
{
    struct command *command;
    json_int_t process = 0;
    if (!read_process(request, &process))
        return NULL;
    TAILQ_FOREACH(command, &request->gate->commands, entry)
    {
        if (command->process == process && !strcmp(command->session, request->params[0]) &&
            !strcmp(command->owner->person->tenant, request->person->tenant))
            return command;
    }
    problem(request, "not_found", "process", "process: no request follows a command of this number here");
    return NULL;
}

void handle_command_stdin(struct request *request)
{
    struct command *command = find(request);
    if (!command)
        return;
    if (!command->takes_input && !json_is_true(json_object_get(command->owner->body, "pty"))) {
        problem(request, "conflict", "process", "the command was started without stdin");
        return;
    }
    if (command->feeder) {
        problem(request, "conflict", "process", "another request is writing to this command");
        return;
    }
    command->feeder = request;
    request->feeds = command;
}

struct ask *command_ask(const struct command *command)
{
    return command->ask;
}

void command_fed(struct request *request)
{
    struct command *command = request->feeds;
    request->feeds = NULL;
    command->feeder = NULL;
    if (json_is_true(json_object_get(request->query, "end")))
        (void)ask_input_end(command->ask);
    answer_empty(request, MHD_HTTP_NO_CONTENT);
}

void command_unfed(struct request *request)
{
    if (request->feeds)
        request->feeds->feeder = NULL;
    request->feeds = NULL;
}

void handle_command_resize(struct request *request)
{
    struct command *command = find(request);
    if (!command)
        return;
    if (!json_is_true(json_object_get(command->owner->body, "pty"))) {
        problem(request, "conflict", "process", "the command has no terminal");
        return;
    }
    (void)ask_resize(command->ask, (uint16_t)json_integer_value(json_object_get(request->body, "rows")),
                     (uint16_t)json_integer_value(json_object_get(request->body, "cols")));
    answer_empty(request, MHD_HTTP_NO_CONTENT);
}

void handle_command_signal(struct request *request)
{
    json_int_t process = 0;
    if (!read_process(request, &process))
        return;
    json_t *message = message_of(request, "process.signal");
    if (message && (json_object_set_new(message, "process", json_integer(process)) < 0 ||
                    json_object_update(message, request->body) < 0)) {
        json_decref(message);
        message = NULL;
    }
    ask_and_answer(request, message, MHD_HTTP_NO_CONTENT);
}

void handle_command_list(struct request *request)
{
    ask_and_answer(request, message_of(request, "process.list"), MHD_HTTP_OK);
}
