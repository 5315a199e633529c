#include "snap/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/fd.h"
#include "base/num.h"

/* A parked session's own clocks never come first. */
#define PARKED_IDLE_NS (24 * 3600 * SC_NS_PER_S)

struct parked {
    struct sc_session *session;
    uint64_t since_ns;       /* its making; from when it is ready, that */
    uint64_t zygote_born_ns; /* 0: its interpreter was started */
    bool ready;
};

struct sc_pool {
    struct sc_pool_options options; /* resolved */
    int epoll;
    struct sc_nursery nursery;
    struct parked cells[SC_POOL_MOST]; /* by age, the oldest first */
    unsigned n_cells, wanted;
    unsigned spare; /* the fewest ready ones of this period */
    uint64_t period_end_ns, pause_end_ns;
    char *trouble;
    uint64_t pause_ns; /* the last one's length; 0: there was none since a cell was taken */
};

static unsigned count_ready(const struct sc_pool *pool)
{
    unsigned n = 0;
    for (unsigned i = 0; i < pool->n_cells; i++)
        n += pool->cells[i].ready;
    return n;
}

static void note_spare(struct sc_pool *pool)
{
    unsigned ready = count_ready(pool);
    pool->spare = ready < pool->spare ? ready : pool->spare;
}

static struct sc_session *pull(struct sc_pool *pool, unsigned at)
{
    struct sc_session *session = pool->cells[at].session;
    (void)epoll_ctl(pool->epoll, EPOLL_CTL_DEL, sc_session_fd(session), NULL);
    pool->n_cells--;
    memmove(&pool->cells[at], &pool->cells[at + 1], (pool->n_cells - at) * sizeof pool->cells[0]);
    return session;
}

static void drop(struct sc_pool *pool, unsigned at)
{
    sc_session_close(pull(pool, at));
}

static void begin_period(struct sc_pool *pool, uint64_t now)
{
    pool->period_end_ns = now + pool->options.period_ns;
    pool->spare = count_ready(pool);
}

/* The next one may fare no better. */
static void pause_making(struct sc_pool *pool, uint64_t now)
{
    uint64_t longer = sc_max_u64(2 * pool->pause_ns, SC_POOL_PAUSE_MIN_NS);
    pool->pause_ns = sc_min_u64(longer, SC_POOL_PAUSE_MAX_NS);
    pool->pause_end_ns = now + pool->pause_ns;
}

static void note_trouble(struct sc_pool *pool, const char *trouble)
{
    free(pool->trouble);
    pool->trouble = trouble ? strdup(trouble) : NULL;
}

const char *sc_pool_trouble(const struct sc_pool *pool)
{
    return pool->trouble;
}

const char *sc_pool_fork_trouble(const struct sc_pool *pool)
{
    return sc_nursery_trouble(&pool->nursery);
}

/* The same prelude would fail in a cell. */
static void step_nursery(struct sc_pool *pool, uint64_t now)
{
    sc_nursery_step(&pool->nursery, now);
    if (pool->nursery.is_broken)
        note_trouble(pool, sc_nursery_trouble(&pool->nursery));
    pool->nursery.is_broken = false;
}

/* Takes what the cell has told. False: it is gone. */
static bool is_well(struct sc_pool *pool, struct parked *cell, uint64_t now)
{
    struct sc_err err = {0};
    int prepared = sc_session_step(cell->session, &err);
    if (prepared == 0)
        prepared = sc_session_is_prepared(cell->session, pool->options.lang, pool->options.mode);
    if (prepared == -EBADMSG)
        note_trouble(pool, sc_session_trouble(cell->session));
    bool is_of_now = cell->zygote_born_ns && cell->zygote_born_ns == pool->nursery.zygote.since_ns;
    if (is_of_now && prepared != 0 && !cell->ready)
        sc_nursery_note(&pool->nursery, prepared > 0);
    if (prepared > 0 && !cell->ready) {
        cell->ready = true;
        cell->since_ns = now;
        note_trouble(pool, NULL);
    }
    return prepared >= 0;
}

/* ---- life ---- */

