#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "snap/recipe.h"
#include "spec/json_read.h"

static const struct sc_recipe_text *built_in(const char *name)
{
    for (const struct sc_recipe_text *text = SC_RECIPES; text->name; text++)
        if (!strcmp(text->name, name))
            return text;
    return NULL;
}

static int load_built_in(const char *name, struct sc_recipe *recipe, struct sc_err *err)
{
    const struct sc_recipe_text *text = built_in(name);
    if (text)
        return sc_recipe_from_json(recipe, name, NULL, text->text, text->len, err);
    sc_err_usage(err, "template", "template: %s: there is none; `snapcell template ls` lists them", name);
    return -ENOENT;
}

static int load_file(const char *name, const char *path, struct sc_recipe *recipe, struct sc_err *err)
{
    struct sc_buf text;
    sc_buf_init(&text, SC_RECIPE_BYTES_MAX);
    int r = sc_buf_read_file(&text, AT_FDCWD, path);
    if (r == -ENOENT)
        r = load_built_in(name, recipe, err);
    else if (r < 0)
        r = sc_err_usage(err, "template", "template: %s: must be a readable file of at most 1M: %s", path,
                         strerror(-r));
    else {
        r = sc_recipe_from_json(recipe, name, path, text.data ? (const char *)text.data : "", text.len, err);
        if (r < 0)
            sc_err_wrap(err, r, "template %s", path);
    }
    sc_buf_fini(&text);
    return r;
}

int sc_recipe_load(const char *name, struct sc_recipe *recipe, struct sc_err *err)
{
    char folder[PATH_MAX], path[PATH_MAX + SC_SPEC_TEMPLATE_NAME_MAX + 8];
    sc_recipe_init(recipe);
    int r = sc_spec_template_ok("template", name, err);
    if (r < 0)
        return r;
    /* Who has no folder has the built-in ones. */
    if (sc_recipe_folder(folder, NULL) < 0)
        r = load_built_in(name, recipe, err);
    else {
        snprintf(path, sizeof path, "%s/%s.json", folder, name);
        r = load_file(name, path, recipe, err);
    }
    if (r < 0)
        sc_recipe_fini(recipe);
    return r;
}

static bool has(const struct sc_strv *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (!strcmp(names->v[i], name))
            return true;
    return false;
}

/* Files that are no template's are none of ours. */
static int add_file(struct sc_strv *names, const char *file)
{
    char name[SC_SPEC_TEMPLATE_NAME_MAX + 1];
    size_t len = strlen(file);
    if (len < 6 || len - 5 >= sizeof name || strcmp(file + len - 5, ".json"))
        return 0;
    snprintf(name, sizeof name, "%.*s", (int)(len - 5), file);
    return sc_spec_template_ok("", name, NULL) < 0 ? 0 : sc_strv_add(names, name);
}

static int add_folder(struct sc_strv *names, const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    int r = 0;
    if (!dir)
        return errno == ENOENT ? 0 : -errno;
    while (r == 0 && (entry = readdir(dir)))
        r = add_file(names, entry->d_name);
    closedir(dir);
    return r;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int sc_recipe_names(struct sc_strv *names, struct sc_err *err)
{
    char folder[PATH_MAX];
    int r = sc_recipe_folder(folder, NULL) < 0 ? 0 : add_folder(names, folder);
    if (r < 0)
        return sc_err_sys(err, r, "templates: %s", folder);
    for (const struct sc_recipe_text *text = SC_RECIPES; text->name && r == 0; text++)
        if (!has(names, text->name))
            r = sc_strv_add(names, text->name);
    if (r < 0)
        return sc_err_sys(err, r, "templates");
    qsort(names->v, names->n, sizeof *names->v, compare);
    return 0;
}
