/* Recipe → JSON: what `snapcell template show` prints, as it was understood. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "snap/recipe.h"

static json_t *list(const struct sc_strv *texts)
{
    json_t *array = json_array();
    for (size_t i = 0; i < texts->n; i++)
        json_array_append_new(array, json_string(texts->v[i]));
    return array;
}

static json_t *root_of(const struct sc_recipe *recipe)
{
    json_t *root = json_pack("{s:s}", "kind", sc_recipe_root_name(recipe->root));
    if (recipe->root == SC_RECIPE_DIRECTORY)
        json_object_set_new(root, "path", json_string(recipe->path));
    if (recipe->root == SC_RECIPE_IMAGE)
        json_object_set_new(root, "from", json_string(recipe->path));
    if (recipe->root == SC_RECIPE_PACKAGES) {
        json_object_set_new(root, "packages", list(&recipe->packages));
        json_object_set_new(root, "suite", json_string(recipe->suite ? recipe->suite : SC_RECIPE_SUITE));
    }
    return root;
}

static json_t *prelude_of(const struct sc_recipe *recipe, const json_t *defaults)
{
    json_t *files = json_object_get(defaults, "files");
    json_t *prelude = json_pack("{s:o, s:s*}", "imports", list(&recipe->imports), "code", recipe->code);
    if (files)
        json_object_set(prelude, "files", files);
    return prelude;
}

static json_t *pool_of(const struct sc_recipe_pool *pool)
{
    return json_pack("{s:I, s:I, s:I, s:I}", "idle", (json_int_t)pool->idle, "maximum",
                     (json_int_t)pool->maximum, "recycle_runs", (json_int_t)pool->recycle_runs, "recycle_ms",
                     (json_int_t)(pool->recycle_ns / SC_NS_PER_MS));
}

static void move_member(json_t *to, const char *name, const json_t *from, const char *from_name)
{
    json_t *value = json_object_get(from, from_name);
    if (value)
        json_object_set(to, name, value);
}

json_t *sc_recipe_to_json(const struct sc_recipe *recipe)
{
    json_error_t where;
    json_t *defaults = NULL;
    char *text = sc_spec_to_json(&recipe->defaults);
    if (!text || sc_json_load(text, strlen(text), JSON_ALLOW_NUL, &defaults, &where) < 0) {
        free(text);
        return NULL;
    }
    free(text);
    json_t *object = json_pack("{s:s, s:s*, s:o}", "name", recipe->name, "description", recipe->description,
                               "root", root_of(recipe));
    move_member(object, "language", defaults, "language");
    json_object_set_new(object, "prelude", prelude_of(recipe, defaults));
    move_member(object, "environment", defaults, "env");
    move_member(object, "limits", defaults, "limits");
    if (recipe->requirements)
        json_object_set_new(object, "requirements", json_string(recipe->requirements));
    if (recipe->package_json)
        json_object_set_new(object, "package_json", json_string(recipe->package_json));
    json_object_set_new(object, "pool", pool_of(&recipe->pool));
    json_decref(defaults);
    return object;
}
