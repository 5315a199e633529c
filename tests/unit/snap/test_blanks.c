/* Blank cells below a zygote, of a pool whose sessions are none. */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "fake_sessions.h"

static struct sc_session *make_blank(int sealed)
{
    struct sc_err err = {0};
    assert_true(sc_pool_lacks_blank(pool));
    assert_int_equal(sc_pool_make_blank(pool, &err), 0);
    struct sc_session *blank = made[n_made - 1];
    assert_ptr_equal(blank->above, zygote);
    assert_false(blank->is_forked);
    blank->sealed = sealed;
    sc_pool_step(pool);
    return blank;
}

static void blank_cells_are_made_below_a_zygote_that_serves(void **state)
{
    (void)state;
    struct sc_err err = {0};
    forks = true;
    open_pool(2, 0, 0);
    assert_null(take());
    assert_false(sc_pool_lacks_blank(pool));
    make(0);
    assert_false(sc_pool_lacks_blank(pool)); /* it is loading */
    assert_int_equal(sc_pool_make_blank(pool, &err), -ESRCH);
    zygote->prepared = 1;
    sc_pool_step(pool);
    make_blank(1);
    assert_false(sc_pool_lacks_blank(pool));
    assert_int_equal(sc_pool_blanks(pool), 1);
    assert_int_equal(sc_pool_size(pool), 0); /* it is none that waits for a run */
    assert_true(sc_pool_is_short(pool));
}

static void a_fork_takes_a_blank_cell_once(void **state)
{
    (void)state;
    begin_zygote();
    struct sc_session *blank = make_blank(1);
    struct sc_session *first = take(), *second = take();
    assert_int_equal(origin.kind, SC_START_FORK);
    assert_ptr_equal(first, blank);
    assert_true(first->is_forked && first->adopted); /* its clocks begin, and it is the request's */
    assert_ptr_not_equal(second, blank);
    assert_true(second->is_forked && !second->adopted);
    assert_int_equal(sc_pool_blanks(pool), 0);
    sc_session_close(first);
    sc_session_close(second);
}

static void a_parked_cell_is_made_of_a_blank_one(void **state)
{
    (void)state;
    begin_zygote();
    struct sc_session *blank = make_blank(1);
    unsigned before = n_made;
    struct sc_err err = {0};
    assert_int_equal(sc_pool_make(pool, &err), 0);
    assert_int_equal(n_made, before);
    assert_true(blank->is_forked && !blank->adopted);
    blank->prepared = 1;
    sc_pool_step(pool);
    assert_int_equal(sc_pool_blanks(pool), 0);
    assert_ptr_equal(take(), blank);
    assert_int_equal(origin.kind, SC_START_WARM);
    sc_session_close(blank);
}

static void one_that_is_not_sealed_yet_is_not_taken(void **state)
{
    (void)state;
    begin_zygote();
    struct sc_session *blank = make_blank(0);
    assert_false(sc_pool_lacks_blank(pool)); /* one at a time */
    struct sc_session *forked = take();
    assert_ptr_not_equal(forked, blank);
    sc_session_close(forked);
    blank->sealed = 1;
    assert_ptr_equal(take(), blank);
    sc_session_close(blank);
}

static void one_that_is_not_blank_any_more_is_not_taken(void **state)
{
    (void)state;
    begin_zygote();
    make_blank(1)->is_foul = true;
    unsigned before = n_alive;
    struct sc_session *forked = take();
    assert_false(forked->is_foul);
    assert_int_equal(n_alive, before); /* the other was closed */
    assert_int_equal(sc_pool_blanks(pool), 0);
    sc_session_close(forked);
}

static void dead_blank_cells_are_dropped(void **state)
{
    (void)state;
    begin_zygote();
    struct sc_session *blank = make_blank(1);
    unsigned before = n_alive;
    blank->sealed = -ESRCH;
    sc_pool_step(pool);
    assert_int_equal(n_alive, before - 1);
    assert_int_equal(sc_pool_blanks(pool), 0);
    while (!sc_pool_lacks_blank(pool))
        poll(NULL, 0, 1);
    make_blank(1)->sealed = -ESRCH; /* found out when it is asked for */
    struct sc_session *forked = take();
    assert_false(forked->adopted);
    sc_session_close(forked);
}

static void the_next_of_one_that_failed_is_not_made_at_once(void **state)
{
    (void)state;
    struct sc_blanks blanks;
    uint64_t now = sc_now_ns(), pause = SC_BLANKS_PAUSE_MIN_NS;
    sc_blanks_init(&blanks, SC_POOL_AGE_NS, SC_POOL_PERIOD_NS, -1);
    assert_false(sc_blanks_is_short(&blanks, now)); /* there is no zygote */
    sc_blanks_begin(&blanks, now);
    assert_true(sc_blanks_is_short(&blanks, now));
    for (int i = 0; i < 12; i++) {
        sc_blanks_failed(&blanks, now);
        assert_int_equal(sc_blanks_next_ns(&blanks, now), now + pause);
        assert_false(sc_blanks_is_short(&blanks, now + pause - 1));
        assert_true(sc_blanks_is_short(&blanks, now + pause));
        pause = 2 * pause < SC_BLANKS_PAUSE_MAX_NS ? 2 * pause : SC_BLANKS_PAUSE_MAX_NS;
    }
}

