#include "keeper/client.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "keeper/place.h"

struct sc_keeper_client {
    int sock;
    uint16_t channel; /* of the last request */
    struct sc_frame_reader reader;
};

/* One request on its way. */
struct ask {
    struct sc_keeper_client *client;
    const struct sc_keeper_exchange *exchange;
    struct sc_keeper_text reply;
    size_t credit;
    bool input_over, cancelled;
    int failed; /* what a callback answered */
};

static const struct sc_keeper_exchange NO_EXCHANGE;

static int lost(struct sc_err *err, int r)
{
    if (r == -EPROTO || r == -EMSGSIZE)
        return sc_err_set(err, SC_ERR_SANDBOX, r, "keeper: it does not speak this version's protocol");
    return sc_err_set(err, SC_ERR_SANDBOX, r, "keeper: the connection ended: %s",
                      r == -EPIPE ? "it went away" : strerror(-r));
}

static int send_frame(void *userdata, uint16_t type, uint16_t channel, const void *head, size_t head_len,
                      const void *piece, size_t piece_len)
{
    struct sc_keeper_client *client = userdata;
    uint8_t payload[SC_FRAME_MAX];
    if (head_len)
        memcpy(payload, head, head_len);
    if (piece_len)
        memcpy(payload + head_len, piece, piece_len);
    return sc_frame_send(client->sock, type, channel, payload, head_len + piece_len);
}

static int send_bare(struct ask *ask, enum sc_keeper_message type)
{
    return sc_frame_send(ask->client->sock, (uint16_t)type, ask->client->channel, NULL, 0);
}

static int cancel(struct ask *ask)
{
    if (ask->cancelled)
        return 0;
    ask->cancelled = true;
    ask->input_over = true;
    return send_bare(ask, SC_KEEPER_CANCEL);
}

/* ---- what comes ---- */

static int take_output(struct ask *ask, const uint8_t *payload, size_t len)
{
    struct sc_keeper_output_head head;
    if (len < sizeof head)
        return -EPROTO;
    memcpy(&head, payload, sizeof head);
    if (!ask->exchange->output || ask->failed)
        return 0;
    int r = ask->exchange->output(ask->exchange->output_data, (enum sc_keeper_stream)head.stream,
                                  payload + sizeof head, len - sizeof head);
    if (r >= 0)
        return 0;
    ask->failed = r;
    return cancel(ask);
}

static int take_credit(struct ask *ask, const uint8_t *payload, size_t len)
{
    uint32_t more;
    if (len != sizeof more)
        return -EPROTO;
    memcpy(&more, payload, sizeof more);
    if (more > SC_KEEPER_INPUT_WINDOW - ask->credit)
        return -EPROTO;
    ask->credit += more;
    return 0;
}

/* 1: the reply is whole. */
static int take_frame(struct ask *ask, const struct sc_frame *frame, const uint8_t *payload)
{
    uint16_t channel = ask->client->channel;
    /* 0: the keeper refuses the whole connection. */
    if (frame->channel != channel && frame->channel != 0)
        return -EPROTO;
    switch (frame->type) {
    case SC_KEEPER_OUTPUT:
        return take_output(ask, payload, frame->len);
    case SC_KEEPER_CREDIT:
        return take_credit(ask, payload, frame->len);
    case SC_KEEPER_REPLY:
        return sc_keeper_text_first(&ask->reply, frame->channel, payload, frame->len, SC_KEEPER_REPLY_MAX);
    case SC_KEEPER_REPLY_MORE:
        return sc_keeper_text_more(&ask->reply, frame->channel, payload, frame->len);
    default:
        return -EPROTO;
    }
}

static int take_bytes(struct ask *ask)
{
    struct sc_frame frame;
    const uint8_t *payload;
    ssize_t n = sc_frame_fill(&ask->client->reader, ask->client->sock, NULL, NULL);
    if (n <= 0)
        return n == 0 ? -EPIPE : (int)n;
    int r;
    while ((r = sc_frame_next(&ask->client->reader, &frame, &payload)) > 0) {
        r = take_frame(ask, &frame, payload);
        if (r != 0)
            return r;
    }
    return r;
}

/* ---- what goes ---- */

static int give_input(struct ask *ask)
{
    uint8_t room[SC_FRAME_MAX / 2];
    size_t size = ask->credit < sizeof room ? ask->credit : sizeof room;
    ssize_t n = ask->exchange->input(ask->exchange->userdata, room, size);
    if (n == -EAGAIN)
        return 0;
    if (n < 0) {
        ask->failed = (int)n;
        return cancel(ask);
    }
    if (n == 0) {
        ask->input_over = true;
        return send_bare(ask, SC_KEEPER_DATA_END);
    }
    ask->credit -= (size_t)n;
    return sc_frame_send(ask->client->sock, SC_KEEPER_DATA, ask->client->channel, room, (size_t)n);
}

