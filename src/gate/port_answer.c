#include "gate/port_answer.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#define LINE_MAX 4096 /* of a chunk's size, or of a trailer */

void port_answer_init(struct port_answer *answer, bool without_body)
{
    memset(answer, 0, offsetof(struct port_answer, head));
    answer->without_body = without_body;
}

/* ---- the head ---- */

static bool is_token(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && (!text[i] || !strchr("!#$%&'*+-.^_`|~", text[i])))
            return false;
    return len > 0;
}

/* Nothing that would end a line, or a text. */
static bool is_text(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (((unsigned char)text[i] < ' ' && text[i] != '\t') || text[i] == 0x7f)
            return false;
    return true;
}

/* Cuts "name: value" into two texts. */
static int cut_field(char *line, size_t len)
{
    char *colon = memchr(line, ':', len), *end = line + len;
    if (!colon || !is_token(line, (size_t)(colon - line)))
        return -EPROTO;
    if (!is_text(colon, (size_t)(end - colon)))
        return -EPROTO;
    *colon = '\0';
    return 0;
}

/* "HTTP/1.1 200 OK" */
static int read_status(struct port_answer *answer, const char *line, size_t len)
{
    if (!is_text(line, len))
        return -EPROTO;
    if (len < 12 || memcmp(line, "HTTP/1.", 7) != 0 || (line[7] != '0' && line[7] != '1') || line[8] != ' ')
        return -EPROTO;
    answer->status = 0;
    for (size_t i = 9; i < 12; i++) {
        if (line[i] < '0' || line[i] > '9')
            return -EPROTO;
        answer->status = answer->status * 10 + (unsigned)(line[i] - '0');
    }
    return (len == 12 || line[12] == ' ') && answer->status >= 100 && answer->status <= 599 ? 0 : -EPROTO;
}

/* Lines become texts: each ends with a NUL where its end was, fields in two. */
static int cut_head(struct port_answer *answer)
{
    char *end = answer->head + answer->used;
    bool first = true;
    for (char *line = answer->head, *eol; line < end; line = eol + 1, first = false) {
        eol = memchr(line, '\n', (size_t)(end - line));
        size_t len = (size_t)(eol - line);
        if (len && line[len - 1] == '\r')
            line[--len] = '\0';
        *eol = '\0';
        int r = first ? read_status(answer, line, len) : len ? cut_field(line, len) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

bool port_answer_field(const struct port_answer *answer, size_t *at, const char **ret_name,
                       const char **ret_value)
{
    /* Texts follow one another; what a line's CR and LF were are empty ones. */
    if (*at == 0)
        *at = strlen(answer->head) + 1;
    while (*at < answer->used && !answer->head[*at])
        ++*at;
    if (*at >= answer->used)
        return false;
    *ret_name = answer->head + *at;
    *at += strlen(*ret_name) + 1;
    *ret_value = skip_blanks(answer->head + *at);
    *at += strlen(answer->head + *at) + 1;
    return true;
}

static int read_length(const char *text, uint64_t *ret_length)
{
    uint64_t length = 0;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 18 || *skip_blanks(text + digits))
        return -EPROTO;
    for (size_t i = 0; i < digits; i++)
        length = length * 10 + (uint64_t)(text[i] - '0');
    *ret_length = length;
    return 0;
}

/* What its body's end is told by. */
static int read_framing(struct port_answer *answer)
{
    bool has_length = false, chunked = false;
    size_t at = 0;
    for (const char *name, *value; port_answer_field(answer, &at, &name, &value);) {
        if (!strcasecmp(name, "Content-Length")) {
            if (has_length || read_length(value, &answer->left) < 0)
                return -EPROTO;
            has_length = true;
        } else if (!strcasecmp(name, "Transfer-Encoding")) {
            if (chunked || strncasecmp(value, "chunked", 7) != 0 || *skip_blanks(value + 7))
                return -EPROTO;
            chunked = true;
        }
    }
    if (chunked && has_length)
        return -EPROTO;
    if (answer->without_body || answer->status == 204 || answer->status == 304)
        answer->state = PORT_WHOLE;
    else if (chunked)
        answer->state = PORT_CHUNK_SIZE;
    else if (has_length)
        answer->state = answer->left ? PORT_LENGTH : PORT_WHOLE;
    else
        answer->state = PORT_TO_END;
    return 0;
}

static int end_of_head(struct port_answer *answer, const struct port_events *events, void *userdata)
{
    int r = cut_head(answer);
    bool upgrades = answer->status == 101;
    if (r == 0 && upgrades && !answer->may_upgrade)
        r = -EPROTO; /* nobody asked for that */
    if (r == 0 && upgrades)
        answer->state = PORT_TO_END;
    else if (r == 0 && answer->status >= 200)
        r = read_framing(answer);
    if (r == 0 && (upgrades || answer->status >= 200))
        events->head(userdata);
    answer->used = 0; /* before 200 another one follows */
    return r;
}

static int take_head(struct port_answer *answer, char byte, const struct port_events *events, void *userdata)
{
    if (answer->used == sizeof answer->head)
        return -EPROTO;
    answer->head[answer->used++] = byte;
    size_t n = answer->used;
    const char *head = answer->head;
    bool ends = byte == '\n' && n >= 2 &&
                (head[n - 2] == '\n' || (n >= 3 && head[n - 2] == '\r' && head[n - 3] == '\n'));
    return ends ? end_of_head(answer, events, userdata) : 0;
}

/* ---- chunks ---- */

static int end_of_size(struct port_answer *answer)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = 0;
    answer->left = 0;
    for (const char *at; n < answer->used; n++) {
        at = answer->head[n] ? strchr(digits, tolower((unsigned char)answer->head[n])) : NULL;
        if (!at)
            break;
        answer->left = answer->left << 4 | (uint64_t)(at - digits);
    }
    if (n == 0 || n > 15 || !strchr(";\r\n \t", answer->head[n]))
        return -EPROTO;
    answer->state = answer->left ? PORT_CHUNK : PORT_TRAILER;
    return 0;
}

