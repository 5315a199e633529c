/* Connections to the keeper. The gate can connect to nothing: it makes a pair of sockets and passes one end
 * through the door (docs/keeper.md, "Gates"). Requests that are answered in one piece share links; one with
 * streams has a link of its own, so that a client that does not read holds up nobody else. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "gate/parts.h"

static void arm(struct link *link)
{
    bool writes = link->out.len > link->sent;
    uint32_t events = (link->paused ? 0 : EPOLLIN) | (writes ? EPOLLOUT : 0);
    (void)watch_change(link->gate, &link->watch, events);
}

static void link_free(struct link *link)
{
    struct gate *gate = link->gate;
    watch_remove(gate, &link->watch);
    sc_close(&link->watch.fd);
    TAILQ_REMOVE(&gate->links, link, entry);
    gate->n_links--;
    gate->n_coming -= !link->greeted;
    sc_buf_fini(&link->out);
    free(link->reader);
    free(link);
}

/* ---- out ---- */

static int flush(struct link *link)
{
    while (link->sent < link->out.len) {
        ssize_t n = send(link->watch.fd, link->out.data + link->sent, link->out.len - link->sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -errno;
        link->sent += (size_t)n;
    }
    link->sent = 0;
    sc_buf_fini(&link->out);
    return 0;
}

/* A link that cannot be written to ends from the loop: epoll tells of it. */
int link_send(struct link *link, uint16_t type, uint16_t channel, const void *head, size_t head_len,
              const void *data, size_t len)
{
    const struct sc_frame frame = {.len = (uint32_t)(head_len + len), .type = type, .channel = channel};
    if (link->lost)
        return -EPIPE;
    if (!link->out.data)
        sc_buf_init(&link->out, 2 * (size_t)SC_KEEPER_REQUEST_MAX);
    int r = sc_buf_add(&link->out, &frame, sizeof frame);
    if (r == 0 && head_len)
        r = sc_buf_add(&link->out, head, head_len);
    if (r == 0 && len)
        r = sc_buf_add(&link->out, data, len);
    if (r == 0)
        r = flush(link);
    if (r < 0) {
        /* Half a frame cannot be taken back. */
        link->lost = true;
        (void)shutdown(link->watch.fd, SHUT_RDWR);
    }
    arm(link);
    return r;
}

size_t link_backlog(const struct link *link)
{
    return link->out.len - link->sent;
}

void link_pause(struct link *link, bool paused)
{
    if (link->paused == paused)
        return;
    link->paused = paused;
    arm(link);
}

/* ---- in ---- */

static struct ask *ask_of(struct link *link, uint16_t channel)
{
    struct ask *ask;
    TAILQ_FOREACH(ask, &link->asks, entry)
    {
        if (ask->channel == channel)
            return ask;
    }
    return NULL;
}

/* 1: it was the greeting. */
static int take_welcome(struct link *link, const struct sc_frame *frame, const uint8_t *payload)
{
    struct sc_keeper_hello theirs;
    if (link->greeted)
        return 0;
    if (frame->type != SC_KEEPER_WELCOME || frame->len != sizeof theirs)
        return -EPROTO;
    memcpy(&theirs, payload, sizeof theirs);
    if (theirs.magic != SC_KEEPER_MAGIC || theirs.version != SC_KEEPER_VERSION)
        return -EPROTO;
    link->greeted = true;
    link->gate->n_coming--;
    return 1;
}

static int take(struct link *link)
{
    struct sc_frame frame;
    const uint8_t *payload;
    ssize_t n = sc_frame_fill(link->reader, link->watch.fd, NULL, NULL);
    if (n <= 0)
        return n == 0 ? -EPIPE : n == -EAGAIN ? 0 : (int)n;
    int r;
    while ((r = sc_frame_next(link->reader, &frame, &payload)) > 0) {
        int greeting = take_welcome(link, &frame, payload);
        struct ask *ask = greeting == 0 ? ask_of(link, frame.channel) : NULL;
        if (greeting > 0)
            continue;
        if (greeting < 0 || !ask)
            return -EPROTO; /* the keeper speaks of what nobody asked, or refuses the whole link */
        ask_take(ask, &frame, payload);
    }
    return r;
}

static void lose(struct link *link)
{
    struct ask *ask;
    link->lost = true;
    link->gate->counters.keeper_lost++;
    link->gate->generation++;
    while ((ask = TAILQ_FIRST(&link->asks)))
        ask_fail(ask, "keeper_lost",
                 "the keeper went away while it worked on this; what became of it is not known");
    link_free(link);
}

static void serve_waiting(struct gate *gate);

static void on_link(void *userdata, uint32_t events)
{
    struct link *link = userdata;
    struct gate *gate = link->gate;
    int r = link->lost ? -EPIPE : 0;
    if (r == 0 && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        r = take(link);
    if (r == 0 && (events & EPOLLOUT))
        r = flush(link);
    if (r < 0) {
        lose(link);
        serve_waiting(gate);
        return;
    }
    if (events & EPOLLOUT) {
        struct ask *ask = TAILQ_FIRST(&link->asks);
        if (link->exclusive && ask && ask->events->credit && ask->userdata)
            ask->events->credit(ask->userdata);
    }
    arm(link);
    /* Exclusive and without an ask: free for another. */
    if (link->n_asks == 0 && link->exclusive) {
        link->exclusive = false;
        link_pause(link, false);
    }
    serve_waiting(gate);
}

/* ---- who gets which ---- */

static struct link *find_free(struct gate *gate, bool streams)
{
    struct link *link;
    TAILQ_FOREACH(link, &gate->links, entry)
    {
        if (!link->lost && link->greeted && !link->exclusive &&
            link->n_asks < (streams ? 1u : LINK_CALLS_MAX))
            return link;
    }
    return NULL;
}

static void join(struct link *link, struct ask *ask)
{
    link->exclusive = ask->streams;
    link->n_asks++;
    do
        link->last_channel = link->last_channel == UINT16_MAX ? 1 : (uint16_t)(link->last_channel + 1);
    while (ask_of(link, link->last_channel));
    ask->channel = link->last_channel;
    ask->link = link;
    TAILQ_INSERT_TAIL(&link->asks, ask, entry);
    ask_send(ask);
}

static int link_new(struct gate *gate);

/* One at a time comes for those that share, one for each that streams. */
static void want_more(struct gate *gate, unsigned wanted)
{
    while (gate->n_coming < wanted && gate->n_links < LINKS_MAX)
        if (link_new(gate) < 0)
            return; /* the sweep tells those who wait too long */
}

static void serve_waiting(struct gate *gate)
{
    struct ask *ask, *next;
    unsigned wanted = 0;
    bool shares = false;
    for (ask = TAILQ_FIRST(&gate->waiting); ask; ask = next) {
        next = TAILQ_NEXT(ask, entry);
        struct link *link = find_free(gate, ask->streams);
        if (!link) {
            wanted += ask->streams;
            shares = shares || !ask->streams;
            continue;
        }
        TAILQ_REMOVE(&gate->waiting, ask, entry);
        gate->n_waiting--;
        join(link, ask);
    }
    want_more(gate, wanted + shares);
}

int link_assign(struct gate *gate, struct ask *ask)
{
    struct link *link = find_free(gate, ask->streams);
    if (link && TAILQ_EMPTY(&gate->waiting)) {
        join(link, ask);
        return 0;
    }
    if (gate->n_waiting >= WAITING_MAX)
        return -EAGAIN;
    TAILQ_INSERT_TAIL(&gate->waiting, ask, entry);
    gate->n_waiting++;
    serve_waiting(gate);
    return 0;
}

void link_leave(struct link *link, struct ask *ask)
{
    TAILQ_REMOVE(&link->asks, ask, entry);
    link->n_asks--;
    ask->link = NULL;
    if (link->n_asks == 0 && link->exclusive) {
        link->exclusive = false;
        link_pause(link, false);
    }
}

/* ---- the door ---- */

static int door_say(struct gate *gate, const struct sc_keeper_door_message *message, int fd)
{
    ssize_t n = sc_send_fds(gate->options->door, message, sizeof *message, &fd, 1);
    return n == (ssize_t)sizeof *message ? 0 : n < 0 ? (int)n : -EIO;
}

int door_peer(struct gate *gate, int sock, const uint8_t nonce[SC_KEEPER_NONCE])
{
    struct sc_keeper_door_message message = {.what = SC_KEEPER_DOOR_PEER};
    memcpy(message.nonce, nonce, sizeof message.nonce);
    return door_say(gate, &message, sock);
}

static int greet(struct link *link)
{
    const struct sc_keeper_hello ours = {SC_KEEPER_MAGIC, SC_KEEPER_VERSION};
    return link_send(link, SC_KEEPER_HELLO_GATE, 0, &ours, sizeof ours, NULL, 0);
}

static int link_new(struct gate *gate)
{
    static const struct sc_keeper_door_message message = {.what = SC_KEEPER_DOOR_CONNECT};
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return -errno;
    struct link *link = calloc(1, sizeof *link);
    if (link)
        link->reader = calloc(1, sizeof *link->reader);
    int r = link && link->reader ? door_say(gate, &message, pair[1]) : -ENOMEM;
    close(pair[1]);
    if (r < 0) {
        close(pair[0]);
        if (link)
            free(link->reader);
        free(link);
        return r;
    }
    link->gate = gate;
    link->watch = (struct watch){.fd = pair[0], .ready = on_link, .userdata = link};
    TAILQ_INIT(&link->asks);
    TAILQ_INSERT_TAIL(&gate->links, link, entry);
    gate->n_links++;
    gate->n_coming++;
    r = watch_add(gate, &link->watch, EPOLLIN);
    if (r == 0)
        r = greet(link);
    if (r < 0)
        link_free(link);
    return r;
}

/* Idle links beyond a few are let go; the keeper has a bound on them. */
static void trim(struct gate *gate)
{
    unsigned idle = 0;
    struct link *link, *next;
    for (link = TAILQ_FIRST(&gate->links); link; link = next) {
        next = TAILQ_NEXT(link, entry);
        if (link->n_asks == 0 && link->greeted && ++idle > IDLE_LINKS_MAX)
            link_free(link);
    }
}

void links_sweep(struct gate *gate)
{
    struct ask *ask;
    uint64_t now = sc_now_ns();
    bool answers = false;
    struct link *link;
    TAILQ_FOREACH(link, &gate->links, entry)
    {
        answers = answers || (link->greeted && !link->lost);
    }
    /* With links at work a place will come free; without, nobody is there to give one. */
    while (!answers && (ask = TAILQ_FIRST(&gate->waiting)) && now - ask->since_ns > PATIENCE_NS)
        ask_fail(ask, "keeper_away", "the keeper does not answer; it is being started again");
    serve_waiting(gate);
    trim(gate);
}

void links_close(struct gate *gate)
{
    struct link *link;
    struct ask *ask;
    while ((link = TAILQ_FIRST(&gate->links)))
        lose(link);
    while ((ask = TAILQ_FIRST(&gate->waiting)))
        ask_fail(ask, "draining", "the service has ended");
}