int sc_pool_new(const struct sc_pool_options *options, struct sc_pool **ret_pool, struct sc_err *err)
{
    struct sc_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return sc_err_sys(err, -ENOMEM, "pool");
    pool->options = *options;
    if (!pool->options.age_ns)
        pool->options.age_ns = SC_POOL_AGE_NS;
    if (!pool->options.period_ns)
        pool->options.period_ns = SC_POOL_PERIOD_NS;
    if (pool->options.most > SC_POOL_MOST)
        pool->options.most = SC_POOL_MOST;
    pool->wanted = pool->options.least = sc_min_u64(pool->options.least, pool->options.most);
    pool->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (pool->epoll < 0) {
        int r = -errno;
        free(pool);
        return sc_err_sys(err, r, "pool");
    }
    const struct sc_nursery_options nursery = {
        .works = options->fork_works,
        .lang = options->lang,
        .mode = options->mode,
        .prelude = options->prelude,
        .age_ns = options->zygote_age_ns,
        .forks = options->zygote_forks,
        .blank_age_ns = pool->options.age_ns,
        .blank_period_ns = pool->options.period_ns,
    };
    sc_nursery_init(&pool->nursery, &nursery, pool->epoll);
    begin_period(pool, sc_now_ns());
    *ret_pool = pool;
    return 0;
}

void sc_pool_free(struct sc_pool *pool)
{
    if (!pool)
        return;
    while (pool->n_cells > 0)
        drop(pool, pool->n_cells - 1);
    sc_nursery_fini(&pool->nursery);
    sc_close(&pool->epoll);
    free(pool->trouble);
    free(pool);
}

int sc_pool_fd(const struct sc_pool *pool)
{
    return pool->epoll;
}

unsigned sc_pool_size(const struct sc_pool *pool)
{
    return pool->n_cells;
}

unsigned sc_pool_wanted(const struct sc_pool *pool)
{
    return pool->wanted;
}

/* ---- clocks ---- */

uint64_t sc_pool_next_ns(const struct sc_pool *pool)
{
    uint64_t next = pool->wanted > 0 ? pool->period_end_ns : UINT64_MAX;
    next = sc_min_u64(next, sc_nursery_next_ns(&pool->nursery));
    for (unsigned i = 0; i < pool->n_cells; i++) {
        const struct parked *cell = &pool->cells[i];
        next = sc_min_u64(next, sc_session_next_ns(cell->session));
        next = sc_min_u64(next, cell->since_ns + pool->options.age_ns);
    }
    if (pool->n_cells < pool->wanted && sc_now_ns() < pool->pause_end_ns)
        next = sc_min_u64(next, pool->pause_end_ns);
    return next;
}

void sc_pool_retire(struct sc_pool *pool)
{
    sc_nursery_retire(&pool->nursery);
}

static void end_period(struct sc_pool *pool, uint64_t now)
{
    if (pool->spare > 0 && pool->wanted > pool->options.least)
        pool->wanted--;
    if (pool->wanted == 0)
        sc_pool_retire(pool);
    begin_period(pool, now);
}

void sc_pool_step(struct sc_pool *pool)
{
    uint64_t now = sc_now_ns();
    step_nursery(pool, now);
    for (unsigned i = pool->n_cells; i-- > 0;) {
        struct parked *cell = &pool->cells[i];
        if (!is_well(pool, cell, now)) {
            pause_making(pool, now);
            drop(pool, i);
        } else if (now >= cell->since_ns + pool->options.age_ns) {
            drop(pool, i);
        }
    }
    if (now >= pool->period_end_ns)
        end_period(pool, now);
    while (pool->n_cells > pool->wanted)
        drop(pool, 0);
    note_spare(pool);
}

/* ---- cells come and go ---- */

static int adopt(struct sc_session *session, const struct sc_session_options *options,
                 const struct sc_session_events *events)
{
    struct sc_err err = {0};
    return sc_session_adopt(session, options, events, &err);
}

static struct sc_session *take_parked(struct sc_pool *pool, const struct sc_session_options *options,
                                      const struct sc_session_events *events,
                                      struct sc_pool_origin *ret_origin)
{
    uint64_t now = sc_now_ns();
    for (unsigned i = 0; i < pool->n_cells;) {
        struct parked *cell = &pool->cells[i];
        /* One that died a moment ago is not handed out. */
        if (!is_well(pool, cell, now) || now >= cell->since_ns + pool->options.age_ns) {
            drop(pool, i);
        } else if (!cell->ready) {
            i++;
        } else {
            const struct parked taken = *cell;
            struct sc_session *session = pull(pool, i);
            note_spare(pool);
            if (adopt(session, options, events) == 0) {
                *ret_origin = (struct sc_pool_origin){
                    .kind = SC_START_WARM,
                    .parked_ns = now - taken.since_ns,
                    .zygote_age_ns = taken.zygote_born_ns ? now - taken.zygote_born_ns : 0,
                };
                pool->pause_ns = 0;
                return session;
            }
            sc_session_close(session);
        }
    }
    return NULL;
}

