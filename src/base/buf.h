/* A byte buffer with a stated maximum. */
#ifndef SC_BASE_BUF_H
#define SC_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

struct sc_buf {
    uint8_t *data; /* always followed by a NUL once anything was added */
    size_t len;
    size_t cap;
    size_t max; /* sc_buf_add refuses to go beyond it: -EMSGSIZE */
};

void sc_buf_init(struct sc_buf *buf, size_t max);
void sc_buf_fini(struct sc_buf *buf);
int sc_buf_add(struct sc_buf *buf, const void *data, size_t len);
int sc_buf_add_str(struct sc_buf *buf, const char *text);
int sc_buf_printf(struct sc_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Makes room for `len` more bytes and returns where they go, or NULL. Then sc_buf_took(buf, n). */
uint8_t *sc_buf_reserve(struct sc_buf *buf, size_t len);
void sc_buf_took(struct sc_buf *buf, size_t len);
/* Hands the bytes (NUL-terminated, to be freed by the caller) over and leaves buf empty. Never NULL unless
 * memory ran out. */
char *sc_buf_steal(struct sc_buf *buf, size_t *ret_len);
/* Whole file into buf, up to buf->max: 0, or negative errno (-EMSGSIZE when larger). */
int sc_buf_read_file(struct sc_buf *buf, int dirfd, const char *path);

#endif