static void blank_cells_go_with_their_zygote(void **state)
{
    (void)state;
    begin_zygote();
    make_blank(1);
    zygote->prepared = -ESRCH; /* it died */
    sc_pool_step(pool);
    assert_int_equal(sc_pool_blanks(pool), 0);
    assert_int_equal(n_alive, 0);
    assert_false(sc_pool_lacks_blank(pool));
    assert_null(take());
}

static void a_retired_zygote_waits_for_no_blank_cell(void **state)
{
    (void)state;
    begin_zygote();
    make_blank(1);
    sc_pool_retire(pool);
    assert_int_equal(n_alive, 0);
    assert_int_equal(sc_pool_blanks(pool), 0);
}

static void old_blank_cells_are_replaced(void **state)
{
    (void)state;
    begin_zygote_of(SHORT_NS, 0);
    make_blank(1);
    while (sc_pool_blanks(pool) > 0)
        wait_for_clock();
    make_blank(1);
    poll(NULL, 0, SHORT_NS / SC_NS_PER_MS + 1);
    struct sc_session *forked = take(); /* also when nobody has looked meanwhile */
    assert_false(forked->adopted);
    sc_session_close(forked);
}

static void as_many_are_blank_as_were_lately_missing(void **state)
{
    (void)state;
    begin_zygote();
    sc_session_close(take());
    sc_session_close(take());
    for (int i = 0; i < 3; i++) /* one, and the two that were missing */
        make_blank(1);
    assert_false(sc_pool_lacks_blank(pool));
    sc_pool_give_up_blank(pool);
    assert_int_equal(sc_pool_blanks(pool), 2);
    assert_false(sc_pool_lacks_blank(pool)); /* another pool has it */
}

static void add_blank(struct sc_blanks *blanks)
{
    struct sc_err err = {0};
    struct sc_session *session = NULL;
    assert_int_equal(sc_session_open(NULL, &OPTIONS, &EVENTS, &session, &err), 0);
    session->sealed = 1;
    assert_int_equal(sc_blanks_add(blanks, session, &err), 0);
}

static void one_that_was_not_needed_for_a_period_goes(void **state)
{
    (void)state;
    struct sc_blanks blanks;
    const uint64_t period = SC_POOL_PERIOD_NS;
    uint64_t now = sc_now_ns();
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    sc_blanks_init(&blanks, UINT64_MAX / 2, period, epoll);
    sc_blanks_begin(&blanks, now);
    sc_blanks_miss(&blanks);
    sc_blanks_miss(&blanks);
    for (int i = 0; i < 3; i++)
        add_blank(&blanks);
    assert_int_equal(sc_blanks_next_ns(&blanks, now), now + period);
    sc_blanks_step(&blanks, now + period); /* one in which there was none for a while */
    assert_int_equal(blanks.n, 3);
    sc_blanks_step(&blanks, now + 2 * period);
    assert_int_equal(blanks.n, 2);
    for (unsigned i = 3; i < 9; i++)
        sc_blanks_step(&blanks, now + i * period);
    assert_int_equal(blanks.n, SC_BLANKS_LEAST); /* stays as long as the zygote */
    assert_int_equal(n_alive, SC_BLANKS_LEAST);
    for (int i = 0; i < 30; i++)
        sc_blanks_miss(&blanks);
    assert_int_equal(blanks.wanted, SC_BLANKS_MOST);
    sc_blanks_drop(&blanks);
    close(epoll);
}

static void a_fork_into_a_blank_cell_that_fails_falls_to_what_is_next(void **state)
{
    (void)state;
    begin_zygote();
    make_blank(1);
    fork_fails = -EAGAIN;
    assert_null(take()); /* cold */
    assert_int_equal(sc_pool_blanks(pool), 0);
    assert_int_equal(n_alive, 1); /* the zygote */
    make(1);
    struct sc_session *started = take();
    assert_null(started->above);
    sc_session_close(started);
}

static void a_blank_cell_that_cannot_be_made_is_tried_later(void **state)
{
    (void)state;
    struct sc_err err = {0};
    begin_zygote();
    open_fails = -EMFILE;
    assert_int_equal(sc_pool_make_blank(pool, &err), -EMFILE);
    assert_int_equal(sc_pool_blanks(pool), 0);
    open_fails = 0;
    while (!sc_pool_lacks_blank(pool))
        poll(NULL, 0, 1);
    make_blank(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(blank_cells_are_made_below_a_zygote_that_serves),
        TEST(a_fork_takes_a_blank_cell_once),
        TEST(a_parked_cell_is_made_of_a_blank_one),
        TEST(one_that_is_not_sealed_yet_is_not_taken),
        TEST(one_that_is_not_blank_any_more_is_not_taken),
        TEST(dead_blank_cells_are_dropped),
        TEST(the_next_of_one_that_failed_is_not_made_at_once),
        TEST(blank_cells_go_with_their_zygote),
        TEST(a_retired_zygote_waits_for_no_blank_cell),
        TEST(old_blank_cells_are_replaced),
        TEST(as_many_are_blank_as_were_lately_missing),
        TEST(one_that_was_not_needed_for_a_period_goes),
        TEST(a_fork_into_a_blank_cell_that_fails_falls_to_what_is_next),
        TEST(a_blank_cell_that_cannot_be_made_is_tried_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
