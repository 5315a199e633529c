/* A pool whose sessions are none: what it makes, hands out, drops, and how many it wants. */
#include <errno.h>
#include <poll.h>

#include "fake_sessions.h"

static void nothing_is_made_before_it_was_missed(void **state)
{
    (void)state;
    open_pool(4, 0, 0);
    assert_false(sc_pool_is_short(pool));
    assert_int_equal(sc_pool_next_ns(pool), UINT64_MAX);
    assert_null(take());
    assert_true(sc_pool_is_short(pool));
}

static void each_is_taken_once(void **state)
{
    (void)state;
    open_pool(4, 0, 0);
    assert_null(take());
    assert_null(take());
    make(1);
    make(1);
    assert_false(sc_pool_is_short(pool));
    struct sc_session *first = take(), *second = take();
    assert_ptr_equal(first, made[0]);
    assert_ptr_equal(second, made[1]);
    assert_null(take());
    assert_int_equal(sc_pool_size(pool), 0);
    assert_int_equal(sc_pool_wanted(pool), 3);
    sc_session_close(first);
    sc_session_close(second);
}

static void one_at_a_time(void **state)
{
    (void)state;
    open_pool(4, 0, 0);
    assert_null(take());
    assert_null(take());
    make(0);
    assert_false(sc_pool_is_short(pool)); /* the first is not ready */
    assert_null(take());
    made[0]->prepared = 1;
    sc_pool_step(pool);
    assert_true(sc_pool_is_short(pool));
}

static void the_most_is_kept(void **state)
{
    (void)state;
    struct sc_err err = {0};
    open_pool(2, 0, 0);
    for (int i = 0; i < 30; i++)
        assert_null(take());
    assert_int_equal(sc_pool_wanted(pool), 2);
    make(1);
    make(1);
    assert_false(sc_pool_is_short(pool));
    assert_int_equal(sc_pool_make(pool, &err), -ENOBUFS);
}

static void the_dead_are_replaced(void **state)
{
    (void)state;
    open_pool(4, 0, 0);
    assert_null(take());
    make(1);
    made[0]->prepared = -ESRCH;
    assert_null(take()); /* found out when it was asked for */
    assert_int_equal(n_alive, 0);
    make(1);
    made[1]->prepared = -ESRCH;
    sc_pool_step(pool); /* or told by its cell */
    assert_int_equal(n_alive, 0);
}

/* One that is ready, and then dies. */
static void let_one_die(void)
{
    make_now(1);
    made[n_made - 1]->prepared = -ESRCH;
    sc_pool_step(pool);
}

static void the_next_of_a_dead_one_is_not_made_at_once(void **state)
{
    (void)state;
    open_pool(4, 0, 0);
    assert_null(take());
    let_one_die();
    assert_true(sc_pool_next_ns(pool) <= sc_now_ns() + SC_POOL_PAUSE_MIN_NS);
    for (int i = 0; i < 12; i++)
        let_one_die();
    assert_false(sc_pool_is_short(pool));
    assert_true(sc_pool_next_ns(pool) > sc_now_ns() + SC_POOL_PAUSE_MIN_NS);
    assert_true(sc_pool_next_ns(pool) <= sc_now_ns() + SC_POOL_PAUSE_MAX_NS);
    make_now(1);
    struct sc_session *taken = take();
    assert_non_null(taken);
    sc_session_close(taken);
    let_one_die();
    assert_true(sc_pool_next_ns(pool) <= sc_now_ns() + SC_POOL_PAUSE_MIN_NS);
}

static void some_are_always_there(void **state)
{
    (void)state;
    open_pool_of(2, 3, 0, SHORT_NS);
    make(1); /* before anybody has asked */
    make(1);
    assert_false(sc_pool_is_short(pool));
    for (int i = 0; i < 3; i++)
        wait_for_clock(); /* nor are they given up when nobody does */
    assert_int_equal(sc_pool_size(pool), 2);
    assert_int_equal(sc_pool_wanted(pool), 2);
}

static void a_broken_prelude_is_told(void **state)
{
    (void)state;
    open_pool(2, 0, 0);
    assert_null(take());
    assert_null(sc_pool_trouble(pool));
    make(-EBADMSG);
    assert_int_equal(n_alive, 0);
    assert_string_equal(sc_pool_trouble(pool), "import gone:\nTraceback");
    assert_null(take());
    make_now(1); /* somebody has mended it */
    assert_null(sc_pool_trouble(pool));
}

static void cells_are_forks_of_a_zygote(void **state)
{
    (void)state;
    begin_zygote();
    make(1);
    struct sc_session *parked = take();
    assert_int_equal(origin.kind, SC_START_WARM);
    assert_ptr_equal(parked->above, zygote);
    struct sc_session *forked = take(); /* none waits */
    assert_int_equal(origin.kind, SC_START_FORK);
    assert_ptr_equal(forked->above, zygote);
    sc_session_close(parked);
    sc_session_close(forked);
}

static void a_zygote_that_was_forked_often_is_retired(void **state)
{
    (void)state;
    begin_zygote();
    struct sc_session *cells[3];
    for (int i = 0; i < 3; i++)
        cells[i] = take();
    sc_pool_step(pool);
    assert_null(take()); /* the next one is not there yet */
    assert_int_equal(n_alive, 4);
    for (int i = 0; i < 3; i++)
        sc_session_close(cells[i]);
    sc_pool_step(pool); /* it goes after its cells */
    assert_int_equal(n_alive, 0);
    assert_true(sc_pool_is_short(pool));
}

