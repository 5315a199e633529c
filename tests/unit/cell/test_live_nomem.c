/* A living cell when memory runs out, at every allocation: the call says so or the cell ends, every operation
 * that was taken is told its one end, and nothing stays. */
#include "fixture.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cell/live_parts.h"
#include "cell/run.h"
#include "fail_alloc.h"

struct scene {
    unsigned given, ends, ended;
};

static void on_end(void *userdata)
{
    struct scene *scene = userdata;
    scene->ends++;
}

static void on_failed(void *userdata, const struct sc_msg_failed *failed)
{
    (void)failed;
    on_end(userdata);
}

static void on_ended(void *userdata, enum sc_status why, const char *message)
{
    struct scene *scene = userdata;
    (void)why;
    assert_true(*message != '\0');
    scene->ended++;
}

static const struct sc_live_op_events EVENTS = {.gone = on_end, .failed = on_failed};

/* Texts that the stream has no room for at once, so that they are queued. */
static int give_commands(struct sc_live *live, struct scene *scene)
{
    static char large[900 * 1024];
    const char *const argv[] = {large, NULL};
    const struct sc_command command = {.argv = argv};
    uint16_t id;
    int worst = 0;
    memset(large, 'x', sizeof large - 1);
    for (int i = 0; i < 3; i++) {
        int r = sc_live_command(live, &command, &EVENTS, scene, &id, NULL);
        assert_true(r == 0 || r == -ENOMEM || r == -ESHUTDOWN);
        scene->given += r == 0;
        worst = r < 0 ? r : worst;
    }
    return worst;
}

/* A descriptor that becomes readable stands for process 1. */
static int one_life(void *context)
{
    static struct sc_plan plan = {.stay = true};
    static struct sc_works works = {.plan = &plan};
    static char heard[1 << 16];
    struct sc_cell cell = SC_CELL_NONE;
    struct scene scene = {0};
    struct sc_live *live;
    const struct sc_live_events events = {.userdata = &scene, .ended = on_ended};
    int ends[2], process_1 = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)context;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    cell.control = ends[0];
    cell.pidfd = process_1;
    int r = sc_live_begin(&works, &cell, &events, &live, NULL);
    if (r == 0) {
        r = give_commands(live, &scene);
        for (int i = 0; i < 100 && sc_live_step(live, NULL) == 0; i++)
            while (recv(ends[1], heard, sizeof heard, MSG_DONTWAIT) > 0)
                ;
        if (!sc_live_is_alive(live)) /* for want of a queue */
            r = -ENOMEM;
        sc_live_kill(live);
        eventfd_write(process_1, 1);
        assert_int_equal(sc_live_step(live, NULL), 0);
        assert_int_equal(scene.ended, 1);
        assert_int_equal(scene.ends, scene.given);
        sc_live_close(live);
    }
    sc_works_bury(&works, NULL);
    close(ends[1]);
    return r == -ESHUTDOWN ? -ENOMEM : r;
}

static void every_allocation_fails(void **state)
{
    (void)state;
    if (!fail_alloc_works())
        skip();
    struct traces traces = traces_of_now();
    assert_true(fail_alloc_each(one_life, NULL) >= 4);
    assert_same_traces(&traces);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
