#include "keeper/calls.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "keeper/wire.h"

#define QUEUE_MAX (2 * SC_KEEPER_REQUEST_MAX) /* bytes that wait to go out */
#define PIECE_MAX (32u * 1024)

struct asked {
    TAILQ_ENTRY(asked) entry;
    uint16_t channel;
    bool cancelled, input_over;
    struct sc_buf input;
    size_t given, credit;
    struct sc_keeper_text reply;
};

struct sc_keeper_calls {
    struct sc_keeper_calls_events events;
    int sock;
    uint16_t last; /* channel that was given out last */
    unsigned n_asked;
    TAILQ_HEAD(, asked) asked;
    struct sc_buf out;
    size_t sent; /* of `out` */
    struct sc_frame_reader reader;
};

/* ---- what goes ---- */

static int queue_frame(void *userdata, uint16_t type, uint16_t channel, const void *head, size_t head_len,
                       const void *piece, size_t piece_len)
{
    struct sc_keeper_calls *calls = userdata;
    const struct sc_frame frame = {(uint32_t)(head_len + piece_len), type, channel};
    uint8_t *room = sc_buf_reserve(&calls->out, sizeof frame + head_len + piece_len);
    if (!room)
        return -ENOMEM;
    memcpy(room, &frame, sizeof frame);
    if (head_len)
        memcpy(room + sizeof frame, head, head_len);
    if (piece_len)
        memcpy(room + sizeof frame + head_len, piece, piece_len);
    sc_buf_took(&calls->out, sizeof frame + head_len + piece_len);
    return 0;
}

static int queue_bare(struct sc_keeper_calls *calls, enum sc_keeper_message type, uint16_t channel)
{
    return queue_frame(calls, (uint16_t)type, channel, NULL, 0, NULL, 0);
}

/* As much input as there is credit for, then its end. */
static int queue_input(struct sc_keeper_calls *calls, struct asked *asked)
{
    int r = 0;
    while (r == 0 && !asked->input_over && asked->given < asked->input.len && asked->credit > 0) {
        size_t n = asked->input.len - asked->given;
        n = n < asked->credit ? n : asked->credit;
        n = n < PIECE_MAX ? n : PIECE_MAX;
        r = queue_frame(calls, SC_KEEPER_DATA, asked->channel, NULL, 0, asked->input.data + asked->given, n);
        asked->given += n;
        asked->credit -= n;
    }
    if (r == 0 && !asked->input_over && asked->given == asked->input.len) {
        asked->input_over = true;
        r = queue_bare(calls, SC_KEEPER_DATA_END, asked->channel);
    }
    return r;
}

