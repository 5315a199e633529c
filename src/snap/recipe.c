/* A template's file → recipe. It is the operator's own, yet read as strictly as a request: a field that is
 * not understood is a mistake that would show only later. */
#include "snap/recipe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "spec/json_read.h"

static const char *const ROOTS[] = {"host", "directory", "image", "packages"};

const char *sc_recipe_root_name(enum sc_recipe_root root)
{
    return ROOTS[root];
}

void sc_recipe_init(struct sc_recipe *recipe)
{
    *recipe = (struct sc_recipe){0};
    sc_spec_init(&recipe->defaults);
}

void sc_recipe_fini(struct sc_recipe *recipe)
{
    free(recipe->name);
    free(recipe->file);
    free(recipe->description);
    free(recipe->path);
    free(recipe->suite);
    free(recipe->code);
    free(recipe->requirements);
    free(recipe->package_json);
    sc_strv_fini(&recipe->packages);
    sc_strv_fini(&recipe->imports);
    sc_spec_fini(&recipe->defaults);
    sc_recipe_init(recipe);
}

bool sc_recipe_is_built(const struct sc_recipe *recipe)
{
    return recipe->root == SC_RECIPE_IMAGE || recipe->root == SC_RECIPE_PACKAGES || recipe->requirements ||
           recipe->package_json;
}

static int no_memory(struct sc_err *err)
{
    return sc_err_sys(err, -ENOMEM, "template");
}

static int bad(struct sc_err *err, const char *path, const char *value, const char *what)
{
    char shown[200];
    sc_text_show(shown, sizeof shown, value, strlen(value));
    return sc_err_usage(err, path, "%s: %s: %s", path, *shown ? shown : "\"\"", what);
}

static int put(char **at, char *text, struct sc_err *err)
{
    if (!text)
        return no_memory(err);
    free(*at);
    *at = text;
    return 0;
}

static int read_text(char **at, const json_t *value, size_t max, const char *path, struct sc_err *err)
{
    const char *text = sc_json_text(value, path, err);
    if (!text)
        return -EINVAL;
    if (strlen(text) > max)
        return sc_err_usage(err, path, "%s: %zu bytes: at most %zu are allowed", path, strlen(text), max);
    return put(at, strdup(text), err);
}

/* `path` below the recipe's folder unless it is absolute; heap text or NULL. */
static char *from_folder(const struct sc_recipe *recipe, const char *path)
{
    char *whole = NULL;
    const char *slash = recipe->file ? strrchr(recipe->file, '/') : NULL;
    if (*path == '/' || !slash)
        return strdup(path);
    int n = asprintf(&whole, "%.*s/%s", (int)(slash - recipe->file), recipe->file, path);
    return n < 0 ? NULL : whole;
}

static int read_path(const struct sc_recipe *recipe, char **at, const json_t *value, const char *path,
                     struct sc_err *err)
{
    const char *text = sc_json_text(value, path, err);
    if (!text)
        return -EINVAL;
    if (!recipe->file)
        return bad(err, path, text, "a built-in template names no file of the host");
    if (!*text || strlen(text) > SC_SPEC_PATH_MAX)
        return bad(err, path, text, "must be the path of a file or folder");
    return put(at, from_folder(recipe, text), err);
}

/* ---- root ---- */

static int read_kind(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_recipe *recipe = into;
    const char *text = sc_json_text(value, path, err);
    if (!text)
        return -EINVAL;
    for (size_t i = 0; i < sizeof ROOTS / sizeof *ROOTS; i++)
        if (!strcmp(text, ROOTS[i])) {
            recipe->root = (enum sc_recipe_root)i;
            return 0;
        }
    return bad(err, path, text, "allowed: host, directory, image, packages");
}

static int read_root_path(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_path(into, &((struct sc_recipe *)into)->path, value, path, err);
}

static int add_name(struct sc_strv *list, size_t max, const char *text, const char *path, struct sc_err *err)
{
    if (list->n >= max)
        return sc_err_usage(err, path, "%s: more than the %zu entries allowed", path, max);
    return sc_strv_add(list, text) < 0 ? no_memory(err) : 0;
}

