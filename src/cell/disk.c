#include "cell/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "base/sys.h"
#include "cell/tool.h"

const char *sc_disk_folder(void)
{
    const char *dir = getenv("SNAPCELL_DISK_DIR");
    return dir && *dir ? dir : "/var/tmp";
}

static int make_file(uint64_t bytes, struct sc_err *err)
{
    int fd = open(sc_disk_folder(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
    if (fd < 0)
        return sc_err_sys(err, -errno, "a file for the disk image in %s (SNAPCELL_DISK_DIR)",
                          sc_disk_folder());
    if (ftruncate(fd, (off_t)bytes) < 0) {
        int r = -errno;
        close(fd);
        return sc_err_sys(err, r, "disk image of %llu bytes", (unsigned long long)bytes);
    }
    return fd;
}

/* mkfs.ext4 on /proc/self/fd/N: the file has no name. root_owner makes the top folder the cell user's. */
static int make_file_system(int fd, const struct sc_plan *plan, uint32_t uid, struct sc_err *err)
{
    char path[32], inodes[24], features[128];
    int copy = fcntl(fd, F_DUPFD, 10); /* not close-on-exec: the tool needs it */
    if (copy < 0)
        return sc_err_sys(err, -errno, "disk image");
    snprintf(path, sizeof path, "/proc/self/fd/%d", copy);
    /* Each takes 256 bytes of the image: more than an eighth of it for them, and a small one could hold
     * nothing else. */
    snprintf(inodes, sizeof inodes, "%llu",
             (unsigned long long)sc_min_u64(plan->limits.disk_inodes, plan->limits.disk / 2048));
    /* Where the order of names in a folder shall be the same each time, the seed of their hashes is too. */
    snprintf(features, sizeof features, "root_owner=%u:%u,lazy_itable_init=1,nodiscard%s", uid, uid,
             plan->fixed_layout ? ",hash_seed=5ca1ab1e-0000-4000-8000-000000000000" : "");
    char *const argv[] = {(char *)"mkfs.ext4",
                          (char *)"-q",
                          (char *)"-F",
                          (char *)"-O",
                          (char *)"^has_journal",
                          (char *)"-m",
                          (char *)"0",
                          (char *)"-N",
                          inodes,
                          (char *)"-E",
                          features,
                          path,
                          NULL};
    int r = sc_tool_run(argv);
    close(copy);
    return r < 0 ? sc_err_sys(err, r, "mkfs.ext4 on an image of %llu bytes",
                              (unsigned long long)plan->limits.disk)
                 : 0;
}

/* A loop device that frees itself with its last user. Another process may take the number between the two
 * calls: try again. */
static int attach_loop(int image, char ret_path[32], struct sc_err *err)
{
    int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    if (control < 0)
        return sc_err_sys(err, -errno, "/dev/loop-control");
    int loop = -1, r = -EBUSY;
    for (int try = 0; try < 64 && loop < 0; try++) {
        int number = ioctl(control, LOOP_CTL_GET_FREE);
        if (number < 0) {
            r = -errno;
            break;
        }
        snprintf(ret_path, 32, "/dev/loop%d", number);
        loop = open(ret_path, O_RDWR | O_CLOEXEC);
        struct loop_config config = {.fd = (uint32_t)image, .info = {.lo_flags = LO_FLAGS_AUTOCLEAR}};
        if (loop < 0 || ioctl(loop, LOOP_CONFIGURE, &config) < 0) {
            r = -errno;
            sc_close(&loop);
        }
    }
    close(control);
    return loop >= 0 ? loop : sc_err_sys(err, r, "a loop device for the disk image");
}

static int mount_loop(const char *path, struct sc_err *err)
{
    int fs = sc_sys_fsopen("ext4");
    int r = fs < 0 ? fs : sc_sys_fsconfig_string(fs, "source", path);
    if (r == 0)
        r = sc_sys_fsconfig_create(fs);
    if (r == 0)
        r = sc_sys_fsmount(fs, SC_MOUNT_ATTR_NOSUID | SC_MOUNT_ATTR_NODEV);
    if (fs >= 0)
        close(fs);
    if (r < 0)
        return sc_err_sys(err, r, "mounting the disk image");
    unlinkat(r, "lost+found",
             AT_REMOVEDIR); /* an empty folder like any other would be; it may stay if it must */
    return r;
}

int sc_disk_open(const struct sc_plan *plan, uint32_t uid, int *ret_mount, struct sc_host_disk *ret_disk,
                 struct sc_err *err)
{
    struct stat st;
    char path[32];
    int loop = -1, mount = -1;
    int image = make_file(plan->limits.disk, err);
    int r = image < 0 ? image : make_file_system(image, plan, uid, err);
    if (r == 0) {
        loop = attach_loop(image, path, err);
        r = loop < 0 ? loop : 0;
    }
    if (r == 0 && fstat(loop, &st) < 0)
        r = sc_err_sys(err, -errno, "loop device");
    if (r == 0) {
        mount = mount_loop(path, err);
        r = mount < 0 ? mount : 0;
    }
    sc_close(&loop); /* the mount holds the device now */
    sc_close(&image);
    if (r < 0)
        return r;
    *ret_mount = mount;
    *ret_disk = (struct sc_host_disk){major(st.st_rdev), minor(st.st_rdev)};
    return 0;
}
