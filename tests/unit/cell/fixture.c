#include "fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

#define STRANGER_UID 61007
#define MOUNTS_PATIENCE_NS (20 * SC_NS_PER_S)

static struct sc_host probed;
static bool is_probed, is_accepted;

const struct sc_host *the_host(void)
{
    struct sc_err err = {0};
    struct sc_host_options options = {.cgroup_parent = getenv("SNAPCELL_CGROUP_PARENT")};
    if (is_probed)
        return &probed;
    if (geteuid() == 0 && !options.cgroup_parent)
        options.cgroup_parent = "/snapcell";
    if (geteuid() != 0)
        options.cgroup_parent = NULL;
    if (sc_host_probe(&probed, &options, &err) < 0)
        fail_msg("probe: %s", err.message);
    is_probed = true;
    return &probed;
}

const char *to_accept(void)
{
    static char text[128];
    const struct sc_host *host = the_host();
    if (is_accepted) /* once in each process, before it has threads */
        return text;
    is_accepted = true;
    const struct {
        bool lacking;
        const char *name;
    } all[] = {
        {!host->controllers[SC_CTL_MEMORY].version, "memory"},
        {!host->controllers[SC_CTL_CPUACCT].version, "cpu"},
        {!host->controllers[SC_CTL_CPU].version, "cpus"},
        {host->landlock_abi < 1, "landlock"},
        {host->apparmor_enabled && !host->apparmor_profile_loaded, "apparmor"},
    };
    text[0] = '\0';
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].lacking)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", *text ? "," : "", all[i].name);
    return text;
}

static int run_as_stranger(const char *name, const struct CMUnitTest *tests, size_t n)
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (setgroups(0, NULL) < 0 || setresgid(STRANGER_UID, STRANGER_UID, STRANGER_UID) < 0 ||
            setresuid(STRANGER_UID, STRANGER_UID, STRANGER_UID) < 0)
            _exit(98);
        prctl(PR_SET_DUMPABLE, 1); /* as any program that the user starts */
        is_probed = is_accepted = false;
        exit(_cmocka_run_group_tests(name, tests, n, NULL, NULL));
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 97;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 96;
}

int run_as_both(const char *name, const struct CMUnitTest *tests, size_t n)
{
    char as_user[80];
    int failed = _cmocka_run_group_tests(name, tests, n, NULL, NULL);
    if (geteuid() != 0)
        return failed;
    snprintf(as_user, sizeof as_user, "%s as an ordinary user", name);
    return failed + run_as_stranger(as_user, tests, n);
}

void need_root(void)
{
    if (geteuid() != 0 || !the_host()->root)
        skip();
}

static void set_options(struct sc_spec *spec, va_list options)
{
    struct sc_err err = {0};
    for (const char *option; (option = va_arg(options, const char *));) {
        const char *value = va_arg(options, const char *);
        bool repeatable = !strcmp(option, "out") || !strcmp(option, "file") || !strcmp(option, "dir") ||
                          !strcmp(option, "env");
        int r = repeatable ? sc_spec_add(spec, option, value, &err) : sc_spec_set(spec, option, value, &err);
        if (r < 0)
            fail_msg("--%s %s: %s", option, value, err.message);
    }
}

void begin(struct world *world, const char *verb, const char *arg, ...)
{
    static _Atomic unsigned n; /* some tests have threads */
    va_list options;
    memset(world, 0, sizeof *world);
    snprintf(world->mark, sizeof world->mark, "mark-%d-%u-%llx", (int)getpid(), n++,
             (unsigned long long)sc_now_ns());
    sc_spec_init(&world->spec);
    assert_int_equal(sc_spec_set(&world->spec, "wall", "60s", NULL), 0); /* a busy machine is no failure */
    assert_int_equal(sc_spec_set_program(&world->spec, INSIDE, NULL), 0);
    assert_int_equal(
        sc_spec_set_args(&world->spec, (const char *const[]){world->mark, verb, arg, NULL}, NULL), 0);
    if (*to_accept())
        assert_int_equal(sc_spec_add(&world->spec, "allow-degraded", to_accept(), NULL), 0);
    va_start(options, arg);
    set_options(&world->spec, options);
    va_end(options);
}

void make_works(struct world *world)
{
    if (world->works)
        return;
    if ((!world->plan && (sc_spec_check(&world->spec, the_host()->memory_bytes, &world->err) < 0 ||
                          sc_plan_make(&world->spec, the_host(), &world->plan, &world->err) < 0)) ||
        sc_works_new(world->plan, &world->works, &world->err) < 0)
        fail_msg("%s", world->err.message);
}

int run(struct world *world, const struct sc_callbacks *callbacks)
{
    make_works(world);
    if (world->has_result)
        sc_result_fini(&world->result);
    sc_result_init(&world->result, world->plan->limits.stdout, world->plan->limits.stderr);
    world->has_result = true;
    sc_err_clear(&world->err);
    return sc_cell_run(world->works, callbacks, 0, &world->result, &world->err);
}

