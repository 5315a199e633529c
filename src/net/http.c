#include "net/http.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "net/http_strict.h"

#define LINE_MAX 4096 /* of a chunk's size or a trailer */

void sc_http_init(struct sc_http *http, const char *name)
{
    memset(http, 0, offsetof(struct sc_http, head));
    http->name = name;
}

void sc_http_init_doubtful(struct sc_http *http, const char *name)
{
    sc_http_init(http, name);
    http->state = SC_HTTP_LINE;
}

void sc_http_init_strict(struct sc_http *http, const char *name, sc_http_judge *judge, void *userdata)
{
    sc_http_init(http, name);
    http->judge = judge;
    http->userdata = userdata;
}

/* ---- a head ---- */

/* What a field's line holds behind its colon, without blanks around it; NULL: it is another field. */
static const char *value_of(const char *line, size_t len, const char *field, size_t *ret_len)
{
    size_t name = strlen(field);
    if (len <= name || strncasecmp(line, field, name) != 0 || line[name] != ':')
        return NULL;
    const char *at = line + name + 1, *end = line + len;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *ret_len = (size_t)(end - at);
    return at;
}

static bool is_word(const char *text, size_t len, const char *word)
{
    return len == strlen(word) && !strncasecmp(text, word, len);
}

struct framing {
    bool has_length, chunked, upgrade;
    uint64_t length;
};

static int read_length(struct framing *framing, const char *text, size_t len)
{
    if (framing->has_length || len == 0 || len > 18)
        return -EPROTO;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -EPROTO;
        framing->length = framing->length * 10 + (uint64_t)(text[i] - '0');
    }
    framing->has_length = true;
    return 0;
}

static int read_field(struct sc_http *http, struct framing *framing, const char *line, size_t len)
{
    size_t n;
    const char *value;
    if ((value = value_of(line, len, "content-length", &n)))
        return read_length(framing, value, n);
    if ((value = value_of(line, len, "transfer-encoding", &n))) {
        bool fine = !framing->chunked && is_word(value, n, "chunked");
        framing->chunked = true;
        return fine ? 0 : -EPROTO;
    }
    if ((value = value_of(line, len, "upgrade", &n))) {
        http->websocket = !framing->upgrade && is_word(value, n, "websocket");
        framing->upgrade = true;
    }
    return 0;
}

/* "METHOD target HTTP/1.x", one blank between. */
static bool first_line_is_fine(const char *line, size_t len)
{
    if (len <= 9 ||
        (memcmp(line + len - 9, " HTTP/1.1", 9) != 0 && memcmp(line + len - 9, " HTTP/1.0", 9) != 0))
        return false;
    const char *blank = memchr(line, ' ', len - 9);
    if (!blank || blank == line || blank + 1 == line + len - 9)
        return false;
    for (const char *at = line; at < line + len - 9; at++)
        if (at != blank && (uint8_t)*at <= ' ')
            return false;
    return true;
}

static int read_lines(struct sc_http *http, struct framing *framing)
{
    const char *text = (const char *)http->head, *end = text + http->used;
    bool first = true, old = false;
    for (const char *line = text; line < end; first = false) {
        const char *eol = memchr(line, '\n', (size_t)(end - line));
        size_t len = (size_t)(eol - line);
        if (len && line[len - 1] == '\r')
            len--;
        if (first && !first_line_is_fine(line, len))
            return -EPROTO;
        old = old || (first && line[len - 1] == '0');
        int r = first ? 0 : read_field(http, framing, line, len);
        if (r < 0)
            return r;
        line = eol + 1;
    }
    /* HTTP/1.0 has no chunks: servers may look for the next request where the first of them begins. */
    return framing->chunked && (framing->has_length || old) ? -EPROTO : 0;
}

