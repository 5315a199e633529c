#include "gate/mcp_peer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/json.h"

/* One request to the keeper, with the input that goes with it. */
struct mcp_call {
    TAILQ_ENTRY(mcp_call) entry;
    struct mcp_peer *peer;
    uint32_t number;
    struct ask *ask; /* NULL while it is being begun */
    struct sc_buf input;
    size_t given;
    bool has_input, input_over, cancelled;
};

static void free_call(struct mcp_call *call)
{
    TAILQ_REMOVE(&call->peer->calls, call, entry);
    sc_buf_fini(&call->input);
    free(call);
}

/* ---- coming and going ---- */

void mcp_peer_free(struct mcp_peer *peer)
{
    struct mcp_front *front = peer->gate->mcp;
    struct mcp_call *call;
    while ((call = TAILQ_FIRST(&peer->calls))) {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): free_call() takes out of the list what it frees */
        ask_forget(call->ask);
        free_call(call);
    }
    TAILQ_REMOVE(&front->peers, peer, entry);
    front->n--;
    sc_mcp_free(peer->engine);
    mcp_log_fini(&peer->log);
    mcp_tenant_leave(front, peer->tenant);
    free(peer);
}

/* Its requests go on until the keeper has answered them: a session that was being made is ended then. */
static void free_if_over(struct mcp_peer *peer)
{
    if (peer->is_ending && TAILQ_EMPTY(&peer->calls))
        mcp_peer_free(peer);
}

void mcp_peer_end(struct mcp_peer *peer)
{
    struct mcp_stream *stream;
    if (peer->is_ending)
        return;
    peer->is_ending = true;
    TAILQ_FOREACH(stream, &peer->log.streams, entry) mcp_read_end(stream);
    sc_mcp_end(peer->engine);
    free_if_over(peer);
}

/* ---- the engine's side ---- */

static void on_send(void *userdata, const json_t *message, const json_t *about)
{
    struct mcp_peer *peer = userdata;
    bool is_answer = !json_object_get(message, "method");
    struct mcp_stream *stream = about ? mcp_log_stream_of(&peer->log, about) : NULL;
    if (!stream)
        stream = peer->current ? peer->current : peer->general;
    char *text = sc_json_dump(message, JSON_COMPACT);
    if (text)
        mcp_log_add(stream, is_answer, text);
    else
        stream->is_lost = stream->is_lost || is_answer;
    free(text);
    if (is_answer && about && stream != peer->general)
        mcp_log_settle(stream, about);
    mcp_read_on(stream);
    mcp_log_trim(&peer->log);
}

static void on_dropped(void *userdata, const json_t *about)
{
    struct mcp_peer *peer = userdata;
    struct mcp_stream *stream = mcp_log_stream_of(&peer->log, about);
    if (!stream)
        return;
    mcp_log_settle(stream, about);
    mcp_read_on(stream);
    mcp_log_trim(&peer->log);
}

/* ---- the keeper's side ---- */

/* As much as there is credit for, then its end. */
static void give_input(struct mcp_call *call)
{
    struct ask *ask = call->ask;
    if (!ask || !ask->link || !call->has_input || call->input_over)
        return;
    size_t n = call->input.len - call->given;
    n = n < ask->credit ? n : ask->credit;
    if (n > 0 && ask_input(ask, call->input.data + call->given, n) < 0)
        return; /* the link is lost: the ask's own end tells so */
    call->given += n;
    if (call->given < call->input.len)
        return;
    call->input_over = true;
    (void)ask_input_end(ask);
}

/* Also what comes first once the ask has a link. */
static void on_credit(void *userdata)
{
    struct mcp_call *call = userdata;
    if (call->cancelled && call->ask)
        ask_cancel(call->ask);
    else
        give_input(call);
}

static void on_output(void *userdata, enum sc_keeper_stream stream, const void *data, size_t len)
{
    struct mcp_call *call = userdata;
    sc_mcp_output(call->peer->engine, call->number, (int)stream, data, len);
    mcp_note_due(call->peer);
}

static json_t *reply_of(const char *ok, size_t len, const json_t *error)
{
    json_t *value = NULL;
    json_error_t where;
    if (!ok)
        return json_pack("{s:O}", "error", error);
    if (sc_json_load(ok, len, JSON_ALLOW_NUL, &value, &where) < 0)
        return NULL;
    return json_pack("{s:o}", "ok", value);
}

static void on_done(void *userdata, const char *ok, size_t len, const json_t *error)
{
    struct mcp_call *call = userdata;
    struct mcp_peer *peer = call->peer;
    uint32_t number = call->number;
    json_t *reply = reply_of(ok, len, error);
    free_call(call);
    sc_mcp_reply(peer->engine, number, reply);
    json_decref(reply);
    mcp_note_due(peer);
    free_if_over(peer);
}

static uint32_t next_number(struct mcp_peer *peer)
{
    peer->last_call = peer->last_call == UINT32_MAX ? 1 : peer->last_call + 1;
    return peer->last_call;
}

