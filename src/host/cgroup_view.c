/* Reads what /proc says about control groups. */
#include "host/cgroup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *const SC_CONTROLLER_NAMES[SC_CTL_COUNT] = {"memory", "pids", "cpu", "cpuacct", "io", "cpuset"};

/* v1 calls io "blkio". */
static int controller_by_name(const char *name, size_t len)
{
    if (len == 5 && !memcmp(name, "blkio", 5))
        return SC_CTL_IO;
    for (int i = 0; i < SC_CTL_COUNT; i++)
        if (strlen(SC_CONTROLLER_NAMES[i]) == len && !memcmp(SC_CONTROLLER_NAMES[i], name, len))
            return i;
    return -1;
}

static unsigned controllers_of(const char *list)
{
    unsigned bits = 0;
    while (*list) {
        size_t len = strcspn(list, ",");
        int controller = controller_by_name(list, len);
        if (controller >= 0)
            bits |= 1u << controller;
        list += len;
        list += *list == ',';
    }
    return bits;
}

/* mountinfo writes space, tab, newline and backslash as three octal digits. */
static int unescape(const char *text, char *ret_text, size_t size)
{
    size_t n = 0;
    for (; *text; text++) {
        char c = *text;
        if (c == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' && text[2] <= '7' &&
            text[3] >= '0' && text[3] <= '7') {
            c = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
            text += 3;
        }
        if (n + 1 >= size)
            return -ENAMETOOLONG;
        ret_text[n++] = c;
    }
    ret_text[n] = '\0';
    return 0;
}

/* A mount on top of an earlier one hides it. */
static struct sc_cgroup_mount *place_for(struct sc_cgroup_view *view, const char *point)
{
    for (size_t i = 0; i < view->n_mounts; i++)
        if (!strcmp(view->mounts[i].point, point))
            return &view->mounts[i];
    return view->n_mounts < SC_CGROUP_MOUNTS_MAX ? &view->mounts[view->n_mounts++] : NULL;
}

/* "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:9 - cgroup cgroup rw,cpu": cut in place. */
static void take_mount(struct sc_cgroup_view *view, char *line)
{
    char *dash = strstr(line, " - ");
    if (!dash)
        return;
    *dash = '\0';
    char *rest = dash + 3;
    const char *type = strsep(&rest, " ");
    bool v2 = !strcmp(type, "cgroup2");
    if (!v2 && strcmp(type, "cgroup"))
        return;
    strsep(&rest, " "); /* source */
    const char *options = rest ? rest : "";
    char *field[5];
    for (size_t i = 0; i < 5; i++)
        if (!(field[i] = strsep(&line, " ")))
            return;
    struct sc_cgroup_mount mount = {.version = v2 ? SC_CGROUP_V2 : SC_CGROUP_V1,
                                    .controllers = v2 ? 0 : controllers_of(options)};
    if (unescape(field[3], mount.root, sizeof mount.root) < 0 ||
        unescape(field[4], mount.point, sizeof mount.point) < 0)
        return;
    struct sc_cgroup_mount *place = place_for(view, mount.point);
    if (place)
        *place = mount;
}

static void each_line(const char *text, struct sc_cgroup_view *view,
                      void (*take)(struct sc_cgroup_view *view, char *line))
{
    char line[4096];
    while (*text) {
        size_t len = strcspn(text, "\n");
        if (len < sizeof line) {
            memcpy(line, text, len);
            line[len] = '\0';
            take(view, line);
        }
        text += len;
        text += *text == '\n';
    }
}

void sc_cgroup_parse_mounts(struct sc_cgroup_view *view, const char *mountinfo)
{
    view->n_mounts = 0;
    each_line(mountinfo, view, take_mount);
}

/* "4:memory:/some/group" or "0::/some/group". */
static void take_own(struct sc_cgroup_view *view, char *line)
{
    char *list = strchr(line, ':');
    char *path = list ? strchr(list + 1, ':') : NULL;
    if (!path || strlen(path + 1) >= SC_HOST_PATH_MAX)
        return;
    *list++ = *path++ = '\0';
    if (!strcmp(line, "0") && !*list) {
        snprintf(view->own_v2, sizeof view->own_v2, "%s", path);
        return;
    }
    unsigned bits = controllers_of(list);
    for (int i = 0; i < SC_CTL_COUNT; i++)
        if (bits & 1u << i)
            snprintf(view->own_v1[i], sizeof view->own_v1[i], "%s", path);
}

void sc_cgroup_parse_own(struct sc_cgroup_view *view, const char *own)
{
    memset(view->own_v1, 0, sizeof view->own_v1);
    memset(view->own_v2, 0, sizeof view->own_v2);
    each_line(own, view, take_own);
}

int sc_cgroup_dir(const struct sc_cgroup_mount *mount, const char *path, char *ret_dir, size_t size)
{
    size_t skip = strcmp(mount->root, "/") ? strlen(mount->root) : 0;
    /* "/../x": a group above the root of our cgroup namespace. */
    bool above = !strncmp(path, "/..", 3) && (!path[3] || path[3] == '/');
    if (above || *path != '/' || strncmp(path, mount->root, skip) || (path[skip] && path[skip] != '/'))
        return -ENOENT;
    const char *rest = path + skip;
    if (!strcmp(rest, "/"))
        rest = "";
    int n = snprintf(ret_dir, size, "%s%s", mount->point, rest);
    return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static bool sees(const struct sc_cgroup_mount *mount, const char *own)
{
    char dir[SC_HOST_PATH_MAX];
    return sc_cgroup_dir(mount, own, dir, sizeof dir) == 0;
}

/* The same hierarchy may be mounted more than once: the mount in which our own group is seen is the useful
 * one. */
const struct sc_cgroup_mount *sc_cgroup_mount_v2(const struct sc_cgroup_view *view)
{
    const struct sc_cgroup_mount *found = NULL;
    for (size_t i = 0; i < view->n_mounts; i++)
        if (view->mounts[i].version == SC_CGROUP_V2 && (!found || !sees(found, view->own_v2)))
            found = &view->mounts[i];
    return found;
}

const struct sc_cgroup_mount *sc_cgroup_mount_v1(const struct sc_cgroup_view *view,
                                                 enum sc_controller controller)
{
    const struct sc_cgroup_mount *found = NULL;
    for (size_t i = 0; i < view->n_mounts; i++)
        if (view->mounts[i].controllers & 1u << controller &&
            (!found || !sees(found, view->own_v1[controller])))
            found = &view->mounts[i];
    return found;
}

enum sc_cgroup_layout sc_cgroup_layout(const struct sc_cgroup_view *view)
{
    bool v1 = false, v2 = sc_cgroup_mount_v2(view) != NULL;
    for (size_t i = 0; i < view->n_mounts; i++)
        v1 |= view->mounts[i].controllers != 0;
    if (v1)
        return v2 ? SC_LAYOUT_HYBRID : SC_LAYOUT_V1;
    return v2 ? SC_LAYOUT_V2 : SC_LAYOUT_NONE;
}
