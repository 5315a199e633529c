/* Telling changes of a folder, by inotify. With SC_FILE_RECURSIVE the folders below are watched as they come;
 * what was made in one before its watch stood is found by reading it, so a change may be told twice, but is
 * not missed. Where that cannot be kept (too many folders, an overflow), SC_CHANGE_LOST says so. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "agent/operate.h"
#include "base/fd.h"

#define WATCHES_MAX 8192
#define DEPTH_MAX 64 /* each level costs a descriptor and much of the stack while it is entered */
#define EVENTS (IN_CREATE | IN_MODIFY | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF)

struct watched {
    int wd;     /* 0: free */
    char *path; /* relative to the watched folder; "" is itself */
};

struct watcher {
    struct sc_operation *op;
    int inotify;
    bool recursive, has_lost;
    struct watched list[WATCHES_MAX];
};

static int say(struct watcher *watcher, enum sc_change_kind kind, bool is_folder, const char *name)
{
    char bytes[sizeof(struct sc_change) + SC_NAME_ROOM];
    size_t len = strlen(name);
    const struct sc_change change = {
        .kind = (uint16_t)kind, .is_folder = is_folder, .name_len = (uint32_t)len};
    memcpy(bytes, &change, sizeof change);
    memcpy(bytes + sizeof change, name, len + 1);
    return sc_operation_put(watcher->op, bytes, sizeof change + len);
}

static int say_lost(struct watcher *watcher)
{
    if (watcher->has_lost)
        return 0;
    watcher->has_lost = true;
    return say(watcher, SC_CHANGE_LOST, false, "");
}

static bool join(const char *folder, const char *name, char ret_path[SC_NAME_ROOM])
{
    size_t a = strlen(folder), b = strlen(name);
    if (a + b + 2 > SC_NAME_ROOM)
        return false;
    memcpy(ret_path, folder, a + 1);
    if (a && b)
        ret_path[a++] = '/';
    memcpy(ret_path + a, name, b + 1);
    return true;
}

static struct watched *find(struct watcher *watcher, int wd)
{
    for (size_t i = 0; i < WATCHES_MAX; i++)
        if (watcher->list[i].wd == wd)
            return &watcher->list[i];
    return NULL;
}

static void forget(struct watched *watched)
{
    watched->wd = 0;
    free(watched->path);
    watched->path = NULL;
}

/* A folder that went elsewhere, and all below it: their names are no longer true. */
static void forget_below(struct watcher *watcher, const char *path)
{
    size_t len = strlen(path);
    for (size_t i = 0; i < WATCHES_MAX; i++) {
        struct watched *watched = &watcher->list[i];
        if (watched->wd > 0 && !strncmp(watched->path, path, len) &&
            (watched->path[len] == '/' || watched->path[len] == '\0')) {
            inotify_rm_watch(watcher->inotify, watched->wd);
            forget(watched);
        }
    }
}

static unsigned depth_of(const char *path)
{
    unsigned depth = *path != '\0';
    for (; *path; path++)
        depth += *path == '/';
    return depth;
}

static int watch_folder(struct watcher *watcher, const char *path);

/* What stands in a folder when its watch begins. At the start (`tell` false) it is no change. */
static int enter_folder(struct watcher *watcher, const char *path, bool tell)
{
    char full[SC_NAME_ROOM], inner[SC_NAME_ROOM];
    int r = 0;
    if (depth_of(path) > DEPTH_MAX || !join(watcher->op->path, path, full))
        return say_lost(watcher);
    int fd = open(full, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        sc_close(&fd);
        return 0; /* gone again, or not readable: its own changes are told all the same */
    }
    for (struct dirent *entry; r == 0 && (entry = readdir(dir));) {
        struct stat st;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        if (!join(path, entry->d_name, inner)) {
            r = say_lost(watcher);
            continue;
        }
        bool is_folder = fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
        if (tell)
            r = say(watcher, SC_CHANGE_MADE, is_folder, inner);
        if (r == 0 && is_folder) {
            r = watch_folder(watcher, inner);
            if (r == 0)
                r = enter_folder(watcher, inner, tell);
        }
    }
    closedir(dir);
    return r;
}

