/* Chooses, for each controller, the directory below which a cell's group is made.
 *
 * Order, best first: the group that was named; our own delegated v2 group; a scope from the service manager;
 * below the root of the v2 hierarchy; our own group of the controller's v1 hierarchy. docs/hosts.md tells
 * users. */
#include "host/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"

/* The user's words for a parent: an absolute path of plain components. */
static int check_parent(const char *parent, struct sc_err *err)
{
    size_t len = strlen(parent);
    bool plain = parent[0] == '/' && len > 1 && len < 256 && parent[len - 1] != '/' && !strstr(parent, "//");
    for (const char *at = parent; plain && (at = strchr(at, '/')); at++)
        if (at[1] == '.' && (!at[2] || at[2] == '/' || (at[2] == '.' && (!at[3] || at[3] == '/'))))
            plain = false;
    if (plain)
        return 0;
    return sc_err_usage(
        err, "cgroup-parent",
        "cgroup-parent: '%.80s' is not a group's path: an absolute path below the hierarchy's "
        "mount such as /snapcell, without '.', '..', '//' or a slash at its end",
        parent);
}

/* A new v1 cpuset has neither processors nor memory nodes, and nobody can join it before it has both. */
static int fill_cpuset(const char *dir)
{
    static const char *const files[] = {"cpuset.cpus", "cpuset.mems"};
    for (size_t i = 0; i < 2; i++) {
        char path[SC_HOST_PATH_MAX + 32], up[SC_HOST_PATH_MAX + 32], text[256];
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        snprintf(up, sizeof up, "%s/../%s", dir, files[i]);
        int fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0)
            return -errno;
        ssize_t n = read(fd, text, sizeof text);
        int r = n < 0 ? -errno : 0;
        if (n >= 0 && (n == 0 || text[0] == '\n')) {
            int from = open(up, O_RDONLY | O_CLOEXEC);
            n = from < 0 ? -1 : read(from, text, sizeof text);
            r = n < 0 ? -errno : sc_write_all(fd, text, (size_t)n);
            sc_close(&from);
        }
        close(fd);
        if (r < 0)
            return r;
    }
    return 0;
}

/* One v1 controller: below `parent`, or below our own group when that is NULL. */
static void choose_v1(const struct sc_cgroup_view *view, enum sc_controller controller, const char *parent,
                      struct sc_host_controller *ret)
{
    const struct sc_cgroup_mount *mount = sc_cgroup_mount_v1(view, controller);
    const char *group = parent ? parent : view->own_v1[controller];
    char dir[SC_HOST_PATH_MAX];
    int r = 0;
    if (!mount)
        return;
    if (parent)
        r = sc_cgroup_make_path(mount->point, parent);
    if (r == 0 && parent)
        r = snprintf(dir, sizeof dir, "%s%s", mount->point, parent) >= (int)sizeof dir ? -ENAMETOOLONG : 0;
    else if (r == 0)
        r = sc_cgroup_dir(mount, group, dir, sizeof dir);
    if (r == 0 && faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) < 0)
        r = -errno;
    if (r == 0 && controller == SC_CTL_CPUSET && parent)
        r = fill_cpuset(dir);
    if (r < 0) {
        snprintf(ret->why, sizeof ret->why, "%.40s, cgroup v1: group %.60s: %s",
                 SC_CONTROLLER_NAMES[controller], group,
                 r == -ENOENT ? "outside of what is mounted" : strerror(-r));
        return;
    }
    ret->version = SC_CGROUP_V1;
    snprintf(ret->dir, sizeof ret->dir, "%s", dir);
    ret->why[0] = '\0';
}

