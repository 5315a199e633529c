/* One request to the keeper. The keeper is believed more than a client, but what it sends is bounded and
 * checked all the same: it passes on what cells said. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "gate/parts.h"

static void free_ask(struct ask *ask)
{
    if (ask->link) {
        link_leave(ask->link, ask);
    } else {
        TAILQ_REMOVE(&ask->gate->waiting, ask, entry);
        ask->gate->n_waiting--;
    }
    sc_keeper_text_fini(&ask->reply);
    free(ask->text);
    free(ask);
}

/* The last word; the ask is gone before its owner goes on. */
static void tell(struct ask *ask, const char *ok, size_t len, const json_t *error)
{
    const struct ask_events *events = ask->events;
    struct sc_keeper_text reply = ask->reply; /* `ok` lies in it */
    void *userdata = ask->userdata;
    ask->reply = (struct sc_keeper_text){0};
    free_ask(ask);
    if (userdata)
        events->done(userdata, ok, len, error);
    sc_keeper_text_fini(&reply);
}

void ask_fail(struct ask *ask, const char *kind, const char *message)
{
    json_t *error = json_pack("{s:s, s:s, s:s}", "kind", kind, "field", "", "message", message);
    tell(ask, NULL, 0, error);
    json_decref(error);
}

/* ---- out ---- */

static int send_piece(void *userdata, uint16_t type, uint16_t channel, const void *head, size_t head_len,
                      const void *piece, size_t piece_len)
{
    return link_send(userdata, type, channel, head, head_len, piece, piece_len);
}

void ask_send(struct ask *ask)
{
    (void)sc_keeper_text_send(send_piece, ask->link, SC_KEEPER_REQUEST, SC_KEEPER_MORE, ask->channel,
                              ask->text, ask->len);
    free(ask->text);
    ask->text = NULL;
    if (ask->credit && ask->events->credit && ask->userdata)
        ask->events->credit(ask->userdata);
}

struct ask *ask_begin(struct gate *gate, json_t *request, const char *as, bool streams,
                      const struct ask_events *events, void *userdata, int *ret_why)
{
    bool whole = request && (!as || json_object_set_new(request, "as", json_string(as)) == 0);
    char *text = whole ? sc_json_dump(request, JSON_COMPACT) : NULL;
    struct ask *ask = text ? calloc(1, sizeof *ask) : NULL;
    json_decref(request);
    *ret_why = -ENOMEM;
    if (!ask) {
        free(text);
        return NULL;
    }
    *ask = (struct ask){.gate = gate,
                        .events = events,
                        .userdata = userdata,
                        .streams = streams,
                        .text = text,
                        .len = strlen(text),
                        .credit = SC_KEEPER_INPUT_WINDOW,
                        .since_ns = sc_now_ns()};
    if (ask->len > SC_KEEPER_REQUEST_MAX)
        *ret_why = -EMSGSIZE;
    else
        *ret_why = link_assign(gate, ask);
    if (*ret_why < 0) {
        free(ask->text);
        free(ask);
        return NULL;
    }
    gate->counters.asks++;
    return ask;
}

int ask_input(struct ask *ask, const void *data, size_t len)
{
    const uint8_t *at = data;
    int r = 0;
    if (!ask->link || len > ask->credit)
        return -EAGAIN;
    ask->credit -= len;
    while (len > 0 && r == 0) {
        size_t piece = len < SC_FRAME_MAX ? len : SC_FRAME_MAX;
        r = link_send(ask->link, SC_KEEPER_DATA, ask->channel, NULL, 0, at, piece);
        at += piece;
        len -= piece;
    }
    return r;
}

static int send_bare(struct ask *ask, enum sc_keeper_message type)
{
    return link_send(ask->link, (uint16_t)type, ask->channel, NULL, 0, NULL, 0);
}

int ask_input_end(struct ask *ask)
{
    return ask->link ? send_bare(ask, SC_KEEPER_DATA_END) : -EAGAIN;
}

int ask_resize(struct ask *ask, uint16_t rows, uint16_t cols)
{
    const struct sc_keeper_size size = {rows, cols};
    if (!ask->link)
        return -EAGAIN;
    return link_send(ask->link, SC_KEEPER_RESIZE, ask->channel, NULL, 0, &size, sizeof size);
}

void ask_cancel(struct ask *ask)
{
    if (ask->cancelled)
        return;
    ask->cancelled = true;
    if (ask->link)
        (void)send_bare(ask, SC_KEEPER_CANCEL);
    else
        ask_fail(ask, "cancelled", "cancelled before the keeper was asked");
}

void ask_forget(struct ask *ask)
{
    ask->userdata = NULL;
    /* What is left of its output must be read past. */
    if (ask->link && ask->streams)
        link_pause(ask->link, false);
    ask_cancel(ask);
}

/* ---- in ---- */

static void take_reply(struct ask *ask)
{
    static const char ok[] = "{\"ok\":";
    const char *text = ask->reply.buf.data ? (const char *)ask->reply.buf.data : "";
    size_t len = ask->reply.buf.len, head = sizeof ok - 1;
    json_t *object = NULL;
    json_error_t where;
    /* As the keeper writes it; what stands inside is JSON of its own making and goes on as it is. */
    if (len > head + 1 && !memcmp(text, ok, head) && text[len - 1] == '}') {
        tell(ask, text + head, len - head - 1, NULL);
        return;
    }
    (void)sc_json_load(text, len, JSON_ALLOW_NUL, &object, &where);
    const json_t *error = json_object_get(object, "error");
    if (json_is_object(error))
        tell(ask, NULL, 0, error);
    else
        ask_fail(ask, "sandbox", "the keeper's answer could not be read");
    json_decref(object);
}

static void take_text(struct ask *ask, const struct sc_frame *frame, const uint8_t *payload)
{
    int r = frame->type == SC_KEEPER_REPLY
                ? sc_keeper_text_first(&ask->reply, frame->channel, payload, frame->len, SC_KEEPER_REPLY_MAX)
                : sc_keeper_text_more(&ask->reply, frame->channel, payload, frame->len);
    if (r == 1)
        take_reply(ask);
    else if (r < 0)
        ask_fail(ask, "sandbox", "the keeper's answer could not be read");
}

static void take_output(struct ask *ask, const uint8_t *payload, size_t len)
{
    struct sc_keeper_output_head head;
    if (len < sizeof head)
        return;
    memcpy(&head, payload, sizeof head);
    if (ask->userdata && ask->events->output)
        ask->events->output(ask->userdata, (enum sc_keeper_stream)head.stream, payload + sizeof head,
                            len - sizeof head);
}

static void take_credit(struct ask *ask, const uint8_t *payload, size_t len)
{
    uint32_t more;
    if (len != sizeof more)
        return;
    memcpy(&more, payload, sizeof more);
    if (more > SC_KEEPER_INPUT_WINDOW - ask->credit)
        more = (uint32_t)(SC_KEEPER_INPUT_WINDOW - ask->credit);
    ask->credit += more;
    if (ask->userdata && ask->events->credit)
        ask->events->credit(ask->userdata);
}

void ask_take(struct ask *ask, const struct sc_frame *frame, const uint8_t *payload)
{
    switch (frame->type) {
    case SC_KEEPER_OUTPUT:
        take_output(ask, payload, frame->len);
        return;
    case SC_KEEPER_CREDIT:
        take_credit(ask, payload, frame->len);
        return;
    case SC_KEEPER_REPLY:
    case SC_KEEPER_REPLY_MORE:
        take_text(ask, frame, payload);
        return;
    default:
        ask_fail(ask, "sandbox", "the keeper's answer could not be read");
    }
}
