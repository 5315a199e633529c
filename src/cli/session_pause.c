/* `snapcell session pause` and `resume`. */
#include <errno.h>

#include "base/json.h"
#include "cli/say.h"
#include "cli/session.h"

static int ask(struct sc_cli_session *session, json_t *request)
{
    struct sc_err err = {0};
    return sc_cli_session_do(session, request, &err) < 0 ? sc_cli_session_fail(&err) : SC_CLI_EXIT_OK;
}

int sc_cli_session_pause(struct sc_cli_session *session)
{
    if (session->args.n_operands)
        return sc_cli_session_usage(session, "takes one ID");
    json_t *request = sc_cli_session_request(session, "session.pause");
    bool memory = session->args.flags & SC_FLAG_MEMORY;
    if (memory && json_object_set_new(request, "memory", json_true()) < 0) {
        json_decref(request);
        request = NULL;
    }
    return ask(session, request);
}

int sc_cli_session_resume(struct sc_cli_session *session)
{
    struct sc_err err = {0};
    if (session->args.n_operands)
        return sc_cli_session_usage(session, "takes one ID");
    json_t *request = sc_cli_session_request(session, "session.resume");
    if (sc_cli_session_add_times(request, &session->args, &err) < 0) {
        json_decref(request);
        return sc_cli_session_fail(&err);
    }
    return ask(session, request);
}
