/* Theory of operation
 *
 * A tenant's `once` and `session.start` need a cell. Each is a ticket until it has one. A ticket is fit when
 * its tenant has room within its quota; of the tenants with a fit ticket the one goes first that has had
 * least so far, by its weight: each cell is charged to its tenant's virtual time, first with what its
 * tenant's runs usually take, and put right when it ends. A tenant that was away starts at the time of the
 * others, so that nothing is saved up. Within a tenant the higher priority goes first, then the older.
 *
 * Cells are handed out while fewer run than the keeper may have at once, and while the machine is not
 * pressed. A pressed machine still gets one at a time, so that nothing waits for ever. What can not wait is
 * told so with a time to come back: `too_many` when the tenant's own bound is full, `overloaded` when all of
 * ours is.
 *
 * What a tenant is told depends on its own tickets only, but for `overloaded`, whose time is always the same.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "keeper/parts.h"
#include "keeper/reply.h"

#define TICK_US 100000
#define LOOK_NS (250 * SC_NS_PER_MS)
#define FIRST_GUESS_NS (100 * SC_NS_PER_MS)
#define OVERLOADED_MS 1000
#define RETRY_LEAST_MS 20
#define RETRY_MOST_MS 60000

struct ticket {
    TAILQ_ENTRY(ticket) of_tenant;
    TAILQ_ENTRY(ticket) of_peer;
    struct caller caller;
    struct peer *peer;
    uint16_t channel;
    struct sc_keeper_request request;
    struct need need;
    uint64_t since_ns;
};

/* ---- tickets ---- */

static void ticket_free(struct ticket *ticket)
{
    struct tenant *tenant = ticket->caller.tenant;
    struct keeper *keeper = ticket->caller.keeper;
    TAILQ_REMOVE(&tenant->tickets, ticket, of_tenant);
    TAILQ_REMOVE(&ticket->peer->tickets, ticket, of_peer);
    ticket->peer->n_calls--;
    keeper->admission.n_queued--;
    if (--tenant->n_queued == 0)
        TAILQ_REMOVE(&keeper->admission.turns, tenant, of_turns);
    sc_keeper_request_fini(&ticket->request);
    free(ticket);
}

static void answer(struct ticket *ticket, char *text)
{
    peer_reply(ticket->peer, ticket->channel, text);
    ticket_free(ticket);
}

struct ticket *ticket_by_channel(const struct peer *peer, uint16_t channel)
{
    struct ticket *ticket;
    TAILQ_FOREACH(ticket, &peer->tickets, of_peer)
    {
        if (ticket->channel == channel)
            return ticket;
    }
    return NULL;
}

void ticket_cancel(struct ticket *ticket)
{
    answer(ticket, sc_keeper_reply_error("ended", "", "cancelled while it waited for its turn"));
}

void tickets_drop(struct peer *peer)
{
    struct ticket *ticket;
    while ((ticket = TAILQ_FIRST(&peer->tickets)))
        ticket_free(ticket);
}

/* ---- what there is ---- */

bool admission_is_pressed(struct keeper *keeper)
{
    struct admission *admission = &keeper->admission;
    uint64_t now = sc_now_ns();
    if (now - admission->looked_ns >= LOOK_NS) {
        admission->looked_ns = now;
        sc_pressure_read("/proc", &admission->pressure);
    }
    return sc_pressure_beyond(&admission->pressure, &keeper->options->pressure) != NULL;
}

static bool is_single(const struct sc_keeper_request *request)
{
    return request->verb == SC_KEEPER_ONCE || request->verb == SC_KEEPER_JUDGE;
}

/* May what is needed be handed out? */
static bool is_open(struct keeper *keeper, bool once, const struct need *need)
{
    const struct admission *admission = &keeper->admission;
    if (keeper->n_sessions + keeper->n_judgings >= keeper->options->sessions)
        return false;
    /* A task that wants more cells at once than may ever run has them when nothing else does. */
    if (once && admission->n_running && admission->n_running + need->cells > keeper->options->running)
        return false;
    return (once ? admission->n_running : keeper->n_sessions) == 0 || !admission_is_pressed(keeper);
}

/* ---- handing out ---- */

static uint64_t share_of(const struct tenant *tenant, uint64_t ns)
{
    return ns / tenant->quota->weight;
}

