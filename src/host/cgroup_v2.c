/* Finds a cgroup v2 directory of ours.
 *
 * A v2 group with processes in it cannot have limited children ("no internal processes"), so a delegated
 * group is only of use when we are alone in it: then we move to the leaf "supervisor" and cells live beside
 * that. A process that finds itself in such a leaf uses the group above it. */
#include "host/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"

#define LEAF "supervisor"
#define LIST_MAX 4096

/* Reads a small control file. 0 or negative errno. */
static int read_list(const char *dir, const char *file, char *ret_text, size_t size)
{
    char path[SC_HOST_PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = read(fd, ret_text, size - 1);
    int r = n < 0 ? -errno : 0;
    close(fd);
    ret_text[n < 0 ? 0 : n] = '\0';
    return r;
}

static int write_list(const char *dir, const char *file, const char *text)
{
    char path[SC_HOST_PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    return sc_write_file(AT_FDCWD, path, text);
}

static bool may(const char *dir, const char *file, int mode)
{
    char path[SC_HOST_PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0;
}

/* Controllers of a v2 list ("cpuset cpu io memory pids"). cpuacct has no v2 controller of its own: cpu.stat
 * is in every group. */
static unsigned bits_of(const char *list)
{
    unsigned bits = 0;
    for (int i = 0; i < SC_CTL_COUNT; i++) {
        size_t len = strlen(SC_CONTROLLER_NAMES[i]);
        for (const char *at = list; (at = strstr(at, SC_CONTROLLER_NAMES[i])); at += len)
            if ((at == list || at[-1] == ' ') && (!at[len] || at[len] == ' ' || at[len] == '\n'))
                bits |= 1u << i;
    }
    return bits;
}

static unsigned list_bits(const char *dir, const char *file)
{
    char text[512];
    return read_list(dir, file, text, sizeof text) < 0 ? 0 : bits_of(text);
}

/* Passes on to the children of `dir` what it has. Returns what they have then; the first refusal goes to
 * `ret_error`. One write a controller: a list is refused as a whole. */
static unsigned enable(const char *dir, int *ret_error)
{
    unsigned offered = list_bits(dir, "cgroup.controllers"), there = list_bits(dir, "cgroup.subtree_control");
    if (!(offered & ~there))
        return there;
    for (int i = 0; i < SC_CTL_COUNT; i++) {
        char text[16];
        if (!((offered & ~there) & 1u << i))
            continue;
        snprintf(text, sizeof text, "+%s", SC_CONTROLLER_NAMES[i]);
        int r = write_list(dir, "cgroup.subtree_control", text);
        if (r < 0 && !*ret_error)
            *ret_error = r;
    }
    return list_bits(dir, "cgroup.subtree_control");
}

/* Enables from the mount point down to point/path. Only what the last one passes on counts: above a delegated
 * group we may do nothing, and need not. */
static unsigned enable_path(const char *point, const char *path, int *ret_error)
{
    char dir[SC_HOST_PATH_MAX];
    if ((size_t)snprintf(dir, sizeof dir, "%s%s", point, path) >= sizeof dir)
        return 0;
    unsigned bits = list_bits(dir, "cgroup.subtree_control");
    if (bits && bits == list_bits(dir, "cgroup.controllers") && bits & 1u << SC_CTL_MEMORY)
        return bits; /* all was done before */
    size_t at = strlen(point);
    for (;;) {
        char cut = dir[at];
        dir[at] = '\0';
        *ret_error = 0;
        bits = enable(dir, ret_error);
        if (!cut)
            return bits;
        dir[at] = cut;
        at += 1 + strcspn(dir + at + 1, "/");
    }
}

static void say_enable(const char *dir, int error, char *why, size_t size)
{
    const char *reason =
        error == -EBUSY ? "processes live in it; a group with limited children must have none"
        : error == -EACCES || error == -EPERM || error == -EROFS ? "it is not delegated to us"
        : error                                                  ? strerror(-error)
                                                                 : "no controller is passed on to it";
    snprintf(why, size, "cgroup v2 %s: %s", dir, reason);
}

int sc_cgroup_make_path(const char *point, const char *path)
{
    char dir[SC_HOST_PATH_MAX];
    int n = snprintf(dir, sizeof dir, "%s%s", point, path);
    if (n < 0 || (size_t)n >= sizeof dir)
        return -ENAMETOOLONG;
    if (access(dir, F_OK) == 0)
        return 0;
    for (size_t at = strlen(point); dir[at];) {
        at += 1 + strcspn(dir + at + 1, "/");
        char cut = dir[at];
        dir[at] = '\0';
        if (mkdir(dir, 0755) < 0 && errno != EEXIST)
            return -errno;
        dir[at] = cut;
    }
    return 0;
}

/* Real root of the hierarchy, not the root of a cgroup namespace: it alone has no cgroup.events. */
static bool is_hierarchy_root(const struct sc_cgroup_mount *mount, const char *dir)
{
    return !strcmp(dir, mount->point) && !strcmp(mount->root, "/") && !may(dir, "cgroup.events", F_OK);
}

/* How many processes besides this one are in `dir`; those of other pid namespaces read as 0. */
static int count_others(const char *dir)
{
    struct sc_buf text;
    char path[SC_HOST_PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/cgroup.procs", dir);
    sc_buf_init(&text, 1 << 20);
    int r = sc_buf_read_file(&text, AT_FDCWD, path), others = 0;
    for (char *at = (char *)text.data; r == 0 && at && *at; at += strcspn(at, "\n"), at += *at == '\n')
        others += strtol(at, NULL, 10) != getpid();
    sc_buf_fini(&text);
    return r < 0 ? r : others;
}

/* systemd marks what it has delegated. */
static bool is_marked(const char *dir)
{
    char value[4];
    return (getxattr(dir, "user.delegate", value, sizeof value) == 1 && value[0] == '1') ||
           (getxattr(dir, "trusted.delegate", value, sizeof value) == 1 && value[0] == '1');
}

/* The leaf we, or a run of ours before, moved to. */
static bool strip_leaf(char *dir)
{
    size_t len = strlen(dir), leaf = strlen("/" LEAF);
    if (len <= leaf || strcmp(dir + len - leaf, "/" LEAF))
        return false;
    dir[len - leaf] = '\0';
    return true;
}

static int move_to_leaf(const char *dir)
{
    char leaf[SC_HOST_PATH_MAX];
    int n = snprintf(leaf, sizeof leaf, "%s/" LEAF, dir);
    if (n < 0 || (size_t)n >= sizeof leaf)
        return -ENAMETOOLONG;
    if (mkdir(leaf, 0755) < 0 && errno != EEXIST)
        return -errno;
    int r = write_list(leaf, "cgroup.procs", "0");
    if (r < 0)
        rmdir(leaf);
    return r;
}

/* Our own group, if it is ours to divide. `marked_only`: only when systemd says so itself. */
static unsigned try_own(const struct sc_cgroup_mount *mount, const char *own, bool marked_only, char *dir,
                        char *why, size_t size)
{
    int r = sc_cgroup_dir(mount, own, dir, SC_HOST_PATH_MAX), error = 0;
    if (r < 0) {
        snprintf(why, size, "own cgroup %.60s is outside of what is mounted at %.60s", own, mount->point);
        return 0;
    }
    bool moved = strip_leaf(dir); /* then it was judged when we moved */
    if (!may(dir, "cgroup.procs", W_OK) || !may(dir, "cgroup.subtree_control", W_OK)) {
        snprintf(why, size, "no delegated cgroup: %.90s is not writable for uid %u%s", own,
                 (unsigned)geteuid(), errno == EROFS ? " (mounted read-only)" : "");
        return 0;
    }
    if (marked_only && !moved && !is_marked(dir)) {
        snprintf(why, size, "no delegated cgroup: systemd manages %.90s", own);
        return 0;
    }
    if (!list_bits(dir, "cgroup.controllers")) {
        snprintf(why, size, "cgroup v2 %.90s has no controllers", own);
        return 0;
    }
    if (!moved) {
        int others = count_others(dir);
        if (others != 0) {
            snprintf(why, size, "no delegated cgroup: %d other processes live in %.80s", others, own);
            return 0;
        }
        if ((r = move_to_leaf(dir)) < 0) {
            snprintf(why, size, "own cgroup %.80s: moving to a leaf: %s", own, strerror(-r));
            return 0;
        }
    }
    unsigned bits = enable(dir, &error);
    if (!bits)
        say_enable(dir, error, why, size);
    return bits;
}

/* Below the real root, which may have processes in it. */
static unsigned try_root(const struct sc_cgroup_mount *mount, char *dir, char *why, size_t size)
{
    int error = 0;
    snprintf(dir, SC_HOST_PATH_MAX, "%s", mount->point);
    if (!list_bits(dir, "cgroup.controllers")) {
        snprintf(why, size, "the cgroup v2 hierarchy has no controllers");
        return 0;
    }
    if (strlen(dir) + strlen("/snapcell") >= SC_HOST_PATH_MAX)
        return 0;
    int r = sc_cgroup_make_path(mount->point, "/snapcell");
    strncat(dir, "/snapcell", SC_HOST_PATH_MAX - strlen(dir) - 1);
    if (r < 0) {
        snprintf(why, size, "making %.90s: %s", dir, strerror(-r));
        return 0;
    }
    unsigned bits = enable_path(mount->point, "/snapcell", &error);
    if (!bits)
        say_enable(dir, error, why, size);
    return bits;
}

/* Asks for a scope and reads anew where we are. */
static bool enter_scope(struct sc_host *host, struct sc_cgroup_view *view, char *why, size_t size)
{
    if (sc_scope_enter(host->uid, why, size) < 0)
        return false;
    host->in_scope = true;
    struct sc_buf own;
    sc_buf_init(&own, 1 << 16);
    int r = sc_buf_read_file(&own, AT_FDCWD, "/proc/self/cgroup");
    if (r == 0 && own.data)
        sc_cgroup_parse_own(view, (const char *)own.data);
    else
        snprintf(why, size, "/proc/self/cgroup: %s", strerror(r ? -r : EIO));
    sc_buf_fini(&own);
    return r == 0;
}

unsigned sc_cgroup_v2_find(struct sc_host *host, struct sc_cgroup_view *view,
                           const struct sc_host_options *options, char *ret_dir, char *why, size_t why_size)
{
    const struct sc_cgroup_mount *mount = sc_cgroup_mount_v2(view);
    char root[SC_HOST_PATH_MAX], scope_why[160] = "";
    unsigned bits;
    if (!mount) {
        snprintf(why, why_size, "no cgroup v2 file system is mounted");
        return 0;
    }
    snprintf(root, sizeof root, "%s", mount->point);
    if (!list_bits(root, "cgroup.controllers")) {
        /* A hybrid host: do not move anybody for nothing. */
        snprintf(why, why_size, "the cgroup v2 hierarchy has no controllers");
        return 0;
    }
    bool at_root = sc_cgroup_dir(mount, view->own_v2, ret_dir, SC_HOST_PATH_MAX) == 0 &&
                   is_hierarchy_root(mount, ret_dir);
    bool can_scope = options->want_scope && host->systemd;
    /* Root may write everywhere and an ordinary user in all of its own service manager's groups, delegated or
     * not: under systemd its mark decides, as long as there is the other way, asking for a scope. */
    bool marked_only = host->systemd && (host->root || can_scope);
    if (at_root)
        snprintf(why, why_size, "own cgroup is the root of the hierarchy");
    else if ((bits = try_own(mount, view->own_v2, marked_only, ret_dir, why, why_size)))
        return bits;
    if (can_scope && enter_scope(host, view, scope_why, sizeof scope_why) &&
        (bits = try_own(mount, view->own_v2, false, ret_dir, scope_why, sizeof scope_why)))
        return bits;
    if (host->root && is_hierarchy_root(mount, root))
        return try_root(mount, ret_dir, why, why_size);
    if (can_scope && marked_only && !at_root && !host->in_scope &&
        (bits = try_own(mount, view->own_v2, false, ret_dir, why, why_size)))
        return bits;
    if (scope_why[0])
        snprintf(why, why_size, "no delegated cgroup: %.130s", scope_why);
    return 0;
}

/* An ordinary user may only put processes into groups with whose common ancestor it may do the same. */
static bool may_move_here(const struct sc_cgroup_mount *mount, const char *own, const char *dir)
{
    char common[SC_HOST_PATH_MAX];
    if (sc_cgroup_dir(mount, own, common, sizeof common) < 0)
        return false;
    size_t same = 0, cut = 0;
    for (; common[same] && common[same] == dir[same]; same++)
        if (common[same] == '/')
            cut = same;
    if ((!common[same] || common[same] == '/') && (!dir[same] || dir[same] == '/'))
        cut = same;
    common[cut] = '\0';
    return may(common, "cgroup.procs", W_OK);
}

unsigned sc_cgroup_v2_named(const struct sc_host *host, const struct sc_cgroup_view *view, const char *parent,
                            char *ret_dir, char *why, size_t why_size)
{
    const struct sc_cgroup_mount *mount = sc_cgroup_mount_v2(view);
    int error = 0;
    if (!mount || !list_bits(mount->point, "cgroup.controllers")) {
        snprintf(why, why_size,
                 mount ? "the cgroup v2 hierarchy has no controllers"
                       : "no cgroup v2 file system is mounted");
        return 0;
    }
    int r = sc_cgroup_make_path(mount->point, parent);
    if (r < 0) {
        snprintf(why, why_size, "making cgroup %.90s: %s", parent, strerror(-r));
        return 0;
    }
    char own[SC_HOST_PATH_MAX];
    snprintf(ret_dir, SC_HOST_PATH_MAX, "%.255s%.255s", mount->point, parent);
    /* The group that was named may be the one we are in, or in whose leaf we are. */
    if (sc_cgroup_dir(mount, view->own_v2, own, sizeof own) == 0 &&
        (!strcmp(own, ret_dir) || (strip_leaf(own) && !strcmp(own, ret_dir))))
        return try_own(mount, view->own_v2, false, ret_dir, why, why_size);
    if (!may(ret_dir, ".", W_OK | X_OK) || (!host->root && !may_move_here(mount, view->own_v2, ret_dir))) {
        snprintf(why, why_size, "cgroup %.80s: uid %u may not %s", parent, (unsigned)geteuid(),
                 may(ret_dir, ".", W_OK | X_OK) ? "move its processes there" : "make groups there");
        return 0;
    }
    unsigned bits = enable_path(mount->point, parent, &error);
    if (!bits)
        say_enable(ret_dir, error, why, why_size);
    return bits;
}
