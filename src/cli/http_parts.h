/* What the files of the HTTP client share. */
#ifndef SC_CLI_HTTP_PARTS_H
#define SC_CLI_HTTP_PARTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct sc_cli_http {
    int fd;
    char host[80]; /* of the header */
    char *key;     /* or NULL */
};

#define HTTP_HEAD_MAX 4096
#define HTTP_PROBLEM_MAX ((size_t)1024 * 1024)

/* Adds a request's line and headers, the key among them. */
int http_add_head(struct sc_buf *head, const struct sc_cli_http *http, const char *target, const char *type,
                  const char *accept, size_t length);
/* Frees what may hold a key. */
void http_forget(struct sc_buf *head);
/* A problem document's story, into `err`: its negative errno. */
int http_take_problem(const json_t *problem, struct sc_err *err);

/* An answer that is read piece by piece. Zeroed, then init; what comes is hostile like any input. */
struct http_answer {
    struct sc_buf head; /* until its end has come */
    unsigned status;
    bool chunked, has_length, ended;
    uint64_t left; /* of the body, or of the chunk */
    enum { CHUNK_SIZE, CHUNK_DATA, CHUNK_END, CHUNK_TRAILER } at;
    char line[40]; /* a chunk's size, or a trailer's beginning */
    size_t line_len;
    int (*body)(void *userdata, const void *data, size_t len);
    void *userdata;
};
void http_answer_init(struct http_answer *answer, int (*body)(void *userdata, const void *data, size_t len),
                      void *userdata);
/* Bytes as they come: 0, -EPROTO where they are no HTTP/1.1, or what `body` returned. */
int http_answer_add(struct http_answer *answer, const void *data, size_t len);
void http_answer_fini(struct http_answer *answer);

#endif
