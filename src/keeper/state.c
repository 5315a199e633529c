#include "keeper/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "snap/shelf.h"

#define NEW_SUFFIX ".new"

int sc_state_path(char ret_path[PATH_MAX], struct sc_err *err)
{
    const char *given = getenv("SNAPCELL_STATE"), *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n;
    if (given && *given)
        n = snprintf(ret_path, PATH_MAX, "%s", given);
    else if (geteuid() == 0)
        n = snprintf(ret_path, PATH_MAX, "/var/lib/snapcell/keeper");
    else if (state && *state == '/')
        n = snprintf(ret_path, PATH_MAX, "%s/snapcell", state);
    else if (home && *home == '/')
        n = snprintf(ret_path, PATH_MAX, "%s/.local/state/snapcell", home);
    else
        return sc_err_usage(err, "state",
                            "state: neither SNAPCELL_STATE, XDG_STATE_HOME nor HOME is set; one must be");
    if (n < 0 || n >= PATH_MAX)
        return sc_err_usage(err, "state", "state: the path is longer than %d bytes", PATH_MAX - 1);
    return 0;
}

static int check_folder(int folder, const char *path, struct sc_err *err)
{
    struct stat st;
    if (fstat(folder, &st) < 0)
        return sc_err_sys(err, -errno, "state: %s", path);
    if (st.st_uid != geteuid())
        return sc_err_usage(err, "state", "state: %s: belongs to uid %u; must be your own", path, st.st_uid);
    if (st.st_mode & 077)
        return sc_err_usage(err, "state", "state: %s: has mode %04o; must be 0700", path, st.st_mode & 07777);
    return 0;
}

int sc_state_open(const char *path, struct sc_err *err)
{
    char above[PATH_MAX];
    snprintf(above, sizeof above, "%s", path);
    char *slash = strrchr(above, '/');
    if (slash && slash != above) {
        *slash = '\0';
        int r = sc_shelf_make_folders(above, err);
        if (r < 0)
            return r;
    }
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return sc_err_sys(err, -errno, "state: %s", path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return sc_err_sys(err, -errno, "state: %s", path);
    int r = check_folder(fd, path, err);
    if (r < 0) {
        close(fd);
        return r;
    }
    return fd;
}

int sc_state_read(int folder, const char *name, size_t max, struct sc_buf *ret_text, struct sc_err *err)
{
    struct stat st;
    sc_buf_init(ret_text, max);
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? -ENOENT : sc_err_sys(err, -errno, "state: %s", name);
    int r = fstat(fd, &st) < 0 ? -errno : 0;
    if (r < 0)
        sc_err_sys(err, r, "state: %s", name);
    else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
        r = sc_err_usage(err, name, "state: %s: must be a plain file of your own that nobody else may write",
                         name);
    else if ((uint64_t)st.st_size > max)
        r = sc_err_usage(err, name, "state: %s: %lld bytes; at most %zu are allowed", name,
                         (long long)st.st_size, max);
    else if (st.st_size > 0) {
        uint8_t *room = sc_buf_reserve(ret_text, (size_t)st.st_size);
        r = room ? sc_read_all(fd, room, (size_t)st.st_size) : -ENOMEM;
        if (r == 0)
            sc_buf_took(ret_text, (size_t)st.st_size);
        else
            sc_err_sys(err, r, "state: %s", name);
    }
    close(fd);
    return r;
}

static int write_new(int folder, const char *name, const void *data, size_t len)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int r = sc_write_all(fd, data, len);
    if (r == 0 && fsync(fd) < 0)
        r = -errno;
    close(fd);
    return r;
}

int sc_state_write(int folder, const char *name, const void *data, size_t len, struct sc_err *err)
{
    char other[NAME_MAX];
    snprintf(other, sizeof other, "%.200s" NEW_SUFFIX, name);
    int r = write_new(folder, other, data, len);
    if (r == 0 && renameat(folder, other, folder, name) < 0)
        r = -errno;
    if (r == 0 && fsync(folder) < 0)
        r = -errno;
    if (r < 0)
        (void)unlinkat(folder, other, 0);
    return r < 0 ? sc_err_sys(err, r, "state: %s", name) : 0;
}

int sc_state_lock(int folder, const char *name, struct sc_err *err)
{
    int fd = openat(folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return sc_err_sys(err, -errno, "state: %s", name);
    int r;
    do
        r = flock(fd, LOCK_EX) < 0 ? -errno : 0;
    while (r == -EINTR);
    if (r < 0) {
        close(fd);
        return sc_err_sys(err, r, "state: %s", name);
    }
    return fd;
}