/* Of a chunk's size, of its end, of the trailer: what stands there is not passed on. */
static int take_line(struct port_answer *answer, char byte)
{
    if (answer->used == LINE_MAX)
        return -EPROTO;
    answer->head[answer->used++] = byte;
    if (byte != '\n')
        return 0;
    bool empty = answer->used == 1 || (answer->used == 2 && answer->head[0] == '\r');
    int r = 0;
    if (answer->state == PORT_CHUNK_SIZE)
        r = end_of_size(answer);
    else if (answer->state == PORT_TRAILER)
        answer->state = empty ? PORT_WHOLE : PORT_TRAILER;
    else if (empty)
        answer->state = PORT_CHUNK_SIZE;
    else
        r = -EPROTO;
    answer->used = 0;
    return r;
}

/* ---- all of it ---- */

static size_t pass(struct port_answer *answer, const uint8_t *data, size_t len,
                   const struct port_events *events, void *userdata)
{
    bool to_end = answer->state == PORT_TO_END;
    size_t here = !to_end && answer->left < len ? (size_t)answer->left : len;
    events->body(userdata, data, here);
    if (to_end)
        return here;
    answer->left -= here;
    if (answer->left == 0)
        answer->state = answer->state == PORT_CHUNK ? PORT_CHUNK_END : PORT_WHOLE;
    return here;
}

int port_answer_take(struct port_answer *answer, const uint8_t *data, size_t len,
                     const struct port_events *events, void *userdata)
{
    int r = 0;
    for (size_t at = 0; at < len && r == 0 && answer->state != PORT_WHOLE;) {
        if (answer->state == PORT_LENGTH || answer->state == PORT_CHUNK || answer->state == PORT_TO_END)
            at += pass(answer, data + at, len - at, events, userdata);
        else if (answer->state == PORT_HEAD)
            r = take_head(answer, (char)data[at++], events, userdata);
        else
            r = take_line(answer, (char)data[at++]);
    }
    return r < 0 ? r : answer->state == PORT_WHOLE;
}

int port_answer_end(const struct port_answer *answer)
{
    return answer->state == PORT_WHOLE || answer->state == PORT_TO_END ? 0 : -EPROTO;
}
