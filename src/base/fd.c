#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

void sc_close(int *fd)
{
    if (*fd < 0)
        return;
    int saved = errno;
    close(*fd);
    errno = saved;
    *fd = -1;
}

int sc_write_all(int fd, const void *data, size_t len)
{
    const char *at = data;
    while (len > 0) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

int sc_read_all(int fd, void *data, size_t len)
{
    char *at = data;
    while (len > 0) {
        ssize_t n = read(fd, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return -ENODATA;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

int sc_write_file(int dirfd, const char *path, const char *text)
{
    int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    /* Kernel control files take one write: a second would be another command. One that was interrupted was
     * none. */
    ssize_t n;
    do
        n = write(fd, text, strlen(text));
    while (n < 0 && errno == EINTR);
    int r = n < 0 ? -errno : 0;
    close(fd);
    return r;
}

ssize_t sc_read_text(int dirfd, const char *path, char *ret_text, size_t size)
{
    int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = read(fd, ret_text, size - 1);
    if (n < 0)
        n = -errno;
    else
        ret_text[n] = '\0';
    close(fd);
    return n;
}

int sc_read_u64(int dirfd, const char *path, uint64_t *ret_value)
{
    char text[64];
    ssize_t n = sc_read_text(dirfd, path, text, sizeof text);
    if (n < 0)
        return (int)n;
    if (text[0] < '0' || text[0] > '9')
        return -EINVAL;
    *ret_value = strtoull(text, NULL, 10);
    return 0;
}

int sc_pipe(int *ret_read, int *ret_write)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    *ret_read = ends[0];
    *ret_write = ends[1];
    return 0;
}

int sc_set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return -errno;
    return 0;
}

int sc_memfd_sealed(const char *name, const void *data, size_t len)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    int r = sc_write_all(fd, data, len);
    if (r == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        r = -errno;
    if (r < 0) {
        close(fd);
        return r;
    }
    return fd;
}

ssize_t sc_send_fds(int sock, const void *data, size_t len, const int *fds, size_t n_fds)
{
    union {
        char space[CMSG_SPACE(sizeof(int) * SC_FDS_MAX)];
        struct cmsghdr align;
    } control;
    if (n_fds > SC_FDS_MAX)
        return -EINVAL;
    struct iovec iov = {.iov_base = (void *)data, .iov_len = len};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    if (n_fds) {
        memset(&control, 0, sizeof control);
        msg.msg_control = control.space;
        msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * n_fds);
    }
    ssize_t n;
    do
        n = sendmsg(sock, &msg, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

ssize_t sc_recv_fds(int sock, void *data, size_t len, int *fds, size_t *n_fds)
{
    union {
        char space[CMSG_SPACE(sizeof(int) * SC_FDS_MAX)];
        struct cmsghdr align;
    } control;
    struct iovec iov = {.iov_base = data, .iov_len = len};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.space,
                         .msg_controllen = sizeof control.space};
    size_t max = *n_fds, got = 0;
    ssize_t n;
    do
        n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    *n_fds = 0; /* also on failure: callers close what they were given */
    if (n < 0)
        return -errno;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
            if (got < max)
                fds[got++] = fd;
            else
                close(fd);
        }
    }
    *n_fds = got;
    return n;
}
