/* Listing and removing folders. A program may have made any number of entries, and nested folders deeper than
 * any path or table of descriptors: both are bounded here. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/operate.h"
#include "base/fd.h"

#define LIST_MAX 100000 /* entries of one folder that are listed */
#define DEPTH_MAX 32    /* folders open at once while removing */

int sc_put_entry(struct sc_operation *op, int dir, const char *name, const struct stat *st)
{
    static char bytes[sizeof(struct sc_entry) + 2 * SC_NAME_ROOM];
    struct sc_entry entry = {
        .size = (uint64_t)st->st_size,
        .mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
        .mode = st->st_mode,
        .name_len = (uint16_t)strlen(name),
    };
    char *target = bytes + sizeof entry + entry.name_len;
    ssize_t n = S_ISLNK(st->st_mode) && dir >= 0 ? readlinkat(dir, name, target, SC_NAME_ROOM) : 0;
    entry.target_len = n > 0 ? (uint16_t)n : 0;
    memcpy(bytes, &entry, sizeof entry);
    memcpy(bytes + sizeof entry, name, entry.name_len);
    op->done.files++;
    return sc_operation_put(op, bytes, sizeof entry + entry.name_len + entry.target_len);
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_dots(const char *name)
{
    return !strcmp(name, ".") || !strcmp(name, "..");
}

static char *names[LIST_MAX]; /* the process's until its end */

static int read_names(DIR *dir, size_t *ret_count)
{
    size_t count = 0;
    for (struct dirent *entry; (errno = 0, entry = readdir(dir));) {
        if (is_dots(entry->d_name))
            continue;
        if (count == LIST_MAX)
            return -EOVERFLOW;
        names[count] = strdup(entry->d_name);
        if (!names[count++])
            return -ENOMEM;
    }
    if (errno)
        return -errno;
    qsort(names, count, sizeof *names, compare);
    *ret_count = count;
    return 0;
}

int sc_operate_list(struct sc_operation *op)
{
    size_t count = 0;
    int fd = open(op->path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir)
        return -errno;
    int r = read_names(dir, &count);
    for (size_t i = 0; i < count && r == 0; i++) {
        struct stat st;
        if (fstatat(fd, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0) /* else it has gone since */
            r = sc_put_entry(op, fd, names[i], &st);
    }
    closedir(dir);
    return r;
}

/* ---- removing ---- */

static int remove_content(struct sc_operation *op, int fd, int top, int depth);

static int remove_entry(struct sc_operation *op, int dir, const char *name, int top, int depth)
{
    if (unlinkat(dir, name, 0) == 0) {
        op->done.files++;
        return 0;
    }
    if (errno != EISDIR && errno != EPERM)
        return errno == ENOENT ? 0 : sc_operation_fault(op, name, -errno);
    if (depth == DEPTH_MAX) { /* too deep: it goes to the top, where it is found again */
        char fresh[32];
        sc_temporary_name(fresh);
        return renameat(dir, name, top, fresh) < 0 ? sc_operation_fault(op, name, -errno) : 0;
    }
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return sc_operation_fault(op, name, -errno);
    int r = remove_content(op, fd, top, depth + 1);
    if (r == 0 && unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return sc_operation_fault(op, name, -errno);
    op->done.files += r == 0;
    return r;
}

/* Takes fd. Names vanish while the folder is read: it is read again until nothing is left. */
static int remove_content(struct sc_operation *op, int fd, int top, int depth)
{
    int r = 0;
    bool any = true;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        close(fd);
        return -ENOMEM;
    }
    while (any && r == 0) {
        any = false;
        rewinddir(dir);
        for (struct dirent *entry; r == 0 && (entry = readdir(dir));) {
            if (is_dots(entry->d_name))
                continue;
            any = true;
            r = remove_entry(op, fd, entry->d_name, top < 0 ? fd : top, depth);
        }
    }
    closedir(dir);
    return r;
}

int sc_operate_remove(struct sc_operation *op)
{
    struct stat st;
    if (lstat(op->path, &st) < 0)
        return -errno;
    if (!S_ISDIR(st.st_mode)) {
        op->done.files = 1;
        return unlink(op->path) < 0 ? -errno : 0;
    }
    if (op->order->flags & SC_FILE_RECURSIVE) {
        int fd = open(op->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int r = fd < 0 ? -errno : remove_content(op, fd, -1, 1);
        if (r < 0)
            return r;
    }
    op->done.files++;
    return rmdir(op->path) < 0 ? -errno : 0;
}
