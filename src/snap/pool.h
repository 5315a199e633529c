/* A pool of parked cells of one shape (snap/shape.h): sealed, the interpreter started and waiting for its
 * run. Each is taken once and never comes back.
 *
 * Theory of operation. The pool holds as many cells as were lately asked for and not there, between a least
 * and a most, and gives up one for each period in which one was never needed. It makes them only when its
 * owner says so, one at a time: the next not before the interpreter of the last is ready. A cell that died,
 * or is too old, is dropped, and is missing like one that was taken.
 *
 * An event source like sc_live (cell/live.h). Nothing is called back.
 */
#ifndef SC_SNAP_POOL_H
#define SC_SNAP_POOL_H

#include "cell/cell.h"
#include "snap/nursery.h"
#include "snap/session.h"

struct sc_pool;

#define SC_POOL_MOST 64
#define SC_POOL_AGE_NS (300 * SC_NS_PER_S)   /* the oldest that is still taken */
#define SC_POOL_PERIOD_NS (60 * SC_NS_PER_S) /* after which one that was not needed is given up */
/* After a cell that could not be made, or died by itself: twice as long each time, until one was taken. */
#define SC_POOL_PAUSE_MIN_NS (50 * SC_NS_PER_MS)
#define SC_POOL_PAUSE_MAX_NS (10 * SC_NS_PER_S)

struct sc_pool_options {
    struct sc_works *works; /* of a plan that stays; outlives the pool */
    enum sc_lang lang;
    enum sc_mode mode;
    struct sc_works *fork_works; /* the same, of a forkable plan: cells are forks of a zygote; NULL: they are
                                    not */
    uint64_t zygote_age_ns;      /* 0: SC_ZYGOTE_AGE_NS */
    uint32_t zygote_forks;       /* 0: SC_ZYGOTE_FORKS */
    const struct sc_prelude *prelude; /* that their interpreters load; outlives the pool; NULL: none */
    unsigned least;                   /* cells that are wanted without a request */
    unsigned most;                    /* cells; at most SC_POOL_MOST */
    uint64_t age_ns;                  /* 0: SC_POOL_AGE_NS */
    uint64_t period_ns;               /* 0: SC_POOL_PERIOD_NS */
};

int sc_pool_new(const struct sc_pool_options *options, struct sc_pool **ret_pool, struct sc_err *err);
void sc_pool_free(struct sc_pool *pool); /* and its cells; NULL is fine */
int sc_pool_fd(const struct sc_pool *pool);
uint64_t sc_pool_next_ns(const struct sc_pool *pool);
void sc_pool_step(struct sc_pool *pool);

/* Where a cell comes from that was taken. */
struct sc_pool_origin {
    enum sc_start kind;     /* WARM or FORK */
    uint64_t parked_ns;     /* WARM: how long it had waited */
    uint64_t zygote_age_ns; /* of what its interpreter was forked from; 0: it was started */
};
/* A ready cell, the oldest, which is the caller's from now on, with these events. Where none is ready, one
 * more is wanted from now on, and a fork of the zygote is made, which is soon ready; NULL: there is none. */
struct sc_session *sc_pool_take(struct sc_pool *pool, const struct sc_session_options *options,
                                const struct sc_session_events *events, struct sc_pool_origin *ret_origin);
/* What failed when the last cell loaded its prelude, with its traceback, said from inside; NULL: nothing. */
const char *sc_pool_trouble(const struct sc_pool *pool);
/* Why its cells are no forks although they should be; NULL: they are, or nobody knows yet. */
const char *sc_pool_fork_trouble(const struct sc_pool *pool);
/* Of a cell that was taken as a FORK: did it live to be one? */
void sc_pool_note_fork(struct sc_pool *pool, bool is_well);
/* Is it time to make one more? */
bool sc_pool_is_short(const struct sc_pool *pool);
/* Makes one, or the zygote that it shall be a fork of; returns before it is ready. */
int sc_pool_make(struct sc_pool *pool, struct sc_err *err);
/* It was asked for more than once and has no zygote although it could: that does not wait for quiet, as cells
 * that are forked take less time from others than those that are started. */
bool sc_pool_lacks_zygote(const struct sc_pool *pool);
int sc_pool_make_zygote(struct sc_pool *pool, struct sc_err *err); /* returns before it serves */
bool sc_pool_is_loading(const struct sc_pool *pool);               /* a zygote */
/* Gives up the oldest cell, for the sake of another pool, and wants one less. */
void sc_pool_give_up(struct sc_pool *pool);
void sc_pool_retire(struct sc_pool *pool);           /* its zygote, until it is needed again */
unsigned sc_pool_size(const struct sc_pool *pool);   /* cells, ready or not */
unsigned sc_pool_wanted(const struct sc_pool *pool); /* how many it would have */

/* Blank cells (snap/blanks.h) below its zygote: what it is forked into where no cell waits. */
unsigned sc_pool_blanks(const struct sc_pool *pool);
bool sc_pool_lacks_blank(const struct sc_pool *pool);             /* it is time to make one more */
int sc_pool_make_blank(struct sc_pool *pool, struct sc_err *err); /* returns before it is sealed */
/* For the sake of another pool: the oldest goes, and one less is wanted. */
void sc_pool_give_up_blank(struct sc_pool *pool);

#endif
