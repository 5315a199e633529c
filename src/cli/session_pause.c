/* `snapcell session pause` and `resume`. */
#include <errno.h>

#include "base/json.h"
#include "cli/job.h"
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

/* As the spec's reader has them from --secret. */
static int add_secrets(json_t *request, const struct sc_cli_args *args, struct sc_err *err)
{
    struct sc_spec spec;
    json_t *whole = NULL;
    sc_spec_init(&spec);
    int r = sc_cli_apply(&spec, args, err);
    if (r == 0 && spec.secrets.n)
        r = sc_cli_session_spec(&spec, &whole, err);
    if (r == 0 && whole && json_object_set(request, "secrets", json_object_get(whole, "secrets")) < 0)
        r = sc_err_sys(err, -ENOMEM, "session resume");
    json_decref(whole);
    sc_spec_fini(&spec);
    return r;
}

int sc_cli_session_resume(struct sc_cli_session *session)
{
    struct sc_err err = {0};
    if (session->args.n_operands)
        return sc_cli_session_usage(session, "takes one ID");
    json_t *request = sc_cli_session_request(session, "session.resume");
    if (add_secrets(request, &session->args, &err) < 0 ||
        sc_cli_session_add_times(request, &session->args, &err) < 0) {
        json_decref(request);
        return sc_cli_session_fail(&err);
    }
    return ask(session, request);
}
