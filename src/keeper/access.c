/* A session's secret: whoever shows it may work inside this one session, and do nothing else. A front whose
 * clients speak to a session without their key hands it to them. */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "keeper/parts.h"
#include "keeper/reply.h"

static int make(struct keeper_session *session)
{
    uint8_t bytes[(SC_ACCESS - 1) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return -1;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(session->access + 2 * i, 3, "%02x", bytes[i]);
    explicit_bzero(bytes, sizeof bytes);
    return 0;
}

char *access_tell(const struct caller *caller, struct keeper_session *session,
                  struct sc_keeper_request *request)
{
    (void)caller;
    (void)request;
    if (!*session->access && make(session) < 0)
        return sc_keeper_reply_error("sandbox", "session", "session: random number");
    return sc_keeper_reply_value(json_pack("{s:s}", "access", session->access));
}

/* In constant time: how much of it is right is nobody's to learn. */
static bool is_secret(const struct keeper_session *session, const char *given)
{
    unsigned char differs = 0;
    if (strlen(given) != SC_ACCESS - 1)
        return false;
    for (size_t i = 0; i < SC_ACCESS - 1; i++)
        differs |= (unsigned char)(session->access[i] ^ given[i]);
    return differs == 0;
}

/* Names are a tenant's own, so several may have this one. */
static const struct keeper_session *find(const struct keeper *keeper, const struct sc_keeper_request *request,
                                         bool *ret_is_there)
{
    const struct keeper_session *session;
    TAILQ_FOREACH(session, &keeper->sessions, entry)
    {
        if (!session->tenant || !*session->access || strcmp(session->id, request->session) != 0)
            continue;
        *ret_is_there = true;
        if (is_secret(session, request->access))
            return session;
    }
    return NULL;
}

char *access_use(const struct sc_keeper_request *request, struct caller *ret_caller)
{
    struct keeper *keeper = ret_caller->keeper;
    bool is_there = false;
    if (!(request->needs & SC_KEEPER_BY_ACCESS))
        return sc_keeper_reply_error("forbidden", "access", "access: not enough for this request");
    const struct keeper_session *session = find(keeper, request, &is_there);
    if (session && !identities_has_key(keeper->identities, session->key, session->tenant))
        session = NULL;
    if (!session && !is_there)
        return sc_keeper_reply_error("not_found", "session", "session: there is none of this name");
    if (!session) {
        note_nobody(keeper);
        return sc_keeper_reply_error("unauthorized", "access", "the session's token is not valid");
    }
    ret_caller->uid = (uid_t)-1;
    ret_caller->tenant = session->tenant;
    memcpy(ret_caller->key, session->key, sizeof ret_caller->key);
    return NULL;
}