/* What is asked for is known, and nothing of it has gone on yet. */
static int end_of_strict_head(struct sc_http *http, const struct framing *framing)
{
    struct sc_net_request request;
    const struct sc_net_rule *credential = NULL;
    int r = sc_http_strict(http->head, http->used, &request);
    if (r == 0 && (framing->upgrade || !http->said_name))
        r = -EPROTO;
    if (r == 0)
        r = http->judge(http->userdata, &request, &credential);
    return r == 0 ? sc_http_write_head(http->out, http->head, http->used, credential) : r;
}

static int end_of_head(struct sc_http *http)
{
    struct framing framing = {0};
    enum sc_peek whose = sc_peek_head(http->head, http->used, http->seen);
    if (whose != SC_PEEK_NAME && whose != SC_PEEK_OTHER)
        return -EPROTO;
    http->said_name = whose == SC_PEEK_NAME;
    if (http->said_name && strcmp(http->seen, http->name) != 0)
        return -EPERM;
    int r = read_lines(http, &framing);
    if (r == 0 && http->judge)
        r = end_of_strict_head(http, &framing);
    if (r < 0)
        return r;
    http->requests++;
    http->used = 0;
    http->left = framing.length;
    http->state = framing.chunked ? SC_HTTP_CHUNK_SIZE : framing.length ? SC_HTTP_BODY : SC_HTTP_HEAD;
    if (!framing.upgrade)
        return 0;
    /* Only the first request's answer is surely the first. */
    if (http->requests > 1 || http->state != SC_HTTP_HEAD)
        return -EPROTO;
    http->state = SC_HTTP_ASKED;
    return 0;
}

/* What is no request is not waited for. */
static bool may_be_head(const struct sc_http *http, uint8_t byte)
{
    if (http->used == 0)
        return byte >= 'A' && byte <= 'Z';
    return byte != '\n' || memchr(http->head, '\n', http->used) ||
           (http->head[http->used - 1] == '\r' &&
            first_line_is_fine((const char *)http->head, http->used - 1));
}

static int feed_head(struct sc_http *http, uint8_t byte)
{
    if (http->used == 0 && (byte == '\r' || byte == '\n'))
        return 0; /* an empty line before a request means nothing */
    if (http->used == sizeof http->head || (http->judge && !may_be_head(http, byte)))
        return -EPROTO;
    http->head[http->used++] = byte;
    size_t n = http->used;
    bool ends =
        byte == '\n' && n >= 2 &&
        (http->head[n - 2] == '\n' || (n >= 3 && http->head[n - 2] == '\r' && http->head[n - 3] == '\n'));
    return ends ? end_of_head(http) : 0;
}

/* Bytes behind those there is room for are only looked at. */
static int feed_first_line(struct sc_http *http, uint8_t byte)
{
    static const char word[] = "http/";
    uint8_t small = byte | (byte >= 'A' && byte <= 'Z' ? 0x20 : 0);
    bool fits = http->used < sizeof http->head;
    if (http->used == 0 && (byte == '\r' || byte == '\n'))
        return 0;
    if (fits)
        http->head[http->used++] = byte;
    if (byte == '\n' && http->spelled == 5) {
        http->state = SC_HTTP_HEAD;
        return fits ? 0 : -EPROTO;
    }
    if (!sc_peek_is_text(byte))
        http->state = SC_HTTP_UPGRADED;
    else if (http->spelled < 5)
        http->spelled = small == word[http->spelled] ? http->spelled + 1 : small == 'h';
    return 0;
}

/* ---- chunks ---- */

static int hex_digit(uint8_t byte)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = byte ? strchr(digits, byte | (byte >= 'A' ? 0x20 : 0)) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* The line is kept in `head`: hexadecimal digits, perhaps something behind a semicolon, CR LF. */
static int end_of_size(struct sc_http *http)
{
    size_t digits = 0, len = http->used;
    uint64_t size = 0;
    if (len < 3 || http->head[len - 2] != '\r' || memchr(http->head, '\r', len - 2))
        return -EPROTO;
    for (; digits < len && hex_digit(http->head[digits]) >= 0; digits++)
        size = size << 4 | (uint64_t)hex_digit(http->head[digits]);
    /* What stands behind the semicolon is read in many ways. */
    if (http->judge && http->head[digits] != '\r')
        return -EPROTO;
    if (digits == 0 || digits > 15 || (http->head[digits] != '\r' && http->head[digits] != ';'))
        return -EPROTO;
    http->used = 0;
    http->left = size;
    http->state = size ? SC_HTTP_CHUNK : SC_HTTP_TRAILER;
    return 0;
}