static void take_v2(struct sc_host *host, unsigned bits, const char *dir)
{
    /* Every v2 group counts its processor time (cpu.stat), whichever controllers it has. */
    bits |= 1u << SC_CTL_CPUACCT;
    for (int i = 0; i < SC_CTL_COUNT; i++) {
        struct sc_host_controller *c = &host->controllers[i];
        if (!(bits & 1u << i)) {
            snprintf(c->why, sizeof c->why, "the controller is not passed on to cgroup v2 %.100s", dir);
            continue;
        }
        c->version = SC_CGROUP_V2;
        snprintf(c->dir, sizeof c->dir, "%s", dir);
        c->why[0] = '\0';
    }
    char path[SC_HOST_PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/cgroup.kill", dir);
    host->cgroup_v2_kill = access(path, F_OK) == 0;
}

static int refuse_parent(const struct sc_host *host, const char *parent, struct sc_err *err)
{
    const char *why = "";
    for (int i = SC_CTL_COUNT - 1; i >= 0; i--)
        if (host->controllers[i].why[0])
            why = host->controllers[i].why;
    int r = sc_err_set(err, SC_ERR_HOST, -EACCES,
                       "cgroup-parent: no controller can be had below '%.80s': %s. Name a group that is "
                       "delegated to this user (docs/hosts.md), or leave the option out",
                       parent, why);
    if (err)
        snprintf(err->field, sizeof err->field, "cgroup-parent");
    return r;
}

int sc_cgroup_choose(struct sc_host *host, struct sc_cgroup_view *view, const struct sc_host_options *options,
                     struct sc_err *err)
{
    const char *parent = options->cgroup_parent;
    char dir[SC_HOST_PATH_MAX] = "", why[160] = "";
    bool any = false;
    if (parent) {
        int r = check_parent(parent, err);
        if (r < 0)
            return r;
    }
    host->cgroup_layout = sc_cgroup_layout(view);
    for (int i = 0; i < SC_CTL_COUNT; i++)
        host->controllers[i] = (struct sc_host_controller){0};
    unsigned bits = parent ? sc_cgroup_v2_named(host, view, parent, dir, why, sizeof why)
                           : sc_cgroup_v2_find(host, view, options, dir, why, sizeof why);
    if (bits)
        take_v2(host, bits, dir);
    for (int i = 0; i < SC_CTL_COUNT; i++) {
        struct sc_host_controller *c = &host->controllers[i];
        /* The v1 counter is kept where there is one: all of a v1 host's controllers then act alike. */
        if (c->version == SC_CGROUP_NONE)
            choose_v1(view, (enum sc_controller)i, parent, c);
        if (c->version == SC_CGROUP_NONE && !c->why[0])
            snprintf(c->why, sizeof c->why, "%s", why[0] ? why : "no cgroup file system has this controller");
        any |= c->version != SC_CGROUP_NONE;
    }
    return parent && !any ? refuse_parent(host, parent, err) : 0;
}

/* The limit in `dir` and in everything above it up to the mount point. */
static uint64_t lowest_limit(const char *point, char *dir, const char *file)
{
    uint64_t lowest = UINT64_MAX;
    for (;;) {
        char path[SC_HOST_PATH_MAX + 32];
        uint64_t value;
        snprintf(path, sizeof path, "%s/%s", dir, file);
        if (sc_read_u64(AT_FDCWD, path, &value) == 0) /* "max" is no number and no limit */
            lowest = sc_min_u64(lowest, value);
        char *slash = strrchr(dir, '/');
        if (!slash || strlen(dir) <= strlen(point))
            return lowest;
        *slash = '\0';
    }
}

uint64_t sc_cgroup_memory_limit(const struct sc_cgroup_view *view)
{
    const struct sc_cgroup_mount *v1 = sc_cgroup_mount_v1(view, SC_CTL_MEMORY),
                                 *v2 = sc_cgroup_mount_v2(view);
    uint64_t lowest = UINT64_MAX;
    char dir[SC_HOST_PATH_MAX];
    if (v1 && sc_cgroup_dir(v1, view->own_v1[SC_CTL_MEMORY], dir, sizeof dir) == 0)
        lowest = lowest_limit(v1->point, dir, "memory.limit_in_bytes");
    if (v2 && sc_cgroup_dir(v2, view->own_v2, dir, sizeof dir) == 0)
        lowest = sc_min_u64(lowest, lowest_limit(v2->point, dir, "memory.max"));
    return lowest;
}
