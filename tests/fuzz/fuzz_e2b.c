/* libFuzzer target: what the front for E2B's clients reads itself. The first byte picks the reader: a Host; a
 * token or a key; a query; a Range; a frame; a body of JSON as a network, as metadata, as forms of a value; a
 * cell of Python. Whatever comes, what is read has the form that its header promises. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "gate/e2b/e2b.h"
#include "gate/e2b/files.h"
#include "gate/e2b/shell.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Nobody is answered here. */
struct e2b_call *e2b_call(struct request *request)
{
    (void)request;
    return NULL;
}
void problem(struct request *request, const char *kind, const char *field, const char *format, ...)
{
    (void)request, (void)kind, (void)field, (void)format;
}
void problem_begin(struct request *request, int why)
{
    (void)request, (void)why;
}
void answer_json(struct request *request, unsigned status, json_t *value)
{
    (void)request, (void)status;
    json_decref(value);
}
void answer_stream(struct request *request, unsigned status, const char *type)
{
    (void)request, (void)status, (void)type;
}
void stream_bytes(struct request *request, const void *data, size_t len)
{
    (void)request, (void)data, (void)len;
}
void stream_end(struct request *request)
{
    (void)request;
}
void stream_break(struct request *request)
{
    (void)request;
}
const char *MHD_lookup_connection_value(struct MHD_Connection *connection, enum MHD_ValueKind kind,
                                        const char *key)
{
    (void)connection, (void)kind, (void)key;
    return NULL;
}

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void read_host(const char *text)
{
    unsigned port = 0;
    char id[65];
    int r = e2b_read_host(text, &port, id);
    const char *domain = e2b_domain(text);
    check((r == 0) == (domain != NULL));
    if (r == 0)
        check(port >= 1 && port <= 65535 && *id && !strpbrk(id, "-./: \r\n") && domain > text &&
              domain[-1] == '.');
}

static void read_keys(const char *text)
{
    char room[96], id[E2B_ID + 1], secret[E2B_SECRET + 1];
    const char *key = e2b_key(text, room, sizeof room);
    check(key == text || !*key || (strlen(key) == 85 && !strncmp(key, "sck_", 4)));
    if (e2b_read_token(text, id, secret) == 0)
        check(strlen(id) == E2B_ID && strlen(secret) == E2B_SECRET && !strncmp(text, id, E2B_ID));
}

static void read_query(const char *text)
{
    struct request request = {.query_text = text};
    for (unsigned n = 0; n < 3; n++) {
        char *value = e2b_query(&request, "path", n), *path = value ? e2b_path(value) : NULL;
        check(!value || (sc_utf8_valid(value, strlen(value)) && path && *path == '/'));
        free(path);
        free(value);
    }
}

static void read_range(const char *text, uint64_t size)
{
    uint64_t at = 0, len = 0;
    if (files_range(text, size, &at, &len) > 0)
        check(len > 0 && at < size && len <= size - at);
}

static void read_frame(const uint8_t *data, size_t size)
{
    const char *payload;
    size_t len;
    if (connect_read(data, size, &payload, &len) == 0)
        check((const uint8_t *)payload == data + CONNECT_HEAD && len == size - CONNECT_HEAD);
}

/* No rule that was asked for is lost, and nothing that is closed comes out open. */
static void read_network(const json_t *body)
{
    char why[200] = "";
    json_t *network = NULL;
    if (e2b_network(body, &network, why, sizeof why) < 0) {
        check(!network && *why);
        return;
    }
    const char *mode = e2b_text(network, "mode");
    const json_t *allowed = json_object_get(body, "allowOut");
    bool closed = json_is_false(json_object_get(body, "allow_internet_access")) ||
                  json_array_size(json_object_get(body, "denyOut")) > 0;
    check(closed == (strcmp(mode, "open") != 0));
    check(!closed || json_array_size(json_object_get(network, "rules")) == json_array_size(allowed));
    json_decref(network);
}

static void read_metadata(const json_t *body)
{
    const char *name = NULL, *key;
    json_t *kept = json_object(), *value;
    if (e2b_put_metadata(kept, body, &name) == 0) {
        json_t *back = e2b_take_metadata(kept);
        check(json_equal(back, body));
        json_decref(back);
    }
    json_object_foreach(kept, key, value) check(strncmp(key, "e2b..", 5) != 0 && strlen(key) <= 64);
    json_decref(kept);
}

static void read_json(uint8_t kind, const char *text, size_t len)
{
    json_error_t where;
    json_t *body = NULL;
    if (sc_json_count(text, len) > 10000 ||
        sc_json_load(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &body, &where) < 0)
        return;
    if (json_is_object(body) && kind == 5)
        read_network(body);
    else if (json_is_object(body) && kind == 6)
        read_metadata(body);
    else if (json_is_object(body))
        json_decref(e2b_result(body, true));
    json_decref(body);
}

/* What is no command stays as it is; of commands each is one line. */
static void read_cell(const char *text, size_t len)
{
    json_t *code = json_stringn(text, len);
    if (!code)
        return; /* no UTF-8 */
    json_t *made = shell_code(code);
    check(made != NULL);
    const char *line = json_string_value(made);
    while (made != code && *line) {
        check(!strncmp(line, "__import__", strlen("__import__")));
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    json_decref(made);
    json_decref(code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 65536)
        return 0;
    const uint8_t kind = data[0] % 9;
    char *text = strndup((const char *)data + 1, size - 1);
    switch (kind) {
    case 0:
        read_host(text);
        break;
    case 1:
        read_keys(text);
        break;
    case 2:
        read_query(text);
        break;
    case 3:
        read_range(text, data[0]);
        break;
    case 4:
        read_frame(data + 1, size - 1);
        break;
    case 8:
        read_cell((const char *)data + 1, size - 1);
        break;
    default:
        read_json(kind, (const char *)data + 1, size - 1);
        break;
    }
    free(text);
    return 0;
}
