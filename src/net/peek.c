#include "net/peek.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "net/rules.h"

/* ---- TLS: the server name in a ClientHello, RFC 8446 4.1.2 and RFC 6066 3 ---- */

/* A part of a message, read from its front; `bad` once something did not fit. */
struct part {
    const uint8_t *at;
    size_t len;
    int bad;
};

static unsigned take_number(struct part *part, unsigned bytes)
{
    unsigned value = 0;
    if (part->len < bytes) {
        part->bad = 1;
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | part->at[i];
    part->at += bytes;
    part->len -= bytes;
    return value;
}

/* What a length of so many bytes stands before. */
static struct part take_part(struct part *part, unsigned length_bytes)
{
    size_t len = take_number(part, length_bytes);
    if (part->bad || part->len < len) {
        part->bad = 1;
        return (struct part){.bad = 1};
    }
    struct part inner = {part->at, len, 0};
    part->at += len;
    part->len -= len;
    return inner;
}

static enum sc_peek server_name(struct part names, char *ret_name)
{
    struct part list = take_part(&names, 2);
    unsigned kind = take_number(&list, 1);
    struct part name = take_part(&list, 2);
    if (names.bad || list.bad || name.bad || kind != 0 || list.len ||
        !sc_net_name_clean((const char *)name.at, name.len, ret_name))
        return SC_PEEK_BROKEN;
    return SC_PEEK_NAME;
}

static enum sc_peek read_hello(struct part hello, char *ret_name)
{
    enum sc_peek found = SC_PEEK_OTHER;
    take_number(&hello, 2); /* version */
    for (int i = 0; i < 32 && !hello.bad; i++)
        take_number(&hello, 1); /* random */
    take_part(&hello, 1);       /* session */
    take_part(&hello, 2);       /* ciphers */
    take_part(&hello, 1);       /* compression */
    if (hello.bad)
        return SC_PEEK_BROKEN;
    if (hello.len == 0)
        return SC_PEEK_OTHER;
    struct part extensions = take_part(&hello, 2);
    while (extensions.len && !extensions.bad) {
        unsigned type = take_number(&extensions, 2);
        struct part body = take_part(&extensions, 2);
        if (type != 0 || body.bad)
            continue;
        if (found != SC_PEEK_OTHER)
            return SC_PEEK_BROKEN; /* twice */
        found = server_name(body, ret_name);
    }
    return hello.bad || extensions.bad ? SC_PEEK_BROKEN : found;
}

/* Kinds of records: change of ciphers, alert, handshake, data, heartbeat. */
static int is_record(uint8_t first)
{
    return first >= 0x14 && first <= 0x18;
}

/* The hello may be cut into several records. Servers read past some of the others, so one of those before it
 * would hide it. */
enum sc_peek sc_peek_tls(const uint8_t *data, size_t len, char *ret_name)
{
    uint8_t hello[SC_PEEK_MAX];
    size_t have = 0, want = 4;
    struct part rest = {data, len, 0};
    if (len && !is_record(data[0]))
        return SC_PEEK_OTHER;
    if (len && data[0] != 0x16)
        return len < 2 ? SC_PEEK_MORE : data[1] == 3 ? SC_PEEK_BROKEN : SC_PEEK_OTHER;
    while (have < want) {
        if (rest.len < 5)
            return rest.len + have > SC_PEEK_MAX - 5 ? SC_PEEK_BROKEN : SC_PEEK_MORE;
        if (rest.at[0] != 0x16 || rest.at[1] != 3)
            return have ? SC_PEEK_BROKEN : SC_PEEK_OTHER;
        take_number(&rest, 3);
        size_t record = take_number(&rest, 2), here = record < rest.len ? record : rest.len;
        if (record == 0 || have + record > sizeof hello)
            return SC_PEEK_BROKEN;
        memcpy(hello + have, rest.at, here);
        have += here;
        rest.at += here;
        rest.len -= here;
        if (have >= 4)
            want = 4 + ((size_t)hello[1] << 16 | (size_t)hello[2] << 8 | hello[3]);
        if (have && hello[0] != 1)
            return SC_PEEK_BROKEN; /* a client begins with its hello */
        if (want > sizeof hello)
            return SC_PEEK_BROKEN;
        if (here < record && have < want)
            return SC_PEEK_MORE;
    }
    return read_hello((struct part){hello + 4, want - 4, 0}, ret_name);
}

/* ---- HTTP/1: the Host field ---- */

static bool is_token(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && (!text[i] || !strchr("!#$%&'*+-.^_`|~", text[i])))
            return false;
    return len > 0;
}

/* Empty lines before a request mean nothing. */
static size_t skip_newlines(const char *text, size_t len)
{
    size_t at = 0;
    while (at < len && (text[at] == '\r' || text[at] == '\n'))
        at++;
    return at;
}

bool sc_peek_is_text(uint8_t byte)
{
    return (byte >= ' ' && byte < 0x7f) || byte == '\t' || byte == '\r';
}

static bool says_http(const char *line, size_t len)
{
    for (size_t i = 0; i + 5 <= len; i++)
        if (!strncasecmp(line + i, "http/", 5))
            return true;
    return false;
}