static int send_queued(struct sc_keeper_calls *calls)
{
    while (calls->sent < calls->out.len) {
        ssize_t n = send(calls->sock, calls->out.data + calls->sent, calls->out.len - calls->sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -errno;
        calls->sent += (size_t)n;
    }
    calls->out.len = calls->sent = 0;
    return 0;
}

/* ---- what comes ---- */

static struct asked *by_channel(const struct sc_keeper_calls *calls, uint32_t channel)
{
    struct asked *asked;
    TAILQ_FOREACH(asked, &calls->asked, entry)
    {
        if (asked->channel == channel)
            return asked;
    }
    return NULL;
}

static void asked_free(struct sc_keeper_calls *calls, struct asked *asked)
{
    TAILQ_REMOVE(&calls->asked, asked, entry);
    calls->n_asked--;
    sc_buf_fini(&asked->input);
    sc_keeper_text_fini(&asked->reply);
    free(asked);
}

/* The channel is free before anybody is told, who may ask again at once. */
static void answer(struct sc_keeper_calls *calls, struct asked *asked, const json_t *reply)
{
    uint16_t channel = asked->channel;
    asked_free(calls, asked);
    calls->events.reply(calls->events.userdata, channel, reply);
}

static int take_reply(struct sc_keeper_calls *calls, struct asked *asked)
{
    json_t *reply = NULL;
    json_error_t where;
    const struct sc_buf *text = &asked->reply.buf;
    int r = sc_json_load(text->data ? (char *)text->data : "", text->len, JSON_ALLOW_NUL, &reply, &where);
    if (r < 0)
        return r == -ENOMEM ? r : -EPROTO;
    answer(calls, asked, reply);
    json_decref(reply);
    return 0;
}

static int take_output(struct sc_keeper_calls *calls, const struct asked *asked, const uint8_t *payload,
                       size_t len)
{
    struct sc_keeper_output_head head;
    if (len < sizeof head)
        return -EPROTO;
    memcpy(&head, payload, sizeof head);
    calls->events.output(calls->events.userdata, asked->channel, (int)head.stream, payload + sizeof head,
                         len - sizeof head);
    return 0;
}

static int take_credit(struct sc_keeper_calls *calls, struct asked *asked, const uint8_t *payload, size_t len)
{
    uint32_t more;
    if (len != sizeof more)
        return -EPROTO;
    memcpy(&more, payload, sizeof more);
    if (more > SC_KEEPER_INPUT_WINDOW - asked->credit)
        return -EPROTO;
    asked->credit += more;
    return queue_input(calls, asked);
}

static int take_frame(struct sc_keeper_calls *calls, const struct sc_frame *frame, const uint8_t *payload)
{
    struct asked *asked = by_channel(calls, frame->channel);
    if (!asked)
        return -EPROTO;
    int r;
    switch (frame->type) {
    case SC_KEEPER_OUTPUT:
        return take_output(calls, asked, payload, frame->len);
    case SC_KEEPER_CREDIT:
        return take_credit(calls, asked, payload, frame->len);
    case SC_KEEPER_REPLY:
        r = sc_keeper_text_first(&asked->reply, frame->channel, payload, frame->len, SC_KEEPER_REPLY_MAX);
        break;
    case SC_KEEPER_REPLY_MORE:
        r = sc_keeper_text_more(&asked->reply, frame->channel, payload, frame->len);
        break;
    default:
        return -EPROTO;
    }
    return r == 1 ? take_reply(calls, asked) : r;
}

static int take_bytes(struct sc_keeper_calls *calls)
{
    struct sc_frame frame;
    const uint8_t *payload;
    ssize_t n = sc_frame_fill(&calls->reader, calls->sock, NULL, NULL);
    if (n == -EAGAIN || n == -EINTR)
        return 0;
    if (n <= 0)
        return n == 0 ? -EPIPE : (int)n;
    int r;
    while ((r = sc_frame_next(&calls->reader, &frame, &payload)) > 0) {
        r = take_frame(calls, &frame, payload);
        if (r < 0)
            return r;
    }
    return r;
}

int sc_keeper_calls_step(struct sc_keeper_calls *calls, struct sc_err *err)
{
    int r = take_bytes(calls);
    if (r == 0)
        r = send_queued(calls);
    if (r == 0)
        return 0;
    /* What callers ask for now would wait for ever; each of them is told at once. */
    sc_close(&calls->sock);
    while (!TAILQ_EMPTY(&calls->asked))
        answer(calls, TAILQ_FIRST(&calls->asked), NULL);
    return sc_err_sys(err, r, "keeper: the connection ended");
}

/* ---- asking ---- */

static uint16_t free_channel(struct sc_keeper_calls *calls)
{
    do
        calls->last = calls->last == UINT16_MAX ? 1 : (uint16_t)(calls->last + 1);
    while (by_channel(calls, calls->last));
    return calls->last;
}

static int queue_request(struct sc_keeper_calls *calls, struct asked *asked, const json_t *request,
                         struct sc_err *err)
{
    char *text = sc_json_dump(request, JSON_COMPACT);
    size_t len = text ? strlen(text) : 0;
    int r = text ? 0 : sc_err_sys(err, -ENOMEM, "request");
    if (len > SC_KEEPER_REQUEST_MAX)
        r = sc_err_set(err, SC_ERR_USAGE, -EMSGSIZE, "request: at most %u bytes are allowed",
                       SC_KEEPER_REQUEST_MAX);
    if (r == 0) {
        r = sc_keeper_text_send(queue_frame, calls, SC_KEEPER_REQUEST, SC_KEEPER_MORE, asked->channel, text,
                                len);
        if (r < 0)
            sc_err_sys(err, r, "request");
    }
    free(text);
    return r;
}

int sc_keeper_calls_ask(struct sc_keeper_calls *calls, json_t *request, const void *input, size_t len,
                        uint32_t *ret_call, struct sc_err *err)
{
    size_t queued = calls->out.len;
    int r = 0;
    if (calls->sock < 0)
        r = sc_err_set(err, SC_ERR_SANDBOX, -EPIPE, "keeper: it went away");
    else if (calls->n_asked >= SC_KEEPER_CALLS_MAX)
        r = sc_err_set(err, SC_ERR_HOST, -EAGAIN, "keeper: %d requests are under way: that is the most",
                       SC_KEEPER_CALLS_MAX);
    struct asked *asked = r == 0 ? calloc(1, sizeof *asked) : NULL;
    if (!asked) {
        json_decref(request);
        return r < 0 ? r : sc_err_sys(err, -ENOMEM, "request");
    }
    asked->channel = free_channel(calls);
    asked->credit = SC_KEEPER_INPUT_WINDOW;
    sc_buf_init(&asked->input, SC_KEEPER_REQUEST_MAX);
    TAILQ_INSERT_TAIL(&calls->asked, asked, entry);
    calls->n_asked++;
    r = queue_request(calls, asked, request, err);
    json_decref(request);
    asked->input_over = !input;
    if (r == 0 && (sc_buf_add(&asked->input, input ? input : "", len) < 0 || queue_input(calls, asked) < 0))
        r = sc_err_sys(err, -ENOMEM, "request");
    if (r < 0) {
        calls->out.len = queued; /* nothing of it has been sent */
        asked_free(calls, asked);
        return r;
    }
    *ret_call = asked->channel;
    return 0;
}

void sc_keeper_calls_cancel(struct sc_keeper_calls *calls, uint32_t call)
{
    struct asked *asked = by_channel(calls, call);
    if (!asked || asked->cancelled || calls->sock < 0)
        return;
    asked->cancelled = asked->input_over = true;
    /* Without memory for ten bytes the call goes on to its own end. */
    (void)queue_bare(calls, SC_KEEPER_CANCEL, asked->channel);
}

/* ---- coming and going ---- */

int sc_keeper_calls_open(int sock, const struct sc_keeper_calls_events *events,
                         struct sc_keeper_calls **ret_calls, struct sc_err *err)
{
    struct sc_keeper_calls *calls = calloc(1, sizeof *calls);
    int r = calls ? sc_set_nonblocking(sock) : -ENOMEM;
    if (r < 0) {
        free(calls);
        sc_close(&sock);
        return sc_err_sys(err, r, "keeper");
    }
    calls->events = *events;
    calls->sock = sock;
    TAILQ_INIT(&calls->asked);
    sc_buf_init(&calls->out, QUEUE_MAX);
    *ret_calls = calls;
    return 0;
}

void sc_keeper_calls_close(struct sc_keeper_calls *calls)
{
    if (!calls)
        return;
    while (!TAILQ_EMPTY(&calls->asked))
        asked_free(calls, TAILQ_FIRST(&calls->asked));
    sc_close(&calls->sock);
    sc_buf_fini(&calls->out);
    free(calls);
}

int sc_keeper_calls_fd(const struct sc_keeper_calls *calls)
{
    return calls->sock;
}

short sc_keeper_calls_poll(const struct sc_keeper_calls *calls)
{
    return (short)(POLLIN | (calls->sent < calls->out.len ? POLLOUT : 0));
}
