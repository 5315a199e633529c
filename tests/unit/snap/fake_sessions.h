/* Sessions that are none, and a pool of them: what it makes is noted, and the test says how it fares. */
#ifndef TEST_SNAP_FAKE_SESSIONS_H
#define TEST_SNAP_FAKE_SESSIONS_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdint.h>

#include "snap/pool.h"

/* Long enough to be met in no step that does not wait for it. */
#define SHORT_NS (30 * SC_NS_PER_MS)

struct sc_session {
    int fd;
    int prepared; /* as sc_session_is_prepared tells */
    bool adopted;
    bool is_forked;
    bool is_foul; /* something lives in its cell */
    int sealed;   /* as sc_session_is_sealed tells */
    struct sc_session *above;
};

extern unsigned n_below;
extern struct sc_session *made[64];
extern unsigned n_made, n_alive;
extern int open_fails, fork_fails;
extern bool forks;
extern const char *said; /* from inside, of what fails */
extern struct sc_session *zygote;
extern struct sc_pool *pool;
extern struct sc_pool_origin origin;
extern const struct sc_session_options OPTIONS;
extern const struct sc_session_events EVENTS;

/* Before and after each test. Every session was closed by then, by whoever had it. */
void open_pool_of(unsigned least, unsigned most, uint64_t age_ns, uint64_t period_ns);
void open_pool(unsigned most, uint64_t age_ns, uint64_t period_ns);
int begin(void **state);
int end(void **state);
struct sc_session *take(void);
void make_now(int prepared);
void make(int prepared);
void wait_for_clock(void);
void begin_zygote_of(uint64_t age_ns, uint64_t period_ns);
void begin_zygote(void);

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

#endif
