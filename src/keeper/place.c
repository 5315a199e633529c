#include "keeper/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"

#define BACKLOG 128

int sc_keeper_path(char ret_path[PATH_MAX], struct sc_err *err)
{
    const char *given = getenv("SNAPCELL_SOCKET"), *run = getenv("XDG_RUNTIME_DIR");
    int n;
    if (given && *given)
        n = snprintf(ret_path, PATH_MAX, "%s", given);
    else if (geteuid() == 0)
        n = snprintf(ret_path, PATH_MAX, "/run/snapcell/keeper.sock");
    else if (run && *run == '/')
        n = snprintf(ret_path, PATH_MAX, "%s/snapcell/keeper.sock", run);
    else
        n = snprintf(ret_path, PATH_MAX, "/tmp/snapcell-%u/keeper.sock", geteuid());
    if (n < 0 || n >= PATH_MAX)
        return sc_err_usage(err, "socket", "socket: the path is longer than %d bytes", PATH_MAX - 1);
    return 0;
}

/* Opens the folder that `path` lies in and finds the name behind it. -ENOENT is the caller's to judge. */
static int open_folder(const char *path, int make, int *ret_folder, const char **ret_name, struct sc_err *err)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t len = slash ? (size_t)(slash - path) : 0;
    if (!*name || strlen(name) > SC_KEEPER_SOCKET_NAME_MAX || len >= sizeof folder)
        return sc_err_usage(err, "socket",
                            "socket: %s: must be the path of a socket, its name 1 to %d bytes long", path,
                            SC_KEEPER_SOCKET_NAME_MAX);
    snprintf(folder, sizeof folder, "%.*s", (int)len, path);
    const char *at = len ? folder : slash ? "/" : ".";
    if (make && mkdir(at, 0700) < 0 && errno != EEXIST)
        return sc_err_sys(err, -errno, "socket: folder %s", at);
    int fd = open(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return sc_err_sys(err, -errno, "socket: folder %s", at);
    *ret_folder = fd;
    *ret_name = name;
    return 0;
}

/* Nobody else may put a socket of theirs in the place of ours. */
static int check_folder(int folder, const char *path, struct sc_err *err)
{
    struct stat st;
    if (fstat(folder, &st) < 0)
        return sc_err_sys(err, -errno, "socket: %s", path);
    if (st.st_uid != geteuid())
        return sc_err_usage(err, "socket", "socket: %s: its folder belongs to uid %u; must be your own", path,
                            st.st_uid);
    if (st.st_mode & 077)
        return sc_err_usage(err, "socket", "socket: %s: its folder has mode %04o; must be 0700", path,
                            st.st_mode & 07777);
    return 0;
}

/* A lock whose file was removed meanwhile, by a keeper that ended, locks nobody out: look again. */
static int take_lock(struct sc_keeper_place *place)
{
    struct stat held, there;
    for (;;) {
        int fd = openat(place->folder, place->lock_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
            return -errno;
        if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
            int r = errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
            close(fd);
            return r;
        }
        if (fstat(fd, &held) == 0 &&
            fstatat(place->folder, place->lock_name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
            held.st_ino == there.st_ino && held.st_dev == there.st_dev) {
            place->lock = fd;
            return 0;
        }
        close(fd);
    }
}

/* The name below the folder's descriptor: the folder that was checked, and never longer than an address. */
static void address_of(int folder, const char *name, struct sockaddr_un *ret_address)
{
    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(ret_address->sun_path, sizeof ret_address->sun_path, "/proc/self/fd/%d/%.*s", folder,
             SC_KEEPER_SOCKET_NAME_MAX, name);
}

static int listen_at(const struct sc_keeper_place *place, int *ret_listener)
{
    struct stat st;
    struct sockaddr_un address;
    if (fstatat(place->folder, place->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        if (!S_ISSOCK(st.st_mode))
            return -EEXIST;
        if (unlinkat(place->folder, place->name, 0) < 0)
            return -errno;
    }
    int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (sock < 0)
        return -errno;
    address_of(place->folder, place->name, &address);
    mode_t mask = umask(0177);
    int r = bind(sock, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
    umask(mask);
    if (r == 0 && listen(sock, BACKLOG) < 0)
        r = -errno;
    if (r < 0)
        close(sock);
    else
        *ret_listener = sock;
    return r;
}

int sc_keeper_place_take(struct sc_keeper_place *place, const char *path, int *ret_listener,
                         struct sc_err *err)
{
    const char *name = NULL;
    *place = (struct sc_keeper_place){.folder = -1, .lock = -1};
    int r = open_folder(path, 1, &place->folder, &name, err);
    if (r == 0)
        r = check_folder(place->folder, path, err);
    if (r < 0) {
        sc_close(&place->folder);
        return r;
    }
    snprintf(place->name, sizeof place->name, "%.*s", SC_KEEPER_SOCKET_NAME_MAX, name);
    snprintf(place->lock_name, sizeof place->lock_name, "%.*s.lock", SC_KEEPER_SOCKET_NAME_MAX, name);
    r = take_lock(place);
    if (r == -EADDRINUSE)
        r = sc_err_set(err, SC_ERR_USAGE, r, "socket: %s: another keeper serves it already", path);
    else if (r < 0)
        r = sc_err_sys(err, r, "socket: %s.lock", path);
    if (r == 0) {
        r = listen_at(place, ret_listener);
        if (r < 0)
            sc_err_sys(err, r, "socket: %s", path);
    }
    if (r < 0)
        sc_keeper_place_leave(place);
    return r;
}

void sc_keeper_place_leave(struct sc_keeper_place *place)
{
    struct stat st;
    /* Only who holds the lock may remove anything; the lock goes last. */
    if (place->lock >= 0) {
        if (fstatat(place->folder, place->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(st.st_mode))
            (void)unlinkat(place->folder, place->name, 0);
        (void)unlinkat(place->folder, place->lock_name, 0);
    }
    sc_close(&place->lock);
    sc_close(&place->folder);
}

static int check_keeper(int sock, const char *path, struct sc_err *err)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return sc_err_sys(err, -errno, "socket: %s", path);
    if (peer.uid == geteuid() || peer.uid == 0 || geteuid() == 0)
        return 0;
    return sc_err_usage(err, "socket", "socket: %s: belongs to uid %u; must be your own keeper or root's",
                        path, peer.uid);
}

int sc_keeper_place_connect(const char *path, int *ret_sock, struct sc_err *err)
{
    int folder = -1;
    const char *name = NULL;
    struct sockaddr_un address;
    int r = open_folder(path, 0, &folder, &name, err);
    if (r < 0)
        return r;
    int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (sock < 0) {
        r = sc_err_sys(err, -errno, "socket");
        goto out;
    }
    address_of(folder, name, &address);
    if (connect(sock, (struct sockaddr *)&address, sizeof address) < 0)
        r = sc_err_sys(err, -errno, "socket: %s", path);
    if (r == 0)
        r = check_keeper(sock, path, err);
    if (r < 0)
        close(sock);
    else
        *ret_sock = sock;
out:
    close(folder);
    return r;
}
