/* Theory of operation.
 *
 * A helper process leaves the host's mount namespace (as an ordinary user also the host's user namespace),
 * lays the tree of the plan onto a tmpfs, makes that its root and lets the host's tree go. Descriptors of the
 * finished namespace, and of a second one that holds nothing, go back to the supervisor; the helper ends, the
 * descriptors keep the namespaces. A cell then joins by setns and takes a private copy: no cell ever builds a
 * tree, and none can reach the host's.
 */
#include "cell/template.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "cell/maker.h"
#include "cell/tool.h"

#define OWN_ATTRIBUTES (SC_MOUNT_ATTR_RDONLY | SC_MOUNT_ATTR_NOSUID | SC_MOUNT_ATTR_NODEV)

/* ---- in the helper ---- */

/* Inside the new tree, whatever links the caller's --root has in it: "opt -> /etc" means the tree's own /etc.
 */
static int open_inside(int root, const char *path)
{
    return sc_sys_openat2(root, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0,
                          SC_RESOLVE_IN_ROOT | SC_RESOLVE_NO_MAGICLINKS);
}

/* The folder above the last component of `path`, with everything above made where it lacks. */
static int open_parent(int root, const char *path, const char **ret_name)
{
    char prefix[4096];
    const char *last = strrchr(path, '/');
    *ret_name = last ? last + 1 : path;
    size_t len = last ? (size_t)(last - path) : 0;
    if (len >= sizeof prefix)
        return -ENAMETOOLONG;
    memcpy(prefix, path, len);
    prefix[len] = '\0';
    int at = open_inside(root, len ? prefix : ".");
    if (at != -ENOENT)
        return at;
    at = open_inside(root, ".");
    char *slash = prefix;
    for (char *part = prefix; at >= 0 && slash; part = slash ? slash + 1 : NULL) {
        slash = strchr(part, '/');
        if (slash)
            *slash = '\0';
        int r = mkdirat(at, part, 0755) < 0 && errno != EEXIST ? -errno : open_inside(root, prefix);
        close(at);
        at = r;
        if (slash)
            *slash = '/';
    }
    return at;
}

static int write_new(int folder, const char *name, const void *content, size_t len, uint32_t mode)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    int r = sc_write_all(fd, content, len);
    if (r == 0 && fchmod(fd, mode) < 0)
        r = -errno;
    close(fd);
    return r;
}

