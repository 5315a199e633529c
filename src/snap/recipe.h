/* Templates: named recipes of cells. Users say "template"; here a recipe is what a template's file says
 * (src/cell/template.h is another thing: the mount tree of a plan). The file's reference is
 * docs/templates.md.
 *
 * A recipe that names an image, packages, requirements.txt or package.json is built once (snap/shelf.h)
 * before it can be used. Nothing here makes a cell. */
#ifndef SC_SNAP_RECIPE_H
#define SC_SNAP_RECIPE_H

#include <jansson.h>
#include <limits.h>

#include "base/buf.h"
#include "base/sha256.h"
#include "spec/spec.h"

#define SC_RECIPE_BYTES_MAX SC_MIB /* of its file */
#define SC_RECIPE_PACKAGES_MAX 1024
#define SC_RECIPE_DESCRIPTION_MAX 400
#define SC_RECIPE_SUITE "stable" /* when it names none */

enum sc_recipe_root {
    SC_RECIPE_HOST = 0,  /* the host's /usr */
    SC_RECIPE_DIRECTORY, /* a folder that is there */
    SC_RECIPE_IMAGE,     /* an OCI layout or an archive of one, unpacked by the build */
    SC_RECIPE_PACKAGES,  /* Debian packages, installed by the build */
};

/* How many cells are kept ready, and for how long. Stored and shown; the pool that reads it is not part of
 * this version. 0: the pool's own choice. */
struct sc_recipe_pool {
    uint32_t idle, maximum; /* parked cells */
    uint32_t recycle_runs;  /* a warmed interpreter is made anew after so many cells, */
    uint64_t recycle_ns;    /* and after so long */
};

struct sc_recipe {
    char *name;
    char *file; /* where it was read; NULL: built in */
    char *description;
    enum sc_recipe_root root;
    char *path; /* DIRECTORY: the folder; IMAGE: layout folder or archive. Absolute, like all paths here */
    struct sc_strv packages;
    char *suite;             /* of Debian */
    struct sc_spec defaults; /* language, environment, limits, and the prelude's files */
    /* What an interpreter has loaded before a cell's first request. A cold cell gets the files only. */
    struct sc_strv imports;
    char *code;
    char *requirements, *package_json; /* host files, or NULL */
    struct sc_recipe_pool pool;
};

void sc_recipe_init(struct sc_recipe *recipe);
void sc_recipe_fini(struct sc_recipe *recipe);
/* `file` NULL: built in, and then it may name no file. Relative paths in it are from its folder. Errors name
 * the field's path. On failure the recipe is fit only for sc_recipe_fini. */
int sc_recipe_from_json(struct sc_recipe *recipe, const char *name, const char *file, const char *text,
                        size_t len, struct sc_err *err);
/* As it was understood; NULL when memory ran out. */
json_t *sc_recipe_to_json(const struct sc_recipe *recipe);
const char *sc_recipe_root_name(enum sc_recipe_root root);
bool sc_recipe_is_built(const struct sc_recipe *recipe); /* it needs a build before it can be used */

/* ---- recipe_find.c: where they lie ---- */

/* $SNAPCELL_TEMPLATES, else /etc/snapcell/templates as root, else $XDG_CONFIG_HOME/snapcell/templates, else
 * ~/.config/snapcell/templates. */
int sc_recipe_folder(char ret_path[PATH_MAX], struct sc_err *err);
/* The user's, else the built-in one. -ENOENT with a usage error of field "template": there is none. */
int sc_recipe_load(const char *name, struct sc_recipe *recipe, struct sc_err *err);
/* All names, sorted, each once. */
int sc_recipe_names(struct sc_strv *names, struct sc_err *err);

struct sc_recipe_text {
    const char *name, *text;
    size_t len;
};
/* templates/NAME.json, made part of the library by tools/embed_templates.py. Ended by a NULL name. */
extern const struct sc_recipe_text SC_RECIPES[];

/* ---- recipe_hash.c ---- */

/* Of everything its build is made from: these fields, and the content of the files they name. A change of
 * anything else needs no new build. */
int sc_recipe_hash(const struct sc_recipe *recipe, char ret_hash[SC_SHA256_TEXT], struct sc_err *err);
/* package-lock.json beside it, which need not be there. False: the path is too long. */
bool sc_recipe_lock_file(const char *package_json, char ret_path[PATH_MAX]);

/* ---- recipe_requirements.c ---- */

/* Lines of requirements.txt that name a wheel on this host. */
typedef int sc_recipe_visit_wheel(void *userdata, const char *path, struct sc_err *err);
/* The text with each such line's path turned into "./NAME", and `visit` called with the path. Lines that read
 * other files are refused. `ret_text` is initialized, with the maximum it may have. */
int sc_recipe_requirements(const char *path, struct sc_buf *ret_text, sc_recipe_visit_wheel *visit,
                           void *userdata, struct sc_err *err);

/* ---- recipe_apply.c ---- */

/* Fills in what `spec` does not say from the template it names, if it names one: the one place that does.
 * Once for each spec, before sc_spec_check. Errors: usage, field "template". */
int sc_recipe_apply(struct sc_spec *spec, struct sc_err *err);
/* The same for who needs the recipe, too; it has no name when the request names none. */
int sc_recipe_apply_loading(struct sc_spec *spec, struct sc_recipe *ret_recipe, struct sc_err *err);
/* The same, with a recipe that was loaded. */
int sc_recipe_apply_to(const struct sc_recipe *recipe, struct sc_spec *spec, struct sc_err *err);
/* Where what was built for a template appears in its cells. */
#define SC_RECIPE_PYTHON "/template/python"
#define SC_RECIPE_NODE "/template/node_modules"

#endif