static int end_of_trailer(struct sc_http *http)
{
    size_t len = http->used;
    if (len < 2 || http->head[len - 2] != '\r')
        return -EPROTO;
    if (len == 2)
        http->state = SC_HTTP_HEAD;
    else if (http->judge)
        return -EPROTO; /* fields there might be taken for those of the head */
    http->used = 0;
    return 0;
}

static int feed_line(struct sc_http *http, uint8_t byte)
{
    if (http->used == LINE_MAX)
        return -EPROTO;
    http->head[http->used++] = byte;
    if (byte != '\n')
        return 0;
    if (http->state == SC_HTTP_CHUNK_SIZE)
        return end_of_size(http);
    if (http->state == SC_HTTP_TRAILER)
        return end_of_trailer(http);
    bool fine = http->used == 2 && http->head[0] == '\r'; /* behind a chunk */
    http->used = 0;
    http->state = SC_HTTP_CHUNK_SIZE;
    return fine ? 0 : -EPROTO;
}

/* ---- all of it ---- */

static size_t skip(struct sc_http *http, size_t len)
{
    size_t here = http->left < len ? (size_t)http->left : len;
    http->left -= here;
    if (http->left == 0)
        http->state = http->state == SC_HTTP_BODY ? SC_HTTP_HEAD : SC_HTTP_CHUNK_END;
    return here;
}

int sc_http_feed(struct sc_http *http, const uint8_t *data, size_t len)
{
    int r = 0;
    for (size_t at = 0; at < len && r == 0;) {
        if (http->state == SC_HTTP_UPGRADED)
            return 0;
        if (http->state == SC_HTTP_ASKED)
            return -EPROTO; /* before the answer there is nothing to say */
        if (http->state == SC_HTTP_BODY || http->state == SC_HTTP_CHUNK)
            at += skip(http, len - at);
        else if (http->state == SC_HTTP_LINE)
            r = feed_first_line(http, data[at++]);
        else
            r = http->state == SC_HTTP_HEAD ? feed_head(http, data[at++]) : feed_line(http, data[at++]);
    }
    return r;
}

/* One step of what is not a head goes on as it is, so that lines of chunks go on byte by byte. */
static int pass(struct sc_http *http, const uint8_t *data, size_t len)
{
    int r = sc_http_feed(http, data, len);
    return r == 0 ? sc_buf_add(http->out, data, len) : r;
}

int sc_http_feed_strict(struct sc_http *http, const uint8_t *data, size_t len, struct sc_buf *out)
{
    int r = 0;
    http->out = out;
    for (size_t at = 0, n; at < len && r == 0; at += n) {
        bool body = http->state == SC_HTTP_BODY || http->state == SC_HTTP_CHUNK;
        n = body && http->left < len - at ? (size_t)http->left : body ? len - at : 1;
        r = http->state == SC_HTTP_HEAD ? sc_http_feed(http, data + at, 1) : pass(http, data + at, n);
    }
    return r;
}

int sc_http_answered(struct sc_http *http, const uint8_t *data, size_t len)
{
    static const char agreed[] = "HTTP/1.1 101";
    size_t n = sizeof agreed - 1;
    if (http->state != SC_HTTP_ASKED)
        return 1;
    if (len < n && !memcmp(data, agreed, len))
        return 0;
    if (memcmp(data, agreed, len < n ? len : n) != 0) {
        http->state = SC_HTTP_HEAD;
        return 1;
    }
    http->state = SC_HTTP_UPGRADED;
    return http->websocket ? 1 : -EPROTO;
}