/* A package's name, and no option of the program that installs it. */
static int read_package(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789+.-";
    const char *text = sc_json_text(value, path, err);
    if (!text)
        return -EINVAL;
    size_t len = strspn(text, letters);
    if (len < 2 || text[len] || strchr("+.-", text[0]) || len > SC_SPEC_NAME_MAX)
        return bad(err, path, text, "must be the name of a Debian package, like python3-numpy");
    return add_name(&((struct sc_recipe *)into)->packages, SC_RECIPE_PACKAGES_MAX, text, path, err);
}

static int read_packages(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_json_read_list(into, value, path, read_package, err);
}

static int read_suite(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    const char *text = sc_json_text(value, path, err);
    if (!text)
        return -EINVAL;
    if (!*text || *text == '-' || text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-")])
        return bad(err, path, text, "must be the name of a Debian suite, like stable or bookworm");
    return read_text(&((struct sc_recipe *)into)->suite, value, SC_SPEC_NAME_MAX, path, err);
}

/* Each kind has fields of its own, and no others. */
static int check_root(const struct sc_recipe *recipe, const json_t *root, const char *path,
                      struct sc_err *err)
{
    static const char *const needs[] = {NULL, "path", "from", "packages"};
    static const char *const fields[] = {"path", "from", "packages", "suite"};
    const char *needed = needs[recipe->root], *kind = ROOTS[recipe->root];
    char here[SC_ERR_FIELD_MAX];
    if (needed && !json_object_get(root, needed))
        return sc_err_usage(err, path, "%s: field %s is missing: kind %s needs it", path, needed, kind);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        bool suits = (needed && !strcmp(fields[i], needed)) ||
                     (recipe->root == SC_RECIPE_PACKAGES && !strcmp(fields[i], "suite"));
        if (suits || !json_object_get(root, fields[i]))
            continue;
        sc_json_join_path(here, path, fields[i]);
        return sc_err_usage(err, here, "%s: not allowed with kind %s", here, kind);
    }
    if (recipe->root == SC_RECIPE_PACKAGES && recipe->packages.n == 0)
        return sc_err_usage(err, path, "%s: packages: at least one package is needed", path);
    return 0;
}

static int read_root(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    static const struct sc_json_field fields[] = {{"kind", read_kind},      {"path", read_root_path},
                                                  {"from", read_root_path}, {"packages", read_packages},
                                                  {"suite", read_suite},    {NULL}};
    int r = sc_json_read_object(into, value, path, fields, err);
    if (r == 0 && !json_object_get(value, "kind"))
        return sc_err_usage(err, path, "%s: field kind is missing", path);
    return r < 0 ? r : check_root(into, value, path, err);
}

/* ---- prelude ---- */

static int read_imports(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return sc_spec_read_imports(&((struct sc_recipe *)into)->imports, value, path, err);
}

static int read_code(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_text(&((struct sc_recipe *)into)->code, value, SC_RECIPE_BYTES_MAX, path, err);
}

static int read_prelude_files(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    struct sc_recipe *recipe = into;
    struct sc_spec *spec = &recipe->defaults;
    int r = sc_spec_read_files(spec, value, path, err);
    for (size_t i = 0; i < spec->n_files && r == 0; i++) {
        char **host = &spec->files[i].host;
        if (*host && !recipe->file)
            return bad(err, path, *host, "a built-in template names no file of the host");
        if (*host)
            r = put(host, from_folder(recipe, *host), err);
    }
    return r;
}

static int read_prelude(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    static const struct sc_json_field fields[] = {
        {"imports", read_imports}, {"files", read_prelude_files}, {"code", read_code}, {NULL}};
    return sc_json_read_object(into, value, path, fields, err);
}

/* ---- pool ---- */

static int read_count(const json_t *value, json_int_t max, json_int_t *ret_count, const char *path,
                      struct sc_err *err)
{
    if (!json_is_integer(value))
        return sc_json_wrong_type(path, value, "a whole number", err);
    json_int_t count = json_integer_value(value);
    if (count < 0 || count > max)
        return sc_err_usage(err, path, "%s: %lld: allowed 0 to %lld", path, (long long)count, (long long)max);
    *ret_count = count;
    return 0;
}

#define POOL_COUNT(member, max)                                                                              \
    static int read_##member(void *into, const json_t *value, const char *path, struct sc_err *err)          \
    {                                                                                                        \
        json_int_t count = 0;                                                                                \
        int r = read_count(value, max, &count, path, err);                                                   \
        if (r == 0)                                                                                          \
            ((struct sc_recipe_pool *)into)->member = (uint32_t)count;                                       \
        return r;                                                                                            \
    }
