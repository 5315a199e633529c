#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "base/sys.h"
#include "cell/disk.h"
#include "judge/parts.h"

#define BENEATH (SC_RESOLVE_BENEATH | SC_RESOLVE_NO_SYMLINKS | SC_RESOLVE_NO_MAGICLINKS)

int sc_store_open(struct sc_store *store, struct sc_err *err)
{
    *store = (struct sc_store){.folder = -1};
    char real[PATH_MAX];
    /* A mount needs a path without detours. */
    if (!realpath(sc_disk_folder(), real) ||
        (size_t)snprintf(store->outer, sizeof store->outer, "%s/snapcell-judge-XXXXXX", real) >=
            sizeof store->outer - 8)
        return sc_err_sys(err, -errno, "%s (SNAPCELL_DISK_DIR)", sc_disk_folder());
    if (!mkdtemp(store->outer)) {
        int r = -errno;
        store->outer[0] = '\0';
        return sc_err_sys(err, r, "a folder for what is built in %s (SNAPCELL_DISK_DIR)", real);
    }
    snprintf(store->path, sizeof store->path, "%.*s/build", (int)sizeof store->path - 8, store->outer);
    int r = mkdir(store->path, 0755) < 0 ? -errno : 0;
    if (r == 0)
        store->folder = open(store->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (r == 0 && (store->folder < 0 || fchmod(store->folder, 0755) < 0)) /* whatever the umask */
        r = -errno;
    if (r < 0) {
        sc_store_close(store);
        return sc_err_sys(err, r, "a folder for what is built");
    }
    return 0;
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

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path) < 0 && errno != ENOENT ? -errno : 0;
}

void sc_store_close(struct sc_store *store)
{
    sc_close(&store->folder);
    /* Nobody but us could put anything there, and we put no links. */
    if (store->outer[0])
        (void)nftw(store->outer, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    store->outer[0] = '\0';
}
