/* What a client may want to know before it asks for a cell: which templates there are, what this host can do.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "keeper/parts.h"
#include "keeper/reply.h"
#include "snap/recipe.h"

/* A tenant with a list of templates sees these only. */
static bool may_see(const struct caller *caller, const char *name)
{
    if (!caller->tenant || !caller->tenant->quota->some_templates)
        return true;
    const struct sc_strv *names = &caller->tenant->quota->templates;
    for (size_t i = 0; i < names->n; i++)
        if (!strcmp(names->v[i], name))
            return true;
    return false;
}

/* NULL: it is broken, and `template ls` tells the operator why. */
static json_t *template_of(const char *name)
{
    struct sc_recipe recipe;
    struct sc_err err = {0};
    if (sc_recipe_load(name, &recipe, &err) < 0)
        return NULL;
    json_t *entry =
        json_pack("{s:s, s:s*, s:s*}", "name", name, "description", recipe.description, "language",
                  recipe.defaults.lang == SC_LANG_AUTO ? NULL : sc_lang_name(recipe.defaults.lang));
    sc_recipe_fini(&recipe);
    return entry;
}

char *about_templates(const struct caller *caller, struct keeper_session *none,
                      struct sc_keeper_request *request)
{
    struct sc_strv names = {0};
    struct sc_err err = {0};
    json_t *list = json_array();
    (void)none;
    (void)request;
    int r = sc_recipe_names(&names, &err);
    for (size_t i = 0; i < names.n && r == 0; i++) {
        json_t *entry = may_see(caller, names.v[i]) ? template_of(names.v[i]) : NULL;
        if (entry)
            (void)json_array_append_new(list, entry);
    }
    sc_strv_fini(&names);
    if (r < 0) {
        json_decref(list);
        return sc_keeper_reply_err(&err);
    }
    return sc_keeper_reply_value(json_pack("{s:o}", "templates", list));
}

char *about_host(const struct caller *caller, struct keeper_session *none, struct sc_keeper_request *request)
{
    struct sc_host host;
    struct sc_err err = {0};
    const struct sc_host_options options = {.cgroup_parent = getenv("SNAPCELL_CGROUP_PARENT")};
    (void)none;
    (void)request;
    if (caller->tenant && !caller->tenant->quota->is_operator)
        return sc_keeper_reply_error("forbidden", "",
                                     "host: only an operator's tenant is told about the host");
    if (sc_host_probe(&host, &options, &err) < 0)
        return sc_keeper_reply_err(&err);
    char *text = sc_host_report_json(&host), *reply = sc_keeper_reply_ok(text);
    free(text);
    return reply;
}
