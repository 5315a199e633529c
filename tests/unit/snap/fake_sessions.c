#include "fake_sessions.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

unsigned n_below;
struct sc_session *made[64];
unsigned n_made, n_alive;
int open_fails, fork_fails;
bool forks;
const char *said; /* from inside, of what fails */
static struct sc_works *const FORK_WORKS = (struct sc_works *)&forks;
struct sc_session *zygote;
struct sc_pool *pool;
struct sc_pool_origin origin;
const struct sc_session_options OPTIONS = {.end_on_memory = true};
const struct sc_session_events EVENTS = {0};
static const struct sc_prelude PRELUDE;

int sc_session_open(struct sc_works *works, const struct sc_session_options *options,
                    const struct sc_session_events *events, struct sc_session **ret_session,
                    struct sc_err *err)
{
    (void)works;
    (void)options;
    (void)events;
    if (open_fails)
        return sc_err_sys(err, open_fails, "session");
    struct sc_session *session = calloc(1, sizeof *session);
    session->fd = eventfd(0, EFD_CLOEXEC);
    made[n_made++] = session;
    n_alive++;
    *ret_session = session;
    return 0;
}

void sc_session_close(struct sc_session *session)
{
    if (!session)
        return;
    n_below -= session->above != NULL;
    close(session->fd);
    free(session);
    n_alive--;
}

int sc_session_fd(const struct sc_session *session)
{
    return session->fd;
}

uint64_t sc_session_next_ns(const struct sc_session *session)
{
    (void)session;
    return UINT64_MAX;
}

int sc_session_step(struct sc_session *session, struct sc_err *err)
{
    (void)session;
    (void)err;
    return 0;
}

const char *sc_session_trouble(const struct sc_session *session)
{
    return session->prepared == -EBADMSG ? said : NULL;
}

int sc_session_prepare(struct sc_session *session, enum sc_lang lang, enum sc_mode mode,
                       const struct sc_prelude *prelude, struct sc_err *err)
{
    assert_ptr_equal(prelude, &PRELUDE);
    (void)session;
    (void)err;
    assert_int_equal(lang, SC_LANG_PYTHON);
    assert_int_equal(mode, SC_MODE_RICH);
    return 0;
}

int sc_session_is_prepared(const struct sc_session *session, enum sc_lang lang, enum sc_mode mode)
{
    (void)lang;
    (void)mode;
    return session->prepared;
}

int sc_session_adopt(struct sc_session *session, const struct sc_session_options *options,
                     const struct sc_session_events *events, struct sc_err *err)
{
    (void)err;
    assert_int_equal(options == &OPTIONS, events == &EVENTS); /* else it is to wait, and nobody's */
    assert_true(events == &EVENTS || !events);
    session->adopted = events;
    return 0;
}

/* ---- zygotes ---- */

int sc_session_prepare_zygote(struct sc_session *session, enum sc_lang lang, enum sc_mode mode,
                              const struct sc_prelude *prelude, struct sc_err *err)
{
    zygote = session;
    return sc_session_prepare(session, lang, mode, prelude, err);
}

int sc_session_open_below(struct sc_works *works, struct sc_session *above,
                          const struct sc_session_options *options, const struct sc_session_events *events,
                          struct sc_session **ret_session, struct sc_err *err)
{
    assert_ptr_equal(above, zygote);
    int r = sc_session_open(works, options, events, ret_session, err);
    if (r == 0)
        (*ret_session)->above = above;
    n_below += r == 0;
    return r;
}

int sc_session_fork_runner(struct sc_session *session, enum sc_lang lang, enum sc_mode mode,
                           struct sc_err *err)
{
    (void)lang;
    (void)mode;
    (void)err;
    assert_false(session->is_forked || session->is_foul);
    session->is_forked = fork_fails == 0;
    return fork_fails;
}

int sc_session_is_sealed(const struct sc_session *session)
{
    return session->sealed;
}

bool sc_session_is_blank(const struct sc_session *session)
{
    assert_int_equal(session->sealed, 1);
    return !session->is_foul;
}

unsigned sc_session_below(const struct sc_session *session)
{
    (void)session;
    return n_below;
}

void open_pool_of(unsigned least, unsigned most, uint64_t age_ns, uint64_t period_ns)
{
    struct sc_err err = {0};
    const struct sc_pool_options options = {.lang = SC_LANG_PYTHON,
                                            .mode = SC_MODE_RICH,
                                            .prelude = &PRELUDE,
                                            .fork_works = forks ? FORK_WORKS : NULL,
                                            .zygote_forks = 3,
                                            .least = least,
                                            .most = most,
                                            .age_ns = age_ns,
                                            .period_ns = period_ns};
    assert_int_equal(sc_pool_new(&options, &pool, &err), 0);
}

void open_pool(unsigned most, uint64_t age_ns, uint64_t period_ns)
{
    open_pool_of(0, most, age_ns, period_ns);
}

int begin(void **state)
{
    (void)state;
    n_made = n_alive = 0;
    open_fails = fork_fails = 0;
    n_below = 0;
    forks = false;
    said = "import gone:\nTraceback";
    zygote = NULL;
    pool = NULL;
    return 0;
}

/* Every session was closed, by whoever had it. */
int end(void **state)
{
    (void)state;
    sc_pool_free(pool);
    return n_alive == 0 ? 0 : -1;
}

struct sc_session *take(void)
{
    struct sc_session *session = sc_pool_take(pool, &OPTIONS, &EVENTS, &origin);
    if (session) {
        assert_true(session->adopted == (origin.kind == SC_START_WARM || session->sealed));
        assert_true(origin.parked_ns < 60 * SC_NS_PER_S);
        assert_true((origin.zygote_age_ns > 0) == (session->above != NULL));
    }
    return session;
}

void make_now(int prepared)
{
    struct sc_err err = {0};
    assert_int_equal(sc_pool_make(pool, &err), 0);
    made[n_made - 1]->prepared = prepared;
    sc_pool_step(pool);
}

void make(int prepared)
{
    assert_true(sc_pool_is_short(pool));
    make_now(prepared);
}

/* Until the pool's own clock has come. */
void wait_for_clock(void)
{
    uint64_t next = sc_pool_next_ns(pool), now = sc_now_ns();
    assert_true(next < now + 10 * SC_NS_PER_S);
    if (next > now)
        poll(NULL, 0, (int)((next - now) / SC_NS_PER_MS + 1));
    sc_pool_step(pool);
}

void begin_zygote_of(uint64_t age_ns, uint64_t period_ns)
{
    forks = true;
    open_pool(2, age_ns, period_ns);
    assert_null(take());
    make(0);
    assert_ptr_equal(zygote, made[0]);
    assert_false(sc_pool_is_short(pool)); /* first it must have loaded its prelude */
    zygote->prepared = 1;
    sc_pool_step(pool);
    assert_null(sc_pool_fork_trouble(pool));
}

void begin_zygote(void)
{
    begin_zygote_of(0, 0);
}
