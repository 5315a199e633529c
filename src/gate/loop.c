/* Theory of operation
 *
 * One thread waits on one epoll: for libmicrohttpd's own epolls (one for each listener), for the links to the
 * keeper, for the supervisor's order to end, and for clients that vanish while their request waits. Nothing
 * here waits for anybody else.
 *
 * libmicrohttpd calls back from MHD_run only, and the links' callbacks come from the loop only, so the two
 * never stand on each other's feet: what a link says resumes a connection, and the next MHD_run goes on with
 * it.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fd.h"
#include "gate/parts.h"

#define EVENTS_AT_ONCE 64
#define SWEEP_MS 1000

int watch_add(struct gate *gate, struct watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    return epoll_ctl(gate->epoll, EPOLL_CTL_ADD, watch->fd, &event) < 0 ? -errno : 0;
}

int watch_change(struct gate *gate, struct watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    return epoll_ctl(gate->epoll, EPOLL_CTL_MOD, watch->fd, &event) < 0 ? -errno : 0;
}

void watch_remove(struct gate *gate, struct watch *watch)
{
    (void)epoll_ctl(gate->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
}

/* How long the loop may sleep. */
static int patience(struct gate *gate)
{
    MHD_UNSIGNED_LONG_LONG least = SWEEP_MS, one;
    for (size_t i = 0; i < gate->options->n_listeners; i++)
        if (gate->fronts[i].daemon && MHD_get_timeout(gate->fronts[i].daemon, &one) == MHD_YES && one < least)
            least = one;
    uint64_t now = sc_now_ns(), due = mcp_due_ns(gate);
    if (due < now + least * SC_NS_PER_MS)
        least = due > now ? (due - now) / SC_NS_PER_MS + 1 : 0;
    return gate->daemon_ready ? 0 : (int)least;
}

static void run_daemons(struct gate *gate)
{
    gate->daemon_ready = false;
    for (size_t i = 0; i < gate->options->n_listeners; i++)
        if (gate->fronts[i].daemon)
            (void)MHD_run(gate->fronts[i].daemon);
}

static bool is_over(const struct gate *gate)
{
    return gate->draining && http_is_idle(gate) && mcp_is_over(gate);
}

/* Watches may be removed by those called before them: each event is asked for anew instead of being kept, so
 * one event at a time is looked at unless there is but one. */
static int loop(struct gate *gate)
{
    uint64_t swept = sc_now_ns();
    while (!is_over(gate)) {
        struct epoll_event event;
        int n = epoll_wait(gate->epoll, &event, 1, patience(gate));
        if (n < 0 && errno != EINTR)
            return -errno;
        for (int left = EVENTS_AT_ONCE; n == 1 && left > 0; left--) {
            struct watch *watch = event.data.ptr;
            watch->ready(watch->userdata, event.events);
            n = left > 1 ? epoll_wait(gate->epoll, &event, 1, 0) : 0;
        }
        run_daemons(gate);
        mcp_tick(gate);
        uint64_t now = sc_now_ns();
        if (now - swept < SWEEP_MS * SC_NS_PER_MS)
            continue;
        swept = now;
        links_sweep(gate);
        http_sweep(gate);
        mcp_sweep(gate);
    }
    return 0;
}

static void on_orders(void *userdata, uint32_t events)
{
    struct gate *gate = userdata;
    (void)events;
    gate->draining = true;
    gate->daemon_ready = true;
    watch_remove(gate, &gate->orders_watch);
    http_quiesce(gate);
    mcp_sweep(gate);
}

static int open_orders(struct gate *gate)
{
    gate->orders_watch.ready = on_orders;
    gate->orders_watch.userdata = gate;
    return watch_add(gate, &gate->orders_watch, EPOLLIN);
}

int sc_gate_serve(const struct sc_gate_options *options, struct sc_err *err)
{
    struct gate gate = {.options = options, .epoll = -1, .orders_watch.fd = options->orders};
    TAILQ_INIT(&gate.links);
    TAILQ_INIT(&gate.waiting);
    TAILQ_INIT(&gate.commands);
    TAILQ_INIT(&gate.people);
    TAILQ_INIT(&gate.requests);
    signal(SIGPIPE, SIG_IGN);
    gate.epoll = epoll_create1(EPOLL_CLOEXEC);
    int r = gate.epoll < 0 ? -errno : open_orders(&gate);
    if (r == 0)
        r = http_open(&gate);
    if (r == 0)
        r = loop(&gate);
    /* Links first: what they tell waiting requests is the last word of these. */
    e2b_close(&gate);
    mcp_end_all(&gate);
    links_close(&gate);
    http_close(&gate);
    mcp_close(&gate);
    sc_close(&gate.epoll);
    return r < 0 ? sc_err_sys(err, r, "gate") : 0;
}