void expect(struct world *world, enum sc_status status, int exit_code)
{
    if (run(world, NULL) < 0)
        fail_msg("run: %s", world->err.message);
    if (world->result.status != status || world->result.exit_code != exit_code)
        fail_msg("%s, exit code %d: %s", SC_STATUS_NAMES[world->result.status], world->result.exit_code,
                 world->result.message);
}

void end(struct world *world)
{
    assert_int_equal(marked(world->mark), 0);
    if (world->has_result)
        sc_result_fini(&world->result);
    sc_works_free(world->works);
    sc_plan_free(world->plan);
    sc_spec_fini(&world->spec);
}

static bool has_mark(const char *pid, const char *mark)
{
    char path[300];
    struct sc_buf text;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%s/cmdline", pid);
    sc_buf_init(&text, 1 << 20);
    if (sc_buf_read_file(&text, AT_FDCWD, path) == 0 && text.data)
        found = memmem(text.data, text.len, mark, strlen(mark)) != NULL;
    sc_buf_fini(&text);
    return found;
}

unsigned marked(const char *mark)
{
    unsigned n = 0;
    DIR *proc = opendir("/proc");
    assert_non_null(proc);
    for (struct dirent *entry; (entry = readdir(proc));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            n += has_mark(entry->d_name, mark);
    closedir(proc);
    return n;
}

unsigned marked_after_a_second(const char *mark)
{
    uint64_t until = sc_now_ns() + SC_NS_PER_S;
    unsigned n;
    while ((n = marked(mark)) > 0 && sc_now_ns() < until)
        sched_yield();
    return n;
}

static unsigned count_names(const char *path, const char *prefix)
{
    unsigned n = 0;
    DIR *dir = opendir(path);
    if (!dir)
        return 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        n += !strncmp(entry->d_name, prefix, strlen(prefix));
    closedir(dir);
    return n;
}

static unsigned count_lines(const char *path)
{
    struct sc_buf text;
    unsigned n = 0;
    sc_buf_init(&text, 4 << 20);
    assert_int_equal(sc_buf_read_file(&text, AT_FDCWD, path), 0);
    for (size_t i = 0; i < text.len; i++)
        n += text.data[i] == '\n';
    sc_buf_fini(&text);
    return n;
}

static unsigned count_own_groups(void)
{
    unsigned n = 0;
    char prefix[40];
    snprintf(prefix, sizeof prefix, "snapcell-%d-", (int)getpid());
    for (int i = 0; i < SC_CTL_COUNT; i++)
        if (the_host()->controllers[i].version)
            n += count_names(the_host()->controllers[i].dir, prefix);
    return n;
}

static unsigned count_children(void)
{
    char path[64];
    struct sc_buf text;
    unsigned n = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    sc_buf_init(&text, 1 << 20);
    if (sc_buf_read_file(&text, AT_FDCWD, path) == 0)
        for (size_t i = 0; i < text.len; i++)
            n += text.data[i] == ' ';
    else /* a kernel without that file: none, dead or alive */
        n = waitpid(-1, NULL, WNOHANG | WNOWAIT | __WALL) >= 0;
    sc_buf_fini(&text);
    return n;
}

struct traces traces_of_now(void)
{
    the_host();
    return (struct traces){
        .descriptors = count_names("/proc/self/fd", ""),
        .children = count_children(),
        .groups = count_own_groups(),
        .mounts = count_lines("/proc/self/mountinfo"),
    };
}

/* The host's other mounts come and go, other tests' among them: ours is one that stays. */
static struct traces traces_that_stay(const struct traces *before)
{
    uint64_t until = sc_now_ns() + MOUNTS_PATIENCE_NS;
    struct traces now = traces_of_now();
    while (now.mounts > before->mounts && sc_now_ns() < until) {
        usleep(20000);
        now = traces_of_now();
    }
    if (now.mounts < before->mounts)
        now.mounts = before->mounts;
    return now;
}

void assert_same_traces(const struct traces *before)
{
    struct traces now = traces_that_stay(before);
    if (memcmp(&now, before, sizeof now) != 0)
        fail_msg("left behind: descriptors %u → %u, children %u → %u, groups %u → %u, mounts %u → %u",
                 before->descriptors, now.descriptors, before->children, now.children, before->groups,
                 now.groups, before->mounts, now.mounts);
}

static struct traces noted;

int note_traces(void **state)
{
    (void)state;
    noted = traces_of_now();
    return 0;
}

int expect_no_traces(void **state)
{
    (void)state;
    assert_same_traces(&noted);
    return 0;
}

char *make_folder(void)
{
    char *folder = strdup("/tmp/test-cell-XXXXXX");
    assert_non_null(folder);
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chmod(folder, 0777), 0);
    return folder;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

void remove_folder(char *folder)
{
    nftw(folder, remove_one, 32, FTW_DEPTH | FTW_PHYS);
    free(folder);
}
