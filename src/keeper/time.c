/* The end of a session's time, moved while it lives. */
#include <errno.h>
#include <stdio.h>

#include "keeper/parts.h"
#include "keeper/reply.h"

char *time_set(const struct caller *caller, struct keeper_session *session, struct sc_keeper_request *request)
{
    struct sc_err err = {0};
    uint64_t most = caller->tenant ? caller->tenant->quota->session_ns : UINT64_MAX;
    if (sc_session_age_ns(session->session) + request->left_ns > most) {
        char why[160];
        snprintf(why, sizeof why,
                 "left_ms: %llu: the session would be older than the %llu ms that are allowed to this tenant",
                 (unsigned long long)(request->left_ns / SC_NS_PER_MS),
                 (unsigned long long)(most / SC_NS_PER_MS));
        return sc_keeper_reply_error("forbidden", "left_ms", why);
    }
    if (sc_session_set_left(session->session, request->left_ns, &err) < 0)
        return sc_keeper_reply_err(&err);
    return sc_keeper_reply_ok("{}");
}
