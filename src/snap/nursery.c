#include "snap/nursery.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/num.h"

/* A zygote's own clocks never come first. */
#define LIFE_NS (24 * 3600 * SC_NS_PER_S)

void sc_nursery_init(struct sc_nursery *nursery, const struct sc_nursery_options *options, int epoll)
{
    *nursery = (struct sc_nursery){.options = *options, .epoll = epoll};
    if (!nursery->options.age_ns)
        nursery->options.age_ns = SC_ZYGOTE_AGE_NS;
    if (!nursery->options.forks)
        nursery->options.forks = SC_ZYGOTE_FORKS;
    sc_blanks_init(&nursery->blanks, options->blank_age_ns, options->blank_period_ns, epoll);
}

static void unwatch(const struct sc_nursery *nursery, const struct sc_session *session)
{
    (void)epoll_ctl(nursery->epoll, EPOLL_CTL_DEL, sc_session_fd(session), NULL);
}

static void close_one(const struct sc_nursery *nursery, struct sc_session *session)
{
    unwatch(nursery, session);
    sc_session_close(session);
}

void sc_nursery_fini(struct sc_nursery *nursery)
{
    sc_blanks_drop(&nursery->blanks);
    if (nursery->zygote.session)
        close_one(nursery, nursery->zygote.session);
    while (nursery->n_retired > 0)
        close_one(nursery, nursery->retired[--nursery->n_retired]);
    free(nursery->trouble);
    nursery->zygote = (struct sc_zygote){0};
    nursery->trouble = NULL;
}

static void note_trouble(struct sc_nursery *nursery, const char *trouble)
{
    free(nursery->trouble);
    nursery->trouble = trouble ? strdup(trouble) : NULL;
}

const char *sc_nursery_trouble(const struct sc_nursery *nursery)
{
    return nursery->trouble;
}

/* ---- its end ---- */

void sc_nursery_retire(struct sc_nursery *nursery)
{
    struct sc_session *session = nursery->zygote.session;
    if (!session)
        return;
    sc_blanks_drop(&nursery->blanks);
    nursery->zygote = (struct sc_zygote){0};
    if (sc_session_below(session) == 0)
        close_one(nursery, session);
    else
        nursery->retired[nursery->n_retired++] = session;
}

static void close_childless(struct sc_nursery *nursery)
{
    for (unsigned i = nursery->n_retired; i-- > 0;) {
        struct sc_err err = {0};
        (void)sc_session_step(nursery->retired[i], &err);
        if (sc_session_below(nursery->retired[i]) > 0)
            continue;
        close_one(nursery, nursery->retired[i]);
        nursery->n_retired--;
        memmove(&nursery->retired[i], &nursery->retired[i + 1],
                (nursery->n_retired - i) * sizeof nursery->retired[0]);
    }
}

static const char *why_lost(const struct sc_zygote *zygote, int prepared)
{
    const char *said = prepared == -EBADMSG ? sc_session_trouble(zygote->session) : NULL;
    if (said)
        return said;
    if (zygote->lost >= SC_ZYGOTE_LOST)
        return "zygote: none of its last forks lived to be ready";
    return zygote->serves ? "zygote: it has died" : "zygote: it died before it could be forked";
}

/* It did not get so far, or died: its cells end with it. */
static void lose(struct sc_nursery *nursery, int prepared, uint64_t now)
{
    const char *trouble = why_lost(&nursery->zygote, prepared);
    nursery->is_barren = !strncmp(trouble, SC_NOT_FORKABLE, strlen(SC_NOT_FORKABLE));
    nursery->is_broken = prepared == -EBADMSG && !nursery->is_barren;
    note_trouble(nursery, trouble);
    nursery->pause_ns =
        sc_min_u64(sc_max_u64(2 * nursery->pause_ns, SC_ZYGOTE_PAUSE_MIN_NS), SC_ZYGOTE_PAUSE_MAX_NS);
    nursery->pause_end_ns = now + nursery->pause_ns;
    sc_nursery_retire(nursery);
}

void sc_nursery_note(struct sc_nursery *nursery, bool is_well)
{
    struct sc_zygote *zygote = &nursery->zygote;
    zygote->lost = is_well ? 0 : zygote->lost + 1;
    if (zygote->session && zygote->lost >= SC_ZYGOTE_LOST)
        lose(nursery, -ESRCH, sc_now_ns());
}

/* ---- steps ---- */

static void take_ready(struct sc_nursery *nursery, uint64_t now)
{
    nursery->zygote.serves = true;
    nursery->zygote.since_ns = now;
    nursery->pause_ns = 0;
    sc_blanks_begin(&nursery->blanks, now);
    note_trouble(nursery, NULL);
}

void sc_nursery_step(struct sc_nursery *nursery, uint64_t now)
{
    struct sc_zygote *zygote = &nursery->zygote;
    struct sc_err err = {0};
    if (nursery->n_retired > 0)
        close_childless(nursery);
    if (!zygote->session)
        return;
    int prepared = sc_session_step(zygote->session, &err);
    if (prepared == 0)
        prepared = sc_session_is_prepared(zygote->session, nursery->options.lang, nursery->options.mode);
    if (prepared < 0)
        lose(nursery, prepared, now);
    else if (prepared > 0 && !zygote->serves)
        take_ready(nursery, now);
    else if (zygote->serves &&
             (now >= zygote->since_ns + nursery->options.age_ns || zygote->forks >= nursery->options.forks))
        sc_nursery_retire(nursery);
    if (nursery->zygote.serves)
        sc_blanks_step(&nursery->blanks, now);
}

