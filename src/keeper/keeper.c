/* Theory of operation
 *
 * One thread, one event loop. It waits for connections, for what clients say, for what cells say, and for
 * clocks; nothing it does waits for a client. Making and burying a cell are done in one go, some milliseconds
 * each.
 *
 * Cells watch the keeper: an agent holds a pidfd of its supervisor and ends its cell when that is dead, so
 * that a keeper that was killed leaves no cell behind. One that is told to end closes every session itself,
 * tells who waits, and removes its socket and lock last.
 */
#include "keeper/keeper.h"

#include <errno.h>
#include <event2/listener.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "keeper/parts.h"
#include "keeper/state.h"

#define LAST_WORDS_US 500000
#define PATIENCE_NS (5 * SC_NS_PER_S)
#define PAUSE_MS 20

static void on_connection(struct evconnlistener *listener, evutil_socket_t sock, struct sockaddr *address,
                          int len, void *userdata)
{
    (void)listener;
    (void)address;
    (void)len;
    peer_accept(userdata, sock);
}

static void stop(evutil_socket_t fd, short what, void *userdata)
{
    struct keeper *keeper = userdata;
    (void)fd;
    (void)what;
    event_base_loopexit(keeper->base, NULL);
}

void keeper_watch_idle(struct keeper *keeper)
{
    uint64_t ns = keeper->options->idle_ns;
    const struct timeval wait = {.tv_sec = (time_t)(ns / SC_NS_PER_S),
                                 .tv_usec = (suseconds_t)(ns % SC_NS_PER_S / 1000)};
    if (!ns || !keeper->idle)
        return;
    if (keeper->n_peers || keeper->n_gates || keeper->n_sessions || keeper->n_judgings)
        evtimer_del(keeper->idle);
    else
        evtimer_add(keeper->idle, &wait);
}

static void wake(evutil_socket_t fd, short what, void *userdata)
{
    (void)fd;
    (void)what;
    (void)userdata;
}

/* Last words go out as far as clients take them within a moment. */
static void let_out(struct keeper *keeper)
{
    const struct timeval moment = {.tv_usec = LAST_WORDS_US};
    struct event *over = evtimer_new(keeper->base, wake, NULL);
    struct peer *peer;
    bool more = over && evtimer_add(over, &moment) == 0;
    while (more && evtimer_pending(over, NULL)) {
        more = false;
        TAILQ_FOREACH(peer, &keeper->peers, entry)
        {
            more = peer_let_out(peer) || more;
        }
        if (more)
            event_base_loop(keeper->base, EVLOOP_ONCE);
    }
    if (over)
        event_free(over);
}

/* Cells below others are closed before them. */
static struct keeper_session *session_below(const struct keeper_session *session)
{
    struct keeper_session *below;
    TAILQ_FOREACH(below, &session->keeper->sessions, entry)
    {
        if (below->above == session)
            return below;
    }
    abort(); /* there is one, as it was counted */
}

static void close_all(struct keeper *keeper)
{
    struct keeper_session *session;
    struct peer *peer;
    admission_close(keeper);
    judgings_close(keeper);
    while ((session = TAILQ_FIRST(&keeper->sessions))) {
        while (session->session && sc_session_below(session->session) > 0)
            session = session_below(session);
        session_close(session);
    }
    warm_close(keeper);
    events_close(keeper);
    let_out(keeper);
    while ((peer = TAILQ_FIRST(&keeper->peers)))
        peer_free(peer);
}

static const int ENDING[] = {SIGTERM, SIGINT, SIGHUP};
#define N_ENDING (sizeof ENDING / sizeof *ENDING)

/* Who can connect may also send signals: none of them ends the keeper without its last words. */
static void hold_signals(int how)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < N_ENDING; i++)
        sigaddset(&set, ENDING[i]);
    sigprocmask(how, &set, NULL);
}

