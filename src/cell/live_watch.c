/* What a living cell waits for: one descriptor that its owner polls, and behind it a source for each thing
 * that can happen. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "cell/live_parts.h"

static void watch(struct sc_live *live, unsigned source, int fd, uint32_t events)
{
    uint32_t *now = &live->watched[source];
    struct epoll_event event = {.events = events, .data.u32 = source};
    if (*now == events)
        return;
    int what = *now == SC_LIVE_UNWATCHED ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (events == SC_LIVE_UNWATCHED)
        what = EPOLL_CTL_DEL;
    if (epoll_ctl(live->epoll, what, fd, &event) == 0)
        *now = events;
    else if (events != SC_LIVE_UNWATCHED) /* no memory for it: unseen, the cell must not go on */
        sc_live_end(live, SC_STATUS_SANDBOX_ERROR, "epoll_ctl: %s", strerror(errno));
}

void sc_live_watch_source(struct sc_live *live, unsigned source, int fd, uint32_t events)
{
    if (events != SC_LIVE_UNWATCHED || live->watched[source] != SC_LIVE_UNWATCHED)
        watch(live, source, fd, events);
}

static void watch_notices(struct sc_live *live, enum sc_live_source source, const struct sc_notices *notices)
{
    if (notices->listener >= 0)
        watch(live, source, notices->listener, notices->next_ns > sc_now_ns() ? 0 : EPOLLIN);
}

void sc_live_watch(struct sc_live *live)
{
    if (live->phase != SC_LIVE_LIVES)
        return;
    watch(live, SC_LIVE_CONTROL, live->cell.control, EPOLLIN | (sc_live_queued(live) ? EPOLLOUT : 0));
    watch_notices(live, SC_LIVE_NOTICE, &live->notices);
    watch_notices(live, SC_LIVE_NOTICE_FORK, &live->fork_notices);
    sc_live_fork_watch(live);
}
