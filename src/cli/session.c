/* `snapcell session`: finds the word, connects, and does the simple ones. */
#include "cli/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/keeper.h"
#include "cli/say.h"
#include "cli/signals.h"

json_t *sc_cli_session_request(const struct sc_cli_session *session, const char *request)
{
    return json_pack("{s:s, s:s*}", "request", request, "session", session->id);
}

json_t *sc_cli_session_request_with(const struct sc_cli_session *session, const char *request,
                                    const char *name, const char *text)
{
    return json_pack("{s:s, s:s*, s:s*}", "request", request, "session", session->id, name, text);
}

int sc_cli_session_fail(const struct sc_err *err)
{
    int status = sc_cli_fail(err);
    bool of_file = err->kind == SC_ERR_SANDBOX && !strcmp(err->field, "path");
    return of_file ? SC_CLI_EXIT_FILE : status;
}

int sc_cli_session_usage(const struct sc_cli_session *session, const char *what)
{
    struct sc_err err = {0};
    sc_err_usage(&err, "", "%s: %s", session->args.verb->name, what);
    return sc_cli_fail(&err);
}

int sc_cli_session_do(struct sc_cli_session *session, json_t *request, struct sc_err *err)
{
    const struct sc_keeper_exchange exchange = {.stop_fd = session->signal_fd};
    return sc_keeper_ask(session->client, request, &exchange, NULL, err);
}

int sc_cli_session_connect(struct sc_cli_session *session, bool start, struct sc_err *err)
{
    const char *path = session->args.texts[SC_TEXT_SOCKET];
    if (start)
        return sc_cli_keeper_reach(path, &session->client, err);
    int r = sc_keeper_client_open(path, &session->client, err);
    if (r == -ENOENT || r == -ECONNREFUSED)
        return sc_err_usage(err, "session",
                            "session: no keeper runs, so there is no session; `snapcell session "
                            "start` makes one");
    return r;
}

enum sc_keeper_stop sc_cli_session_stop(void *userdata, struct sc_keeper_size *ret_resize)
{
    struct sc_cli_stop *stop = userdata;
    struct signalfd_siginfo info;
    (void)ret_resize;
    (void)!read(stop->signal_fd, &info, sizeof info);
    if (stop->stopped)
        return SC_KEEPER_LEAVE;
    stop->stopped = true;
    return SC_KEEPER_STOP;
}

static int do_one(struct sc_cli_session *session, json_t *request)
{
    struct sc_err err = {0};
    return sc_cli_session_do(session, request, &err) < 0 ? sc_cli_session_fail(&err) : SC_CLI_EXIT_OK;
}

static int end(struct sc_cli_session *session)
{
    if (session->args.n_operands)
        return sc_cli_session_usage(session, "takes one ID");
    return do_one(session, sc_cli_session_request(session, "session.end"));
}

/* Asks, and prints what it says as JSON. */
static int print_reply(struct sc_cli_session *session, const char *request)
{
    json_t *reply = NULL;
    struct sc_err err = {0};
    if (session->args.n_operands)
        return sc_cli_session_usage(session, "takes one ID");
    if (sc_keeper_ask(session->client, sc_cli_session_request(session, request), NULL, &reply, &err) < 0)
        return sc_cli_session_fail(&err);
    int status = sc_cli_print_json(sc_json_dump(reply, JSON_INDENT(2)));
    json_decref(reply);
    return status;
}

static int tell(struct sc_cli_session *session)
{
    return print_reply(session, "session.info");
}

static int add_process(const json_t *process, struct sc_buf *text)
{
    const char *state = json_is_true(json_object_get(process, "exited"))       ? "ended"
                        : json_is_true(json_object_get(process, "background")) ? "background"
                                                                               : "foreground";
    return sc_buf_printf(text, "%6lld  %-10s  %8.1fs  %s\n",
                         json_integer_value(json_object_get(process, "process")), state,
                         json_number_value(json_object_get(process, "age_ms")) / 1000,
                         json_string_value(json_object_get(process, "command")));
}

