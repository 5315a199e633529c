/* libFuzzer target: both sides of the MCP engine are hostile, its client and what comes out of the cell.
 * Input: rows of kind, length (2 bytes), bytes. Kinds: a message of the client's; output of the last call on
 * a stream; the reply to the last call as JSON; the keeper gone. Every message that the engine sends must be
 * one that JSON can tell. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "gate/mcp/mcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct place {
    uint32_t last;
};

static void on_send(void *userdata, const json_t *message, const json_t *about)
{
    char *text = sc_json_dump(message, JSON_COMPACT);
    (void)userdata;
    (void)about;
    if (!text || strchr(text, '\n') || !json_is_string(json_object_get(message, "jsonrpc")))
        abort();
    free(text);
}

static int on_ask(void *userdata, json_t *request, const void *input, size_t len, uint32_t *ret_call,
                  struct sc_err *err)
{
    struct place *place = userdata;
    (void)err;
    if (!json_is_string(json_object_get(request, "request")) || (len && !input))
        abort();
    json_decref(request);
    *ret_call = ++place->last;
    return 0;
}

static void on_cancel(void *userdata, uint32_t call)
{
    if (call == 0 || call > ((struct place *)userdata)->last)
        abort();
}

static void reply(struct sc_mcp *mcp, uint32_t call, const char *text, size_t len)
{
    json_t *value = NULL;
    json_error_t where;
    if (sc_json_load(text, len, JSON_ALLOW_NUL, &value, &where) == 0)
        sc_mcp_reply(mcp, call, value);
    json_decref(value);
}

static void take_row(struct sc_mcp *mcp, struct place *place, uint8_t kind, const char *bytes, size_t len)
{
    uint32_t call = place->last > (kind >> 4) ? place->last - (kind >> 4) : place->last;
    switch (kind % 8) {
    case 0:
    case 1:
        sc_mcp_take(mcp, bytes, len);
        break;
    case 2:
    case 3:
    case 4:
    case 5:
        sc_mcp_output(mcp, call, kind % 8 - 1, bytes, len);
        break;
    case 6:
        reply(mcp, call, bytes, len);
        break;
    default:
        sc_mcp_reply(mcp, call, NULL);
        sc_mcp_tick(mcp);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char first[] = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":"
                                "{\"protocolVersion\":\"2025-11-25\"}}";
    struct place place = {0};
    const struct sc_mcp_around around = {
        .userdata = &place, .send = on_send, .ask = on_ask, .cancel = on_cancel};
    const struct sc_mcp_options options = {.spec = json_object(), .idle_ms = 60000, .total_ms = 60000};
    struct sc_mcp *mcp = NULL;
    if (sc_mcp_new(&around, &options, &mcp, NULL) < 0)
        abort();
    sc_mcp_take(mcp, first, strlen(first));
    while (size >= 3) {
        size_t len = data[1] | (size_t)data[2] << 8;
        len = len < size - 3 ? len : size - 3;
        char *copy = malloc(len ? len : 1); /* of its own, so that a byte too far is seen */
        memcpy(copy, data + 3, len);
        take_row(mcp, &place, data[0], copy, len);
        free(copy);
        data += 3 + len;
        size -= 3 + len;
    }
    sc_mcp_end(mcp);
    sc_mcp_free(mcp);
    json_decref(options.spec);
    return 0;
}
