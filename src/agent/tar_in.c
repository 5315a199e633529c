/* Unpacking a tar stream below a folder. The stream is a stranger's, the folder a program's: each member is
 * made with openat2 below the folder, following no link, so that neither a name nor a link that an earlier
 * member, or the program, has put there leads outside. The first member that is not allowed ends it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "agent/operate.h"
#include "agent/tar.h"
#include "agent/tar_read.h"
#include "base/fd.h"
#include "base/sys.h"

#define BELOW (SC_RESOLVE_BENEATH | SC_RESOLVE_NO_SYMLINKS | SC_RESOLVE_NO_MAGICLINKS)

struct unpack {
    struct sc_operation *op;
    struct sc_tar_reader reader;
    int root;
    /* The last member's folder: most members have the same as the one before. */
    char parent_path[SC_NAME_ROOM];
    int parent;
};

static bool as_it_was(const struct unpack *unpack)
{
    return unpack->op->order->flags & SC_FILE_AS_IT_WAS;
}

/* Drops "." and empty components. -EPERM: absolute, or with "..". */
static int clean_name(const char *name, char ret_clean[SC_NAME_ROOM])
{
    size_t used = 0;
    if (*name == '/')
        return -EPERM;
    while (*name) {
        size_t len = strcspn(name, "/");
        if (len == 2 && !memcmp(name, "..", 2))
            return -EPERM;
        if (len > 0 && !(len == 1 && *name == '.')) {
            if (used + len + 2 > SC_NAME_ROOM)
                return -ENAMETOOLONG;
            if (used)
                ret_clean[used++] = '/';
            memcpy(ret_clean + used, name, len);
            used += len;
        }
        name += len + (name[len] == '/');
    }
    ret_clean[used] = '\0';
    return 0;
}

/* A link that an honest archive may hold: relative, and from its own folder not above the top. */
static bool stays_inside(const char *clean_name, const char *target)
{
    int depth = 0;
    if (!*target || *target == '/')
        return false;
    for (; *clean_name; clean_name++)
        depth += *clean_name == '/';
    while (*target) {
        size_t len = strcspn(target, "/");
        if (len == 2 && !memcmp(target, "..", 2))
            depth--;
        else if (len > 0 && !(len == 1 && *target == '.'))
            depth++;
        if (depth < 0)
            return false;
        target += len + (target[len] == '/');
    }
    return true;
}

static int open_folder(int root, const char *path)
{
    return sc_sys_openat2(root, *path ? path : ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0, BELOW);
}

/* Opens a folder below the root, making what is missing. */
static int make_folders(int root, const char *path)
{
    char part[SC_NAME_ROOM];
    int fd = open_folder(root, path);
    if (fd != -ENOENT)
        return fd;
    for (size_t start = 0, end; path[start]; start = end + (path[end] == '/')) {
        end = start + strcspn(path + start, "/"); /* of one component */
        memcpy(part, path, end);
        part[end] = '\0';
        if (start > 0)
            part[start - 1] = '\0';
        int above = open_folder(root, start > 0 ? part : "");
        if (above < 0)
            return above;
        int r = mkdirat(above, part + start, 0755) < 0 && errno != EEXIST ? -errno : 0;
        close(above);
        if (r < 0)
            return r;
    }
    return open_folder(root, path);
}

/* The folder of a member, and its last component. */
static int enter_parent(struct unpack *unpack, const char *clean, const char **ret_last)
{
    char path[SC_NAME_ROOM];
    const char *last = sc_last_component(clean);
    size_t len = last > clean ? (size_t)(last - clean) - 1 : 0;
    memcpy(path, clean, len);
    path[len] = '\0';
    *ret_last = last;
    if (unpack->parent >= 0 && !strcmp(path, unpack->parent_path))
        return 0;
    sc_close(&unpack->parent);
    unpack->parent = make_folders(unpack->root, path);
    if (unpack->parent < 0) {
        int r = unpack->parent;
        unpack->parent = -1;
        return r;
    }
    memcpy(unpack->parent_path, path, len + 1);
    return 0;
}

/* Makes room for a member that is no folder: one that is there is replaced, never written through. */
static int give_way(int parent, const char *last)
{
    return unlinkat(parent, last, 0) < 0 ? (errno == EPERM ? -EISDIR : -errno) : 0;
}

/* ---- kinds of members ---- */

static int make_file(struct unpack *unpack, const struct sc_tar_member *member, const char *last)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(unpack->parent, last, flags, 0600);
    if (fd < 0 && errno == EEXIST) {
        int r = give_way(unpack->parent, last);
        if (r < 0)
            return r;
        fd = openat(unpack->parent, last, flags, 0600);
    }
    if (fd < 0)
        return -errno;
    int r = sc_tar_read_content(&unpack->reader, member->size, fd, as_it_was(unpack));
    if (r == 0 && fchmod(fd, member->mode & 0777) < 0)
        r = -errno;
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_sec = member->mtime}};
    if (r == 0 && futimens(fd, times) < 0)
        r = -errno;
    if (close(fd) < 0 && r == 0)
        r = -errno;
    unpack->op->done.bytes += member->size;
    return r;
}