/* "GET /" alone is a request to some. */
static bool is_usual_method(const char *text, size_t len)
{
    static const char *const methods[] = {"GET ",     "HEAD ",  "POST ",  "PUT ",    "DELETE ",
                                          "OPTIONS ", "PATCH ", "TRACE ", "CONNECT "};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (len >= strlen(methods[i]) && !memcmp(text, methods[i], strlen(methods[i])))
            return true;
    return false;
}

/* A line of text that begins with a usual method, or says HTTP anywhere: some servers take any word for a
 * method. What it is worth is looked at later. */
static enum sc_peek starts_as_http(const char *text, size_t len)
{
    size_t at = skip_newlines(text, len);
    if (is_usual_method(text + at, len - at))
        return SC_PEEK_NAME;
    for (size_t i = at; i < len; i++) {
        if (text[i] == '\n')
            return says_http(text + at, i - at) ? SC_PEEK_NAME : SC_PEEK_OTHER;
        if (!sc_peek_is_text((uint8_t)text[i]))
            return SC_PEEK_OTHER;
    }
    return SC_PEEK_MORE;
}

bool sc_peek_tells_later(const uint8_t *data, size_t len)
{
    return starts_as_http((const char *)data, len) == SC_PEEK_MORE;
}

bool sc_peek_is_http(const uint8_t *data, size_t len)
{
    return starts_as_http((const char *)data, len) == SC_PEEK_NAME;
}

/* "name", "name:port"; anything else is none. */
static bool host_name(const char *text, size_t len, char *ret_name)
{
    while (len && (*text == ' ' || *text == '\t'))
        text++, len--;
    while (len && (text[len - 1] == ' ' || text[len - 1] == '\t'))
        len--;
    const char *colon = memchr(text, ':', len);
    for (const char *digit = colon ? colon + 1 : text + len; digit < text + len; digit++)
        if (*digit < '0' || *digit > '9')
            return false;
    return sc_net_name_clean(text, colon ? (size_t)(colon - text) : len, ret_name);
}

/* Whom "GET http://name/path HTTP/1.1" is for. 1: *ret_name; 0: it tells nobody; -1: what cannot be read. */
static int target_name(const char *line, size_t len, char *ret_name)
{
    const char *blank = memchr(line, ' ', len);
    if (!blank)
        return -1;
    size_t at = (size_t)(blank - line) + 1;
    if (at < len && (line[at] == '/' || line[at] == '*'))
        return 0;
    if (len - at < 7 || strncasecmp(line + at, "http://", 7) != 0)
        return -1;
    at += 7;
    size_t end = at;
    while (end < len && !strchr("/?# \r", line[end]))
        end++;
    return host_name(line + at, end - at, ret_name) ? 1 : -1;
}

/* The Host field and the target; they must agree. */
static enum sc_peek join_names(const char *line, size_t len, bool found, char *ret_name)
{
    char other[SC_NET_NAME_MAX + 1];
    int target = target_name(line, len, other);
    if (target < 0 || (found && target > 0 && strcmp(other, ret_name) != 0))
        return SC_PEEK_BROKEN;
    if (!found && target == 0)
        return SC_PEEK_OTHER;
    if (!found)
        memcpy(ret_name, other, strlen(other) + 1);
    return SC_PEEK_NAME;
}

/* Folded lines, blanks before the colon and names that are no word are read differently by different servers.
 */
static bool field_is_fine(const char *line, size_t len)
{
    const char *colon = memchr(line, ':', len);
    return colon && is_token(line, (size_t)(colon - line)) && !memchr(line, '\0', len) &&
           !memchr(line, '\r', len);
}

enum sc_peek sc_peek_head(const uint8_t *data, size_t len, char *ret_name)
{
    const char *text = (const char *)data, *end = text + len;
    text += skip_newlines(text, len);
    const char *first_end = memchr(text, '\n', (size_t)(end - text));
    bool found = false;
    for (const char *line = first_end ? first_end + 1 : end; line < end;) {
        const char *eol = memchr(line, '\n', (size_t)(end - line));
        if (!eol)
            break;
        size_t n = (size_t)(eol - line);
        if (n && line[n - 1] == '\r')
            n--;
        if (n == 0)
            return join_names(text, (size_t)(first_end - text), found, ret_name);
        if (!field_is_fine(line, n))
            return SC_PEEK_BROKEN;
        if (n >= 5 && !strncasecmp(line, "host:", 5)) {
            if (found || !host_name(line + 5, n - 5, ret_name))
                return SC_PEEK_BROKEN;
            found = true;
        }
        line = eol + 1;
    }
    return len < SC_PEEK_MAX ? SC_PEEK_MORE : SC_PEEK_BROKEN;
}

enum sc_peek sc_peek_http(const uint8_t *data, size_t len, char *ret_name)
{
    enum sc_peek start = starts_as_http((const char *)data, len);
    return start == SC_PEEK_NAME ? sc_peek_head(data, len, ret_name) : start;
}

enum sc_peek sc_peek(const uint8_t *data, size_t len, char *ret_name)
{
    if (len == 0)
        return SC_PEEK_MORE;
    if (is_record(data[0]))
        return sc_peek_tls(data, len, ret_name);
    return sc_peek_http(data, len, ret_name);
}
