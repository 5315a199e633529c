#include "keeper/wire.h"

#include <errno.h>
#include <string.h>

#define ANY_TIME (SC_KEEPER_READY | SC_KEEPER_TEXT)
#define HELLO_SIZE sizeof(struct sc_keeper_hello)
#define SIZE_SIZE sizeof(struct sc_keeper_size)

#define BOTH (SC_KEEPER_CLIENT | SC_KEEPER_GATE)

/* One message to the keeper: the states it may come in, the kinds of connection it may come from, its sizes,
 * and whether it is about a request. */
struct rule {
    unsigned states, kinds;
    uint32_t least, most;
    uint16_t type;
    bool about_request;
};

static const struct rule RULES[] = {
    {SC_KEEPER_NEW, SC_KEEPER_CLIENT, HELLO_SIZE, HELLO_SIZE, SC_KEEPER_HELLO, false},
    {SC_KEEPER_NEW, SC_KEEPER_GATE, HELLO_SIZE, HELLO_SIZE, SC_KEEPER_HELLO_GATE, false},
    {SC_KEEPER_READY, BOTH, sizeof(struct sc_keeper_text_head) + 1, SC_FRAME_MAX, SC_KEEPER_REQUEST, true},
    {SC_KEEPER_TEXT, BOTH, 1, SC_FRAME_MAX, SC_KEEPER_MORE, true},
    {ANY_TIME, BOTH, 1, SC_FRAME_MAX, SC_KEEPER_DATA, true},
    {ANY_TIME, BOTH, 0, 0, SC_KEEPER_DATA_END, true},
    {ANY_TIME, BOTH, 0, 0, SC_KEEPER_CANCEL, true},
    {ANY_TIME, BOTH, SIZE_SIZE, SIZE_SIZE, SC_KEEPER_RESIZE, true},
};

int sc_keeper_message_ok(const struct sc_frame *frame, enum sc_keeper_state state, enum sc_keeper_kind kind)
{
    for (size_t i = 0; i < sizeof RULES / sizeof *RULES; i++) {
        const struct rule *rule = &RULES[i];
        if (rule->type != frame->type)
            continue;
        bool ok = (rule->states & state) && (rule->kinds & kind) && frame->len >= rule->least &&
                  frame->len <= rule->most && rule->about_request == (frame->channel != 0);
        return ok ? 0 : -EPROTO;
    }
    return -EPROTO;
}

static int add_piece(struct sc_keeper_text *text, const void *piece, size_t len)
{
    if (len > text->total - text->buf.len)
        return -EPROTO;
    int r = sc_buf_add(&text->buf, piece, len);
    return r < 0 ? r : text->buf.len == text->total;
}

int sc_keeper_text_first(struct sc_keeper_text *text, uint16_t channel, const void *payload, size_t len,
                         size_t max)
{
    struct sc_keeper_text_head head;
    if (text->open || len < sizeof head)
        return -EPROTO;
    memcpy(&head, payload, sizeof head);
    if (head.total > max)
        return -EMSGSIZE;
    *text = (struct sc_keeper_text){.open = true, .channel = channel, .total = head.total};
    sc_buf_init(&text->buf, head.total);
    return add_piece(text, (const uint8_t *)payload + sizeof head, len - sizeof head);
}

int sc_keeper_text_more(struct sc_keeper_text *text, uint16_t channel, const void *payload, size_t len)
{
    if (!text->open || text->channel != channel || len == 0)
        return -EPROTO;
    return add_piece(text, payload, len);
}

void sc_keeper_text_fini(struct sc_keeper_text *text)
{
    sc_buf_fini(&text->buf);
    *text = (struct sc_keeper_text){0};
}

int sc_keeper_text_send(sc_keeper_send *send, void *userdata, uint16_t first, uint16_t more, uint16_t channel,
                        const char *text, size_t len)
{
    const struct sc_keeper_text_head head = {.total = (uint32_t)len};
    size_t piece = len < SC_FRAME_MAX - sizeof head ? len : SC_FRAME_MAX - sizeof head;
    if (len > UINT32_MAX)
        return -EMSGSIZE;
    int r = send(userdata, first, channel, &head, sizeof head, text, piece);
    for (size_t at = piece; at < len && r >= 0; at += piece) {
        piece = len - at < SC_FRAME_MAX ? len - at : SC_FRAME_MAX;
        r = send(userdata, more, channel, NULL, 0, text + at, piece);
    }
    return r < 0 ? r : 0;
}
