/* Blank cells: made below a zygote ahead of its forks, sealed, and empty but for their agents. To fork into
 * one takes much less time than to make it.
 *
 * Theory of operation. All belong to the zygote that serves, and are dropped when it does not any more. Each
 * is taken once, for one fork, and only if it is still as it was made. There is at least one, and as many
 * more as were lately missing; one is given up for each period in which one was never needed, and each after
 * a while. They are made only when their owner says so, one at a time.
 *
 * Not thread-safe, calls nothing back; its owner waits on the epoll descriptor it was given. */
#ifndef SC_SNAP_BLANKS_H
#define SC_SNAP_BLANKS_H

#include "snap/session.h"

#define SC_BLANKS_LEAST 1
#define SC_BLANKS_MOST 4
/* After one that could not be made, or died by itself: twice as long each time, until one was taken. */
#define SC_BLANKS_PAUSE_MIN_NS (50 * SC_NS_PER_MS)
#define SC_BLANKS_PAUSE_MAX_NS (10 * SC_NS_PER_S)

struct sc_blank {
    struct sc_session *session;
    uint64_t since_ns;
    bool is_sealed;
};

struct sc_blanks {
    int epoll;
    uint64_t age_ns, period_ns;
    struct sc_blank cells[SC_BLANKS_MOST]; /* by age, the oldest first */
    unsigned n, wanted;
    unsigned spare; /* the fewest of this period */
    uint64_t period_end_ns;
    uint64_t pause_ns, pause_end_ns; /* pause_ns: the last one's length; 0: there was none lately */
};

void sc_blanks_init(struct sc_blanks *blanks, uint64_t age_ns, uint64_t period_ns, int epoll);
void sc_blanks_drop(struct sc_blanks *blanks); /* all of them */
/* There is a zygote from now on: they are wanted. */
void sc_blanks_begin(struct sc_blanks *blanks, uint64_t now);
uint64_t sc_blanks_next_ns(const struct sc_blanks *blanks, uint64_t now);
void sc_blanks_step(struct sc_blanks *blanks, uint64_t now);
/* One more is to be made, now. */
bool sc_blanks_is_short(const struct sc_blanks *blanks, uint64_t now);
/* Takes a session that was just opened below the zygote. */
int sc_blanks_add(struct sc_blanks *blanks, struct sc_session *session, struct sc_err *err);
void sc_blanks_failed(struct sc_blanks *blanks, uint64_t now); /* one could not be made */
/* The oldest that is sealed and as it was made: the caller's from now on. NULL: there is none. */
struct sc_session *sc_blanks_take(struct sc_blanks *blanks);
/* A request found none. */
void sc_blanks_miss(struct sc_blanks *blanks);
/* The oldest goes, for the sake of others, and one less is wanted. */
void sc_blanks_give_up(struct sc_blanks *blanks);

#endif
