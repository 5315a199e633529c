/* `snapcell session fork`, `snapshot`, `rollback`, and `start --from`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "cli/say.h"
#include "cli/session.h"

/* NULL takes and gives NULL, as json_object_set_new does. */
static json_t *with(json_t *request, const char *member, json_t *value)
{
    if (request && json_object_set_new(request, member, value) == 0)
        return request;
    json_decref(request);
    return NULL;
}

static json_t *with_secrets(json_t *request, const struct sc_cli_args *args)
{
    return args->flags & SC_FLAG_INHERIT_SECRETS ? with(request, "inherit_secrets", json_true()) : request;
}

/* Prints the texts of the reply's member, a line each: one, or a list of them. */
static int ask_and_print(struct sc_cli_session *session, json_t *request, const char *member)
{
    const struct sc_keeper_exchange exchange = {.stop_fd = session->signal_fd};
    json_t *reply = NULL, *one;
    struct sc_err err = {0};
    struct sc_buf text;
    size_t i;
    if (sc_keeper_ask(session->client, request, &exchange, &reply, &err) < 0)
        return sc_cli_session_fail(&err);
    const json_t *told = json_object_get(reply, member);
    sc_buf_init(&text, 64u * 1024);
    int r = json_is_string(told) ? sc_buf_printf(&text, "%s\n", json_string_value(told)) : 0;
    json_array_foreach(told, i, one)
    {
        if (r == 0)
            r = sc_buf_printf(&text, "%s\n", json_string_value(one));
    }
    json_decref(reply);
    if (r == 0 && text.len > 0)
        text.data[--text.len] = '\0'; /* printing ends the last line */
    int status = sc_cli_print(r < 0 ? NULL : sc_buf_steal(&text, NULL));
    sc_buf_fini(&text);
    return status;
}

static int fork_of(struct sc_cli_session *session, const char *id)
{
    const struct sc_cli_args *args = &session->args;
    struct sc_err err = {0};
    uint64_t copies = 1;
    if (args->texts[SC_TEXT_COPIES] && (sc_parse_u64(args->texts[SC_TEXT_COPIES], &copies) < 0 ||
                                        copies < 1 || copies > SC_KEEPER_COPIES_MAX)) {
        sc_err_usage(&err, "copies", "copies: %s: allowed 1 to %d", args->texts[SC_TEXT_COPIES],
                     SC_KEEPER_COPIES_MAX);
        return sc_cli_session_fail(&err);
    }
    json_t *request = json_pack("{s:s, s:s, s:s*, s:I, s:b}", "request", "session.fork", "session", id,
                                "name", args->texts[SC_TEXT_NAME], "copies", (json_int_t)copies, "forkable",
                                (args->flags & SC_FLAG_FORKABLE) != 0);
    request = with_secrets(request, args);
    if (sc_cli_session_add_times(request, args, &err) < 0) {
        json_decref(request);
        return sc_cli_session_fail(&err);
    }
    return ask_and_print(session, request, "sessions");
}

int sc_cli_session_fork(struct sc_cli_session *session)
{
    if (session->args.n_operands)
        return sc_cli_session_usage(session, "takes one ID");
    return fork_of(session, session->id);
}

int sc_cli_session_start_from(struct sc_cli_session *session)
{
    const struct sc_cli_args *args = &session->args;
    const char *other = args->n_given ? args->given[0].name : args->texts[SC_TEXT_SPEC] ? "spec" : NULL;
    struct sc_err err = {0};
    if (!other)
        return fork_of(session, args->texts[SC_TEXT_FROM]);
    sc_err_usage(
        &err, other,
        "%s: with --from all is the snapshot's; allowed are name, forkable, inherit-secrets, idle, total",
        other);
    return sc_cli_session_fail(&err);
}

int sc_cli_session_snapshot(struct sc_cli_session *session)
{
    if (session->args.n_operands)
        return sc_cli_session_usage(session, "takes one ID");
    json_t *request = sc_cli_session_request(session, "session.snapshot");
    if (session->args.texts[SC_TEXT_NAME])
        request = with(request, "name", json_string(session->args.texts[SC_TEXT_NAME]));
    request = with_secrets(request, &session->args);
    return ask_and_print(session, request, "snapshot");
}

int sc_cli_session_rollback(struct sc_cli_session *session)
{
    struct sc_err err = {0};
    if (session->args.n_operands != 1)
        return sc_cli_session_usage(session, "takes one ID and one SNAPSHOT");
    json_t *request =
        sc_cli_session_request_with(session, "session.rollback", "snapshot", session->args.operands[0]);
    request = with_secrets(request, &session->args);
    return sc_cli_session_do(session, request, &err) < 0 ? sc_cli_session_fail(&err) : SC_CLI_EXIT_OK;
}