static void charge(struct keeper *keeper, struct tenant *tenant)
{
    struct admission *admission = &keeper->admission;
    tenant->virtual_ns = sc_max_u64(tenant->virtual_ns, admission->virtual_ns);
    admission->virtual_ns = tenant->virtual_ns;
    tenant->virtual_ns += share_of(tenant, tenant->usual_ns ? tenant->usual_ns : FIRST_GUESS_NS);
}

void share_take(const struct caller *caller, const struct need *need, bool once, struct share *ret_share)
{
    struct tenant *tenant = caller->tenant;
    *ret_share = (struct share){.need = *need,
                                .charged_ns = tenant->usual_ns ? tenant->usual_ns : FIRST_GUESS_NS,
                                .since_ns = sc_now_ns(),
                                .once = once};
    tenant->used.cells += need->cells;
    tenant->used.memory += need->memory;
    tenant->used.disk += need->disk;
    tenant->used.cpus += need->cpus;
    if (once)
        caller->keeper->admission.n_running += (unsigned)need->cells;
}

void share_give_back(const struct caller *caller, struct share *share)
{
    struct tenant *tenant = caller->tenant;
    struct keeper *keeper = caller->keeper;
    const struct need *need = &share->need;
    const struct timeval now = {0};
    if (!tenant || !need->cells)
        return;
    tenant->used.cells -= need->cells;
    tenant->used.memory -= need->memory;
    tenant->used.disk -= need->disk;
    tenant->used.cpus -= need->cpus;
    if (share->once) {
        uint64_t took = sc_now_ns() - share->since_ns;
        keeper->admission.n_running -= (unsigned)need->cells;
        /* What it took beyond the guess, or less. */
        if (took > share->charged_ns)
            tenant->virtual_ns += share_of(tenant, took - share->charged_ns);
        else
            tenant->virtual_ns -= sc_min_u64(tenant->virtual_ns, share_of(tenant, share->charged_ns - took));
        tenant->usual_ns = tenant->usual_ns ? (7 * tenant->usual_ns + took) / 8 : took;
    }
    share->need.cells = 0;
    if (keeper->admission.n_queued && keeper->admission.turn)
        evtimer_add(keeper->admission.turn, &now);
}

static struct caller caller_of(const struct keeper_session *session)
{
    return (struct caller){.keeper = session->keeper, .uid = session->owner, .tenant = session->tenant};
}

void admission_take(struct keeper_session *session, const struct need *need, bool once)
{
    const struct caller caller = caller_of(session);
    struct share share;
    share_take(&caller, need, once, &share);
    session->need = share.need;
    session->charged_ns = share.charged_ns;
    session->once = share.once;
}

void admission_give_back(struct keeper_session *session)
{
    const struct caller caller = caller_of(session);
    struct share share = {.need = session->need,
                          .charged_ns = session->charged_ns,
                          .since_ns = session->since_ns,
                          .once = session->once};
    share_give_back(&caller, &share);
    session->need.cells = 0;
}

static void hand_out(struct ticket *ticket)
{
    struct caller caller = ticket->caller;
    struct peer *peer = ticket->peer;
    struct sc_keeper_request request = ticket->request;
    struct need need = ticket->need;
    uint16_t channel = ticket->channel;
    uint64_t queued_ns = sc_now_ns() - ticket->since_ns;
    ticket->request = (struct sc_keeper_request){0};
    sc_spec_init(&ticket->request.spec);
    ticket_free(ticket);
    charge(caller.keeper, caller.tenant);
    call_admitted(&caller, peer, channel, &request, &need, queued_ns);
    sc_keeper_request_fini(&request);
}

static struct ticket *first_fit(const struct tenant *tenant)
{
    struct ticket *ticket = TAILQ_FIRST(&tenant->tickets);
    return ticket && room_has(tenant, &ticket->need) ? ticket : NULL;
}

/* Of the tenant that has had least. */
static struct ticket *next_ticket(const struct keeper *keeper)
{
    const struct tenant *tenant, *least = NULL;
    struct ticket *next = NULL;
    TAILQ_FOREACH(tenant, &keeper->admission.turns, of_turns)
    {
        struct ticket *ticket = first_fit(tenant);
        if (ticket && (!least || tenant->virtual_ns < least->virtual_ns)) {
            least = tenant;
            next = ticket;
        }
    }
    return next;
}

static void take_turns(evutil_socket_t fd, short what, void *userdata)
{
    struct keeper *keeper = userdata;
    struct ticket *ticket;
    (void)fd;
    (void)what;
    while ((ticket = next_ticket(keeper)) && is_open(keeper, is_single(&ticket->request), &ticket->need))
        hand_out(ticket);
}