POOL_COUNT(idle, 1024)
POOL_COUNT(maximum, 4096)
POOL_COUNT(recycle_runs, 1000000000)

static int read_recycle_ms(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    json_int_t count = 0;
    int r = read_count(value, 7 * 24 * 3600 * 1000ll, &count, path, err);
    if (r == 0)
        ((struct sc_recipe_pool *)into)->recycle_ns = (uint64_t)count * SC_NS_PER_MS;
    return r;
}

static int read_pool(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    static const struct sc_json_field fields[] = {{"idle", read_idle},
                                                  {"maximum", read_maximum},
                                                  {"recycle_runs", read_recycle_runs},
                                                  {"recycle_ms", read_recycle_ms},
                                                  {NULL}};
    struct sc_recipe_pool *pool = &((struct sc_recipe *)into)->pool;
    int r = sc_json_read_object(pool, value, path, fields, err);
    if (r == 0 && pool->maximum && pool->idle > pool->maximum)
        return sc_err_usage(err, path, "%s: idle is %u: allowed is at most maximum, %u", path, pool->idle,
                            pool->maximum);
    return r;
}

/* ---- the file ---- */

static int read_name(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    const struct sc_recipe *recipe = into;
    const char *text = sc_json_text(value, path, err);
    if (!text)
        return -EINVAL;
    return strcmp(text, recipe->name) ? bad(err, path, text, "must be the file's own name, without .json")
                                      : 0;
}

static int read_description(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_text(&((struct sc_recipe *)into)->description, value, SC_RECIPE_DESCRIPTION_MAX, path, err);
}

static int read_requirements(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_path(into, &((struct sc_recipe *)into)->requirements, value, path, err);
}

static int read_package_json(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    return read_path(into, &((struct sc_recipe *)into)->package_json, value, path, err);
}

/* What a spec has too is read by the spec's own reader. */
#define OF_SPEC(name, reader)                                                                                \
    static int read_##name(void *into, const json_t *value, const char *path, struct sc_err *err)            \
    {                                                                                                        \
        return reader(&((struct sc_recipe *)into)->defaults, value, path, err);                              \
    }
OF_SPEC(language, sc_spec_read_language)
OF_SPEC(environment, sc_spec_read_env)
OF_SPEC(limits, sc_spec_read_given_limits)
OF_SPEC(any_network, sc_spec_read_network)

/* It is written to files, where no credential shall be. */
static int read_network(void *into, const json_t *value, const char *path, struct sc_err *err)
{
    int r = read_any_network(into, value, path, err);
    if (r == 0 && sc_net_has_credentials(&((struct sc_recipe *)into)->defaults.net))
        return sc_err_usage(err, path, "%s: a template has no credentials: allowed in requests", path);
    return r;
}

static const struct sc_json_field RECIPE[] = {{"name", read_name},
                                              {"description", read_description},
                                              {"root", read_root},
                                              {"language", read_language},
                                              {"prelude", read_prelude},
                                              {"environment", read_environment},
                                              {"limits", read_limits},
                                              {"network", read_network},
                                              {"requirements", read_requirements},
                                              {"package_json", read_package_json},
                                              {"pool", read_pool},
                                              {NULL}};

static int begin(struct sc_recipe *recipe, const char *name, const char *file, struct sc_err *err)
{
    int r = sc_spec_template_ok("template", name, err);
    if (r == 0)
        r = put(&recipe->name, strdup(name), err);
    if (r == 0 && file)
        r = put(&recipe->file, strdup(file), err);
    return r;
}

int sc_recipe_from_json(struct sc_recipe *recipe, const char *name, const char *file, const char *text,
                        size_t len, struct sc_err *err)
{
    json_error_t error;
    json_t *object = NULL;
    int r = begin(recipe, name, file, err);
    if (r < 0)
        return r;
    if (len > SC_RECIPE_BYTES_MAX)
        return sc_err_usage(err, "template", "template: %zu bytes: at most %llu are allowed", len,
                            SC_RECIPE_BYTES_MAX);
    r = sc_json_load(text, len, JSON_REJECT_DUPLICATES, &object, &error);
    if (r < 0)
        return r == -ENOMEM ? no_memory(err) : sc_json_parse_error(&error, err);
    r = sc_json_read_object(recipe, object, "", RECIPE, err);
    json_decref(object);
    return r;
}
