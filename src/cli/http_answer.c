/* HTTP/1.1 answers, read byte for byte as strictly as a service of ours writes them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "cli/http_parts.h"

#define HEAD_MAX 65536
#define CHUNK_DIGITS_MAX 15

void http_answer_init(struct http_answer *answer, int (*body)(void *userdata, const void *data, size_t len),
                      void *userdata)
{
    *answer = (struct http_answer){.body = body, .userdata = userdata};
    sc_buf_init(&answer->head, HEAD_MAX);
}

void http_answer_fini(struct http_answer *answer)
{
    sc_buf_fini(&answer->head);
}

/* ---- the head ---- */

static int take_header(struct http_answer *answer, char *line)
{
    char *value = strchr(line, ':');
    if (!value)
        return -EPROTO;
    *value++ = '\0';
    value += strspn(value, " \t");
    if (!strcasecmp(line, "Transfer-Encoding")) {
        if (answer->chunked || strcasecmp(value, "chunked") != 0)
            return -EPROTO;
        answer->chunked = true;
    } else if (!strcasecmp(line, "Content-Length")) {
        if (answer->has_length || sc_parse_u64(value, &answer->left) < 0)
            return -EPROTO;
        answer->has_length = true;
    }
    return 0;
}

static int take_head(struct http_answer *answer)
{
    char *rest = (char *)answer->head.data, *line = strsep(&rest, "\n");
    static const char version[] = "HTTP/1.1 ";
    if (strlen((char *)answer->head.data) < strlen(version) + 3 ||
        strncmp(line, version, strlen(version)) != 0)
        return -EPROTO;
    const char *digits = line + strlen(version);
    if (strspn(digits, "0123456789") != 3)
        return -EPROTO;
    answer->status = (unsigned)strtoul(digits, NULL, 10);
    while ((line = strsep(&rest, "\n"))) {
        size_t len = strlen(line);
        if (len && line[len - 1] == '\r')
            line[len - 1] = '\0';
        int r = *line ? take_header(answer, line) : 0;
        if (r < 0)
            return r;
    }
    /* Without either its end could not be told from a cut. */
    if (answer->status < 200)
        return 0;
    if (answer->chunked == answer->has_length)
        return -EPROTO;
    answer->ended = answer->has_length && answer->left == 0;
    return 0;
}

/* How many bytes of `data` are the head's; *ret_whole: it is there. */
static int add_head(struct http_answer *answer, const char *data, size_t len, size_t *ret_used)
{
    for (*ret_used = 0; *ret_used < len;) {
        char byte = data[(*ret_used)++];
        if (byte == '\0' || sc_buf_add(&answer->head, &byte, 1) < 0)
            return -EPROTO;
        size_t n = answer->head.len;
        if (n < 4 || memcmp(answer->head.data + n - 4, "\r\n\r\n", 4) != 0)
            continue;
        int r = take_head(answer);
        bool interim = r == 0 && answer->status < 200; /* 100 Continue: the answer itself is still to come */
        if (interim) {
            answer->status = 0;
            answer->head.len = 0;
            continue;
        }
        return r;
    }
    return 0;
}

/* ---- the body ---- */

static int pass(struct http_answer *answer, const char **data, size_t *len)
{
    size_t n = *len < answer->left ? *len : (size_t)answer->left;
    int r = n ? answer->body(answer->userdata, *data, n) : 0;
    *data += n;
    *len -= n;
    answer->left -= n;
    return r;
}

/* A line of the chunks' framing is whole. */
static int take_line(struct http_answer *answer)
{
    size_t len = answer->line_len;
    answer->line_len = 0;
    if (len == 0 || answer->line[len - 1] != '\r')
        return -EPROTO;
    answer->line[--len] = '\0';
    if (answer->at == CHUNK_TRAILER) {
        answer->ended = len == 0;
        return 0;
    }
    if (answer->at == CHUNK_END) {
        answer->at = CHUNK_SIZE;
        return len == 0 ? 0 : -EPROTO;
    }
    if (len == 0 || len > CHUNK_DIGITS_MAX || strspn(answer->line, "0123456789abcdefABCDEF") != len)
        return -EPROTO;
    answer->left = strtoull(answer->line, NULL, 16);
    answer->at = answer->left ? CHUNK_DATA : CHUNK_TRAILER;
    return 0;
}

static int add_chunks(struct http_answer *answer, const char *data, size_t len)
{
    int r = 0;
    while (r == 0 && len > 0 && !answer->ended) {
        if (answer->at == CHUNK_DATA) {
            r = pass(answer, &data, &len);
            if (answer->left == 0)
                answer->at = CHUNK_END;
            continue;
        }
        char byte = *data++;
        len--;
        if (byte == '\n')
            r = take_line(answer);
        else if (answer->line_len + 1 < sizeof answer->line)
            answer->line[answer->line_len++] = byte;
        else
            r = -EPROTO;
    }
    return r;
}

int http_answer_add(struct http_answer *answer, const void *data, size_t len)
{
    const char *at = data;
    size_t used = 0;
    int r = answer->status ? 0 : add_head(answer, at, len, &used);
    at += used;
    len -= used;
    if (r < 0 || len == 0 || answer->ended)
        return r;
    if (answer->chunked)
        return add_chunks(answer, at, len);
    r = pass(answer, &at, &len);
    answer->ended = answer->left == 0;
    return r;
}
