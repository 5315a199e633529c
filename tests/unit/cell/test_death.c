/* Somebody is killed from outside: the program, the cell's process 1, or the whole supervisor. Nothing of the
 * cell stays. */
#include "fixture.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

static struct traces traces;

static int before(void **state)
{
    (void)state;
    /* What a killed supervisor leaves comes to us, and can be seen to end. */
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    traces = traces_of_now();
    return 0;
}

static int after(void **state)
{
    (void)state;
    assert_same_traces(&traces);
    return 0;
}

/* Pid of the newest process whose arguments hold `mark`, or 0. */
static pid_t find_marked(const char *mark)
{
    pid_t found = 0;
    DIR *proc = opendir("/proc");
    assert_non_null(proc);
    for (struct dirent *entry; (entry = readdir(proc));) {
        char path[300], text[256] = "";
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        FILE *file = fopen(path, "re");
        size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
        if (file)
            fclose(file);
        if (n && memmem(text, n, mark, strlen(mark)))
            found = (pid_t)atoi(entry->d_name);
    }
    closedir(proc);
    return found;
}

/* Our only child: process 1 of the running cell. */
static pid_t only_child(void)
{
    char path[64];
    int pid = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    if (!file || fscanf(file, "%d", &pid) != 1)
        pid = 0;
    if (file)
        fclose(file);
    return pid;
}

struct killer {
    const char *mark;
    bool agent; /* else the program */
    bool done;
};

static int kill_once(void *userdata)
{
    struct killer *killer = userdata;
    pid_t program = killer->done ? 0 : find_marked(killer->mark);
    if (program == 0)
        return 0;
    pid_t pid = killer->agent ? only_child() : program;
    assert_true(pid > 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    killer->done = true;
    return 0;
}

static void program_killed(void **state)
{
    (void)state;
    struct world w;
    begin(&w, "sleep", "", "wall", "20s", NULL);
    struct killer killer = {.mark = w.mark};
    struct sc_callbacks callbacks = {.userdata = &killer, .cancelled = kill_once, .cancel_fd = -1};
    assert_int_equal(run(&w, &callbacks), 0);
    assert_true(killer.done);
    assert_int_equal(w.result.status, SC_STATUS_SIGNALED);
    assert_int_equal(w.result.signal, SIGKILL); /* and not for memory: nobody counted a kill */
    end(&w);
}

static void agent_killed(void **state)
{
    (void)state;
    struct world w;
    begin(&w, "family", "5", "wall", "20s", NULL);
    struct killer killer = {.mark = w.mark, .agent = true};
    struct sc_callbacks callbacks = {.userdata = &killer, .cancelled = kill_once, .cancel_fd = -1};
    assert_int_equal(run(&w, &callbacks), 0);
    assert_true(killer.done);
    assert_int_equal(w.result.status, SC_STATUS_SANDBOX_ERROR);
    assert_string_equal(w.result.message, "the cell's process 1 ended without a report");
    assert_int_equal(marked(w.mark), 0);
    end(&w);
}

/* A cell that was made ahead and died meanwhile is not given to anybody. */
static void parked_cell_killed(void **state)
{
    (void)state;
    struct world w;
    begin(&w, "exit", "7", NULL);
    make_works(&w);
    expect(&w, SC_STATUS_ERROR, 7); /* its tree is finished then, and no helper is our child */
    assert_int_equal(sc_works_ready(w.works, 1, NULL), 0);
    assert_int_equal(kill(only_child(), SIGKILL), 0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)only_child(), &info, WEXITED | WNOWAIT | __WALL), 0);
    expect(&w, SC_STATUS_ERROR, 7);
    end(&w);
}

/* ---- the supervisor ---- */

enum supervisor {
    PLAIN,
    WITH_FORK,   /* a child of the host program's holds every descriptor open, the cell's stream too */
    WITH_PARKED, /* cells made ahead */
};

static volatile struct shared {
    char mark[40];
    pid_t holder;
    bool parked;
} * shared;

static void fork_a_holder(void *userdata, int stream, const void *data, size_t len)
{
    (void)userdata;
    (void)stream;
    (void)data;
    (void)len;
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    shared->holder = pid;
}

static void supervise(enum supervisor kind)
{
    struct world w;
    struct sc_callbacks callbacks = {.output = kind == WITH_FORK ? fork_a_holder : NULL, .cancel_fd = -1};
    begin(&w, "family", "4", "wall", "60s", NULL);
    make_works(&w);
    if (kind == WITH_PARKED) {
        if (sc_works_ready(w.works, 3, &w.err) < 0)
            _exit(2);
        shared->parked = true;
        for (;;)
            pause();
    }
    strcpy((char *)shared->mark, w.mark);
    run(&w, &callbacks);
    _exit(1);
}

static bool is_ready(enum supervisor kind)
{
    if (kind == WITH_PARKED)
        return shared->parked;
    return *shared->mark && marked((const char *)shared->mark) >= 9 && (kind != WITH_FORK || shared->holder);
}

static unsigned groups_of(pid_t pid)
{
    unsigned n = 0;
    char prefix[40];
    snprintf(prefix, sizeof prefix, "snapcell-%d-", (int)pid);
    for (int i = 0; i < SC_CTL_COUNT; i++) {
        DIR *dir = the_host()->controllers[i].version ? opendir(the_host()->controllers[i].dir) : NULL;
        for (struct dirent *entry; dir && (entry = readdir(dir));)
            n += !strncmp(entry->d_name, prefix, strlen(prefix));
        if (dir)
            closedir(dir);
    }
    return n;
}

/* Every orphan that came to us, until `holder` alone is left or a second is over. */
static void bury_orphans(pid_t holder)
{
    uint64_t until = sc_now_ns() + SC_NS_PER_S;
    for (;;) {
        pid_t pid = waitpid(-1, NULL, WNOHANG | __WALL);
        if (pid < 0 || (pid == 0 && holder && only_child() == holder))
            return;
        if (pid == 0 && sc_now_ns() > until)
            fail_msg("a process of the cell lives a second after its supervisor");
        if (pid == 0)
            sched_yield();
    }
}

static void kill_supervisor(enum supervisor kind)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    uint64_t until = sc_now_ns() + 10 * SC_NS_PER_S;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        supervise(kind);
    while (!is_ready(kind)) {
        assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
        assert_true(sc_now_ns() < until);
        sched_yield();
    }
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    if (*shared->mark)
        assert_int_equal(marked_after_a_second((const char *)shared->mark), 0);
    bury_orphans(shared->holder);
    if (shared->holder) {
        assert_int_equal(kill(shared->holder, SIGKILL), 0);
        assert_int_equal(waitpid(shared->holder, NULL, 0), shared->holder);
    }
    munmap((void *)shared, sizeof *shared);
    /* What a dead process cannot remove, the next one does. */
    struct world w;
    begin(&w, "exit", "0", NULL);
    expect(&w, SC_STATUS_OK, 0);
    assert_int_equal(groups_of(pid), 0);
    end(&w);
}

static void supervisor_killed(void **state)
{
    (void)state;
    kill_supervisor(PLAIN);
}

static void supervisor_killed_with_a_heir(void **state)
{
    (void)state;
    kill_supervisor(WITH_FORK);
}

static void supervisor_killed_with_parked_cells(void **state)
{
    (void)state;
    kill_supervisor(WITH_PARKED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, before, after)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(program_killed),
        TEST(agent_killed),
        TEST(parked_cell_killed),
        TEST(supervisor_killed),
        TEST(supervisor_killed_with_a_heir),
        TEST(supervisor_killed_with_parked_cells),
    };
    return RUN_AS_BOTH(tests);
}
