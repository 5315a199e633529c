/* `events`: who watches is told what is noted, as it happens. A watcher that does not read is not waited for:
 * what it missed is counted, and it is told how much when it reads again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "keeper/parts.h"
#include "keeper/reply.h"

struct watcher {
    TAILQ_ENTRY(watcher) of_keeper;
    TAILQ_ENTRY(watcher) of_peer;
    struct keeper *keeper;
    struct peer *peer;
    uint16_t channel;
    const struct tenant *only; /* NULL: everybody's */
    uint64_t missed;
};

static void watcher_free(struct watcher *watcher)
{
    TAILQ_REMOVE(&watcher->keeper->watchers, watcher, of_keeper);
    TAILQ_REMOVE(&watcher->peer->watchers, watcher, of_peer);
    watcher->peer->n_calls--;
    free(watcher);
}

void events_watch(const struct caller *caller, struct peer *peer, uint16_t channel)
{
    static const char begun[] = "{\"started\": {}}\n";
    struct watcher *watcher = calloc(1, sizeof *watcher);
    if (!watcher) {
        peer_reply(peer, channel, NULL);
        return;
    }
    bool all = !caller->tenant || caller->tenant->quota->is_operator;
    *watcher = (struct watcher){
        .keeper = caller->keeper, .peer = peer, .channel = channel, .only = all ? NULL : caller->tenant};
    TAILQ_INSERT_TAIL(&caller->keeper->watchers, watcher, of_keeper);
    TAILQ_INSERT_TAIL(&peer->watchers, watcher, of_peer);
    peer->n_calls++;
    peer_output(peer, channel, SC_KEEPER_EVENTS, begun, sizeof begun - 1);
}

struct watcher *watcher_by_channel(const struct peer *peer, uint16_t channel)
{
    struct watcher *watcher;
    TAILQ_FOREACH(watcher, &peer->watchers, of_peer)
    {
        if (watcher->channel == channel)
            return watcher;
    }
    return NULL;
}

void watcher_cancel(struct watcher *watcher)
{
    peer_reply(watcher->peer, watcher->channel, sc_keeper_reply_ok("{}"));
    watcher_free(watcher);
}

void watchers_drop(struct peer *peer)
{
    struct watcher *watcher;
    while ((watcher = TAILQ_FIRST(&peer->watchers)))
        watcher_free(watcher);
}

void events_close(struct keeper *keeper)
{
    struct watcher *watcher;
    while ((watcher = TAILQ_FIRST(&keeper->watchers))) {
        peer_reply(watcher->peer, watcher->channel, sc_keeper_reply_error("ended", "", "the keeper ends"));
        watcher_free(watcher);
    }
}

static void tell_missed(struct watcher *watcher)
{
    char line[64];
    if (!watcher->missed)
        return;
    int n = snprintf(line, sizeof line, "{\"event\": \"missed\", \"count\": %llu}\n",
                     (unsigned long long)watcher->missed);
    peer_output(watcher->peer, watcher->channel, SC_KEEPER_EVENTS, line, (size_t)n);
    watcher->missed = 0;
}

void events_tell(struct keeper *keeper, const struct tenant *tenant, const json_t *record)
{
    struct watcher *watcher;
    if (TAILQ_EMPTY(&keeper->watchers))
        return;
    char *text = sc_json_dump(record, JSON_COMPACT);
    TAILQ_FOREACH(watcher, &keeper->watchers, of_keeper)
    {
        if (watcher->only && watcher->only != tenant)
            continue;
        if (!text || !peer_has_room(watcher->peer)) {
            watcher->missed++;
            continue;
        }
        tell_missed(watcher);
        peer_output(watcher->peer, watcher->channel, SC_KEEPER_EVENTS, text, strlen(text));
        peer_output(watcher->peer, watcher->channel, SC_KEEPER_EVENTS, "\n", 1);
    }
    free(text);
}
