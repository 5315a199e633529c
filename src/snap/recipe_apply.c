/* A template's defaults into a request. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "snap/recipe.h"
#include "snap/shelf.h"

static int not_built(const struct sc_recipe *recipe, struct sc_err *err)
{
    return sc_err_usage(err, "template",
                        "template: %s: is not built yet; `snapcell template build %s` builds it",
                        recipe->name, recipe->name);
}

static int set_env(struct sc_spec *spec, const char *name, const char *value, struct sc_err *err)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < spec->env.n; i++)
        if (!strncmp(spec->env.v[i], name, len) && spec->env.v[i][len] == '=')
            return 0;
    return sc_strv_set_env(&spec->env, name, value) < 0 ? sc_err_sys(err, -ENOMEM, "template") : 0;
}

/* A folder of the build, where it appears, and the variable by which it is found there. */
static int add_part(struct sc_spec *spec, const char *built, const char *part, const char *path,
                    const char *variable, struct sc_err *err)
{
    char host[PATH_MAX];
    if (snprintf(host, sizeof host, "%s/%s", built, part) >= (int)sizeof host)
        return sc_err_usage(err, "template", "template: the store's path is too long");
    int r = sc_spec_add_mount(spec, host, path, err);
    return r < 0 ? r : set_env(spec, variable, path, err);
}

static int add_built(const struct sc_recipe *recipe, struct sc_spec *defaults, struct sc_err *err)
{
    char hash[SC_SHA256_TEXT], built[PATH_MAX], root[PATH_MAX];
    int r = sc_shelf_current(recipe->name, hash, built);
    if (r == -ENOENT)
        return not_built(recipe, err);
    if (r < 0)
        return sc_err_sys(err, r, "template %s: store", recipe->name);
    if (recipe->root == SC_RECIPE_IMAGE || recipe->root == SC_RECIPE_PACKAGES) {
        if (snprintf(root, sizeof root, "%s/root", built) >= (int)sizeof root)
            return sc_err_usage(err, "template", "template: the store's path is too long");
        if (access(root, F_OK) < 0)
            return not_built(recipe, err); /* the recipe had another root when it was */
        r = sc_spec_set(defaults, "root", root, err);
    }
    if (r == 0 && recipe->requirements)
        r = add_part(defaults, built, "python", SC_RECIPE_PYTHON, "PYTHONPATH", err);
    if (r == 0 && recipe->package_json)
        r = add_part(defaults, built, "node_modules", SC_RECIPE_NODE, "NODE_PATH", err);
    return r;
}

int sc_recipe_apply_to(const struct sc_recipe *recipe, struct sc_spec *spec, struct sc_err *err)
{
    struct sc_spec defaults;
    sc_spec_init(&defaults);
    int r = sc_spec_copy(&recipe->defaults, &defaults);
    if (r < 0)
        return sc_err_sys(err, r, "template");
    if (recipe->root == SC_RECIPE_DIRECTORY)
        r = sc_spec_set(&defaults, "root", recipe->path, err);
    if (r == 0 && sc_recipe_is_built(recipe))
        r = add_built(recipe, &defaults, err);
    size_t n_env = spec->env.n, n_files = spec->n_files;
    if (r == 0)
        r = sc_spec_fill(spec, &defaults, err);
    if (r == 0) {
        spec->template_applied = true;
        spec->n_own_env = n_env;
        spec->n_own_files = n_files;
    }
    sc_spec_fini(&defaults);
    return r;
}

int sc_recipe_apply_loading(struct sc_spec *spec, struct sc_recipe *ret_recipe, struct sc_err *err)
{
    sc_recipe_init(ret_recipe);
    if (!spec->template || spec->template_applied)
        return 0;
    int r = sc_recipe_load(spec->template, ret_recipe, err);
    return r < 0 ? r : sc_recipe_apply_to(ret_recipe, spec, err);
}

int sc_recipe_apply(struct sc_spec *spec, struct sc_err *err)
{
    struct sc_recipe recipe;
    int r = sc_recipe_apply_loading(spec, &recipe, err);
    sc_recipe_fini(&recipe);
    return r;
}