static char *refusal(const char *kind, const char *message, uint64_t retry_ms)
{
    return sc_keeper_reply_later(kind, message,
                                 sc_min_u64(sc_max_u64(retry_ms, RETRY_LEAST_MS), RETRY_MOST_MS));
}

static void drop_late(struct tenant *tenant, uint64_t now)
{
    struct ticket *ticket, *next;
    for (ticket = TAILQ_FIRST(&tenant->tickets); ticket; ticket = next) {
        uint64_t patience = ticket->request.deadline_ns;
        next = TAILQ_NEXT(ticket, of_tenant);
        if (patience && now - ticket->since_ns >= patience) {
            ticket->caller.keeper->counts.late++;
            answer(ticket, refusal("overloaded", "deadline_ms: it passed before this request's turn came",
                                   OVERLOADED_MS));
        }
    }
}

/* While somebody waits: deadlines pass, and pressure goes. */
static void tick(evutil_socket_t fd, short what, void *userdata)
{
    struct keeper *keeper = userdata;
    struct admission *admission = &keeper->admission;
    struct tenant *tenant, *next;
    const struct timeval again = {.tv_usec = TICK_US};
    uint64_t now = sc_now_ns();
    for (tenant = TAILQ_FIRST(&admission->turns); tenant; tenant = next) {
        next = TAILQ_NEXT(tenant, of_turns);
        drop_late(tenant, now);
    }
    take_turns(fd, what, keeper);
    if (admission->n_queued)
        evtimer_add(admission->tick, &again);
}

/* ---- coming ---- */

/* Tokens fill up with time. *ret_wait_ms: until there is one. */
static bool take_token(struct tenant *tenant, uint64_t *ret_wait_ms)
{
    const struct sc_quota *quota = tenant->quota;
    const double rate = (double)quota->rate / 1000, full = (double)quota->burst; /* a second */
    uint64_t now = sc_now_ns();
    if (quota->rate == SC_UNSET)
        return true;
    double more = (double)(now - tenant->token_ns) / (double)SC_NS_PER_S * rate;
    tenant->tokens = !tenant->token_ns || tenant->tokens + more > full ? full : tenant->tokens + more;
    tenant->token_ns = now;
    if (tenant->tokens >= 1) {
        tenant->tokens -= 1;
        return true;
    }
    *ret_wait_ms = (uint64_t)((1 - tenant->tokens) / rate * 1000) + 1;
    return false;
}

char *admission_rate(const struct caller *caller)
{
    uint64_t wait_ms = 0;
    if (take_token(caller->tenant, &wait_ms))
        return NULL;
    caller->keeper->counts.too_many++;
    caller->tenant->too_many++;
    return refusal("too_many", "requests: more than this tenant's rate", wait_ms);
}

static uint64_t usual_ms(const struct tenant *tenant)
{
    return (tenant->usual_ns ? tenant->usual_ns : FIRST_GUESS_NS) / SC_NS_PER_MS;
}

static char *refuse_waiting(const struct caller *caller)
{
    struct tenant *tenant = caller->tenant;
    if (tenant->n_queued >= tenant->quota->queued) {
        caller->keeper->counts.too_many++;
        tenant->too_many++;
        return refusal("too_many", "this tenant has all that it may have at once, and as many wait as may",
                       usual_ms(tenant) * (tenant->n_queued + 1) / sc_max_u64(tenant->quota->cells, 1));
    }
    if (caller->keeper->admission.n_queued >= caller->keeper->options->queue) {
        caller->keeper->counts.overloaded++;
        return refusal("overloaded", "the keeper has no room for one more that waits", OVERLOADED_MS);
    }
    return NULL;
}

static void insert(struct ticket *ticket)
{
    struct tenant *tenant = ticket->caller.tenant;
    struct admission *admission = &ticket->caller.keeper->admission;
    const struct timeval soon = {.tv_usec = TICK_US};
    struct ticket *before;
    TAILQ_FOREACH(before, &tenant->tickets, of_tenant)
    {
        if (before->request.priority < ticket->request.priority)
            break;
    }
    if (before)
        TAILQ_INSERT_BEFORE(before, ticket, of_tenant);
    else
        TAILQ_INSERT_TAIL(&tenant->tickets, ticket, of_tenant);
    TAILQ_INSERT_TAIL(&ticket->peer->tickets, ticket, of_peer);
    ticket->peer->n_calls++;
    admission->n_queued++;
    if (tenant->n_queued++ == 0) {
        tenant->virtual_ns = sc_max_u64(tenant->virtual_ns, admission->virtual_ns);
        TAILQ_INSERT_TAIL(&admission->turns, tenant, of_turns);
    }
    if (!evtimer_pending(admission->tick, NULL))
        evtimer_add(admission->tick, &soon);
}