/* What came before has made it, and all that is in it. */
static int finish_folder(struct unpack *unpack, const struct sc_tar_member *member, const char *last)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_sec = member->mtime}};
    if (fchmodat(unpack->parent, last, member->mode & 0777, 0) < 0 ||
        utimensat(unpack->parent, last, times, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    return 0;
}

/* Its owner may always write into it: members below it come later. */
static int make_folder(struct unpack *unpack, const struct sc_tar_member *member, const char *last)
{
    struct stat st;
    if (!*last)
        return 0; /* the folder itself */
    if (mkdirat(unpack->parent, last, 0700) < 0) {
        if (errno != EEXIST || fstatat(unpack->parent, last, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return -errno;
        if (!S_ISDIR(st.st_mode))
            return -ENOTDIR;
        return as_it_was(unpack) ? finish_folder(unpack, member, last) : 0;
    }
    return fchmodat(unpack->parent, last, (member->mode & 0777) | 0700, 0) < 0 ? -errno : 0;
}

static int make_symlink(struct unpack *unpack, const struct sc_tar_member *member, const char *clean,
                        const char *last)
{
    if (!as_it_was(unpack) && !stays_inside(clean, member->link))
        return -EPERM;
    if (symlinkat(member->link, unpack->parent, last) == 0)
        return 0;
    int r = errno == EEXIST ? give_way(unpack->parent, last) : -errno;
    if (r == 0 && symlinkat(member->link, unpack->parent, last) < 0)
        r = -errno;
    return r;
}

static int link_to(struct unpack *unpack, int from, const char *from_last, const char *last)
{
    struct stat st;
    if (fstatat(from, from_last, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EPERM;
    if (linkat(from, from_last, unpack->parent, last, 0) == 0)
        return 0;
    int r = errno == EEXIST ? give_way(unpack->parent, last) : -errno;
    if (r == 0 && linkat(from, from_last, unpack->parent, last, 0) < 0)
        r = -errno;
    return r;
}

static int make_hard_link(struct unpack *unpack, const struct sc_tar_member *member, const char *clean,
                          const char *last)
{
    char target[SC_NAME_ROOM], folder[SC_NAME_ROOM];
    int r = clean_name(member->link, target);
    if (r < 0)
        return r;
    if (!strcmp(target, clean))
        return 0;
    const char *target_last = sc_last_component(target);
    size_t len = target_last > target ? (size_t)(target_last - target) - 1 : 0;
    memcpy(folder, target, len);
    folder[len] = '\0';
    int from = open_folder(unpack->root, folder);
    if (from < 0)
        return from;
    r = link_to(unpack, from, target_last, last);
    close(from);
    return r;
}

static int make_member(struct unpack *unpack, const struct sc_tar_member *member)
{
    char clean[SC_NAME_ROOM];
    const char *last;
    int r = clean_name(member->name, clean);
    if (r < 0)
        return r;
    if (!*clean && member->type != SC_TAR_FOLDER)
        return -EISDIR;
    r = enter_parent(unpack, clean, &last);
    if (r < 0)
        return r;
    switch (member->type) {
    case SC_TAR_FILE:
        return make_file(unpack, member, last);
    case SC_TAR_FOLDER:
        return make_folder(unpack, member, last);
    case SC_TAR_SYMLINK:
        return make_symlink(unpack, member, clean, last);
    case SC_TAR_HARD_LINK:
        return make_hard_link(unpack, member, clean, last);
    case SC_TAR_CHAR:
    case SC_TAR_BLOCK_DEVICE:
    case SC_TAR_FIFO:
        return -EPERM;
    default:
        return -EINVAL;
    }
}

int sc_operate_tar_in(struct sc_operation *op)
{
    static struct unpack unpack;
    static struct sc_tar_member member;
    unpack.op = op;
    unpack.parent = -1;
    int r = op->order->flags & SC_FILE_PARENTS ? sc_make_parents(op->path) : 0;
    if (r == 0 && op->order->flags & SC_FILE_PARENTS && mkdir(op->path, 0755) < 0 && errno != EEXIST)
        r = -errno;
    if (r < 0)
        return r;
    unpack.root = open(op->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (unpack.root < 0)
        return -errno;
    sc_operation_started(op);
    while ((r = sc_tar_next(&unpack.reader, 0, &member)) > 0) {
        r = make_member(&unpack, &member);
        if (r < 0)
            return sc_operation_fault(op, member.name, r);
        op->done.files++;
    }
    return r < 0 ? sc_operation_fault(op, member.name, r) : 0;
}
