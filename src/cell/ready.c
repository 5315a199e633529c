#include "cell/ready.h"

#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* The work folder is read later with the supervisor's own rights: it must be what it is said to be, not, say,
 * the cell's /proc. */
static int is_work_folder(int fd)
{
    struct stat st;
    struct statfs fs;
    return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && fstatfs(fd, &fs) == 0 &&
           (fs.f_type == TMPFS_MAGIC || fs.f_type == EXT4_SUPER_MAGIC);
}

int sc_ready_take(const struct sc_frame *frame, const uint8_t *payload, const int *fds, size_t n_fds,
                  int ret_ready[SC_READY_COUNT])
{
    struct sc_msg_ready ready = {0};
    int taken[SC_READY_COUNT];
    size_t used = 0;
    if (frame->len == sizeof ready)
        memcpy(&ready, payload, sizeof ready);
    for (int i = 0; i < SC_READY_COUNT; i++)
        taken[i] = (ready.mask & (1u << i)) && used < n_fds ? fds[used++] : -1;
    if (used == n_fds && used == (size_t)__builtin_popcount(ready.mask) &&
        is_work_folder(taken[SC_READY_WORK])) {
        memcpy(ret_ready, taken, sizeof taken);
        return 0;
    }
    for (size_t i = 0; i < n_fds; i++)
        close(fds[i]);
    return -EPROTO;
}

int sc_failed_take(const struct sc_frame *frame, const uint8_t *payload, struct sc_msg_failed *ret_failed)
{
    struct sc_msg_failed failed;
    if (frame->len != sizeof failed)
        return -EPROTO;
    memcpy(&failed, payload, sizeof failed);
    if (!sc_is_errno(failed.code)) /* it would be taken for success */
        return -EPROTO;
    failed.stage[sizeof failed.stage - 1] = '\0';
    failed.object[sizeof failed.object - 1] = '\0';
    *ret_failed = failed;
    return 0;
}
