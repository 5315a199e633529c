/* Operations on single files and names. Opening never waits: a FIFO without a writer, a terminal, a device
 * are refused by what they are. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/operate.h"
#include "base/fd.h"

#define PIECE (64 * 1024)

static int refuse_kind(mode_t mode)
{
    return S_ISREG(mode) ? 0 : S_ISDIR(mode) ? -EISDIR : -EINVAL;
}

/* A regular file, or what it is instead. */
static int open_regular(const char *path, int flags, mode_t mode)
{
    struct stat st;
    if (stat(path, &st) == 0 && refuse_kind(st.st_mode) < 0)
        return refuse_kind(st.st_mode);
    int fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode);
    if (fd < 0)
        return -errno;
    int r = fstat(fd, &st) < 0 ? -errno : refuse_kind(st.st_mode);
    if (r < 0) {
        close(fd);
        return r;
    }
    return fd;
}

int sc_operate_read(struct sc_operation *op)
{
    static char piece[PIECE];
    uint64_t left = op->order->length ? op->order->length : UINT64_MAX;
    int r = 0, fd = open_regular(op->path, O_RDONLY, 0);
    if (fd < 0)
        return fd;
    if (op->order->offset &&
        (op->order->offset > INT64_MAX || lseek(fd, (off_t)op->order->offset, SEEK_SET) < 0))
        r = -EINVAL;
    if (r == 0)
        sc_operation_started(op);
    while (r == 0 && left > 0) {
        ssize_t n = read(fd, piece, left < sizeof piece ? (size_t)left : sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            r = n < 0 ? -errno : 0;
            break;
        }
        left -= (uint64_t)n;
        r = sc_operation_put(op, piece, (size_t)n);
    }
    close(fd);
    return r;
}

/* ---- writing ---- */

static volatile sig_atomic_t canceled;

static void cancel(int number)
{
    (void)number;
    canceled = 1;
}

/* A polite signal ends the copying, so that the temporary file can be removed. They are let in only while it
 * waits: none is missed in between. */
static void take_cancels(void)
{
    static const int polite[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_handler = cancel};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof polite / sizeof polite[0]; i++) {
        sigaction(polite[i], &action, NULL);
        sigaddset(&set, polite[i]);
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
}

int sc_operation_copy_in(struct sc_operation *op, int fd)
{
    static char piece[PIECE];
    sigset_t none;
    sigemptyset(&none);
    for (;;) {
        struct pollfd input = {0, POLLIN, 0};
        if (ppoll(&input, 1, NULL, &none) < 0 && errno != EINTR)
            return -errno;
        if (canceled)
            return -ECANCELED;
        if (!input.revents)
            continue;
        ssize_t n = read(0, piece, sizeof piece);
        if (n == 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return -errno;
        int r = n > 0 ? sc_write_all(fd, piece, (size_t)n) : 0;
        if (r < 0)
            return r;
        op->done.bytes += n > 0 ? (uint64_t)n : 0;
    }
}

/* The mode of the new file: what is asked for, else what the old one had. */
static int choose_mode(const struct sc_operation *op, int parent, const char *last, mode_t *ret_mode)
{
    struct stat st;
    *ret_mode = op->order->mode ? op->order->mode & 0777 : 0644;
    if (!*last)
        return -EISDIR;
    if (fstatat(parent, last, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (S_ISREG(st.st_mode) && !op->order->mode)
        *ret_mode = st.st_mode & 0777;
    return S_ISLNK(st.st_mode) ? 0 : refuse_kind(st.st_mode);
}

static int write_below(struct sc_operation *op, int parent, const char *last)
{
    char name[32];
    mode_t mode;
    int r = choose_mode(op, parent, last, &mode);
    if (r < 0)
        return r;
    sc_temporary_name(name);
    take_cancels();
    int fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    sc_operation_started(op);
    r = sc_operation_copy_in(op, fd);
    if (r == 0 && fchmod(fd, mode) < 0)
        r = -errno;
    if (close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && renameat(parent, name, parent, last) < 0)
        r = -errno;
    if (r < 0)
        unlinkat(parent, name, 0);
    return r;
}

int sc_operate_write(struct sc_operation *op)
{
    const char *last;
    int r = op->order->flags & SC_FILE_PARENTS ? sc_make_parents(op->path) : 0;
    int parent = r < 0 ? r : sc_open_parent(op->path, &last);
    if (parent < 0)
        return parent;
    r = write_below(op, parent, last);
    close(parent);
    return r;
}

int sc_operate_append(struct sc_operation *op)
{
    mode_t mode = op->order->mode ? op->order->mode & 0777 : 0644;
    int r = op->order->flags & SC_FILE_PARENTS ? sc_make_parents(op->path) : 0;
    int fd = r < 0 ? r : open_regular(op->path, O_WRONLY | O_APPEND | O_CREAT, mode);
    if (fd < 0)
        return fd;
    sc_operation_started(op);
    r = sc_operation_copy_in(op, fd);
    close(fd);
    return r;
}

/* ---- names ---- */

int sc_operate_mkdir(struct sc_operation *op)
{
    bool parents = op->order->flags & SC_FILE_PARENTS;
    mode_t mode = op->order->mode ? op->order->mode & 0777 : 0755;
    struct stat st;
    int r = parents ? sc_make_parents(op->path) : 0;
    if (r < 0)
        return r;
    if (mkdir(op->path, 0700) == 0)
        return chmod(op->path, mode) < 0 ? -errno : 0;
    r = -errno;
    return parents && r == -EEXIST && stat(op->path, &st) == 0 && S_ISDIR(st.st_mode) ? 0 : r;
}

int sc_operate_rename(struct sc_operation *op)
{
    int r = op->order->flags & SC_FILE_PARENTS ? sc_make_parents(op->to) : 0;
    if (r < 0)
        return sc_operation_fault(op, op->to, r);
    return rename(op->path, op->to) < 0 ? -errno : 0;
}

int sc_operate_chmod(struct sc_operation *op)
{
    return chmod(op->path, op->order->mode & 0777) < 0 ? -errno : 0;
}

int sc_operate_stat(struct sc_operation *op)
{
    struct stat st;
    const char *last = sc_last_component(op->path);
    if (lstat(op->path, &st) < 0)
        return -errno;
    if (!*last) /* "/", or a folder's name with a slash behind: what it is called is not to be seen */
        return sc_put_entry(op, -1, op->path, &st);
    int parent = sc_open_parent(op->path, &last);
    int r = parent < 0 ? parent : sc_put_entry(op, parent, last, &st);
    sc_close(&parent);
    return r;
}