static void without_a_zygote_interpreters_are_started(void **state)
{
    (void)state;
    begin_zygote();
    fork_fails = -EAGAIN;
    assert_null(take());
    make(1);
    struct sc_session *started = take();
    assert_null(started->above);
    sc_session_close(started);
    fork_fails = 0;
    zygote->prepared = -ESRCH; /* it died */
    sc_pool_step(pool);
    assert_string_equal(sc_pool_fork_trouble(pool), "zygote: it has died");
    make(1);
    started = take();
    assert_null(started->above);
    sc_session_close(started);
}

static void a_zygote_that_cannot_be_made_is_told(void **state)
{
    (void)state;
    struct sc_err err = {0};
    forks = true;
    open_pool(2, 0, 0);
    assert_null(take());
    open_fails = -EPERM;
    assert_int_equal(sc_pool_make(pool, &err), -EPERM);
    open_fails = 0;
    assert_string_equal(sc_pool_fork_trouble(pool), "zygote: session: Operation not permitted");
    make_now(1); /* not tried again at once */
    struct sc_session *started = take();
    assert_null(started->above);
    sc_session_close(started);
}

static void one_whose_prelude_fails_tells_that_of_all(void **state)
{
    (void)state;
    forks = true;
    open_pool(2, 0, 0);
    assert_null(take());
    make(0);
    zygote->prepared = -EBADMSG;
    assert_null(take()); /* which looks first */
    assert_string_equal(sc_pool_trouble(pool), said);
    assert_string_equal(sc_pool_fork_trouble(pool), said);
    make(1); /* somebody has mended it */
    assert_null(sc_pool_trouble(pool));
}

static void one_that_is_missed_twice_does_not_wait_for_quiet(void **state)
{
    (void)state;
    struct sc_err err = {0};
    forks = true;
    open_pool(4, 0, 0);
    assert_null(take());
    assert_false(sc_pool_lacks_zygote(pool));
    assert_null(take());
    assert_true(sc_pool_lacks_zygote(pool));
    assert_int_equal(sc_pool_make_zygote(pool, &err), 0);
    assert_false(sc_pool_lacks_zygote(pool));
    assert_true(sc_pool_is_loading(pool));
    zygote->prepared = 1;
    sc_pool_step(pool);
    assert_false(sc_pool_is_loading(pool) || sc_pool_lacks_zygote(pool));
    sc_session_close(take());
    assert_int_equal(origin.kind, SC_START_FORK);
}

static void one_that_cannot_be_forked_is_told_and_not_tried_again(void **state)
{
    (void)state;
    said = "not forkable: 2 threads run\n";
    forks = true;
    open_pool(2, 0, 0);
    assert_null(take());
    make(0);
    zygote->prepared = -EBADMSG;
    zygote = NULL;
    sc_pool_step(pool);
    assert_string_equal(sc_pool_fork_trouble(pool), said);
    assert_null(sc_pool_trouble(pool)); /* nothing is broken */
    for (int i = 0; i < 3; i++) {
        make(1);
        struct sc_session *started = take();
        assert_null(started->above);
        sc_session_close(started);
    }
    assert_null(zygote);
}

static void the_old_are_replaced(void **state)
{
    (void)state;
    open_pool(4, SHORT_NS, 0);
    assert_null(take());
    make(1);
    wait_for_clock();
    assert_int_equal(sc_pool_size(pool), 0);
    make(1);
    poll(NULL, 0, SHORT_NS / SC_NS_PER_MS + 1);
    assert_null(take()); /* also when nobody has looked meanwhile */
}

static void those_not_needed_are_given_up(void **state)
{
    (void)state;
    open_pool(4, 0, SHORT_NS);
    assert_null(take());
    assert_null(take());
    make(1);
    make(1);
    wait_for_clock(); /* a period in which there was not always one to spare */
    while (sc_pool_wanted(pool) > 0)
        wait_for_clock();
    assert_int_equal(sc_pool_size(pool), 0);
    assert_int_equal(sc_pool_next_ns(pool), UINT64_MAX);
}

static void one_is_given_to_another_pool(void **state)
{
    (void)state;
    open_pool(4, 0, 0);
    assert_null(take());
    assert_null(take());
    make(1);
    make(1);
    sc_pool_give_up(pool);
    assert_int_equal(sc_pool_size(pool), 1);
    assert_int_equal(sc_pool_wanted(pool), 1);
    assert_int_equal(n_alive, 1);
}

static void what_cannot_be_made(void **state)
{
    (void)state;
    struct sc_err err = {0};
    open_pool(4, 0, 0);
    assert_null(take());
    open_fails = -EMFILE;
    assert_int_equal(sc_pool_make(pool, &err), -EMFILE);
    assert_int_equal(sc_pool_size(pool), 0);
    assert_false(sc_pool_is_short(pool)); /* later */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_made_before_it_was_missed),
        TEST(each_is_taken_once),
        TEST(one_at_a_time),
        TEST(the_most_is_kept),
        TEST(the_dead_are_replaced),
        TEST(some_are_always_there),
        TEST(a_broken_prelude_is_told),
        TEST(cells_are_forks_of_a_zygote),
        TEST(a_zygote_that_was_forked_often_is_retired),
        TEST(without_a_zygote_interpreters_are_started),
        TEST(a_zygote_that_cannot_be_made_is_told),
        TEST(one_whose_prelude_fails_tells_that_of_all),
        TEST(one_that_is_missed_twice_does_not_wait_for_quiet),
        TEST(one_that_cannot_be_forked_is_told_and_not_tried_again),
        TEST(the_next_of_a_dead_one_is_not_made_at_once),
        TEST(the_old_are_replaced),
        TEST(those_not_needed_are_given_up),
        TEST(one_is_given_to_another_pool),
        TEST(what_cannot_be_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
