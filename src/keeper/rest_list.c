/* What is told of sessions that rest on disk, to whom, and their end. */
#include <string.h>

#include "keeper/parts.h"
#include "keeper/reply.h"
#include "snap/vault.h"

bool rest_may_use(const struct caller *caller, const json_t *manifest)
{
    json_int_t owner = json_integer_value(json_object_get(manifest, "uid"));
    const char *tenant = json_string_value(json_object_get(manifest, "tenant"));
    if (caller->tenant || tenant)
        return caller->tenant && tenant && !strcmp(tenant, caller->tenant->name);
    return caller->uid == 0 || owner == (json_int_t)caller->uid;
}

const char *rest_store(const struct tenant *tenant)
{
    return tenant ? tenant->name : NULL;
}

static bool is_alive(const struct caller *caller, const char *name)
{
    const struct keeper_session *session;
    TAILQ_FOREACH(session, &caller->keeper->sessions, entry)
    {
        if (session->tenant == caller->tenant && !strcmp(session->id, name))
            return true;
    }
    return false;
}

json_t *rest_tell(const struct caller *caller, const char *name)
{
    json_t *value = is_alive(caller, name) ? NULL : sc_vault_tell(rest_store(caller->tenant), name);
    bool is_damaged = value && json_object_get(value, "damaged");
    if (value && ((!is_damaged && !rest_may_use(caller, value)) ||
                  json_object_set_new(value, "state", json_string(is_damaged ? "damaged" : "paused")) < 0)) {
        json_decref(value);
        return NULL;
    }
    if (value && caller->tenant)
        (void)json_object_del(value, "uid"); /* nobody's */
    return value;
}

int rest_list(const struct caller *caller, json_t *list)
{
    size_t i;
    json_t *one;
    int r = 0;
    json_t *all = sc_vault_list(rest_store(caller->tenant), NULL);
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
    if (sc_vault_remove(rest_store(caller->tenant), name, -1, &err) < 0)
        return sc_keeper_reply_err(&err);
    return sc_keeper_reply_value(json_pack("{s:s}", "why", "ended"));
}
