/* One connection: its frames in and out. What a client sends is bounded by the table of wire.c, by the credit
 * of its calls, and by their number; what waits for it by peer_has_room and SC_KEEPER_QUEUE_MAX. */
#include <errno.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "keeper/parts.h"
#include "keeper/reply.h"

/* Ends the peer from the event loop, not under the feet of who is just at work with it. */
static void break_off(struct peer *peer)
{
    if (peer->broken)
        return;
    peer->broken = true;
    bufferevent_disable(peer->stream, EV_READ);
    bufferevent_trigger_event(peer->stream, BEV_EVENT_ERROR, BEV_TRIG_DEFER_CALLBACKS);
}

static int send_frame(void *userdata, uint16_t type, uint16_t channel, const void *head, size_t head_len,
                      const void *piece, size_t piece_len)
{
    struct peer *peer = userdata;
    struct evbuffer *out = bufferevent_get_output(peer->stream);
    const struct sc_frame frame = {.len = (uint32_t)(head_len + piece_len), .type = type, .channel = channel};
    if (peer->broken)
        return -EPIPE;
    int r = evbuffer_add(out, &frame, sizeof frame);
    if (r == 0 && head_len)
        r = evbuffer_add(out, head, head_len);
    if (r == 0 && piece_len)
        r = evbuffer_add(out, piece, piece_len);
    /* Half a frame cannot be taken back. */
    if (r < 0 || evbuffer_get_length(out) > SC_KEEPER_QUEUE_MAX)
        break_off(peer);
    return r < 0 ? -ENOMEM : 0;
}

void peer_output(struct peer *peer, uint16_t channel, enum sc_keeper_stream stream, const void *data,
                 size_t len)
{
    const struct sc_keeper_output_head head = {.stream = stream};
    const uint8_t *at = data;
    while (len > 0) {
        size_t piece = len < SC_FRAME_MAX - sizeof head ? len : SC_FRAME_MAX - sizeof head;
        if (send_frame(peer, SC_KEEPER_OUTPUT, channel, &head, sizeof head, at, piece) < 0)
            return;
        at += piece;
        len -= piece;
    }
}

void peer_credit(struct peer *peer, uint16_t channel, size_t bytes)
{
    const uint32_t more = (uint32_t)bytes;
    (void)send_frame(peer, SC_KEEPER_CREDIT, channel, &more, sizeof more, NULL, 0);
}

void peer_reply(struct peer *peer, uint16_t channel, char *text)
{
    static const char no_memory[] =
        "{\"error\": {\"kind\": \"sandbox\", \"field\": \"\", \"message\": \"keeper: out of memory\"}}";
    static const char too_large[] = "{\"error\": {\"kind\": \"usage\", \"field\": \"output\", \"message\": "
                                    "\"output: the reply would be too large; ask for stream\"}}";
    const char *said = text ? text : no_memory;
    if (strlen(said) > SC_KEEPER_REPLY_MAX)
        said = too_large;
    (void)sc_keeper_text_send(send_frame, peer, SC_KEEPER_REPLY, SC_KEEPER_REPLY_MORE, channel, said,
                              strlen(said));
    free(text);
}

bool peer_has_room(const struct peer *peer)
{
    return evbuffer_get_length(bufferevent_get_output(peer->stream)) < SC_KEEPER_QUEUE_ROOM;
}

bool peer_let_out(struct peer *peer)
{
    bufferevent_disable(peer->stream, EV_READ);
    return !peer->broken && evbuffer_get_length(bufferevent_get_output(peer->stream)) > 0;
}

/* ---- what comes ---- */

static int take_hello(struct peer *peer, const uint8_t *payload)
{
    struct sc_keeper_hello hello;
    memcpy(&hello, payload, sizeof hello);
    if (hello.magic != SC_KEEPER_MAGIC)
        return -EPROTO;
    /* One of another version learns ours, and is cut off when it goes on all the same. */
    const struct sc_keeper_hello ours = {SC_KEEPER_MAGIC, SC_KEEPER_VERSION};
    if (hello.version == SC_KEEPER_VERSION)
        peer->state = SC_KEEPER_READY;
    return send_frame(peer, SC_KEEPER_WELCOME, 0, &ours, sizeof ours, NULL, 0);
}