static int begin_ask(struct mcp_call *call, json_t *request, struct sc_err *err)
{
    static const struct ask_events events = {.output = on_output, .credit = on_credit, .done = on_done};
    struct mcp_peer *peer = call->peer;
    int why = 0;
    call->ask = ask_begin(peer->gate, request, peer->token, false, &events, call, &why);
    if (call->ask)
        return 0;
    if (why == -EAGAIN)
        return sc_err_set(err, SC_ERR_HOST, why, "too many requests wait for the keeper");
    if (why == -EMSGSIZE)
        return sc_err_set(err, SC_ERR_USAGE, why, "request: at most %u bytes are allowed",
                          SC_KEEPER_REQUEST_MAX);
    return sc_err_sys(err, why, "request");
}

static int on_ask(void *userdata, json_t *request, const void *input, size_t len, uint32_t *ret_call,
                  struct sc_err *err)
{
    struct mcp_peer *peer = userdata;
    struct mcp_call *call = calloc(1, sizeof *call);
    if (!call) {
        json_decref(request);
        return sc_err_sys(err, -ENOMEM, "request");
    }
    call->peer = peer;
    call->number = next_number(peer);
    call->has_input = input != NULL;
    sc_buf_init(&call->input, SC_MCP_MESSAGE_MAX);
    TAILQ_INSERT_TAIL(&peer->calls, call, entry);
    int r = len && sc_buf_add(&call->input, input, len) < 0 ? -ENOMEM : 0;
    if (r < 0) {
        json_decref(request);
        sc_err_sys(err, r, "request");
    } else {
        r = begin_ask(call, request, err);
    }
    if (r < 0) {
        free_call(call);
        return r;
    }
    *ret_call = call->number;
    give_input(call);
    return 0;
}

/* One that has no link yet would be answered within this call, which the engine does not expect. */
static void on_cancel(void *userdata, uint32_t number)
{
    struct mcp_peer *peer = userdata;
    struct mcp_call *call;
    TAILQ_FOREACH(call, &peer->calls, entry)
    {
        if (call->number == number)
            break;
    }
    if (!call)
        return;
    call->cancelled = call->input_over = true;
    if (call->ask && call->ask->link)
        ask_cancel(call->ask);
}

/* ---- made and found ---- */

static int new_id(char ret_id[MCP_PEER_ID])
{
    uint8_t random[(MCP_PEER_ID - 1) / 2];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return -EIO;
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(ret_id + 2 * i, 3, "%02x", random[i]);
    return 0;
}

static void take_token(struct mcp_peer *peer, const struct person *person)
{
    memcpy(peer->token, person->token, sizeof peer->token);
    peer->since_ns = sc_now_ns();
}

static int fill(struct mcp_peer *peer, const struct sc_mcp_options *options, struct sc_err *err)
{
    const struct sc_mcp_around around = {
        .userdata = peer, .send = on_send, .ask = on_ask, .cancel = on_cancel, .dropped = on_dropped};
    peer->general = mcp_log_stream(&peer->log, NULL);
    int r = peer->general ? new_id(peer->id) : -ENOMEM;
    if (r < 0)
        return sc_err_sys(err, r, "session");
    return sc_mcp_new(&around, options, &peer->engine, err);
}

int mcp_peer_new(struct request *request, const struct sc_mcp_options *options, struct mcp_peer **ret_peer,
                 struct sc_err *err)
{
    struct mcp_front *front = mcp_front_of(request->gate);
    struct mcp_peer *peer = front ? calloc(1, sizeof *peer) : NULL;
    if (!peer)
        return sc_err_sys(err, -ENOMEM, "session");
    int r = mcp_tenant_join(front, request->person->tenant, &peer->tenant, err);
    if (r < 0) {
        free(peer);
        return r;
    }
    peer->gate = request->gate;
    take_token(peer, request->person);
    TAILQ_INIT(&peer->calls);
    mcp_log_init(&peer->log, &peer->tenant->bytes);
    TAILQ_INSERT_TAIL(&front->peers, peer, entry);
    front->n++;
    r = fill(peer, options, err);
    if (r < 0)
        mcp_peer_free(peer);
    else
        *ret_peer = peer;
    return r;
}

struct mcp_peer *mcp_peer_find(struct request *request, const char *id)
{
    struct mcp_peer *peer;
    if (!request->gate->mcp)
        return NULL;
    TAILQ_FOREACH(peer, &request->gate->mcp->peers, entry)
    {
        if (!peer->is_ending && !strcmp(peer->id, id) &&
            !strcmp(peer->tenant->name, request->person->tenant)) {
            take_token(peer, request->person);
            return peer;
        }
    }
    return NULL;
}

void mcp_peer_take(struct mcp_peer *peer, const json_t *message, struct mcp_stream *stream)
{
    peer->current = stream;
    sc_mcp_take_read(peer->engine, message);
    peer->current = NULL;
    mcp_note_due(peer);
}