/* Serves until told to stop. */
static int serve(struct keeper *keeper, int listener_fd, struct sc_err *err)
{
    struct event *signals[N_ENDING] = {NULL};
    int r = -ENOMEM;
    struct evconnlistener *listener =
        evconnlistener_new(keeper->base, on_connection, keeper, LEV_OPT_CLOSE_ON_EXEC, 0, listener_fd);
    keeper->idle = evtimer_new(keeper->base, stop, keeper);
    if (!listener || !keeper->idle)
        goto out;
    if ((r = warm_open(keeper)) < 0)
        goto out;
    if ((r = admission_open(keeper)) < 0)
        goto out;
    if ((r = door_open(keeper, err)) < 0)
        goto told;
    r = -ENOMEM;
    for (size_t i = 0; i < N_ENDING; i++) {
        signals[i] = evsignal_new(keeper->base, ENDING[i], stop, keeper);
        if (!signals[i] || event_add(signals[i], NULL) < 0)
            goto out;
    }
    hold_signals(SIG_UNBLOCK);
    keeper_watch_idle(keeper);
    if (keeper->options->serving)
        keeper->options->serving();
    r = event_base_dispatch(keeper->base) < 0 ? -EIO : 0;
    evconnlistener_disable(listener);
    close_all(keeper);
out:
    if (r < 0)
        sc_err_sys(err, r, "keeper: event loop");
told:
    for (size_t i = 0; i < N_ENDING; i++)
        if (signals[i])
            event_free(signals[i]);
    door_close(keeper);
    admission_close(keeper);
    warm_close(keeper);
    if (keeper->idle)
        event_free(keeper->idle);
    if (listener)
        evconnlistener_free(listener);
    return r;
}

/* Only one that serves a gate keeps anything on disk. */
static int open_state(struct keeper *keeper, struct sc_err *err)
{
    const char *given = keeper->options->state;
    char path[PATH_MAX];
    if (keeper->options->gate_fd < 0)
        return 0;
    int r = given ? 0 : sc_state_path(path, err);
    if (r == 0)
        r = sc_state_open(given ? given : path, err);
    if (r < 0)
        return r;
    keeper->state = r;
    r = identities_open(keeper->state, &keeper->identities, err);
    if (r == 0)
        r = sc_audit_open(keeper->state, keeper->options->audit_rotate, &keeper->audit, err);
    if (r == 0)
        note_begin(keeper);
    return r < 0 ? r : journal_open(keeper, err);
}

static void close_state(struct keeper *keeper)
{
    note_end(keeper);
    sc_audit_close(keeper->audit);
    journal_close(keeper);
    keeper->audit = NULL;
    identities_free(keeper->identities);
    keeper->identities = NULL;
    sc_close(&keeper->state);
}

/* Children of a keeper that was killed hold its lock until they are dead, too: a service waits for that. */
static int take_place(struct keeper *keeper, const char *path, int *ret_listener, struct sc_err *err)
{
    uint64_t until = sc_now_ns() + PATIENCE_NS;
    for (;;) {
        int r = sc_keeper_place_take(&keeper->place, path, ret_listener, err);
        if (r != -EADDRINUSE || keeper->options->gate_fd < 0 || sc_now_ns() >= until)
            return r;
        poll(NULL, 0, PAUSE_MS);
    }
}

int sc_keeper_serve(const struct sc_keeper_options *options, struct sc_err *err)
{
    char path[PATH_MAX];
    struct keeper keeper = {.options = options, .uid = geteuid(), .state = -1, .since_ns = sc_now_ns()};
    int listener = -1;
    TAILQ_INIT(&keeper.peers);
    TAILQ_INIT(&keeper.sessions);
    TAILQ_INIT(&keeper.shapes);
    TAILQ_INIT(&keeper.watchers);
    TAILQ_INIT(&keeper.judgings);
    int r = options->path ? 0 : sc_keeper_path(path, err);
    /* First all that takes a while: who can connect is soon answered. */
    if (r == 0)
        r = open_state(&keeper, err);
    hold_signals(SIG_BLOCK);
    if (r == 0)
        r = take_place(&keeper, options->path ? options->path : path, &listener, err);
    if (r < 0) {
        close_state(&keeper);
        return r;
    }
    signal(SIGPIPE, SIG_IGN);
    keeper.base = event_base_new();
    r = keeper.base ? serve(&keeper, listener, err) : sc_err_sys(err, -ENOMEM, "keeper: event loop");
    if (keeper.base)
        event_base_free(keeper.base);
    close_state(&keeper);
    sc_close(&listener);
    sc_keeper_place_leave(&keeper.place);
    return r;
}