/* Takes what is in `request`. NULL: it waits. */
static char *wait_for_turn(const struct caller *caller, struct peer *peer, uint16_t channel,
                           struct sc_keeper_request *request, const struct need *need)
{
    char *no = refuse_waiting(caller);
    if (no)
        return no;
    struct ticket *ticket = calloc(1, sizeof *ticket);
    if (!ticket)
        return sc_keeper_reply_error("sandbox", "", "out of memory");
    *ticket = (struct ticket){.caller = *caller,
                              .peer = peer,
                              .channel = channel,
                              .request = *request,
                              .need = *need,
                              .since_ns = sc_now_ns()};
    *request = (struct sc_keeper_request){0};
    sc_spec_init(&request->spec);
    insert(ticket);
    return NULL;
}

void admission_ask(const struct caller *caller, struct peer *peer, uint16_t channel,
                   struct sc_keeper_request *request)
{
    struct tenant *tenant = caller->tenant;
    struct need need = {0};
    struct sc_err err = {0};
    const bool resumes = request->verb == SC_KEEPER_SESSION_RESUME;
    char *no = NULL;
    if (room_need(caller, request, &need, &err) < 0)
        no = resumes ? sc_keeper_reply_refusal(&err) : sc_keeper_reply_err(&err);
    else
        no = room_refuse(tenant->quota, &need, request->verb == SC_KEEPER_JUDGE ? "judge" : "spec");
    if (!no && resumes)
        no = policy_refuse_stored(tenant->quota, &request->spec);
    if (no && err.kind == SC_ERR_NONE)
        note_forbidden(caller, request, no);
    if (no) {
        peer_reply(peer, channel, no);
        return;
    }
    if (!caller->keeper->admission.n_queued && room_has(tenant, &need) &&
        is_open(caller->keeper, is_single(request), &need)) {
        charge(caller->keeper, tenant);
        call_admitted(caller, peer, channel, request, &need, 0);
        return;
    }
    no = wait_for_turn(caller, peer, channel, request, &need);
    if (no)
        peer_reply(peer, channel, no);
    else
        take_turns(-1, 0, caller->keeper);
}

char *admission_copies(const struct keeper_session *from, size_t n)
{
    struct tenant *tenant = from->tenant;
    struct keeper *keeper = from->keeper;
    const struct need need = {from->need.cells * n, from->need.memory * n, from->need.disk * n,
                              from->need.cpus * n};
    if (!room_may_ever(tenant->quota, &need))
        return sc_keeper_reply_error("forbidden", "copies",
                                     "copies: together they are more than this tenant may have at once");
    if (!room_has(tenant, &need)) {
        keeper->counts.too_many++;
        tenant->too_many++;
        return refusal("too_many", "this tenant has no room for copies within what it may have at once",
                       usual_ms(tenant));
    }
    if (!is_open(keeper, false, &need) || next_ticket(keeper)) {
        keeper->counts.overloaded++;
        return refusal("overloaded", "the keeper has no room for copies now", OVERLOADED_MS);
    }
    for (size_t i = 0; i < n; i++)
        charge(keeper, tenant);
    return NULL;
}

int admission_open(struct keeper *keeper)
{
    struct admission *admission = &keeper->admission;
    TAILQ_INIT(&admission->turns);
    admission->turn = evtimer_new(keeper->base, take_turns, keeper);
    admission->tick = evtimer_new(keeper->base, tick, keeper);
    return admission->turn && admission->tick ? 0 : -ENOMEM;
}

void admission_close(struct keeper *keeper)
{
    struct admission *admission = &keeper->admission;
    struct tenant *tenant;
    while (admission->turn && (tenant = TAILQ_FIRST(&admission->turns)))
        answer(TAILQ_FIRST(&tenant->tickets), sc_keeper_reply_error("ended", "", "the keeper ends"));
    if (admission->turn)
        event_free(admission->turn);
    if (admission->tick)
        event_free(admission->tick);
    admission->turn = admission->tick = NULL;
}
