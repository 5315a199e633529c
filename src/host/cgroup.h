/* Where cells' control groups are made: private to this folder.
 *
 * Each hierarchy is judged by itself, because hosts mix v1 and v2. The view is what /proc says; the choice
 * then tries (creates, enables, moves) on the directories that the view names, so tests hand in a view of
 * their own tree. */
#ifndef SC_HOST_CGROUP_H
#define SC_HOST_CGROUP_H

#include "host/host.h"

struct sc_cgroup_mount {
    enum sc_cgroup_version version;
    unsigned controllers; /* v1: bits, 1 << enum sc_controller */
    char point[SC_HOST_PATH_MAX];
    char root[SC_HOST_PATH_MAX]; /* the group of the hierarchy that is seen at `point`: not "/" in some
                                    containers */
};

#define SC_CGROUP_MOUNTS_MAX 16
struct sc_cgroup_view {
    struct sc_cgroup_mount mounts[SC_CGROUP_MOUNTS_MAX];
    size_t n_mounts;
    char own_v1[SC_CTL_COUNT][SC_HOST_PATH_MAX]; /* "" where the controller is not on v1 */
    char own_v2[SC_HOST_PATH_MAX];               /* "" without a v2 hierarchy */
};

/* From the texts of /proc/self/mountinfo and /proc/self/cgroup. Lines too long to hold are left out. */
void sc_cgroup_parse_mounts(struct sc_cgroup_view *view, const char *mountinfo);
void sc_cgroup_parse_own(struct sc_cgroup_view *view, const char *own);
/* Directory of group `path` of the mount's hierarchy: 0, -ENOENT when it lies outside what is mounted,
 * -ENAMETOOLONG. */
int sc_cgroup_dir(const struct sc_cgroup_mount *mount, const char *path, char *ret_dir, size_t size);
const struct sc_cgroup_mount *sc_cgroup_mount_v2(const struct sc_cgroup_view *view);
const struct sc_cgroup_mount *sc_cgroup_mount_v1(const struct sc_cgroup_view *view,
                                                 enum sc_controller controller);
enum sc_cgroup_layout sc_cgroup_layout(const struct sc_cgroup_view *view);

/* Fills host->controllers, cgroup_v2_kill and in_scope. host->root, uid and systemd must be known. Fails only
 * for options->cgroup_parent: USAGE when it is no such path, HOST when no controller can be had below it. */
int sc_cgroup_choose(struct sc_host *host, struct sc_cgroup_view *view, const struct sc_host_options *options,
                     struct sc_err *err);
/* Lowest of the memory limits on our own groups and those above, as far as they are seen. */
uint64_t sc_cgroup_memory_limit(const struct sc_cgroup_view *view);

/* cgroup_v2.c: finds the v2 directory below which groups are made and enables the controllers there. Writes
 * the bits of the controllers that children of `ret_dir` will have; 0 with `why` when there are none. */
unsigned sc_cgroup_v2_find(struct sc_host *host, struct sc_cgroup_view *view,
                           const struct sc_host_options *options, char *ret_dir, char *why, size_t why_size);
unsigned sc_cgroup_v2_named(const struct sc_host *host, const struct sc_cgroup_view *view, const char *parent,
                            char *ret_dir, char *why, size_t why_size);
/* mkdir -p below an existing mount point. 0 or negative errno. */
int sc_cgroup_make_path(const char *point, const char *path);

/* scope.c: asks the service manager for a delegated transient scope with this process in it and waits until
 * it is there. 0, or negative errno with the story in `why`. */
int sc_scope_enter(uid_t uid, char *why, size_t why_size);

#endif