static int take_stop(struct ask *ask)
{
    struct sc_keeper_size size = {0};
    enum sc_keeper_stop stop =
        ask->exchange->stop ? ask->exchange->stop(ask->exchange->userdata, &size) : SC_KEEPER_STOP;
    if (stop == SC_KEEPER_LEAVE)
        return -ECANCELED;
    if (stop == SC_KEEPER_STOP)
        return cancel(ask);
    return size.rows
               ? sc_frame_send(ask->client->sock, SC_KEEPER_RESIZE, ask->client->channel, &size, sizeof size)
               : 0;
}

enum { SOCK, STOP, INPUT, PLACES };

/* Until the reply is whole (1), or negative errno. */
static int converse(struct ask *ask)
{
    const struct sc_keeper_exchange *exchange = ask->exchange;
    for (;;) {
        bool wants_input = exchange->input && !ask->input_over && ask->credit > 0;
        bool ready = wants_input && exchange->input_fd < 0;
        bool without_stop = exchange->stop_fd <= 0 || (ask->cancelled && !exchange->stop);
        struct pollfd fds[PLACES] = {
            [SOCK] = {.fd = ask->client->sock, .events = POLLIN},
            [STOP] = {.fd = without_stop ? -1 : exchange->stop_fd, .events = POLLIN},
            [INPUT] = {.fd = wants_input && !ready ? exchange->input_fd : -1, .events = POLLIN},
        };
        int r = poll(fds, PLACES, ready ? 0 : -1);
        if (r < 0 && errno != EINTR)
            return -errno;
        if (r < 0)
            continue;
        r = fds[SOCK].revents ? take_bytes(ask) : 0;
        if (r == 0 && fds[STOP].revents)
            r = take_stop(ask);
        if (r == 0 && (ready || fds[INPUT].revents) && !ask->input_over)
            r = give_input(ask);
        if (r != 0)
            return r;
    }
}

/* ---- replies ---- */

