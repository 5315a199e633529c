/* Recipe → JSON: what `snapcell template show` prints, as it was understood. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "snap/recipe.h"

/* Takes `value`. A part that is missing makes the whole fail. */
static void put(json_t *to, const char *name, json_t *value, bool *failed)
{
    if (json_object_set_new(to, name, value) < 0)
        *failed = true;
}

static json_t *list(const struct sc_strv *texts, bool *failed)
{
    json_t *array = json_array();
    for (size_t i = 0; i < texts->n; i++)
        if (json_array_append_new(array, json_string(texts->v[i])) < 0)
            *failed = true;
    return array;
}

static json_t *root_of(const struct sc_recipe *recipe, bool *failed)
{
    json_t *root = json_object();
    put(root, "kind", json_string(sc_recipe_root_name(recipe->root)), failed);
    if (recipe->root == SC_RECIPE_DIRECTORY)
        put(root, "path", json_string(recipe->path), failed);
    if (recipe->root == SC_RECIPE_IMAGE)
        put(root, "from", json_string(recipe->path), failed);
    if (recipe->root == SC_RECIPE_PACKAGES) {
        put(root, "packages", list(&recipe->packages, failed), failed);
        put(root, "suite", json_string(recipe->suite ? recipe->suite : SC_RECIPE_SUITE), failed);
    }
    return root;
}

/* A member of `from`, if it is there. */
static void take(json_t *to, const char *name, const json_t *from, const char *from_name, bool *failed)
{
    json_t *value = json_object_get(from, from_name);
    if (value)
        put(to, name, json_incref(value), failed);
}

static void put_text(json_t *to, const char *name, const char *text, bool *failed)
{
    if (text)
        put(to, name, json_string(text), failed);
}

static json_t *prelude_of(const struct sc_recipe *recipe, const json_t *defaults, bool *failed)
{
    json_t *prelude = json_object();
    put(prelude, "imports", list(&recipe->imports, failed), failed);
    take(prelude, "files", defaults, "files", failed);
    put_text(prelude, "code", recipe->code, failed);
    return prelude;
}

static json_t *pool_of(const struct sc_recipe_pool *pool, bool *failed)
{
    json_t *object = json_object();
    put(object, "idle", json_integer(pool->idle), failed);
    put(object, "maximum", json_integer(pool->maximum), failed);
    put(object, "recycle_runs", json_integer(pool->recycle_runs), failed);
    put(object, "recycle_ms", json_integer((json_int_t)(pool->recycle_ns / SC_NS_PER_MS)), failed);
    return object;
}

/* What a spec has too, as the spec's own writer tells it. */
static json_t *defaults_of(const struct sc_recipe *recipe)
{
    json_error_t where;
    json_t *defaults = NULL;
    char *text = sc_spec_to_json(&recipe->defaults);
    if (text)
        (void)sc_json_load(text, strlen(text), JSON_ALLOW_NUL, &defaults, &where);
    free(text);
    return defaults;
}

json_t *sc_recipe_to_json(const struct sc_recipe *recipe)
{
    json_t *defaults = defaults_of(recipe), *object = json_object();
    bool failed = !defaults;
    put_text(object, "name", recipe->name, &failed);
    put_text(object, "description", recipe->description, &failed);
    put(object, "root", root_of(recipe, &failed), &failed);
    take(object, "language", defaults, "language", &failed);
    put(object, "prelude", prelude_of(recipe, defaults, &failed), &failed);
    take(object, "environment", defaults, "env", &failed);
    take(object, "limits", defaults, "limits", &failed);
    put_text(object, "requirements", recipe->requirements, &failed);
    put_text(object, "package_json", recipe->package_json, &failed);
    put(object, "pool", pool_of(&recipe->pool, &failed), &failed);
    json_decref(defaults);
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}