static int copy_file(int folder, const char *name, const struct sc_plan_mount *mount)
{
    char chunk[16 * 1024];
    int r = 0, from = open(mount->source, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (from < 0)
        return -errno;
    int to = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (to < 0) {
        r = -errno;
        close(from);
        return r;
    }
    for (ssize_t n; r == 0 && (n = read(from, chunk, sizeof chunk)) != 0;)
        r = n < 0 ? (errno == EINTR ? 0 : -errno) : sc_write_all(to, chunk, (size_t)n);
    if (r == 0 && fchmod(to, mount->mode) < 0)
        r = -errno;
    close(from);
    close(to);
    return r;
}

/* An empty file or folder for a mount to stand on, whatever the source is. */
static int make_place(int folder, const char *name, int source)
{
    struct stat st;
    if (fstat(source, &st) < 0)
        return -errno;
    if (S_ISDIR(st.st_mode))
        return mkdirat(folder, name, 0755) < 0 && errno != EEXIST ? -errno : 0;
    int r = write_new(folder, name, "", 0, 0444);
    return r == -EEXIST ? 0 : r;
}

static int lay_bind(int folder, const char *name, const struct sc_plan_mount *mount)
{
    bool device = mount->kind == SC_MOUNT_DEVICE;
    int source = sc_sys_open_tree(AT_FDCWD, mount->source, !device);
    if (source < 0)
        return source;
    int r = sc_sys_mount_setattr(source, device ? 0 : SC_AT_RECURSIVE,
                                 device ? SC_MOUNT_ATTR_NOSUID | SC_MOUNT_ATTR_NOEXEC : OWN_ATTRIBUTES, 0);
    if (r == 0)
        r = make_place(folder, name, source);
    if (r == 0)
        r = sc_sys_move_mount(source, folder, name); /* a link as last component is not followed */
    close(source);
    return r;
}

static int make_dir(int folder, const char *name, uint32_t mode)
{
    if (mkdirat(folder, name, 0700) < 0 && errno != EEXIST)
        return -errno;
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    int r = fchmod(fd, mode) < 0 ? -errno : 0;
    close(fd);
    return r;
}

static int lay_at(int folder, const char *name, const struct sc_plan_mount *mount)
{
    switch (mount->kind) {
    case SC_MOUNT_DIR:
        return make_dir(folder, name, mount->mode);
    case SC_MOUNT_SYMLINK:
        return symlinkat(mount->source, folder, name) < 0 && errno != EEXIST ? -errno : 0;
    case SC_MOUNT_FILE:
        return write_new(folder, name, mount->content, strlen(mount->content), mount->mode);
    case SC_MOUNT_BYTES:
        return write_new(folder, name, mount->bytes, mount->n_bytes, mount->mode);
    case SC_MOUNT_COPY:
        return copy_file(folder, name, mount);
    default:
        return lay_bind(folder, name, mount);
    }
}

static int lay(int root, const struct sc_plan_mount *mount)
{
    const char *name;
    int folder = open_parent(root, mount->path + 1, &name);
    if (folder < 0)
        return folder;
    int r = lay_at(folder, name, mount);
    close(folder);
    return r;
}

static int fresh_tmpfs(void)
{
    int fs = sc_sys_fsopen("tmpfs");
    if (fs < 0)
        return fs;
    int r = sc_sys_fsconfig_string(fs, "mode", "0755");
    if (r == 0)
        r = sc_sys_fsconfig_create(fs);
    if (r == 0)
        r = sc_sys_fsmount(fs, SC_MOUNT_ATTR_NOSUID | SC_MOUNT_ATTR_NODEV);
    close(fs);
    return r;
}

/* Makes the mounted `root` this process's root and lets everything else go. */
static int settle(int root)
{
    if (fchdir(root) < 0)
        return -errno;
    int r = sc_sys_pivot_root(".", ".");
    if (r < 0)
        return r;
    return umount2(".", MNT_DETACH) < 0 || chdir("/") < 0 ? -errno : 0;
}

static int own_namespace(const char *kind)
{
    char path[64] = "/proc/thread-self/ns/";
    strncat(path, kind, 16);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static void build(int socket, const struct sc_plan *plan)
{
    int root = fresh_tmpfs();
    int r = root < 0 ? root : sc_sys_move_mount(root, AT_FDCWD, "/");
    if (r < 0)
        sc_maker_fail(socket, "template", "root", r);
    for (size_t i = 0; i < plan->n_mounts; i++) {
        r = lay(root, &plan->mounts[i]);
        if (r < 0)
            sc_maker_fail(socket, "template", plan->mounts[i].path, r);
    }
    r = sc_sys_mount_setattr(root, 0, SC_MOUNT_ATTR_RDONLY, 0);
    if (r == 0)
        r = settle(root);
    if (r < 0)
        sc_maker_fail(socket, "template", "settling", r);
    close(root);
}

static int open_at_proc(int proc, const char *name)
{
    int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* The second namespace: a copy whose root becomes an empty tmpfs, and nothing else stays. */
static int build_vacant(int proc)
{
    if (unshare(CLONE_NEWNS) < 0)
        return -errno;
    int root = fresh_tmpfs();
    int r = root < 0 ? root : sc_sys_move_mount(root, AT_FDCWD, "/");
    if (r == 0)
        r = sc_sys_mount_setattr(root, 0, SC_MOUNT_ATTR_RDONLY, 0);
    if (r == 0)
        r = settle(root);
    return r < 0 ? r : open_at_proc(proc, "thread-self/ns/mnt");
}

static void make_template(int socket, void *data)
{
    const struct sc_plan *plan = data;
    int fds[2];
    if (unshare(plan->rootless ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS) < 0)
        sc_maker_fail(socket, "template", plan->rootless ? "user namespace" : "mount namespace", -errno);
    if (plan->rootless) {
        /* Made while another thread of the caller's was starting an agent, we would not be; then nobody but
         * root may write our id map. */
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        sc_maker_send(socket, NULL, 0); /* the caller writes our id map now */
        sc_maker_wait(socket);
        fds[0] = own_namespace("user");
        fds[1] = own_namespace("mnt"); /* still the host's tree: see struct sc_template */
        if (fds[0] < 0 || fds[1] < 0)
            sc_maker_fail(socket, "template", "namespace descriptors", -EBADF);
        sc_maker_send(socket, fds, 2);
        if (unshare(CLONE_NEWNS) < 0)
            sc_maker_fail(socket, "template", "mount namespace", -errno);
    }
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        sc_maker_fail(socket, "template", "private mounts", -errno);
    int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC); /* reaches ours after the tree is gone */
    umask(0);
    build(socket, plan);
    fds[0] = open_at_proc(proc, "thread-self/ns/mnt");
    fds[1] = build_vacant(proc);
    if (fds[0] < 0 || fds[1] < 0)
        sc_maker_fail(socket, "template", "vacant namespace", fds[0] < 0 ? fds[0] : fds[1]);
    sc_maker_send(socket, fds, 2);
}

/* ---- in the supervisor ---- */

static int write_proc(pid_t pid, const char *file, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    return sc_write_file(AT_FDCWD, path, text);
}

/* newuidmap and newgidmap are the distribution's setuid helpers: they hold the rules of /etc/subuid. */
static int run_map_helper(const char *helper, pid_t pid, uint32_t own, uint32_t sub)
{
    char numbers[3][16];
    snprintf(numbers[0], sizeof numbers[0], "%d", pid);
    snprintf(numbers[1], sizeof numbers[1], "%u", own);
    snprintf(numbers[2], sizeof numbers[2], "%u", sub);
    char *const argv[] = {(char *)helper, numbers[0], (char *)"0", numbers[1], (char *)"1",
                          (char *)"1",    numbers[2], (char *)"1", NULL};
    return sc_tool_run(argv);
}

/* Inside 0 is the caller; inside 1 the subordinate id, for agents. */
static int map_ids(const struct sc_plan *plan, pid_t pid, struct sc_err *err)
{
    const struct sc_host *host = plan->host;
    char text[32];
    int r;
    if (!plan->agent_shares_uid) {
        r = run_map_helper("newuidmap", pid, host->uid, host->sub_uid);
        if (r == 0)
            r = run_map_helper("newgidmap", pid, host->gid, host->sub_gid);
        return r < 0 ? sc_err_sys(err, r, "newuidmap/newgidmap") : 0;
    }
    r = write_proc(pid, "setgroups", "deny");
    if (r == 0) {
        snprintf(text, sizeof text, "0 %u 1\n", host->uid);
        r = write_proc(pid, "uid_map", text);
    }
    if (r == 0) {
        snprintf(text, sizeof text, "0 %u 1\n", host->gid);
        r = write_proc(pid, "gid_map", text);
    }
    return r < 0 ? sc_err_sys(err, r, "id map of the user namespace") : 0;
}

int sc_template_start(const struct sc_plan *plan, struct sc_template *ret_template, struct sc_err *err)
{
    struct sc_template tmpl = SC_TEMPLATE_NONE;
    int fds[2];
    int r = sc_maker_start(&tmpl.maker, make_template, (void *)plan, err);
    if (r == 0 && plan->rootless) {
        r = sc_maker_take(&tmpl.maker, NULL, 0, err);
        if (r == 0)
            r = map_ids(plan, tmpl.maker.pid, err);
        if (r == 0)
            r = sc_maker_go(&tmpl.maker);
        if (r == 0)
            r = sc_maker_take(&tmpl.maker, fds, 2, err);
        if (r == 0) {
            tmpl.user_ns = fds[0];
            tmpl.birth_ns = fds[1];
        }
    }
    if (r < 0) {
        sc_template_close(&tmpl);
        return r;
    }
    *ret_template = tmpl;
    return 0;
}

int sc_template_finish(struct sc_template *tmpl, struct sc_err *err)
{
    int fds[2];
    if (tmpl->mount_ns >= 0)
        return 0;
    int r = sc_maker_take(&tmpl->maker, fds, 2, err);
    if (r < 0)
        return r;
    sc_maker_end(&tmpl->maker);
    tmpl->mount_ns = fds[0];
    tmpl->vacant_ns = fds[1];
    return 0;
}

void sc_template_close(struct sc_template *tmpl)
{
    sc_maker_end(&tmpl->maker);
    sc_close(&tmpl->user_ns);
    sc_close(&tmpl->birth_ns);
    sc_close(&tmpl->mount_ns);
    sc_close(&tmpl->vacant_ns);
}