struct sc_session *sc_pool_take(struct sc_pool *pool, const struct sc_session_options *options,
                                const struct sc_session_events *events, struct sc_pool_origin *ret_origin)
{
    struct sc_err err = {0};
    struct sc_session *session = take_parked(pool, options, events, ret_origin);
    if (session)
        return session;
    pool->spare = 0;
    if (pool->wanted < pool->options.most)
        pool->wanted++;
    step_nursery(pool, sc_now_ns());
    if (sc_nursery_serves(&pool->nursery) && sc_pool_blanks(pool) == 0)
        sc_blanks_miss(&pool->nursery.blanks);
    if (sc_nursery_bear(&pool->nursery, options, events, &session, &err) < 0)
        return NULL;
    *ret_origin =
        (struct sc_pool_origin){.kind = SC_START_FORK, .zygote_age_ns = sc_nursery_age_ns(&pool->nursery)};
    return session;
}

void sc_pool_note_fork(struct sc_pool *pool, bool is_well)
{
    sc_nursery_note(&pool->nursery, is_well);
}

bool sc_pool_is_short(const struct sc_pool *pool)
{
    return pool->n_cells < pool->wanted && pool->n_cells == count_ready(pool) &&
           !sc_nursery_is_loading(&pool->nursery) && sc_now_ns() >= pool->pause_end_ns;
}

static int open_started(struct sc_pool *pool, const struct sc_session_options *options,
                        struct sc_session **ret_session, struct sc_err *err)
{
    int r = sc_session_open(pool->options.works, options, NULL, ret_session, err);
    return r < 0 ? r
                 : sc_session_prepare(*ret_session, pool->options.lang, pool->options.mode,
                                      pool->options.prelude, err);
}

/* A fork of the zygote, or, where there is none, with an interpreter of its own. */
static int make_cell(struct sc_pool *pool, struct parked *ret_cell, struct sc_err *err)
{
    const struct sc_session_options options = {.idle_ns = PARKED_IDLE_NS, .total_ns = PARKED_IDLE_NS};
    struct epoll_event event = {.events = EPOLLIN};
    struct parked cell = {.since_ns = sc_now_ns()};
    int r = sc_nursery_bear(&pool->nursery, &options, NULL, &cell.session, err);
    if (r == 0)
        cell.zygote_born_ns = pool->nursery.zygote.since_ns;
    else
        r = open_started(pool, &options, &cell.session, err);
    if (r == 0 && epoll_ctl(pool->epoll, EPOLL_CTL_ADD, sc_session_fd(cell.session), &event) < 0)
        r = sc_err_sys(err, -errno, "pool");
    if (r < 0)
        sc_session_close(cell.session);
    else
        *ret_cell = cell;
    return r;
}

int sc_pool_make(struct sc_pool *pool, struct sc_err *err)
{
    struct sc_err unused = {0};
    if (pool->n_cells >= pool->options.most)
        return sc_err_sys(err, -ENOBUFS, "pool");
    if (sc_nursery_is_empty(&pool->nursery) && sc_nursery_begin(&pool->nursery, &unused) == 0)
        return 0;
    int r = make_cell(pool, &pool->cells[pool->n_cells], err);
    if (r < 0)
        pause_making(pool, sc_now_ns());
    else
        pool->n_cells++;
    return r;
}

bool sc_pool_lacks_zygote(const struct sc_pool *pool)
{
    return pool->wanted >= sc_min_u64(2, pool->options.most) && sc_nursery_is_empty(&pool->nursery);
}

int sc_pool_make_zygote(struct sc_pool *pool, struct sc_err *err)
{
    return sc_nursery_begin(&pool->nursery, err);
}

bool sc_pool_is_loading(const struct sc_pool *pool)
{
    return sc_nursery_is_loading(&pool->nursery);
}

unsigned sc_pool_blanks(const struct sc_pool *pool)
{
    return pool->nursery.blanks.n;
}

bool sc_pool_lacks_blank(const struct sc_pool *pool)
{
    return sc_nursery_lacks_blank(&pool->nursery);
}

int sc_pool_make_blank(struct sc_pool *pool, struct sc_err *err)
{
    return sc_nursery_make_blank(&pool->nursery, err);
}

void sc_pool_give_up_blank(struct sc_pool *pool)
{
    sc_blanks_give_up(&pool->nursery.blanks);
}

void sc_pool_give_up(struct sc_pool *pool)
{
    if (pool->n_cells > 0)
        drop(pool, 0);
    if (pool->wanted > 0)
        pool->wanted--;
}
