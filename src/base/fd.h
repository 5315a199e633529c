/* Descriptors: close-on-exec from birth, closed once, -1 when empty. */
#ifndef SC_BASE_FD_H
#define SC_BASE_FD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Closes *fd if it is open and leaves -1 behind; errno is kept. */
void sc_close(int *fd);
static inline int sc_steal_fd(int *fd)
{
    int r = *fd;
    *fd = -1;
    return r;
}
/* Whole buffers, EINTR handled. Return 0, or negative errno (-ENODATA when the file ended early). */
int sc_write_all(int fd, const void *data, size_t len);
int sc_read_all(int fd, void *data, size_t len);
/* Opens, writes `text`, closes: for kernel control files. 0 or negative errno. */
int sc_write_file(int dirfd, const char *path, const char *text);
/* Opens, reads at most `size` - 1 bytes in one call and ends them by NUL, closes: for small kernel files.
 * Length or negative errno. */
ssize_t sc_read_text(int dirfd, const char *path, char *ret_text, size_t size);
/* First number of a small file, for kernel counters. */
int sc_read_u64(int dirfd, const char *path, uint64_t *ret_value);
/* A pipe whose both ends are close-on-exec. */
int sc_pipe(int *ret_read, int *ret_write);
int sc_set_nonblocking(int fd);
/* A read-only, sealed copy of `data` in memory. Returns the descriptor or negative errno. */
int sc_memfd_sealed(const char *name, const void *data, size_t len);
/* Sends or takes up to `*n_fds` descriptors with `len` bytes on a unix socket. sc_recv_fds marks what
 * it takes close-on-exec. Both return the byte count or negative errno. */
ssize_t sc_send_fds(int sock, const void *data, size_t len, const int *fds, size_t n_fds);
ssize_t sc_recv_fds(int sock, void *data, size_t len, int *fds, size_t *n_fds);

#define SC_FDS_MAX 24

#endif