static int watch_folder(struct watcher *watcher, const char *path)
{
    char full[SC_NAME_ROOM];
    if (!join(watcher->op->path, path, full))
        return say_lost(watcher);
    int wd = inotify_add_watch(watcher->inotify, full, EVENTS | (*path ? IN_DONT_FOLLOW | IN_ONLYDIR : 0));
    if (wd < 0 && !*path)
        return -errno;
    if (wd < 0)
        return errno == ENOSPC ? say_lost(watcher) : 0;
    struct watched *watched = find(watcher, wd);
    if (!watched)
        watched = find(watcher, 0);
    if (!watched) {
        inotify_rm_watch(watcher->inotify, wd);
        return say_lost(watcher);
    }
    forget(watched);
    watched->path = strdup(path);
    watched->wd = watched->path ? wd : 0;
    return watched->path ? 0 : -ENOMEM;
}

static int take_new_folder(struct watcher *watcher, const char *path)
{
    int r = watch_folder(watcher, path);
    return r < 0 ? r : enter_folder(watcher, path, true);
}

static int take_event(struct watcher *watcher, const struct inotify_event *event)
{
    char path[SC_NAME_ROOM];
    if (event->mask & IN_Q_OVERFLOW) {
        watcher->has_lost = false; /* each overflow is another loss */
        return say_lost(watcher);
    }
    struct watched *watched = event->wd > 0 ? find(watcher, event->wd) : NULL;
    if (!watched)
        return 0;
    if (event->mask & (IN_DELETE_SELF | IN_IGNORED | IN_UNMOUNT)) {
        bool is_all = !*watched->path;
        forget(watched);
        return is_all ? -ENOENT : 0;
    }
    if (!join(watched->path, event->len ? event->name : "", path))
        return say_lost(watcher);
    bool is_folder = event->mask & IN_ISDIR;
    int r = 0;
    if (event->mask & (IN_CREATE | IN_MOVED_TO))
        r = say(watcher, SC_CHANGE_MADE, is_folder, path);
    else if (event->mask & IN_MODIFY)
        r = say(watcher, SC_CHANGE_WRITTEN, is_folder, path);
    else if (event->mask & IN_DELETE)
        r = say(watcher, SC_CHANGE_REMOVED, is_folder, path);
    else if (event->mask & IN_MOVED_FROM)
        r = say(watcher, SC_CHANGE_RENAMED, is_folder, path);
    else if (event->mask & IN_ATTRIB)
        r = say(watcher, SC_CHANGE_MODE, is_folder, path);
    if (r < 0 || !is_folder || !watcher->recursive || !event->len)
        return r;
    if (event->mask & IN_MOVED_FROM)
        forget_below(watcher, path);
    return event->mask & (IN_CREATE | IN_MOVED_TO) ? take_new_folder(watcher, path) : 0;
}

int sc_operate_watch(struct sc_operation *op)
{
    static struct watcher watcher;
    static char events[64 * 1024] __attribute__((aligned(__alignof__(struct inotify_event))));
    watcher.op = op;
    watcher.recursive = op->order->flags & SC_FILE_RECURSIVE;
    watcher.inotify = inotify_init1(IN_CLOEXEC);
    if (watcher.inotify < 0)
        return -errno;
    int r = watch_folder(&watcher, "");
    if (r == 0 && watcher.recursive)
        r = enter_folder(&watcher, "", false);
    if (r < 0)
        return r;
    sc_operation_started(op);
    for (;;) {
        ssize_t n = read(watcher.inotify, events, sizeof events);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        for (ssize_t at = 0; at < n && r == 0;) {
            const struct inotify_event *event = (const struct inotify_event *)(events + at);
            at += (ssize_t)(sizeof *event + event->len);
            r = take_event(&watcher, event);
        }
        if (r < 0)
            return r;
    }
}