/* The text is whole. */
static void take_request(struct peer *peer)
{
    struct sc_keeper_request request;
    struct sc_err err = {0};
    uint16_t channel = peer->text.channel;
    const char *text = peer->text.buf.data ? (const char *)peer->text.buf.data : "";
    if (sc_keeper_request_read(&request, text, peer->text.buf.len, &err) < 0)
        peer_reply(peer, channel, sc_keeper_reply_err(&err));
    else
        call_begin(peer, channel, &request);
    sc_keeper_request_fini(&request);
}

static bool is_taken(struct peer *peer, uint16_t channel)
{
    return call_by_channel(peer, channel) || ticket_by_channel(peer, channel) ||
           watcher_by_channel(peer, channel) || judging_by_channel(peer, channel);
}

static int take_text(struct peer *peer, const struct sc_frame *frame, const uint8_t *payload)
{
    bool first = frame->type == SC_KEEPER_REQUEST;
    if (first && is_taken(peer, frame->channel))
        return -EPROTO;
    int r =
        first ? sc_keeper_text_first(&peer->text, frame->channel, payload, frame->len, SC_KEEPER_REQUEST_MAX)
              : sc_keeper_text_more(&peer->text, frame->channel, payload, frame->len);
    if (r < 0)
        return r;
    peer->state = r == 0 ? SC_KEEPER_TEXT : SC_KEEPER_READY;
    if (r == 1) {
        take_request(peer);
        sc_keeper_text_fini(&peer->text);
    }
    return 0;
}

/* A call that has been answered already is no mistake: the reply may have crossed this frame. */
static int take_for_call(struct peer *peer, const struct sc_frame *frame, const uint8_t *payload)
{
    struct call *call = call_by_channel(peer, frame->channel);
    struct sc_keeper_size size;
    struct ticket *ticket = call ? NULL : ticket_by_channel(peer, frame->channel);
    struct watcher *watcher = call ? NULL : watcher_by_channel(peer, frame->channel);
    struct judging *judging = call ? NULL : judging_by_channel(peer, frame->channel);
    if (ticket && frame->type == SC_KEEPER_CANCEL)
        ticket_cancel(ticket);
    if (watcher && frame->type == SC_KEEPER_CANCEL)
        watcher_cancel(watcher);
    if (judging && frame->type == SC_KEEPER_CANCEL)
        judging_cancel(judging);
    if (!call)
        return 0;
    switch (frame->type) {
    case SC_KEEPER_DATA:
        return call_input(call, payload, frame->len) ? 0 : -EPROTO;
    case SC_KEEPER_DATA_END:
        call_input_end(call);
        return 0;
    case SC_KEEPER_CANCEL:
        call_cancel(call);
        return 0;
    default:
        memcpy(&size, payload, sizeof size);
        call_resize(call, &size);
        return 0;
    }
}

static int take_frame(struct peer *peer, const struct sc_frame *frame, const uint8_t *payload)
{
    int r = sc_keeper_message_ok(frame, peer->state, peer->kind);
    if (r < 0)
        return r;
    switch (frame->type) {
    case SC_KEEPER_HELLO:
    case SC_KEEPER_HELLO_GATE:
        return take_hello(peer, payload);
    case SC_KEEPER_REQUEST:
    case SC_KEEPER_MORE:
        return take_text(peer, frame, payload);
    default:
        return take_for_call(peer, frame, payload);
    }
}

static void on_readable(struct bufferevent *stream, void *userdata)
{
    struct peer *peer = userdata;
    struct evbuffer *in = bufferevent_get_input(stream);
    struct sc_frame frame;
    while (!peer->broken && evbuffer_copyout(in, &frame, sizeof frame) == (ssize_t)sizeof frame) {
        size_t whole = sizeof frame + frame.len;
        if (frame.len > SC_FRAME_MAX) {
            break_off(peer);
            return;
        }
        if (evbuffer_get_length(in) < whole)
            return;
        const uint8_t *bytes = evbuffer_pullup(in, (ssize_t)whole);
        if (!bytes || take_frame(peer, &frame, bytes + sizeof frame) < 0)
            break_off(peer);
        evbuffer_drain(in, whole);
    }
}

/* Less than SC_KEEPER_QUEUE_ROOM waits: cells may go on. */
static void on_writable(struct bufferevent *stream, void *userdata)
{
    struct peer *peer = userdata;
    struct call *call, *next;
    (void)stream;
    for (call = TAILQ_FIRST(&peer->calls); call; call = next) {
        next = TAILQ_NEXT(call, of_peer);
        call_room(call);
    }
}