static int list_processes(struct sc_cli_session *session)
{
    json_t *reply = NULL, *process;
    struct sc_err err = {0};
    struct sc_buf text;
    size_t i;
    int r = 0;
    if (session->args.flags & SC_FLAG_JSON)
        return print_reply(session, "process.list");
    if (sc_keeper_ask(session->client, sc_cli_session_request(session, "process.list"), NULL, &reply, &err) <
        0)
        return sc_cli_session_fail(&err);
    sc_buf_init(&text, 16 * 1024 * 1024);
    json_array_foreach(json_object_get(reply, "processes"), i, process)
    {
        if (r == 0)
            r = add_process(process, &text);
    }
    json_decref(reply);
    if (text.len == 0)
        return SC_CLI_EXIT_OK;
    return sc_cli_print(r < 0 ? NULL : sc_buf_steal(&text, NULL));
}

static int kill_process(struct sc_cli_session *session)
{
    const char *name = session->args.texts[SC_TEXT_SIGNAL];
    char *rest = NULL;
    if (session->args.n_operands != 1)
        return sc_cli_session_usage(session, "needs one NUMBER; `snapcell session ps ID` lists them");
    unsigned long number = strtoul(session->args.operands[0], &rest, 10);
    if (*rest || number == 0 || number > UINT32_MAX)
        return sc_cli_session_usage(session, "NUMBER must be one that `snapcell session ps ID` lists");
    json_t *request = sc_cli_session_request_with(session, "process.signal", "signal", name ? name : "KILL");
    if (json_object_set_new(request, "process", json_integer((json_int_t)number)) < 0) {
        json_decref(request);
        request = NULL;
    }
    return do_one(session, request);
}

static int restart(struct sc_cli_session *session)
{
    if (session->args.n_operands != 1)
        return sc_cli_session_usage(session, "needs a CONTEXT; `snapcell session info ID` lists them");
    return do_one(session, sc_cli_session_request_with(session, "context.restart", "context",
                                                       session->args.operands[0]));
}

/* Options of the network, as the spec's own setters read them. */
static int set_network(struct sc_cli_session *session)
{
    struct sc_spec spec;
    struct sc_err err = {0};
    int r = 0;
    if (session->args.n_operands)
        return sc_cli_session_usage(session, "takes one ID");
    sc_spec_init(&spec);
    for (size_t i = 0; i < session->args.n_given && r == 0; i++) {
        const struct sc_cli_given *given = &session->args.given[i];
        r = (given->kind == SC_OPTION_ADD ? sc_spec_add : sc_spec_set)(&spec, given->name, given->value,
                                                                       &err);
    }
    json_t *request = NULL;
    if (r == 0 && !spec.net.given)
        r = sc_err_usage(&err, "network", "network: needs --network, --allow or --deny");
    if (r == 0) {
        request = sc_cli_session_request(session, "session.network");
        if (json_object_set_new(request, "network", sc_net_to_json(&spec.net, true)) < 0) {
            json_decref(request);
            request = NULL;
        }
    }
    sc_spec_fini(&spec);
    return r < 0 ? sc_cli_fail(&err) : do_one(session, request);
}

static int interrupt(struct sc_cli_session *session)
{
    if (session->args.n_operands > 1)
        return sc_cli_session_usage(session, "takes one CONTEXT at most");
    return do_one(
        session, sc_cli_session_request_with(session, "run.interrupt", "context", session->args.operands[0]));
}

/* One request for each operand, as far as they go well. */
static int for_each_path(struct sc_cli_session *session, const char *request, const char *flag, bool set)
{
    int status = SC_CLI_EXIT_OK;
    if (session->args.n_operands == 0)
        return sc_cli_session_usage(session, "needs a PATH in the session");
    for (char **path = session->args.operands; *path && status == SC_CLI_EXIT_OK; path++) {
        json_t *one = sc_cli_session_request_with(session, request, "path", *path);
        if (set && json_object_set_new(one, flag, json_true()) < 0) {
            json_decref(one);
            one = NULL;
        }
        status = do_one(session, one);
    }
    return status;
}

static int remove_paths(struct sc_cli_session *session)
{
    return for_each_path(session, "file.remove", "recursive", session->args.flags & SC_FLAG_RECURSIVE);
}

static int make_folders(struct sc_cli_session *session)
{
    return for_each_path(session, "file.mkdir", "parents", session->args.flags & SC_FLAG_PARENTS);
}

static int move(struct sc_cli_session *session)
{
    char **operands = session->args.operands;
    if (session->args.n_operands != 2)
        return sc_cli_session_usage(session, "needs OLD and NEW");
    json_t *request = sc_cli_session_request_with(session, "file.rename", "path", operands[0]);
    if (json_object_set_new(request, "to", json_string(operands[1])) < 0) {
        json_decref(request);
        request = NULL;
    }
    return do_one(session, request);
}