static const char *text_in(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static int errno_of(const json_t *error)
{
    const char *kind = text_in(error, "kind"), *code = text_in(error, "code");
    if (!strcmp(kind, "ended"))
        return -ESRCH;
    if (!strcmp(kind, "usage"))
        return -EINVAL;
    if (!strcmp(kind, "busy") || !strcmp(kind, "conflict"))
        return -EBUSY;
    if (!strcmp(kind, "not_forkable"))
        return -EOPNOTSUPP;
    for (int i = 1; i < 140 && *code; i++)
        if (strerrorname_np(i) && !strcmp(strerrorname_np(i), code))
            return -i;
    return !strcmp(kind, "not_found") ? -ENOENT : -EIO;
}

static int reply_error(const json_t *error, struct sc_err *err)
{
    const char *kind = text_in(error, "kind"), *message = text_in(error, "message");
    int code = errno_of(error);
    if (!strcmp(kind, "usage") || !strcmp(kind, "not_found") || !strcmp(kind, "ended") ||
        !strcmp(kind, "busy") || !strcmp(kind, "conflict") || !strcmp(kind, "not_forkable")) {
        sc_err_usage(err, text_in(error, "field"), "%s", message);
        if (err)
            err->code = code;
        return code;
    }
    enum sc_err_kind as = !strcmp(kind, "host") ? SC_ERR_HOST : SC_ERR_SANDBOX;
    sc_err_set(err, as, code, "%s", message);
    if (err)
        snprintf(err->field, sizeof err->field, "%s", text_in(error, "field"));
    return code;
}

static int read_reply(const struct sc_keeper_text *reply, json_t **ret_ok, struct sc_err *err)
{
    json_t *object = NULL;
    json_error_t where;
    int r = sc_json_load(reply->buf.data ? (char *)reply->buf.data : "", reply->buf.len, JSON_ALLOW_NUL,
                         &object, &where);
    if (r < 0)
        return lost(err, r == -ENOMEM ? r : -EPROTO);
    json_t *ok = json_object_get(object, "ok");
    if (!ok)
        r = reply_error(json_object_get(object, "error"), err);
    else if (ret_ok)
        *ret_ok = json_incref(ok);
    json_decref(object);
    return r;
}

static int send_request(struct sc_keeper_client *client, json_t *request, struct sc_err *err)
{
    char *text = sc_json_dump(request, JSON_COMPACT);
    size_t len = text ? strlen(text) : 0;
    int r;
    client->channel = client->channel == UINT16_MAX ? 1 : (uint16_t)(client->channel + 1);
    if (!text)
        r = sc_err_sys(err, -ENOMEM, "request");
    else if (len > SC_KEEPER_REQUEST_MAX)
        r = sc_err_usage(err, "request", "request: at most %u bytes are allowed", SC_KEEPER_REQUEST_MAX);
    else {
        r = sc_keeper_text_send(send_frame, client, SC_KEEPER_REQUEST, SC_KEEPER_MORE, client->channel, text,
                                len);
        if (r < 0)
            lost(err, r);
    }
    free(text);
    return r;
}

int sc_keeper_ask(struct sc_keeper_client *client, json_t *request, const struct sc_keeper_exchange *exchange,
                  json_t **ret_ok, struct sc_err *err)
{
    struct ask ask = {
        .client = client, .exchange = exchange ? exchange : &NO_EXCHANGE, .credit = SC_KEEPER_INPUT_WINDOW};
    int r = send_request(client, request, err);
    json_decref(request);
    if (r < 0)
        return r;
    r = converse(&ask);
    if (r > 0)
        r = read_reply(&ask.reply, ret_ok, err);
    else
        r = lost(err, r);
    sc_keeper_text_fini(&ask.reply);
    /* What stopped it on this side is the story, unless it went well all the same. */
    if (ask.failed && r == 0 && ret_ok) {
        json_decref(*ret_ok);
        *ret_ok = NULL;
    }
    return ask.failed ? sc_err_sys(err, ask.failed, "request") : r;
}

/* ---- coming and going ---- */

static int greet(struct sc_keeper_client *client, struct sc_err *err)
{
    const struct sc_keeper_hello ours = {SC_KEEPER_MAGIC, SC_KEEPER_VERSION};
    struct sc_keeper_hello theirs = {0};
    struct sc_frame frame = {0};
    const uint8_t *payload = NULL;
    int r = sc_frame_send(client->sock, SC_KEEPER_HELLO, 0, &ours, sizeof ours);
    if (r == -EPIPE)
        r = 0; /* it has hung up already, perhaps with a word why */
    while (r == 0) {
        ssize_t n = sc_frame_fill(&client->reader, client->sock, NULL, NULL);
        if (n <= 0)
            r = n < 0 ? (int)n : -ECONNRESET;
        else
            r = sc_frame_next(&client->reader, &frame, &payload);
    }
    if (r < 0)
        return lost(err, r == -EPIPE ? -ECONNRESET : r);
    if (frame.type == SC_KEEPER_REPLY && frame.len > sizeof(struct sc_keeper_text_head)) {
        struct sc_keeper_text refusal = {0};
        r = sc_keeper_text_first(&refusal, 0, payload, frame.len, SC_FRAME_MAX);
        r = r == 1 ? read_reply(&refusal, NULL, err) : lost(err, -EPROTO);
        sc_keeper_text_fini(&refusal);
        return r < 0 ? r : lost(err, -EPROTO);
    }
    if (frame.type != SC_KEEPER_WELCOME || frame.len != sizeof theirs)
        return lost(err, -EPROTO);
    memcpy(&theirs, payload, sizeof theirs);
    if (theirs.magic != SC_KEEPER_MAGIC || theirs.version != SC_KEEPER_VERSION)
        return sc_err_set(err, SC_ERR_HOST, -EPROTO,
                          "keeper: it speaks version %u, this program version %d: end the old keeper",
                          theirs.version, SC_KEEPER_VERSION);
    return 0;
}

int sc_keeper_client_open(const char *path, struct sc_keeper_client **ret_client, struct sc_err *err)
{
    char room[PATH_MAX];
    int r = path ? 0 : sc_keeper_path(room, err);
    struct sc_keeper_client *client = r == 0 ? calloc(1, sizeof *client) : NULL;
    if (!client)
        return r < 0 ? r : sc_err_sys(err, -ENOMEM, "keeper");
    client->sock = -1;
    r = sc_keeper_place_connect(path ? path : room, &client->sock, err);
    if (r == 0)
        r = greet(client, err);
    if (r < 0)
        sc_keeper_client_close(client);
    else
        *ret_client = client;
    return r;
}

void sc_keeper_client_close(struct sc_keeper_client *client)
{
    if (!client)
        return;
    sc_close(&client->sock);
    free(client);
}

int sc_keeper_client_release(struct sc_keeper_client *client)
{
    int sock = sc_steal_fd(&client->sock);
    sc_keeper_client_close(client);
    return sock;
}
