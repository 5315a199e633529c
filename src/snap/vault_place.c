/* Where paused sessions lie: the folder of all, one of each, and its lock. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "snap/shelf.h"
#include "snap/vault_parts.h"

bool sc_vault_name_ok(const char *name)
{
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
    return len > 0 && len <= SC_VAULT_NAME_MAX && !name[len] && *name != '.';
}

int sc_vault_top(const char *tenant, bool make, char ret_path[PATH_MAX], struct sc_err *err)
{
    char own[sizeof ".tenant-" + SC_VAULT_TENANT_MAX] = "";
    if (tenant)
        snprintf(own, sizeof own, ".tenant-%s", tenant);
    int r = sc_shelf_folder(ret_path, err);
    size_t len = strlen(ret_path), room = PATH_MAX - len;
    if (r == 0 && !make && snprintf(ret_path + len, room, "/paused/%s", own) < (int)room &&
        access(ret_path, F_OK) < 0 && errno == ENOENT)
        return -ENOENT;
    return r < 0 ? r : sc_shelf_open("paused", own, ret_path, err);
}

/* How many others there are. */
int sc_vault_count(const char *tenant, const char *name, struct sc_err *err)
{
    char path[PATH_MAX];
    int fd = sc_vault_top(tenant, true, path, err), n = 0;
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        int r = fd < 0 ? fd : sc_err_sys(err, -errno, "paused sessions: %s", path);
        sc_close(&fd);
        return r;
    }
    for (const struct dirent *entry; (entry = readdir(dir));)
        n += sc_vault_name_ok(entry->d_name) && strcmp(entry->d_name, name) != 0;
    closedir(dir);
    return n;
}

int sc_vault_folder(const char *tenant, const char *name, bool make, struct sc_err *err)
{
    char path[PATH_MAX];
    if (!sc_vault_name_ok(name))
        return sc_err_usage(err, "session",
                            "session: %s: only one whose name does not begin with a dot can be paused", name);
    int above = sc_vault_top(tenant, make, path, err);
    if (above < 0)
        return above;
    int r = make && mkdirat(above, name, 0700) < 0 && errno != EEXIST ? -errno : 0;
    if (r == 0 && make)
        r = fsync(above) < 0 ? -errno : 0;
    int fd = r < 0 ? r : openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && r == 0)
        r = -errno;
    close(above);
    if (r == -ENOENT && !make)
        return r;
    return r < 0 ? sc_err_sys(err, r, "paused session: %s/%s", path, name) : fd;
}

int sc_vault_take_lock(int folder, const char *name, struct sc_err *err)
{
    int fd = openat(folder, SC_VAULT_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return sc_err_sys(err, -errno, "paused session: %s", name);
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    int r = errno == EWOULDBLOCK ? -EBUSY : -errno;
    close(fd);
    if (r == -EBUSY) {
        (void)sc_err_usage(err, "session", "session: %s: it is alive, or being paused or resumed, elsewhere",
                           name);
        if (err)
            err->code = r;
        return r;
    }
    return sc_err_sys(err, r, "paused session: %s", name);
}
