/* Which sessions a caller has, and what is told of them. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "keeper/parts.h"

/* A tenant its own; a user at the keeper's socket its own, and all of the tenants' as the keeper's own user;
 * root all. */
static bool may_use(const struct keeper_session *session, const struct caller *caller)
{
    if (caller->tenant)
        return session->tenant == caller->tenant;
    if (session->tenant)
        return caller->uid == caller->keeper->uid || caller->uid == 0;
    return session->owner == caller->uid || caller->uid == 0;
}

struct keeper_session *session_find(const struct caller *caller, const char *id)
{
    struct keeper_session *session, *others = NULL;
    TAILQ_FOREACH(session, &caller->keeper->sessions, entry)
    {
        if (strcmp(session->id, id) || !may_use(session, caller))
            continue;
        if (session->tenant == caller->tenant)
            return session;
        others = session; /* of the same name, seen by an operator */
    }
    return others;
}

/* What it is a copy of, and whether it can be copied. */
static int put_lineage(json_t *value, const struct keeper_session *session)
{
    int r = json_object_set_new(value, "forkable", json_boolean(sc_session_is_forkable(session->session)));
    if (r == 0 && session->is_snapshot)
        r = json_object_set_new(value, "state", json_string("snapshot"));
    if (r == 0 && session->generation)
        r = json_object_set_new(value, "generation", json_integer(session->generation));
    if (r == 0 && *session->parent)
        r = json_object_set_new(value, "parent", json_string(session->parent));
    if (r == 0 && *session->snapshot)
        r = json_object_set_new(value, "snapshot", json_string(session->snapshot));
    return r;
}

/* What its cell may use at most: what clients size their work by. */
static int put_limits(json_t *value, const struct keeper_session *session)
{
    while (session && !session->plan)
        session = session->above; /* a copy has the plan of what it was copied from */
    if (!session)
        return 0;
    const struct sc_limits *limits = &session->plan->limits;
    return json_object_set_new(value, "limits",
                               json_pack("{s:I, s:I, s:f}", "memory_bytes", (json_int_t)limits->memory,
                                         "disk_bytes", (json_int_t)limits->disk, "cpus",
                                         (double)limits->cpus / 1000));
}

/* What the session tells of itself, with what the keeper knows. */
static json_t *value_of(const struct keeper_session *session)
{
    json_t *value = NULL;
    json_error_t where;
    char *text = sc_session_describe(session->session);
    int r = text ? sc_json_load(text, strlen(text), 0, &value, &where) : -ENOMEM;
    free(text);
    if (r == 0)
        r = json_object_set_new(value, "session", json_string(session->id));
    if (r == 0)
        r = put_lineage(value, session);
    if (r == 0)
        r = put_limits(value, session);
    if (r == 0 && session->metadata)
        r = json_object_set(value, "metadata", session->metadata);
    if (r == 0 && session->tenant)
        r = json_object_set_new(value, "tenant", json_string(session->tenant->name));
    else if (r == 0)
        r = json_object_set_new(value, "uid", json_integer(session->owner));
    if (r < 0) {
        json_decref(value);
        return NULL;
    }
    return value;
}

char *session_describe(const struct keeper_session *session)
{
    json_t *value = value_of(session);
    char *text = sc_json_dump(value, JSON_COMPACT);
    json_decref(value);
    return text;
}

char *session_list(const struct caller *caller)
{
    const struct keeper_session *session;
    json_t *list = json_array();
    int r = 0;
    TAILQ_FOREACH(session, &caller->keeper->sessions, entry)
    {
        if (may_use(session, caller) && *session->id && !session->is_unborn && r == 0)
            r = json_array_append_new(list, value_of(session));
    }
    if (r == 0)
        r = rest_list(caller, list);
    json_t *value = r == 0 ? json_pack("{s:O}", "sessions", list) : NULL;
    char *text = sc_json_dump(value, JSON_COMPACT);
    json_decref(value);
    json_decref(list);
    return text;
}
