#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "base/sys.h"
#include "cell/disk.h"
#include "judge/parts.h"

#define PREFIX "snapcell-judge-"
#define BENEATH (SC_RESOLVE_BENEATH | SC_RESOLVE_NO_SYMLINKS | SC_RESOLVE_NO_MAGICLINKS)

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path) < 0 && errno != ENOENT ? -errno : 0;
}

/* Nobody but us could put anything into a store, and we put no links. */
static void remove_tree(const char *outer)
{
    (void)nftw(outer, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* ---- stores whose judge was killed ---- */

/* Whoever lives holds the lock of its store. */
static void sweep_one(int disk, const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct stat st;
    int fd = openat(disk, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    bool ours = fstat(fd, &st) == 0 && st.st_uid == geteuid();
    if (ours && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
        (size_t)snprintf(path, sizeof path, "%s/%s", folder, name) < sizeof path)
        remove_tree(path);
    close(fd);
}

static void sweep(const char *folder)
{
    DIR *disk = opendir(folder);
    if (!disk)
        return;
    for (struct dirent *entry; (entry = readdir(disk));)
        if (!strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
            sweep_one(dirfd(disk), folder, entry->d_name);
    closedir(disk);
}

/* ---- one store ---- */

/* A new folder, locked: a sweep that came between the two took it for a dead one's. */
static int make_outer(struct sc_store *store, const char *folder)
{
    for (int tries = 0; tries < 16; tries++) {
        struct stat st;
        if ((size_t)snprintf(store->outer, sizeof store->outer, "%s/" PREFIX "XXXXXX", folder) >=
            sizeof store->outer - sizeof "/build")
            return -ENAMETOOLONG;
        if (!mkdtemp(store->outer)) {
            int r = -errno;
            store->outer[0] = '\0';
            return r;
        }
        store->lock = open(store->outer, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (store->lock >= 0 && flock(store->lock, LOCK_EX) == 0 && fstat(store->lock, &st) == 0 &&
            st.st_nlink > 0)
            return 0;
        sc_close(&store->lock);
    }
    store->outer[0] = '\0';
    return -EAGAIN;
}

static int make_inner(struct sc_store *store)
{
    snprintf(store->path, sizeof store->path, "%.*s/build", (int)(sizeof store->path - sizeof "/build"),
             store->outer);
    if (mkdir(store->path, 0755) < 0)
        return -errno;
    store->folder = open(store->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    /* Whatever the umask. */
    return store->folder < 0 || fchmod(store->folder, 0755) < 0 ? -errno : 0;
}

int sc_store_open(struct sc_store *store, struct sc_err *err)
{
    char folder[PATH_MAX];
    *store = SC_STORE_NONE;
    /* A mount needs a path without detours. */
    int r = realpath(sc_disk_folder(), folder) ? 0 : -errno;
    if (r == 0) {
        sweep(folder);
        r = make_outer(store, folder);
    }
    if (r == 0)
        r = make_inner(store);
    if (r == 0)
        return 0;
    sc_store_close(store);
    return sc_err_sys(err, r, "a folder for what is built in %s (SNAPCELL_DISK_DIR)", sc_disk_folder());
}

/* The folder `part` of `at`, made where it lacks. Takes `at`. */
static int enter(int at, const char *part)
{
    int r = mkdirat(at, part, 0755) < 0 && errno != EEXIST ? -errno : 0;
    if (r == 0)
        r = sc_sys_openat2(at, part, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, BENEATH);
    close(at);
    if (r >= 0 && fchmod(r, 0755) < 0) { /* whatever the umask */
        int failed = -errno;
        close(r);
        return failed;
    }
    return r;
}

/* The folder that `name` lies in; *ret_last is its last component. */
static int open_parent(const struct sc_store *store, const char *name, const char **ret_last)
{
    char part[SC_SPEC_NAME_MAX + 1];
    int at = sc_sys_openat2(store->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, BENEATH);
    for (const char *slash; at >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
        size_t len = (size_t)(slash - name);
        if (len >= sizeof part) {
            close(at);
            return -ENAMETOOLONG;
        }
        memcpy(part, name, len);
        part[len] = '\0';
        at = enter(at, part);
    }
    *ret_last = name;
    return at;
}

static int copy(int from, int to, uint64_t size)
{
    char chunk[64 * 1024];
    while (size > 0) {
        ssize_t n = read(from, chunk, (size_t)sc_min_u64(size, sizeof chunk));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0;
        int r = sc_write_all(to, chunk, (size_t)n);
        if (r < 0)
            return r;
        size -= (uint64_t)n;
    }
    return 0;
}

int sc_store_put(struct sc_store *store, const char *name, int fd, uint64_t size)
{
    const char *last;
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    int parent = open_parent(store, name, &last);
    if (parent < 0)
        return parent;
    /* Two patterns may name one file: it is there already. */
    int to = openat(parent, last, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    int r = to < 0 ? (errno == EEXIST ? 0 : -errno) : copy(fd, to, size);
    if (r == 0 && to >= 0 && fchmod(to, st.st_mode & 0111 ? 0555 : 0444) < 0)
        r = -errno;
    sc_close(&to);
    close(parent);
    return r;
}

void sc_store_close(struct sc_store *store)
{
    sc_close(&store->folder);
    if (store->outer[0])
        remove_tree(store->outer);
    store->outer[0] = '\0';
    sc_close(&store->lock);
}
