/* Code that is only read. */
#include <stdlib.h>

#include "keeper/parts.h"
#include "keeper/reply.h"
#include "snap/checker.h"

static void on_report(void *userdata, const struct sc_check_report *report, const struct sc_err *err)
{
    struct call *call = userdata;
    if (!report) {
        call_finish(call, sc_keeper_reply_err(err));
        return;
    }
    json_t *object = json_pack("{s:b, s:O}", "allowed", (int)report->allowed, "findings", report->findings);
    if (object && report->syntax_error[0] &&
        json_object_set_new(object, "syntax_error", json_string(report->syntax_error)) < 0) {
        json_decref(object);
        object = NULL;
    }
    call_finish(call, sc_keeper_reply_value(object));
}

int check_start(struct call *call, struct sc_err *err)
{
    const struct sc_spec *spec = &call->request.spec;
    return sc_session_check(call->session->session, spec->lang, spec->code, spec->code_len, &spec->validate,
                            on_report, call, err);
}