uint64_t sc_nursery_next_ns(const struct sc_nursery *nursery)
{
    const struct sc_zygote *zygote = &nursery->zygote;
    uint64_t next = UINT64_MAX;
    if (zygote->session)
        next = sc_min_u64(sc_session_next_ns(zygote->session), zygote->since_ns + nursery->options.age_ns);
    if (zygote->serves)
        next = sc_min_u64(next, sc_blanks_next_ns(&nursery->blanks, sc_now_ns()));
    for (unsigned i = 0; i < nursery->n_retired; i++)
        next = sc_min_u64(next, sc_session_next_ns(nursery->retired[i]));
    return next;
}

bool sc_nursery_is_empty(const struct sc_nursery *nursery)
{
    return nursery->options.works && !nursery->is_barren && !nursery->zygote.session &&
           nursery->n_retired < SC_ZYGOTES_RETIRED && sc_now_ns() >= nursery->pause_end_ns;
}

bool sc_nursery_is_loading(const struct sc_nursery *nursery)
{
    return nursery->zygote.session && !nursery->zygote.serves;
}

bool sc_nursery_serves(const struct sc_nursery *nursery)
{
    return nursery->zygote.serves;
}

uint64_t sc_nursery_age_ns(const struct sc_nursery *nursery)
{
    return sc_now_ns() - nursery->zygote.since_ns;
}

/* ---- its beginning, and its cells' ---- */

int sc_nursery_begin(struct sc_nursery *nursery, struct sc_err *err)
{
    const struct sc_session_options options = {.idle_ns = LIFE_NS, .total_ns = LIFE_NS};
    const struct sc_nursery_options *own = &nursery->options;
    struct sc_session *session = NULL;
    int r = sc_session_open(own->works, &options, NULL, &session, err);
    if (r == 0)
        r = sc_session_prepare_zygote(session, own->lang, own->mode, own->prelude, err);
    if (r == 0) {
        struct epoll_event event = {.events = EPOLLIN};
        if (epoll_ctl(nursery->epoll, EPOLL_CTL_ADD, sc_session_fd(session), &event) < 0)
            r = sc_err_sys(err, -errno, "zygote");
    }
    if (r < 0) {
        sc_session_close(session);
        nursery->pause_end_ns = sc_now_ns() + SC_ZYGOTE_PAUSE_MAX_NS;
        (void)sc_err_wrap(err, r, "zygote");
        note_trouble(nursery, err->message);
        return r;
    }
    nursery->zygote = (struct sc_zygote){.session = session, .since_ns = sc_now_ns()};
    return 0;
}

/* ---- cells below ---- */

bool sc_nursery_lacks_blank(const struct sc_nursery *nursery)
{
    return nursery->zygote.serves && sc_blanks_is_short(&nursery->blanks, sc_now_ns());
}

int sc_nursery_make_blank(struct sc_nursery *nursery, struct sc_err *err)
{
    const struct sc_session_options options = {.idle_ns = LIFE_NS, .total_ns = LIFE_NS};
    struct sc_session *session = NULL;
    if (!nursery->zygote.serves)
        return sc_err_set(err, SC_ERR_SANDBOX, -ESRCH, "blank cell: there is no zygote");
    int r =
        sc_session_open_below(nursery->options.works, nursery->zygote.session, &options, NULL, &session, err);
    if (r == 0)
        r = sc_blanks_add(&nursery->blanks, session, err);
    if (r < 0)
        sc_blanks_failed(&nursery->blanks, sc_now_ns());
    return r;
}

static int fork_into(struct sc_nursery *nursery, struct sc_session *session, struct sc_err *err)
{
    int r = sc_session_fork_runner(session, nursery->options.lang, nursery->options.mode, err);
    if (r < 0)
        sc_session_close(session);
    else
        nursery->zygote.forks++;
    return r;
}

/* False: no cell that was made ahead will do. */
static bool bear_in_blank(struct sc_nursery *nursery, const struct sc_session_options *options,
                          const struct sc_session_events *events, struct sc_session **ret_session)
{
    struct sc_session *session;
    struct sc_err err = {0};
    while ((session = sc_blanks_take(&nursery->blanks))) {
        if (sc_session_adopt(session, options, events, &err) < 0) {
            sc_session_close(session);
        } else if (fork_into(nursery, session, &err) == 0) {
            *ret_session = session;
            return true;
        }
    }
    return false;
}

int sc_nursery_bear(struct sc_nursery *nursery, const struct sc_session_options *options,
                    const struct sc_session_events *events, struct sc_session **ret_session,
                    struct sc_err *err)
{
    struct sc_session *session = NULL;
    if (!nursery->zygote.serves)
        return -ESRCH;
    if (bear_in_blank(nursery, options, events, ret_session))
        return 0;
    int r = sc_session_open_below(nursery->options.works, nursery->zygote.session, options, events, &session,
                                  err);
    if (r == 0)
        r = fork_into(nursery, session, err);
    if (r == 0)
        *ret_session = session;
    return r;
}
