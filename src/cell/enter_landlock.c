/* Should: the file rules once more, kept by another part of the kernel: read and execute below the root,
 * write only below the writable places; no abstract socket and no signal to anybody outside the programs'
 * domain (Linux 6.12). Must not: come before the mounts: a rule made on a mount point does not reach what is
 * mounted over it later. Verified by: claims landlock-*.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/sys.h"
#include "cell/enter.h"

static int add_rule(int ruleset, const char *path, uint64_t access)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = sc_sys_landlock_add_path(ruleset, fd, access);
    close(fd);
    return r;
}

/* Programs that can be forked: rules stand on the cell's own mounts, and would hold a child in another cell
 * away from that one's. So they have the scopes only; the child enters its own cell's whole ruleset. Moving
 * files between folders a ruleset denies unless it speaks of it. */
static int make_forkable(struct sc_enter *enter)
{
    const struct sc_image *image = enter->image;
    uint64_t moving = image->landlock_fs & SC_LANDLOCK_FS_REFER;
    if (!moving && !image->landlock_scoped)
        return 0; /* an old kernel: nothing to hold that its children could do without */
    int ruleset = sc_sys_landlock_create(moving, image->landlock_scoped);
    if (ruleset < 0)
        return ruleset;
    enter->object = "/";
    int r = moving ? add_rule(ruleset, "/", moving) : 0;
    if (r < 0) {
        close(ruleset);
        return r;
    }
    enter->ruleset = ruleset;
    return 0;
}

int enter_landlock(struct sc_enter *enter)
{
    const struct sc_image *image = enter->image;
    if (!image->landlock_fs)
        return 0; /* the plan says so only where going without was accepted */
    enter->object = "ruleset";
    if (enter->boot.flags & SC_BOOT_FORKABLE)
        return make_forkable(enter);
    int ruleset = sc_sys_landlock_create(image->landlock_fs, image->landlock_scoped);
    if (ruleset < 0)
        return ruleset;
    for (uint32_t i = 0; i < image->n_locks; i++) {
        enter->object = sc_image_text(image, image->locks[i].path);
        int r = add_rule(ruleset, enter->object, image->locks[i].access);
        if (r < 0)
            return r;
    }
    enter->ruleset = ruleset;
    return 0;
}
