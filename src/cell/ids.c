/* One host uid for each live cell. The ids in use are locks on bytes of one file: the kernel lets a lock go
 * when its last holder is gone, so that a killed supervisor leaks none, and the agent holds its cell's for as
 * long as it lives. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/space.h"

#define LOCK_DIR "/run/snapcell"
#define LOCK_FILE LOCK_DIR "/ids"
#define TRIES 4096
#define APART 8192 /* pairs */

static int open_lock_file(void)
{
    if (mkdir(LOCK_DIR, 0700) < 0 && errno != EEXIST)
        return -errno;
    int fd = open(LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd < 0 ? -errno : fd;
}

/* Single pairs would soon leave no block whole: where the range is large each has a share of its own. */
static void share(const struct sc_host *host, uint32_t n_pairs, uint32_t *ret_first, uint32_t *ret_count)
{
    uint32_t pairs = host->cell_uid_count / 2, singles = pairs / 4;
    bool apart = pairs >= APART;
    *ret_first = apart && n_pairs > 1 ? singles : 0;
    *ret_count = !apart ? pairs : n_pairs > 1 ? pairs - singles : singles;
}

int sc_ids_take(const struct sc_host *host, uint32_t n_pairs, uint32_t *ret_uid, struct sc_err *err)
{
    uint32_t first, count, start = 0;
    share(host, n_pairs, &first, &count);
    uint32_t places = count / n_pairs; /* in steps of what is taken */
    if (places == 0)
        return sc_err_set(err, SC_ERR_HOST, -ENOSPC, "the range of host ids for cells has no %u ids",
                          2 * n_pairs);
    int fd = open_lock_file();
    if (fd < 0)
        return sc_err_sys(err, fd, LOCK_FILE);
    if (getrandom(&start, sizeof start, 0) != sizeof start)
        start = (uint32_t)getpid();
    uint32_t tries = places < TRIES ? places : TRIES;
    for (uint32_t i = 0; i < tries; i++) {
        uint32_t pair = first + (start % places + i) % places * n_pairs;
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = pair, .l_len = n_pairs};
        if (fcntl(fd, F_OFD_SETLK, &lock) == 0) {
            *ret_uid = host->cell_uid_base + pair * 2;
            return fd;
        }
        if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
            int r = -errno;
            close(fd);
            return sc_err_sys(err, r, "locking a host id in " LOCK_FILE);
        }
    }
    close(fd);
    return sc_err_set(err, SC_ERR_HOST, -EAGAIN, "no free host id for a cell: %u of them are in use", tries);
}
