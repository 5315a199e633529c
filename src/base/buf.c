#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sc_buf_init(struct sc_buf *buf, size_t max)
{
    *buf = (struct sc_buf){.max = max};
}

void sc_buf_fini(struct sc_buf *buf)
{
    free(buf->data);
    *buf = (struct sc_buf){0};
}

uint8_t *sc_buf_reserve(struct sc_buf *buf, size_t len)
{
    if (len > buf->max - buf->len)
        return NULL;
    size_t need = buf->len + len + 1;
    if (need > buf->cap) {
        size_t cap = buf->cap ? buf->cap : 256;
        while (cap < need)
            cap = cap > SIZE_MAX / 2 ? need : cap * 2;
        uint8_t *data = realloc(buf->data, cap);
        if (!data)
            return NULL;
        buf->data = data;
        buf->cap = cap;
    }
    return buf->data + buf->len;
}

void sc_buf_took(struct sc_buf *buf, size_t len)
{
    buf->len += len;
    buf->data[buf->len] = '\0';
}

int sc_buf_add(struct sc_buf *buf, const void *data, size_t len)
{
    if (len > buf->max - buf->len)
        return -EMSGSIZE;
    uint8_t *to = sc_buf_reserve(buf, len);
    if (!to)
        return -ENOMEM;
    if (len)
        memcpy(to, data, len);
    sc_buf_took(buf, len);
    return 0;
}

int sc_buf_add_str(struct sc_buf *buf, const char *text)
{
    return sc_buf_add(buf, text, strlen(text));
}

int sc_buf_printf(struct sc_buf *buf, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    char *text = NULL;
    int n = vasprintf(&text, format, ap);
    va_end(ap);
    if (n < 0)
        return -ENOMEM;
    int r = sc_buf_add(buf, text, (size_t)n);
    free(text);
    return r;
}

char *sc_buf_steal(struct sc_buf *buf, size_t *ret_len)
{
    if (!buf->data && !sc_buf_reserve(buf, 0))
        return NULL;
    buf->data[buf->len] = '\0';
    char *data = (char *)buf->data;
    if (ret_len)
        *ret_len = buf->len;
    *buf = (struct sc_buf){.max = buf->max};
    return data;
}

int sc_buf_read_file(struct sc_buf *buf, int dirfd, const char *path)
{
    int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return -errno;
    int r = 0;
    for (;;) {
        uint8_t chunk[16384];
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            r = n < 0 ? -errno : 0;
            break;
        }
        r = sc_buf_add(buf, chunk, (size_t)n);
        if (r < 0)
            break;
    }
    close(fd);
    return r;
}
