/* The zygote of a pool: an interpreter, in a cell of its own, that has loaded the pool's prelude and runs
 * nothing. Cells for single runs are made below it, each with a fork of it.
 *
 * Theory of operation. There is one zygote at a time. It is made when somebody asks for it, serves when its
 * prelude is loaded, and is retired when it is old or has been forked often: then it is not forked any more,
 * and is closed when the last of its cells is, as these end with it. A zygote that cannot serve is tried
 * again after a pause; one that says it can never be forked is not. Meanwhile the pool does without. A cell
 * that was made below it ahead of its fork (snap/blanks.h) is used first; where there is none, one is made.
 *
 * Not thread-safe, calls nothing back; its owner waits on the epoll descriptor it was given. */
#ifndef SC_SNAP_NURSERY_H
#define SC_SNAP_NURSERY_H

#include "snap/blanks.h"

struct sc_nursery_options {
    struct sc_works *works; /* of a forkable plan; NULL: there are no zygotes */
    enum sc_lang lang;
    enum sc_mode mode;
    const struct sc_prelude *prelude;       /* or NULL; all of these outlive the nursery */
    uint64_t age_ns;                        /* 0: SC_ZYGOTE_AGE_NS */
    uint32_t forks;                         /* 0: SC_ZYGOTE_FORKS */
    uint64_t blank_age_ns, blank_period_ns; /* of blank cells, as of those that are parked */
};
#define SC_ZYGOTE_AGE_NS (3600 * SC_NS_PER_S)
#define SC_ZYGOTE_FORKS 1000
#define SC_ZYGOTE_PAUSE_MIN_NS (1 * SC_NS_PER_S)
#define SC_ZYGOTE_PAUSE_MAX_NS (60 * SC_NS_PER_S)
#define SC_ZYGOTE_LOST 3     /* it has no more forks then, and none is made for a while */
#define SC_ZYGOTES_RETIRED 4 /* that still have cells; while there are as many, none is made */

struct sc_zygote {
    struct sc_session *session; /* NULL: there is none */
    uint64_t since_ns;          /* its making; from when it serves, that */
    bool serves;
    uint32_t forks, lost; /* `lost`: one after another, that did not live to be ready */
};

struct sc_nursery {
    struct sc_nursery_options options; /* resolved */
    int epoll;
    struct sc_zygote zygote;
    struct sc_blanks blanks; /* below it; none while it does not serve */
    struct sc_session *retired[SC_ZYGOTES_RETIRED];
    unsigned n_retired;
    uint64_t pause_ns, pause_end_ns;
    bool is_barren; /* it can never be forked here */
    bool is_broken; /* its prelude failed; whoever has read that takes it back */
    char *trouble;  /* sc_nursery_trouble */
};

void sc_nursery_init(struct sc_nursery *nursery, const struct sc_nursery_options *options, int epoll);
void sc_nursery_fini(struct sc_nursery *nursery); /* after all cells below its zygotes */
uint64_t sc_nursery_next_ns(const struct sc_nursery *nursery);
void sc_nursery_step(struct sc_nursery *nursery, uint64_t now);

/* There should be a zygote, and is none; and now is a time to make it. */
bool sc_nursery_is_empty(const struct sc_nursery *nursery);
bool sc_nursery_is_loading(const struct sc_nursery *nursery);
bool sc_nursery_serves(const struct sc_nursery *nursery);
int sc_nursery_begin(struct sc_nursery *nursery, struct sc_err *err);
/* A blank cell below the zygote is missing, and can be made now. */
bool sc_nursery_lacks_blank(const struct sc_nursery *nursery);
int sc_nursery_make_blank(struct sc_nursery *nursery, struct sc_err *err); /* returns before it is sealed */
/* A session in a cell below, whose interpreter is a fork and soon ready. Negative: there is none to be had.
 */
int sc_nursery_bear(struct sc_nursery *nursery, const struct sc_session_options *options,
                    const struct sc_session_events *events, struct sc_session **ret_session,
                    struct sc_err *err);
/* How a fork of the present zygote fared. */
void sc_nursery_note(struct sc_nursery *nursery, bool is_well);
uint64_t sc_nursery_age_ns(const struct sc_nursery *nursery);
/* Why there is none that serves, in words for people, maybe said from inside; NULL: there is one, or nobody
 * knows yet. */
const char *sc_nursery_trouble(const struct sc_nursery *nursery);
/* Nobody needs it for now. */
void sc_nursery_retire(struct sc_nursery *nursery);

#endif
