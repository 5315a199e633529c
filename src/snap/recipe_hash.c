/* What a build is made from, as one number. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "snap/recipe.h"

/* Changes when the way of building does, so that what was built before is built anew. */
static const char FORM[] = "snapcell template 1\n";

/* Each part by name and length: no two recipes give the same bytes. */
static void add_part(struct sc_sha256 *sum, const char *name, const void *data, size_t len)
{
    char head[64];
    int n = snprintf(head, sizeof head, "%s %zu\n", name, len);
    sc_sha256_add(sum, head, (size_t)n);
    sc_sha256_add(sum, data, len);
}

static void add_text(struct sc_sha256 *sum, const char *name, const char *text)
{
    add_part(sum, name, text, strlen(text));
}

static int add_bytes(struct sc_sha256 *sum, int fd)
{
    char chunk[65536];
    ssize_t n;
    while ((n = read(fd, chunk, sizeof chunk)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        sc_sha256_add(sum, chunk, (size_t)n);
    }
    return 0;
}

/* The sum of the file's bytes is what is added: their length need not be known before. */
static int add_file(struct sc_sha256 *sum, const char *field, const char *path, struct sc_err *err)
{
    char text[SC_SHA256_TEXT];
    struct sc_sha256 own;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int r = fd < 0 ? -errno : 0;
    if (r == 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))
        r = -EINVAL;
    sc_sha256_init(&own);
    if (r == 0)
        r = add_bytes(&own, fd);
    sc_close(&fd);
    if (r < 0)
        return sc_err_usage(err, field, "%s: %s: must be a readable file: %s", field, path, strerror(-r));
    sc_sha256_text(&own, text);
    add_text(sum, field, text);
    return 0;
}

static int visit_wheel(void *userdata, const char *path, struct sc_err *err)
{
    return add_file(userdata, "requirements", path, err);
}

/* Wheels are chosen for the host's Python: another one needs others. */
static int add_requirements(struct sc_sha256 *sum, const char *path, struct sc_err *err)
{
    char python[256];
    struct sc_buf text;
    ssize_t n = readlink("/usr/bin/python3", python, sizeof python);
    sc_buf_init(&text, 2 * SC_RECIPE_BYTES_MAX);
    int r = sc_recipe_requirements(path, &text, visit_wheel, sum, err);
    add_part(sum, "python", python, n < 0 ? 0 : (size_t)n);
    if (r == 0)
        add_part(sum, "requirements", text.data, text.len);
    sc_buf_fini(&text);
    return r;
}

static int add_package_json(struct sc_sha256 *sum, const char *path, struct sc_err *err)
{
    char lock[PATH_MAX];
    int r = add_file(sum, "package_json", path, err);
    if (r == 0 && sc_recipe_lock_file(path, lock) && access(lock, F_OK) == 0)
        r = add_file(sum, "package_json", lock, err);
    return r;
}

bool sc_recipe_lock_file(const char *package_json, char ret_path[PATH_MAX])
{
    const char *slash = strrchr(package_json, '/');
    int len = slash ? (int)(slash + 1 - package_json) : 0;
    int n = snprintf(ret_path, PATH_MAX, "%.*spackage-lock.json", len, package_json);
    return n > 0 && n < PATH_MAX;
}

/* A layout's index names everything below it by content; the unpacking holds it to that. */
static int add_image(struct sc_sha256 *sum, const char *path, struct sc_err *err)
{
    char index[PATH_MAX];
    struct stat st;
    if (stat(path, &st) < 0)
        return sc_err_usage(err, "root.from", "root.from: %s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return add_file(sum, "root.from", path, err);
    if (snprintf(index, sizeof index, "%s/index.json", path) >= (int)sizeof index)
        return sc_err_usage(err, "root.from", "root.from: the path is too long");
    return add_file(sum, "root.from", index, err);
}

int sc_recipe_hash(const struct sc_recipe *recipe, char ret_hash[SC_SHA256_TEXT], struct sc_err *err)
{
    struct sc_sha256 sum;
    int r = 0;
    sc_sha256_init(&sum);
    sc_sha256_add(&sum, FORM, sizeof FORM - 1);
    add_text(&sum, "root", sc_recipe_root_name(recipe->root));
    if (recipe->root == SC_RECIPE_IMAGE)
        r = add_image(&sum, recipe->path, err);
    if (recipe->root == SC_RECIPE_PACKAGES)
        add_text(&sum, "suite", recipe->suite ? recipe->suite : SC_RECIPE_SUITE);
    for (size_t i = 0; i < recipe->packages.n; i++)
        add_text(&sum, "package", recipe->packages.v[i]);
    if (r == 0 && recipe->requirements)
        r = add_requirements(&sum, recipe->requirements, err);
    if (r == 0 && recipe->package_json)
        r = add_package_json(&sum, recipe->package_json, err);
    if (r == 0)
        sc_sha256_text(&sum, ret_hash);
    return r;
}