static const struct word {
    enum sc_cli_verb_bit bit;
    bool needs_id;
    int (*main)(struct sc_cli_session *session);
} WORDS[] = {
    {SC_CLI_SESSION_START, false, sc_cli_session_start},
    {SC_CLI_SESSION_LS, false, sc_cli_session_ls},
    {SC_CLI_SESSION_RUN, true, sc_cli_session_run},
    {SC_CLI_SESSION_EXEC, true, sc_cli_session_exec},
    {SC_CLI_SESSION_PUT, true, sc_cli_session_put},
    {SC_CLI_SESSION_GET, true, sc_cli_session_get},
    {SC_CLI_SESSION_WATCH, true, sc_cli_session_watch},
    {SC_CLI_SESSION_RM, true, remove_paths},
    {SC_CLI_SESSION_MKDIR, true, make_folders},
    {SC_CLI_SESSION_MV, true, move},
    {SC_CLI_SESSION_INFO, true, tell},
    {SC_CLI_SESSION_PS, true, list_processes},
    {SC_CLI_SESSION_KILL, true, kill_process},
    {SC_CLI_SESSION_RESTART, true, restart},
    {SC_CLI_SESSION_INTERRUPT, true, interrupt},
    {SC_CLI_SESSION_NETWORK, true, set_network},
    {SC_CLI_SESSION_FORK, true, sc_cli_session_fork},
    {SC_CLI_SESSION_SNAPSHOT, true, sc_cli_session_snapshot},
    {SC_CLI_SESSION_ROLLBACK, true, sc_cli_session_rollback},
    {SC_CLI_SESSION_PAUSE, true, sc_cli_session_pause},
    {SC_CLI_SESSION_RESUME, true, sc_cli_session_resume},
    {SC_CLI_SESSION_END, true, end},
};

static const struct word *word_of(const struct sc_cli_verb *verb)
{
    const struct word *word = WORDS;
    while (word->bit != verb->bit)
        word++;
    return word;
}

/* Those that have something to do when no session lives. */
static bool may_start_keeper(enum sc_cli_verb_bit bit)
{
    return bit == SC_CLI_SESSION_START || bit == SC_CLI_SESSION_RESUME;
}

static int do_word(struct sc_cli_session *session, const struct word *word)
{
    struct sc_err err = {0};
    if (sc_cli_args_shift(&session->args, &session->id, &err) < 0)
        return sc_cli_fail(&err);
    if (session->args.flags & SC_FLAG_HELP) {
        char *topic[] = {(char *)session->args.verb->name, NULL};
        const struct sc_cli_args help = {.operands = topic, .n_operands = 1};
        return sc_cli_help(&help);
    }
    if (word->needs_id && !session->id)
        return sc_cli_session_usage(session, "needs the ID of a session; `snapcell session ls` lists them");
    if (sc_cli_signals_open(&session->signal_fd, &err) < 0 ||
        sc_cli_session_connect(session, may_start_keeper(word->bit), &err) < 0)
        return sc_cli_session_fail(&err);
    return word->main(session);
}

int sc_cli_session(const struct sc_cli_args *args)
{
    struct sc_cli_session session = {.signal_fd = -1};
    struct sc_err err = {0};
    char name[64], shown[64];
    if (!args->n_operands) {
        sc_err_usage(&err, "",
                     "session: needs a word: start, ls, run, exec, put, get, rm, mkdir, mv, watch, "
                     "info, ps, kill, restart, interrupt, pause, resume, end");
        return sc_cli_fail(&err);
    }
    snprintf(name, sizeof name, "session %s", args->operands[0]);
    const struct sc_cli_verb *verb = sc_cli_verb_by_name(name);
    if (!verb) {
        sc_text_show(shown, sizeof shown, args->operands[0], strlen(args->operands[0]));
        sc_err_usage(&err, "", "session %s: no such word; `snapcell help session` lists them", shown);
        return sc_cli_fail(&err);
    }
    if (sc_cli_args_parse(&session.args, verb, args->operands + 1, &err) < 0)
        return sc_cli_fail(&err);
    int status = do_word(&session, word_of(verb));
    sc_keeper_client_close(session.client);
    sc_cli_args_fini(&session.args);
    sc_close(&session.signal_fd);
    return status;
}
