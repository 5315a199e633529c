/* Callers of every kind: with many descriptors or hardly any, without stdin, with timers, threads, a small
 * umask, and with ideas of their own about their children. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

/* `body` in a process of its own, because of what it does to itself. Its failed assertions exit with another
 * code. */
static void in_child(void (*body)(void))
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        body();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status)
        fail_msg("the child ended with %x", status);
}

/* cmocka's assertions jump to the test they are in: of no use in a child. */
#define MUST(what)                                                                                           \
    do {                                                                                                     \
        if (!(what)) {                                                                                       \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                                       \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

static void expect_seven(struct world *w)
{
    if (run(w, NULL) < 0) {
        fprintf(stderr, "%s\n", w->err.message);
        _exit(2);
    }
    if (w->result.status != SC_STATUS_ERROR || w->result.exit_code != 7) {
        fprintf(stderr, "%s: %s\n", SC_STATUS_NAMES[w->result.status], w->result.message);
        _exit(3);
    }
}

static void seven_times(int n)
{
    struct world w;
    begin(&w, "exit", "7", NULL);
    for (int i = 0; i < n; i++)
        expect_seven(&w);
    end(&w);
}

static void two_thousand_descriptors(void)
{
    struct rlimit limit;
    MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    for (int i = 0; i < 2000; i++)
        if (fcntl(2, F_DUPFD, 0) < 0) /* open across exec, as careless callers have them */
            _exit(limit.rlim_max < 2100 ? 0 : 1);
    seven_times(3);
}

static void many_descriptors(void **state)
{
    (void)state;
    in_child(two_thousand_descriptors);
}

static void close_three(void)
{
    struct world w;
    close(0);
    close(1);
    close(2);
    seven_times(2);
    /* Streams of the cell get the numbers 0 to 2 out here; nothing may go astray. */
    begin(&w, "count", "", NULL);
    MUST(sc_spec_set_stdin(&w.spec, "abc", 3, NULL) == 0);
    MUST(run(&w, NULL) == 0);
    MUST(!strcmp((char *)w.result.out.kept.data, "3 294\n"));
    end(&w);
}

static void no_standard_streams(void **state)
{
    (void)state;
    in_child(close_three);
}

/* From hardly any descriptor upwards, one more each time: a clean error wherever they run out, until it
 * works. */
static void grow_limit(void)
{
    struct rlimit limit;
    struct traces bare = traces_of_now();
    bool worked = false;
    char folder[] = "/tmp/test-caller-XXXXXX", out[64], saved[64];
    char last[SC_ERR_MESSAGE_MAX] = ""; /* what it failed of, should it never work */
    MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0 && mkdtemp(folder));
    snprintf(out, sizeof out, "*:%s", folder);
    snprintf(saved, sizeof saved, "%s/test-inside", folder);
    for (rlim_t n = bare.descriptors; n < 200 && !worked; n++) {
        struct world w;
        begin(&w, "exit", "7", "out", out, NULL);
        MUST(sc_spec_check(&w.spec, 0, &w.err) == 0 &&
             sc_plan_make(&w.spec, the_host(), &w.plan, &w.err) == 0);
        limit.rlim_cur = n;
        MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
        int r = sc_works_new(w.plan, &w.works, &w.err);
        if (r == 0)
            r = run(&w, NULL);
        limit.rlim_cur = limit.rlim_max;
        MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
        worked = r == 0 && w.result.status == SC_STATUS_ERROR && w.result.exit_code == 7;
        if (!worked && r == 0 && w.result.status != SC_STATUS_SANDBOX_ERROR) {
            fprintf(stderr, "limit %d: %s\n", (int)n, w.result.message);
            _exit(4);
        }
        if (r < 0 && w.err.kind != SC_ERR_SANDBOX)
            fprintf(stderr, "limit %d: %s\n", (int)n, w.err.message);
        MUST(r == 0 || (w.err.kind == SC_ERR_SANDBOX && *w.err.message));
        snprintf(last, sizeof last, "%s", r < 0 ? w.err.message : w.result.message);
        end(&w);
        struct traces now = traces_of_now();
        if (memcmp(&now, &bare, sizeof now)) {
            fprintf(stderr, "limit %d left: descriptors %u → %u, children %u, groups %u: %s\n", (int)n,
                    bare.descriptors, now.descriptors, now.children, now.groups, w.err.message);
            _exit(5);
        }
    }
    unlink(saved);
    rmdir(folder);
    if (!worked)
        fprintf(stderr, "with 200 descriptors: %s\n", last);
    MUST(worked);
}

static void hardly_any_descriptors(void **state)
{
    (void)state;
    in_child(grow_limit);
}

static void lower_limits(void)
{
    static const struct {
        int resource;
        rlim_t value;
    } all[] = {{RLIMIT_MEMLOCK, 65536}, {RLIMIT_SIGPENDING, 100}, {RLIMIT_STACK, 4 << 20},
               {RLIMIT_MSGQUEUE, 4096}, {RLIMIT_FSIZE, 1 << 20},  {RLIMIT_CORE, 0}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const struct rlimit both = {all[i].value, all[i].value};
        MUST(setrlimit(all[i].resource, &both) == 0);
    }
    seven_times(2);
}

/* Hard limits of the caller that are below what a cell gets otherwise. */
static void low_hard_limits(void **state)
{
    (void)state;
    in_child(lower_limits);
}

static volatile sig_atomic_t ticks;

static void tick(int number)
{
    (void)number;
    ticks++;
}

/* Every call that can be interrupted is, again and again. */
static void run_under_a_timer(void)
{
    struct sigaction action = {.sa_handler = tick}; /* no SA_RESTART */
    const struct itimerval fast = {{0, 300}, {0, 300}}, none = {{0, 0}, {0, 0}};
    struct world w;
    static char data[300000];
    char *folder = make_folder(), option[300];
    memset(data, 1, sizeof data);
    snprintf(option, sizeof option, "*:%s", folder);
    MUST(sigaction(SIGALRM, &action, NULL) == 0);
    begin(&w, "count", "", "out", option, "wall", "20s", NULL);
    MUST(sc_spec_set_stdin(&w.spec, data, sizeof data, NULL) == 0);
    make_works(&w);
    MUST(setitimer(ITIMER_REAL, &fast, NULL) == 0);
    for (int i = 0; i < 15; i++) {
        int r = run(&w, NULL);
        if (r < 0 || w.result.status != SC_STATUS_OK) {
            fprintf(stderr, "run %d: %s %s\n", i, w.err.message, w.result.message);
            _exit(6);
        }
        MUST(!strcmp((char *)w.result.out.kept.data, "300000 300000\n"));
        MUST(w.result.n_artifacts == 1);
    }
    sc_works_free(w.works);
    w.works = NULL;
    make_works(&w);
    MUST(run(&w, NULL) == 0);
    MUST(setitimer(ITIMER_REAL, &none, NULL) == 0);
    MUST(ticks > 10);
    end(&w);
    remove_folder(folder);
}

static void interrupted(void **state)
{
    (void)state;
    in_child(run_under_a_timer);
}

static void run_with_a_umask(void)
{
    struct world w;
    umask(0777);
    begin(&w, "show", "a/b/c", NULL);
    w.spec.files = malloc(sizeof *w.spec.files);
    w.spec.files[0] = (struct sc_spec_file){.data = strdup(""), .path = strdup("a/b/c"), .mode = 0640};
    w.spec.n_files = 1;
    MUST(run(&w, NULL) == 0);
    if (w.result.status != SC_STATUS_OK || strcmp((char *)w.result.out.kept.data, "640 1000 1000 0\n")) {
        fprintf(stderr, "%s: %s\n", w.result.message, w.result.out.kept.data);
        _exit(7);
    }
    end(&w);
}

static void any_umask(void **state)
{
    (void)state;
    in_child(run_with_a_umask);
}

static void ignore_children(void)
{
    signal(SIGCHLD, SIG_IGN);
    seven_times(10);
    MUST(waitpid(-1, NULL, __WALL) < 0 && errno == ECHILD);
}

static void children_ignored(void **state)
{
    (void)state;
    in_child(ignore_children);
}

static volatile bool waiting = true;

static void *wait_for_anybody(void *data)
{
    unsigned *n = data;
    while (waiting)
        if (waitpid(-1, NULL, 0) > 0)
            ++*n;
        else
            sched_yield();
    return NULL;
}

static void wait_in_a_thread(void)
{
    pthread_t thread;
    unsigned n = 0;
    MUST(pthread_create(&thread, NULL, wait_for_anybody, &n) == 0);
    seven_times(20);
    waiting = false;
    pthread_join(thread, NULL);
    MUST(waitpid(-1, NULL, __WALL) < 0 && errno == ECHILD);
}

/* A thread that waits for any child takes the end of cells away from us; the runs are right all the same. */
static void a_thread_that_waits_for_any_child(void **state)
{
    (void)state;
    in_child(wait_in_a_thread);
}

static void *run_some(void *data)
{
    (void)data;
    for (int i = 0; i < 3; i++)
        seven_times(3);
    return NULL;
}

static void run_in_threads(void)
{
    pthread_t threads[4];
    to_accept();
    for (int i = 0; i < 4; i++)
        MUST(pthread_create(&threads[i], NULL, run_some, NULL) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    /* An ordinary user's process must not have become one that only root may look at. */
    MUST(prctl(PR_GET_DUMPABLE) == 1);
}

static void threads_at_once(void **state)
{
    (void)state;
    in_child(run_in_threads);
}

static void *make_in_thread(void *data)
{
    struct world *w = data;
    make_works(w);
    MUST(sc_works_ready(w->works, 2, NULL) == 0);
    return NULL;
}

static void *run_in_thread(void *data)
{
    expect_seven(data);
    return NULL;
}

static void one_thread_after_another(void)
{
    struct world w;
    pthread_t thread;
    begin(&w, "exit", "7", NULL);
    MUST(pthread_create(&thread, NULL, make_in_thread, &w) == 0);
    pthread_join(thread, NULL);
    for (int i = 0; i < 3; i++) {
        MUST(pthread_create(&thread, NULL, run_in_thread, &w) == 0);
        pthread_join(thread, NULL);
    }
    end(&w);
}

/* What is made ahead belongs to the process: the thread that made it may end. */
static void made_by_a_thread_that_ended(void **state)
{
    (void)state;
    in_child(one_thread_after_another);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, note_traces, expect_no_traces)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(many_descriptors),
        TEST(no_standard_streams),
        TEST(hardly_any_descriptors),
        TEST(low_hard_limits),
        TEST(interrupted),
        TEST(any_umask),
        TEST(children_ignored),
        TEST(a_thread_that_waits_for_any_child),
        TEST(threads_at_once),
        TEST(made_by_a_thread_that_ended),
    };
    return RUN_AS_BOTH(tests);
}
