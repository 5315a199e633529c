/* Builds what a template names, once.
 *
 * Whatever is fetched is fetched outside of a cell, for cells have no network: by pip (wheels only), npm
 * (without install scripts) and mmdebstrap. None of them runs code of what pip and npm fetch. Whatever is
 * unpacked and installed is so in a cell, and comes out of it as one tar stream, which is taken as hostile
 * (cli/tree.h). An image needs no network: it is read in a cell only.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "cli/job.h"
#include "cli/say.h"
#include "cli/template.h"
#include "cli/tree.h"
#include "snap/shelf.h"
#include "snap/workshop.h"

#define BUILD_WALL_NS (3600 * SC_NS_PER_S)
#define BUILD_MEMORY (2048 * SC_MIB)

struct building {
    const struct sc_recipe *recipe;
    const struct sc_cli_args *args;
    int signal_fd;
    struct sc_shelf_build build;
};

static int take_bytes(void *userdata, const void *data, size_t len)
{
    const struct sc_cli_tree *tree = userdata;
    return sc_write_all(tree->pipe, data, len);
}

/* A new folder of the build, and who unpacks into it. */
static int begin_part(struct building *building, const char *part, struct sc_cli_tree *ret_tree,
                      struct sc_err *err)
{
    int folder = -1, r = 0;
    if (mkdirat(building->build.work, part, 0755) < 0)
        r = -errno;
    if (r == 0)
        folder = openat(building->build.work, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (r == 0 && folder < 0)
        r = -errno;
    if (r < 0)
        return sc_err_sys(err, r, "template store: %s/%s", building->build.path, part);
    r = sc_cli_tree_take_root(ret_tree, folder, err);
    close(folder);
    return r;
}

/* What the unpacking said counts more than that its other end broke. */
static int end_part(struct sc_cli_tree *tree, const char *part, int r, struct sc_err *err)
{
    bool whole = sc_cli_tree_finish(tree);
    if (!whole && (r == 0 || r == -ECANCELED))
        return sc_err_set(err, SC_ERR_SANDBOX, -EIO, "template: %s could not be unpacked", part);
    return r;
}

/* A cell of the host's own /usr, large enough; options of the command line count more. */
static int cell_spec(const struct building *building, struct sc_spec *spec, struct sc_err *err)
{
    sc_spec_init(spec);
    spec->limits.wall = BUILD_WALL_NS;
    spec->limits.cpu = BUILD_WALL_NS;
    spec->limits.memory = BUILD_MEMORY;
    spec->limits.disk = BUILD_MEMORY / 2;
    spec->disk_backing = SC_DISK_MEMORY; /* which needs no privilege; it counts as the cell's memory */
    spec->limits.disk_inodes = 1000000;
    int r = sc_cli_apply(spec, building->args, err);
    return r < 0 ? r : sc_cli_cgroup_parent(spec, err);
}

/* The command's stdout, in a cell that sees `host` at `path`, becomes a folder of the build. */
static int make_in_cell(struct building *building, const char *part, const char *host, const char *path,
                        const char *const *argv, struct sc_err *err)
{
    struct sc_cli_tree tree;
    struct sc_spec spec;
    int r = begin_part(building, part, &tree, err);
    if (r < 0)
        return r;
    const struct sc_workshop workshop = {.spec = &spec,
                                         .argv = argv,
                                         .userdata = &tree,
                                         .output = take_bytes,
                                         .cancel_fd = building->signal_fd};
    r = cell_spec(building, &spec, err);
    if (r == 0)
        r = sc_spec_add_mount(&spec, host, path, err);
    if (r == 0)
        r = sc_workshop_run(&workshop, err);
    sc_spec_fini(&spec);
    return end_part(&tree, part, r, err);
}

/* ---- root ---- */

static int build_image(struct building *building, struct sc_err *err)
{
    static const char *const of_folder[] = {"/usr/bin/python3", "/snapcell/image/flatten.py", "/image", NULL};
    static const char *const of_archive[] = {"/usr/bin/python3", "/snapcell/image/flatten.py",
                                             "/image/archive.tar", NULL};
    const char *path = building->recipe->path;
    struct sc_cli_outside outside;
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return make_in_cell(building, "root", path, "/image", of_folder, err);
    /* The cell sees a copy, in a folder with nothing else in it. */
    int r = sc_cli_outside_open(&outside, building->signal_fd, err);
    if (r < 0)
        return r;
    r = sc_cli_outside_copy(&outside, "archive.tar", path, err);
    if (r == 0)
        r = make_in_cell(building, "root", outside.path, "/image", of_archive, err);
    sc_cli_outside_close(&outside);
    return r;
}

static int join_packages(const struct sc_recipe *recipe, struct sc_buf *text)
{
    int r = sc_buf_add_str(text, "--include=");
    for (size_t i = 0; i < recipe->packages.n && r == 0; i++)
        r = sc_buf_printf(text, "%s%s", i ? "," : "", recipe->packages.v[i]);
    return r;
}

/* mmdebstrap checks the archive's signatures, and makes a user namespace of its own for the packages'
 * scripts. */
static int build_packages(struct building *building, struct sc_err *err)
{
    const struct sc_recipe *recipe = building->recipe;
    struct sc_cli_outside outside;
    struct sc_cli_tree tree;
    struct sc_buf include;
    sc_buf_init(&include, SC_RECIPE_BYTES_MAX);
    int r = join_packages(recipe, &include);
    if (r < 0)
        r = sc_err_sys(err, r, "template: packages");
    if (r == 0)
        r = sc_cli_outside_open(&outside, building->signal_fd, err);
    if (r < 0) {
        sc_buf_fini(&include);
        return r;
    }
    const char *const argv[] = {"mmdebstrap",
                                geteuid() == 0 ? "--mode=auto" : "--mode=unshare",
                                "--variant=minbase",
                                "--format=tar",
                                (const char *)include.data,
                                recipe->suite ? recipe->suite : SC_RECIPE_SUITE,
                                "-",
                                NULL};
    r = begin_part(building, "root", &tree, err);
    if (r == 0) {
        r = sc_cli_outside_run(&outside, argv, tree.pipe, true, err);
        r = end_part(&tree, "root", r, err);
    }
    sc_cli_outside_close(&outside);
    sc_buf_fini(&include);
    return r;
}

/* ---- Python ---- */

static int copy_wheel(void *userdata, const char *path, struct sc_err *err)
{
    const char *slash = strrchr(path, '/');
    return sc_cli_outside_copy(userdata, slash ? slash + 1 : path, path, err);
}

/* Every wheel that is needed, in ./wheels. */
static int fetch_wheels(struct building *building, struct sc_cli_outside *outside, struct sc_err *err)
{
    static const char *const pip[] = {"/usr/bin/python3",
                                      "-m",
                                      "pip",
                                      "download",
                                      "--quiet",
                                      "--disable-pip-version-check",
                                      "--no-cache-dir",
                                      "--only-binary=:all:",
                                      "--dest",
                                      "wheels",
                                      "--requirement",
                                      "requirements.txt",
                                      NULL};
    struct sc_buf text;
    sc_buf_init(&text, 2 * SC_RECIPE_BYTES_MAX);
    int r = sc_recipe_requirements(building->recipe->requirements, &text, copy_wheel, outside, err);
    if (r == 0)
        r = sc_cli_outside_put(outside, "requirements.txt", text.data ? (char *)text.data : "", text.len,
                               err);
    if (r == 0)
        r = sc_cli_outside_mkdir(outside, "wheels", err);
    if (r == 0 && text.len)
        r = sc_cli_outside_run(outside, pip, -1, false, err);
    sc_buf_fini(&text);
    return r;
}

static int build_python(struct building *building, struct sc_err *err)
{
    static const char *const install[] = {
        "/bin/sh", "-c",
        "set -e; mkdir /home/user/out; cd /wheels; set -- *.whl; test -e \"$1\" && "
        "/usr/bin/python3 -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-index "
        "--no-deps "
        "--no-compile --target /home/user/out \"$@\" >&2; exec tar -C /home/user/out -cf - .",
        NULL};
    char wheels[PATH_MAX + 16];
    struct sc_cli_outside outside;
    int r = sc_cli_outside_open(&outside, building->signal_fd, err);
    if (r < 0)
        return r;
    r = fetch_wheels(building, &outside, err);
    snprintf(wheels, sizeof wheels, "%s/wheels", outside.path);
    if (r == 0)
        r = make_in_cell(building, "python", wheels, "/wheels", install, err);
    sc_cli_outside_close(&outside);
    return r;
}

/* ---- Node ---- */

static int fetch_modules(struct building *building, struct sc_cli_outside *outside, struct sc_err *err)
{
    const char *package_json = building->recipe->package_json;
    char lock[PATH_MAX];
    bool locked = sc_recipe_lock_file(package_json, lock) && access(lock, F_OK) == 0;
    const char *const npm[] = {
        "npm",        locked ? "ci" : "install", "--ignore-scripts", "--no-audit", "--no-fund",
        "--omit=dev", "--cache=./cache",         "--loglevel=error", NULL};
    int r = sc_cli_outside_copy(outside, "package.json", package_json, err);
    if (r == 0 && locked)
        r = sc_cli_outside_copy(outside, "package-lock.json", lock, err);
    if (r == 0)
        r = sc_cli_outside_mkdir(outside, "node_modules", err);
    return r == 0 ? sc_cli_outside_run(outside, npm, -1, false, err) : r;
}

static int build_node(struct building *building, struct sc_err *err)
{
    static const char *const pack[] = {"/bin/sh", "-c",
                                       "mkdir -p /home/user/none; cd /fetched/node_modules 2>/dev/null || "
                                       "cd /home/user/none; exec tar -cf - .",
                                       NULL};
    struct sc_cli_outside outside;
    int r = sc_cli_outside_open(&outside, building->signal_fd, err);
    if (r < 0)
        return r;
    r = fetch_modules(building, &outside, err);
    if (r == 0)
        r = make_in_cell(building, "node_modules", outside.path, "/fetched", pack, err);
    sc_cli_outside_close(&outside);
    return r;
}

/* ---- the whole ---- */

static int build_parts(struct building *building, struct sc_err *err)
{
    const struct sc_recipe *recipe = building->recipe;
    int r = 0;
    if (recipe->root == SC_RECIPE_IMAGE)
        r = build_image(building, err);
    else if (recipe->root == SC_RECIPE_PACKAGES)
        r = build_packages(building, err);
    if (r == 0 && recipe->requirements)
        r = build_python(building, err);
    if (r == 0 && recipe->package_json)
        r = build_node(building, err);
    return r;
}

int sc_cli_template_make(const struct sc_recipe *recipe, const struct sc_cli_args *args, int signal_fd,
                         struct sc_err *err)
{
    struct building building = {.recipe = recipe, .args = args, .signal_fd = signal_fd};
    char hash[SC_SHA256_TEXT];
    int r = sc_recipe_hash(recipe, hash, err);
    if (r == 0)
        r = sc_shelf_begin(recipe->name, hash, &building.build, err);
    if (r != 0)
        return r;
    r = build_parts(&building, err);
    if (r == 0)
        return sc_shelf_commit(&building.build, err);
    sc_shelf_abandon(&building.build);
    return sc_err_wrap(err, r, "template %s", recipe->name);
}
