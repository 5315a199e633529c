/* What is told of sessions that rest on disk, to whom, and their end. */
#include <string.h>

#include "keeper/parts.h"
#include "keeper/reply.h"
#include "snap/vault.h"

bool rest_may_use(const struct caller *caller, const json_t *manifest)
{
    json_int_t owner = json_integer_value(json_object_get(manifest, "uid"));
    return caller->uid == 0 || owner == (json_int_t)caller->uid;
}

static bool is_alive(const struct keeper *keeper, const char *name)
{
    const struct keeper_session *session;
    TAILQ_FOREACH(session, &keeper->sessions, entry)
    {
        if (!session->tenant && !strcmp(session->id, name))
            return true;
    }
    return false;
}

json_t *rest_tell(const struct caller *caller, const char *name)
{
    json_t *value = caller->tenant || is_alive(caller->keeper, name) ? NULL : sc_vault_tell(name);
    bool is_damaged = value && json_object_get(value, "damaged");
    if (value && ((!is_damaged && !rest_may_use(caller, value)) ||
                  json_object_set_new(value, "state", json_string(is_damaged ? "damaged" : "paused")) < 0)) {
        json_decref(value);
        return NULL;
    }
    return value;
}

int rest_list(const struct caller *caller, json_t *list)
{
    size_t i;
    json_t *one;
    int r = 0;
    if (caller->tenant)
        return 0;
    json_t *all = sc_vault_list(NULL);
    json_array_foreach(all, i, one)
    {
        json_t *told = rest_tell(caller, json_string_value(json_object_get(one, "session")));
        if (told && r == 0)
            r = json_array_append(list, told);
        json_decref(told);
    }
    json_decref(all);
    return r;
}

char *rest_end(const struct caller *caller, const char *name)
{
    struct sc_err err = {0};
    json_t *value = rest_tell(caller, name);
    if (!value)
        return NULL;
    json_decref(value);
    if (sc_vault_remove(name, -1, &err) < 0)
        return sc_keeper_reply_err(&err);
    return sc_keeper_reply_value(json_pack("{s:s}", "why", "ended"));
}
