#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/tar.h"
#include "agent/tar_read.h"
#include "base/fd.h"
#include "base/sys.h"
#include "cli/say.h"
#include "cli/tree.h"
#include "cli/tree_parts.h"

#define DEPTH_MAX 64
#define REST_MAX (1024 * 1024)
#define INSIDE (SC_RESOLVE_BENEATH | SC_RESOLVE_NO_SYMLINKS | SC_RESOLVE_NO_MAGICLINKS | SC_RESOLVE_NO_XDEV)

/* Relative, no "..", no empty or "." component but a leading "./" and a trailing "/", which are cut off in
 * place. NULL: refused. "" is the folder itself. */
static const char *clean_name(char *name)
{
    size_t len = strlen(name);
    unsigned depth = 1;
    while (len > 0 && name[len - 1] == '/')
        name[--len] = '\0';
    while (!strncmp(name, "./", 2))
        name += 2;
    if (!*name || !strcmp(name, "."))
        return "";
    for (const char *at = name;; at++, depth++) {
        size_t part = strcspn(at, "/");
        bool dots = (part == 1 && at[0] == '.') || (part == 2 && at[0] == '.' && at[1] == '.');
        if (part == 0 || dots || part > 255 || depth > DEPTH_MAX)
            return NULL;
        at += part;
        if (!*at)
            return name;
    }
}

/* Opens the folder above the last component; it must be there and real. */
static int open_parent(int root, char *name, const char **ret_last)
{
    char *slash = strrchr(name, '/');
    *ret_last = slash ? slash + 1 : name;
    if (!slash)
        return fcntl(root, F_DUPFD_CLOEXEC, 3);
    *slash = '\0';
    int fd = sc_sys_openat2(root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, INSIDE);
    *slash = '/';
    return fd;
}

/* Folders above a member that the stream did not name. */
static int make_parents(int root, char *name)
{
    for (char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        const char *last;
        *slash = '\0';
        int parent = open_parent(root, name, &last);
        int r = parent < 0 ? parent : mkdirat(parent, last, 0777) < 0 && errno != EEXIST ? -errno : 0;
        sc_close(&parent);
        *slash = '/';
        if (r < 0)
            return r;
    }
    return 0;
}

static int make_folder(int parent, const char *last, uint32_t mode)
{
    struct stat st;
    if (mkdirat(parent, last, (mode & 0777) | 0700) == 0)
        return 0;
    int r = -errno;
    bool there = fstatat(parent, last, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
    return r == -EEXIST && there ? 0 : r;
}

static int make_file(struct sc_tar_reader *reader, int parent, const char *last,
                     const struct sc_tar_member *member)
{
    int fd = openat(parent, last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    (member->mode & 0777) | 0600);
    if (fd < 0)
        return -errno;
    int r = sc_tar_read_content(reader, member->size, fd, false);
    return close(fd) < 0 && r == 0 ? -errno : r;
}

/* Wherever it leads: nobody here follows it, and in a cell it names the cell's own files. */
static int make_symlink(int parent, const char *last, const struct sc_tar_member *member)
{
    if (!*member->link)
        return -EBADMSG;
    return symlinkat(member->link, parent, last) < 0 ? -errno : 0;
}

/* Of a file that is there already, below the same folder and not reached by a link. */
static int make_hard_link(int root, int parent, const char *last, struct sc_tar_member *member)
{
    char *target = (char *)clean_name(member->link);
    const char *target_last;
    struct stat st;
    if (!target || !*target)
        return -EBADMSG;
    int from = open_parent(root, target, &target_last);
    if (from < 0)
        return from;
    int r = fstatat(from, target_last, &st, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
    if (r == 0 && !S_ISREG(st.st_mode))
        r = -EBADMSG;
    if (r == 0 && linkat(from, target_last, parent, last, 0) < 0)
        r = -errno;
    close(from);
    return r;
}

static bool is_taken(char type, bool links)
{
    return type == SC_TAR_FILE || type == SC_TAR_FOLDER ||
           (links && (type == SC_TAR_SYMLINK || type == SC_TAR_HARD_LINK));
}

static int make_in(struct sc_tar_reader *reader, int root, int parent, const char *last,
                   struct sc_tar_member *member)
{
    switch (member->type) {
    case SC_TAR_FOLDER:
        return make_folder(parent, last, member->mode);
    case SC_TAR_SYMLINK:
        return make_symlink(parent, last, member);
    case SC_TAR_HARD_LINK:
        return make_hard_link(root, parent, last, member);
    default:
        return make_file(reader, parent, last, member);
    }
}

static int make_member(struct sc_tar_reader *reader, int root, struct sc_tar_member *member, bool links)
{
    char *name = (char *)clean_name(member->name);
    const char *last;
    if (!name)
        return -EBADMSG;
    if (!*name)
        return member->type == SC_TAR_FOLDER ? 0 : -EBADMSG;
    if (!is_taken(member->type, links)) {
        if (!links) /* a root's devices are in no cell anyway: each has its own */
            sc_cli_say("%s: left out: not a file or folder", name);
        return 0;
    }
    int r = make_parents(root, name);
    int parent = r < 0 ? r : open_parent(root, name, &last);
    if (parent < 0)
        return parent;
    r = make_in(reader, root, parent, last, member);
    close(parent);
    return r;
}

/* What fills the archive's last record is taken too, so that who sends it is not cut off. */
static int drain(int in)
{
    char rest[4096];
    size_t left = REST_MAX;
    ssize_t n;
    while ((n = read(in, rest, sizeof rest)) > 0 || (n < 0 && errno == EINTR)) {
        if (n > 0 && (size_t)n > left)
            return -EBADMSG;
        left -= n > 0 ? (size_t)n : 0;
    }
    return n < 0 ? -errno : 0;
}

int sc_cli_tree_unpack(int in, int folder, bool links)
{
    static struct sc_tar_reader reader;
    static struct sc_tar_member member;
    uint64_t bytes = 0, files = 0;
    int r;
    reader = (struct sc_tar_reader){0};
    while ((r = sc_tar_next(&reader, in, &member)) > 0) {
        files++;
        if (member.size > SC_CLI_TREE_BYTES_MAX - bytes || files > SC_CLI_TREE_FILES_MAX) {
            sc_cli_say("the folder is too large: at most %d files and %llu bytes are taken",
                       SC_CLI_TREE_FILES_MAX, SC_CLI_TREE_BYTES_MAX);
            return -EFBIG;
        }
        bytes += member.size;
        r = make_member(&reader, folder, &member, links);
        if (r < 0)
            break;
    }
    if (r == 0)
        r = drain(in);
    if (r < 0)
        sc_cli_say("%s: %s", member.name, r == -EBADMSG ? "what came is no proper archive" : strerror(-r));
    return r;
}
