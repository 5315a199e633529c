#include "snap/shelf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

static const char TEMPLATES[] = "templates";
static const char CURRENT[] = "current";
static const char NEXT[] = ".next"; /* the link, before it takes its place */
static const char WORK[] = ".build";
static const char LOCK[] = ".lock";
#define DEPTH_MAX 256

static bool is_hash(const char *text)
{
    return strspn(text, "0123456789abcdef") == SC_SHA256_TEXT - 1 && !text[SC_SHA256_TEXT - 1];
}

/* ---- trees ---- */

static int remove_below(int folder, const char *name, int depth);

/* Takes `fd`. */
static int remove_entries(int fd, int depth)
{
    DIR *dir = fdopendir(fd);
    const struct dirent *entry;
    int r = 0;
    if (!dir) {
        r = -errno;
        close(fd);
        return r;
    }
    while (r == 0 && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            r = remove_below(dirfd(dir), entry->d_name, depth + 1);
    closedir(dir);
    return r;
}

static int remove_below(int folder, const char *name, int depth)
{
    if (unlinkat(folder, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -errno;
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (depth > DEPTH_MAX) {
        close(fd);
        return -ELOOP;
    }
    (void)fchmod(fd, 0700); /* a folder that its owner may not write to */
    int r = remove_entries(fd, depth);
    return r == 0 && unlinkat(folder, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : r;
}

int sc_shelf_remove_tree(int folder, const char *name)
{
    return remove_below(folder, name, 0);
}

/* ---- folders ---- */

static int make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int r = mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : 0;
        *slash = '/';
        if (r < 0)
            return r;
    }
    return mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

int sc_shelf_make_folders(const char *path, struct sc_err *err)
{
    char copy[PATH_MAX];
    int n = snprintf(copy, sizeof copy, "%s", path);
    int r = n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : make_folders(copy);
    return r < 0 ? sc_err_sys(err, r, "template: folder %s", path) : 0;
}

static int path_of(const char *below, const char *name, char ret_path[PATH_MAX], struct sc_err *err)
{
    int r = sc_shelf_folder(ret_path, err);
    if (r < 0)
        return r;
    size_t len = strlen(ret_path), room = PATH_MAX - len;
    int n = snprintf(ret_path + len, room, "/%s%s%s", below, *name ? "/" : "", name);
    if (n < 0 || (size_t)n >= room)
        return sc_err_usage(err, "template", "template: the store's path is too long");
    return 0;
}

/* What others may write to, they may put a root file system of theirs into. */
static int check_owner(int fd, const char *path, struct sc_err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return sc_err_sys(err, -errno, "template store: %s", path);
    if (st.st_uid == geteuid() && !(st.st_mode & 022))
        return 0;
    return sc_err_usage(err, "template", "template: the store %s must be yours, and writable by nobody else",
                        path);
}

int sc_shelf_open(const char *below, const char *name, char ret_path[PATH_MAX], struct sc_err *err)
{
    int r = path_of(below, name, ret_path, err);
    if (r < 0)
        return r;
    r = make_folders(ret_path);
    int fd = r < 0 ? r : open(ret_path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return sc_err_sys(err, r < 0 ? r : -errno, "template store: %s", ret_path);
    r = check_owner(fd, ret_path, err);
    if (r < 0)
        close(fd);
    return r < 0 ? r : fd;
}

/* ---- what is in use ---- */

static int read_current(int folder, char ret_hash[SC_SHA256_TEXT])
{
    char text[SC_SHA256_TEXT + 1];
    ssize_t n = readlinkat(folder, CURRENT, text, sizeof text - 1);
    if (n < 0)
        return -errno;
    text[n] = '\0';
    if (!is_hash(text) || faccessat(folder, text, F_OK, 0) < 0)
        return -ENOENT;
    memcpy(ret_hash, text, SC_SHA256_TEXT);
    return 0;
}

int sc_shelf_current(const char *name, char ret_hash[SC_SHA256_TEXT], char ret_path[PATH_MAX])
{
    int r = path_of(TEMPLATES, name, ret_path, NULL);
    int fd = r < 0 ? -1 : open(ret_path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return r < 0 ? r : -errno;
    r = check_owner(fd, ret_path, NULL);
    if (r == 0)
        r = read_current(fd, ret_hash);
    close(fd);
    size_t len = strlen(ret_path);
    if (r == 0 && snprintf(ret_path + len, PATH_MAX - len, "/%s", ret_hash) >= (int)(PATH_MAX - len))
        r = -ENAMETOOLONG;
    return r;
}

static int use(int folder, const char *hash)
{
    char now[SC_SHA256_TEXT];
    if (read_current(folder, now) == 0 && !strcmp(now, hash))
        return 0;
    if (unlinkat(folder, NEXT, 0) < 0 && errno != ENOENT)
        return -errno;
    if (symlinkat(hash, folder, NEXT) < 0 || renameat(folder, NEXT, folder, CURRENT) < 0)
        return -errno;
    return fsync(folder) < 0 ? -errno : 0;
}

/* All but the two that may be in use. */
static int remove_old(int folder, const char *now, const char *before)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    int r = 0;
    if (!dir) {
        r = -errno;
        sc_close(&fd);
        return r;
    }
    while (r == 0 && (entry = readdir(dir)))
        if (is_hash(entry->d_name) && strcmp(entry->d_name, now) && strcmp(entry->d_name, before))
            r = sc_shelf_remove_tree(folder, entry->d_name);
    closedir(dir);
    return r;
}

/* ---- a build ---- */

static void leave(struct sc_shelf_build *build)
{
    sc_close(&build->work);
    sc_close(&build->folder);
    sc_close(&build->lock); /* last: who waits for it finds everything as it stays */
}

static int open_work(struct sc_shelf_build *build)
{
    int r = sc_shelf_remove_tree(build->folder, WORK); /* of a build that was killed */
    if (r == 0 && mkdirat(build->folder, WORK, 0755) < 0)
        r = -errno;
    if (r < 0)
        return r;
    build->work = openat(build->folder, WORK, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return build->work < 0 ? -errno : 0;
}

static int take_lock(struct sc_shelf_build *build)
{
    build->lock = openat(build->folder, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (build->lock < 0)
        return -errno;
    while (flock(build->lock, LOCK_EX) < 0)
        if (errno != EINTR)
            return -errno;
    return 0;
}

int sc_shelf_begin(const char *name, const char *hash, struct sc_shelf_build *ret_build, struct sc_err *err)
{
    struct sc_shelf_build build = {.folder = -1, .lock = -1, .work = -1};
    int done = 0;
    snprintf(build.hash, sizeof build.hash, "%s", hash);
    build.folder = sc_shelf_open(TEMPLATES, name, build.path, err);
    if (build.folder < 0)
        return build.folder;
    int r = take_lock(&build);
    if (r == 0 && faccessat(build.folder, hash, F_OK, 0) == 0) {
        r = use(build.folder, hash);
        done = 1;
    } else if (r == 0) {
        r = open_work(&build);
    }
    size_t len = strlen(build.path), room = sizeof build.path - len;
    if (r == 0 && snprintf(build.path + len, room, "/%s", WORK) >= (int)room)
        r = -ENAMETOOLONG;
    if (r < 0 || done)
        leave(&build);
    if (r < 0)
        return sc_err_sys(err, r, "template store: %s", build.path);
    if (!done)
        *ret_build = build;
    return done;
}

int sc_shelf_commit(struct sc_shelf_build *build, struct sc_err *err)
{
    char before[SC_SHA256_TEXT] = "";
    int r = syncfs(build->work) < 0 ? -errno : 0;
    (void)read_current(build->folder, before);
    if (r == 0 && renameat(build->folder, WORK, build->folder, build->hash) < 0)
        r = -errno;
    if (r == 0 && fsync(build->folder) < 0)
        r = -errno;
    if (r == 0)
        r = use(build->folder, build->hash);
    if (r == 0)
        (void)remove_old(build->folder, build->hash, before); /* the next build tries again */
    if (r < 0) {
        sc_err_sys(err, r, "template store: %s", build->path);
        sc_shelf_abandon(build);
    }
    leave(build);
    return r;
}

void sc_shelf_abandon(struct sc_shelf_build *build)
{
    if (build->folder >= 0)
        (void)sc_shelf_remove_tree(build->folder, WORK);
    leave(build);
}

int sc_shelf_remove(const char *name, struct sc_err *err)
{
    char path[PATH_MAX];
    int r = path_of(TEMPLATES, "", path, err);
    if (r < 0)
        return r;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : sc_err_sys(err, -errno, "template store: %s", path);
    r = check_owner(fd, path, err);
    bool there = r == 0 && faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    if (there) {
        r = sc_shelf_remove_tree(fd, name);
        if (r < 0)
            sc_err_sys(err, r, "template store: %s/%s", path, name);
    }
    close(fd);
    return r < 0 ? r : there;
}
