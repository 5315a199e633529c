/* Should: the cell sees the template, read-only, with fresh file systems where it may write, a /proc of its
 * own pid namespace, and covers over what /proc tells of the whole host. Must not: leave any path to the
 * host's tree; mount anything without nosuid, or writable, but what the plan names. Verified by: claims fs-*,
 * proc-*.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/sys.h"
#include "cell/enter.h"

static int set_number(int fs, const char *key, uint64_t value)
{
    char number[24];
    return sc_sys_fsconfig_string(fs, key, sc_enter_number(value, number));
}

/* mount options take the mode in octal */
static int set_mode(int fs, uint32_t mode)
{
    char text[8];
    size_t at = sizeof text - 1;
    text[at] = '\0';
    do
        text[--at] = (char)('0' + (mode & 7));
    while ((mode >>= 3) && at > 0);
    return sc_sys_fsconfig_string(fs, "mode", text + at);
}

static int configure(int fs, const struct sc_image_fresh *fresh, const struct sc_boot *boot)
{
    int r = 0;
    if (fresh->kind == SC_IMAGE_PROC)
        return 0;
    if (fresh->owned) {
        r = set_number(fs, "uid", boot->host_uid);
        if (r == 0)
            r = set_number(fs, "gid", boot->host_gid);
    }
    if (r == 0)
        r = set_mode(fs, fresh->mode);
    if (fresh->kind == SC_IMAGE_DEVPTS)
        return r == 0 ? sc_sys_fsconfig_string(fs, "ptmxmode", "0666") : r;
    if (r == 0)
        r = set_number(fs, "size", fresh->bytes);
    if (r == 0)
        r = set_number(fs, "nr_inodes", fresh->inodes);
    return r;
}

static unsigned attributes_of(const struct sc_image_fresh *fresh, const char *path)
{
    switch (fresh->kind) {
    case SC_IMAGE_PROC:
        return SC_MOUNT_ATTR_RDONLY | SC_MOUNT_ATTR_NOSUID | SC_MOUNT_ATTR_NODEV | SC_MOUNT_ATTR_NOEXEC;
    case SC_IMAGE_DEVPTS:
        return SC_MOUNT_ATTR_NOSUID | SC_MOUNT_ATTR_NOEXEC;
    default:
        return SC_MOUNT_ATTR_NOSUID | SC_MOUNT_ATTR_NODEV |
               (strcmp(path, "/dev/shm") == 0 ? SC_MOUNT_ATTR_NOEXEC : 0);
    }
}

/* A detached fresh file system, or negative errno. */
static int make_fresh(const struct sc_image_fresh *fresh, const char *path, const struct sc_boot *boot)
{
    static const char *const types[] = {"tmpfs", "proc", "devpts"};
    if (fresh->kind == SC_IMAGE_WORKDISK)
        return SC_SLOT_WORKDISK;
    int fs = sc_sys_fsopen(types[fresh->kind]);
    if (fs < 0)
        return fs;
    int r = configure(fs, fresh, boot);
    if (r == 0)
        r = sc_sys_fsconfig_create(fs);
    if (r == 0)
        r = sc_sys_fsmount(fs, attributes_of(fresh, path));
    close(fs);
    return r;
}

/* proc is made before the template is joined: in a user namespace the kernel wants to see another whole /proc
 * there. */
static int make_all(struct sc_enter *enter, int mounts[SC_IMAGE_FRESH_MAX])
{
    const struct sc_image *image = enter->image;
    for (uint32_t i = 0; i < image->n_fresh; i++) {
        const char *path = sc_image_text(image, image->fresh[i].path);
        enter->object = path;
        mounts[i] = make_fresh(&image->fresh[i], path, &enter->boot);
        if (mounts[i] < 0)
            return mounts[i];
    }
    if (!(image->flags & (SC_IMAGE_APPARMOR | SC_IMAGE_STAY)))
        return 0;
    const struct sc_image_fresh proc = {.kind = SC_IMAGE_PROC};
    int fs = sc_sys_fsopen("proc");
    int r = fs < 0 ? fs : sc_sys_fsconfig_create(fs);
    if (r == 0)
        r = sc_sys_fsmount(fs, attributes_of(&proc, "/proc") & ~SC_MOUNT_ATTR_RDONLY);
    if (fs >= 0)
        close(fs);
    enter->proc_fd = r;
    return r < 0 ? r : 0;
}

static int cover_proc(struct sc_enter *enter)
{
    const struct sc_image *image = enter->image;
    for (uint32_t i = 0; i < image->n_masks; i++) {
        enter->object = sc_image_text(image, image->masks[i].path);
        /* The bind inherits the template's read-only, nosuid and nodev. */
        if (mount(sc_image_text(image, image->masks[i].with), enter->object, NULL, MS_BIND, NULL) < 0)
            return -errno;
    }
    return 0;
}

static int keep(struct sc_enter *enter, const char *path, int *ret_fd)
{
    enter->object = path;
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    *ret_fd = fd;
    return 0;
}

int enter_mounts(struct sc_enter *enter)
{
    const struct sc_image *image = enter->image;
    int mounts[SC_IMAGE_FRESH_MAX];
    /* A child cell's agent has no right to the template; its builder, which has, comes here with the flag
     * off. */
    if (enter->boot.flags & SC_BOOT_CHILD)
        return sc_enter_take_mounts(enter);
    int r = make_all(enter, mounts);
    if (r < 0)
        return r;
    enter->object = "template";
    if (setns(SC_SLOT_TEMPLATE, CLONE_NEWNS) < 0 || unshare(CLONE_NEWNS) < 0)
        return -errno;
    close(SC_SLOT_TEMPLATE);
    for (uint32_t i = 0; i < image->n_fresh; i++) {
        enter->object = sc_image_text(image, image->fresh[i].path);
        r = sc_sys_move_mount(mounts[i], AT_FDCWD, enter->object);
        close(mounts[i]);
        if (r < 0)
            return r;
    }
    r = cover_proc(enter);
    if (r == 0)
        r = keep(enter, "/home/user", &enter->work_fd);
    if (r == 0)
        r = keep(enter, "/tmp", &enter->tmp_fd);
    if (r == 0)
        r = keep(enter, "/dev/shm", &enter->shm_fd);
    return r;
}