static void on_event(struct bufferevent *stream, short what, void *userdata)
{
    (void)stream;
    (void)what; /* the end, an error, or our own word: all the same */
    peer_free(userdata);
}

/* ---- coming and going ---- */

static bool may_speak(const struct keeper *keeper, int sock, uid_t *ret_uid)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return false;
    *ret_uid = peer.uid;
    return peer.uid == keeper->uid || peer.uid == 0;
}

/* Tells why, as a reply on channel 0, as far as the socket takes it at once, and closes. */
static void refuse(int sock, const char *message)
{
    struct {
        struct sc_frame frame;
        struct sc_keeper_text_head head;
        char text[256];
    } said = {.frame.type = SC_KEEPER_REPLY};
    char *text = sc_keeper_reply_error("usage", "", message);
    size_t len = text ? strlen(text) : 0;
    if (len && len <= sizeof said.text) {
        memcpy(said.text, text, len);
        said.head.total = (uint32_t)len;
        said.frame.len = (uint32_t)(sizeof said.head + len);
        (void)send(sock, &said, sizeof said.frame + said.frame.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    free(text);
    close(sock);
}

static unsigned *count_of(const struct peer *peer)
{
    return peer->kind == SC_KEEPER_GATE ? &peer->keeper->n_gates : &peer->keeper->n_peers;
}

static void add_peer(struct keeper *keeper, int sock, enum sc_keeper_kind kind, uid_t uid)
{
    struct peer *peer = calloc(1, sizeof *peer);
    if (!peer) {
        close(sock);
        return;
    }
    *peer = (struct peer){.keeper = keeper, .kind = kind, .uid = uid, .state = SC_KEEPER_NEW};
    TAILQ_INIT(&peer->calls);
    TAILQ_INIT(&peer->tickets);
    TAILQ_INIT(&peer->watchers);
    TAILQ_INIT(&peer->judgings);
    peer->stream = bufferevent_socket_new(keeper->base, sock, BEV_OPT_CLOSE_ON_FREE);
    if (!peer->stream) {
        close(sock);
        free(peer);
        return;
    }
    TAILQ_INSERT_TAIL(&keeper->peers, peer, entry);
    *count_of(peer) += 1;
    bufferevent_setcb(peer->stream, on_readable, on_writable, on_event, peer);
    bufferevent_setwatermark(peer->stream, EV_READ, 0, 2 * (SC_FRAME_MAX + sizeof(struct sc_frame)));
    bufferevent_setwatermark(peer->stream, EV_WRITE, SC_KEEPER_QUEUE_ROOM / 2, 0);
    bufferevent_enable(peer->stream, EV_READ | EV_WRITE);
    keeper_watch_idle(keeper);
}

void peer_accept(struct keeper *keeper, int sock)
{
    uid_t uid = 0;
    if (!may_speak(keeper, sock, &uid)) {
        refuse(sock, "keeper: it belongs to another user; start one of your own");
        return;
    }
    if (keeper->n_peers >= SC_KEEPER_CLIENTS_MAX) {
        refuse(sock, "keeper: too many clients are connected");
        return;
    }
    add_peer(keeper, sock, SC_KEEPER_CLIENT, uid);
}

void peer_accept_gate(struct keeper *keeper, int sock)
{
    if (keeper->n_gates >= SC_KEEPER_GATES_MAX) {
        refuse(sock, "keeper: too many connections of a gate");
        return;
    }
    add_peer(keeper, sock, SC_KEEPER_GATE, (uid_t)-1);
}

void peer_free(struct peer *peer)
{
    struct keeper *keeper = peer->keeper;
    struct call *call;
    peer->broken = true;
    tickets_drop(peer);
    watchers_drop(peer);
    judgings_drop(peer);
    while ((call = TAILQ_FIRST(&peer->calls))) {
        TAILQ_REMOVE(&peer->calls, call, of_peer);
        peer->n_calls--;
        call->peer = NULL;
        call_cancel(call);
        call_room(call);
    }
    sc_keeper_text_fini(&peer->text);
    bufferevent_free(peer->stream);
    TAILQ_REMOVE(&keeper->peers, peer, entry);
    *count_of(peer) -= 1;
    free(peer);
    keeper_watch_idle(keeper);
}
