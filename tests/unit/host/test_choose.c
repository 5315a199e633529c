/* Where groups are made, on made-up trees in a folder: ordinary files stand for control files. They take
 * writes but do not act, so a tree shows beforehand what the kernel would answer. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/cgroup.h"
#include "made_up.h"

#define ALL "cpuset cpu io memory pids\n"

static char base[64];

static void put(const char *path, const char *text)
{
    char full[1024];
    snprintf(full, sizeof full, "%s/%s", base, path);
    for (char *at = full + strlen(base) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(full, 0755);
        *at = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void expect_file(const char *path, const char *text)
{
    char full[1024], found[256] = "";
    snprintf(full, sizeof full, "%s/%s", base, path);
    FILE *file = fopen(full, "r");
    assert_non_null(file);
    size_t n = fread(found, 1, sizeof found - 1, file);
    found[n] = '\0';
    fclose(file);
    assert_string_equal(found, text);
}

static void put_group(const char *group, const char *controllers, const char *passed_on, const char *procs)
{
    char path[256];
    snprintf(path, sizeof path, "%s/cgroup.controllers", group);
    put(path, controllers);
    snprintf(path, sizeof path, "%s/cgroup.subtree_control", group);
    put(path, passed_on);
    snprintf(path, sizeof path, "%s/cgroup.procs", group);
    put(path, procs);
    snprintf(path, sizeof path, "%s/cgroup.events", group);
    put(path, "populated 1\n");
}

static struct sc_cgroup_view v2_view(const char *own)
{
    struct sc_cgroup_view view = {.n_mounts = 1};
    view.mounts[0].version = SC_CGROUP_V2;
    snprintf(view.mounts[0].point, sizeof view.mounts[0].point, "%s/v2", base);
    snprintf(view.mounts[0].root, sizeof view.mounts[0].root, "/");
    snprintf(view.own_v2, sizeof view.own_v2, "%s", own);
    return view;
}

static void expect_dir(const struct sc_host *host, enum sc_controller controller,
                       enum sc_cgroup_version version, const char *dir)
{
    char full[SC_HOST_PATH_MAX];
    snprintf(full, sizeof full, "%s/%s", base, dir);
    if (host->controllers[controller].version != version)
        fail_msg("%s: version %d, why: %s", SC_CONTROLLER_NAMES[controller],
                 host->controllers[controller].version, host->controllers[controller].why);
    assert_string_equal(host->controllers[controller].dir, full);
    assert_string_equal(host->controllers[controller].why, "");
}

static void expect_nothing(const struct sc_host *host, const char *why)
{
    for (int i = 0; i < SC_CTL_COUNT; i++) {
        assert_int_equal(host->controllers[i].version, SC_CGROUP_NONE);
        if (!strstr(host->controllers[i].why, why))
            fail_msg("'%s' does not say '%s'", host->controllers[i].why, why);
    }
}

/* We are alone in a delegated group: we move to its leaf. */
static void test_delegated(void **state)
{
    (void)state;
    struct sc_host host = {0};
    struct sc_err err = {0};
    struct sc_host_options options = {0};
    char me[32];
    snprintf(me, sizeof me, "%d\n", (int)getpid());
    put_group("v2", ALL, ALL, "1\n");
    put_group("v2/svc", ALL, ALL, me);
    put("v2/svc/cgroup.kill", "");
    put("v2/svc/supervisor/cgroup.procs", "");
    struct sc_cgroup_view view = v2_view("/svc");
    assert_int_equal(sc_cgroup_choose(&host, &view, &options, &err), 0);
    for (int i = 0; i < SC_CTL_COUNT; i++)
        expect_dir(&host, i, SC_CGROUP_V2, "v2/svc");
    expect_file("v2/svc/supervisor/cgroup.procs", "0");
    assert_true(host.cgroup_v2_kill);
    assert_int_equal(host.cgroup_layout, SC_LAYOUT_V2);
}

/* Already in the leaf, with others: the group above serves all. */
static void test_in_leaf(void **state)
{
    (void)state;
    struct sc_host host = {0};
    struct sc_host_options options = {0};
    put_group("v2", ALL, ALL, "1\n");
    put_group("v2/svc", "memory pids\n", "memory pids\n", "");
    put_group("v2/svc/supervisor", "memory pids\n", "", "1\n2\n");
    struct sc_cgroup_view view = v2_view("/svc/supervisor");
    assert_int_equal(sc_cgroup_choose(&host, &view, &options, NULL), 0);
    expect_dir(&host, SC_CTL_MEMORY, SC_CGROUP_V2, "v2/svc");
    expect_dir(&host, SC_CTL_CPUACCT, SC_CGROUP_V2, "v2/svc");
    assert_int_equal(host.controllers[SC_CTL_CPU].version, SC_CGROUP_NONE);
    assert_non_null(strstr(host.controllers[SC_CTL_CPU].why, "not passed on"));
    assert_false(host.cgroup_v2_kill);
}

static void test_not_alone(void **state)
{
    (void)state;
    struct sc_host host = {0};
    struct sc_host_options options = {0};
    put_group("v2", ALL, ALL, "1\n");
    put_group("v2/svc", ALL, "", "1\n0\n");
    struct sc_cgroup_view view = v2_view("/svc");
    assert_int_equal(sc_cgroup_choose(&host, &view, &options, NULL), 0);
    expect_nothing(&host, "no delegated cgroup: 2 other processes live in /svc");
}

static void test_not_seen(void **state)
{
    (void)state;
    struct sc_host host = {0};
    struct sc_host_options options = {0};
    put_group("v2", ALL, ALL, "1\n");
    struct sc_cgroup_view view = v2_view("/../elsewhere");
    assert_int_equal(sc_cgroup_choose(&host, &view, &options, NULL), 0);
    expect_nothing(&host, "outside of what is mounted");
}

static void test_no_controllers(void **state)
{
    (void)state;
    struct sc_host host = {0};
    struct sc_host_options options = {0};
    put_group("v2", "hugetlb\n", "", "1\n");
    struct sc_cgroup_view view = v2_view("/svc");
    assert_int_equal(sc_cgroup_choose(&host, &view, &options, NULL), 0);
    expect_nothing(&host, "no controllers");
    view.n_mounts = 0;
    assert_int_equal(sc_cgroup_choose(&host, &view, &options, NULL), 0);
    expect_nothing(&host, "no cgroup v2 file system");
    assert_int_equal(host.cgroup_layout, SC_LAYOUT_NONE);
}

/* The hierarchy's own root has no cgroup.events. */
static void test_root_of_hierarchy(void **state)
{
    (void)state;
    struct sc_host host = {.root = true};
    struct sc_host_options options = {0};
    put_group("v2", ALL, ALL, "1\n2\n");
    put_group("v2/snapcell", ALL, "memory pids cpu io cpuset\n", "");
    char events[128];
    snprintf(events, sizeof events, "%s/v2/cgroup.events", base);
    unlink(events);
    struct sc_cgroup_view view = v2_view("/");
    assert_int_equal(sc_cgroup_choose(&host, &view, &options, NULL), 0);
    expect_dir(&host, SC_CTL_MEMORY, SC_CGROUP_V2, "v2/snapcell");
    host.root = false;
    assert_int_equal(sc_cgroup_choose(&host, &view, &options, NULL), 0);
    expect_nothing(&host, "root of the hierarchy");
}

/* Under systemd root may write in everybody's groups; only a marked one is ours. */
static void test_not_marked(void **state)
{
    (void)state;
    struct sc_host host = {.root = true, .systemd = true};
    struct sc_host_options options = {0};
    char me[32];
    snprintf(me, sizeof me, "%d\n", (int)getpid());
    put_group("v2", ALL, ALL, "1\n");
    put_group("v2/session", ALL, ALL, me);
    struct sc_cgroup_view view = v2_view("/session");
    assert_int_equal(sc_cgroup_choose(&host, &view, &options, NULL), 0);
    expect_nothing(&host, "systemd manages /session");
}

/* In the leaf of a group that was ours before: no second scope, no mark needed. */
static void test_leaf_is_ours(void **state)
{
    (void)state;
    struct sc_host host = {.systemd = true, .uid = 1879048001};
    struct sc_host_options options = {.want_scope = true};
    put_group("v2", ALL, ALL, "1\n");
    put_group("v2/x.scope", ALL, ALL, "");
    put_group("v2/x.scope/supervisor", ALL, "", "1\n");
    struct sc_cgroup_view view = v2_view("/x.scope/supervisor");
    assert_int_equal(sc_cgroup_choose(&host, &view, &options, NULL), 0);
    expect_dir(&host, SC_CTL_MEMORY, SC_CGROUP_V2, "v2/x.scope");
    assert_false(host.in_scope);
}

static void add_v1(struct sc_cgroup_view *view, const char *name, unsigned controllers, const char *own)
{
    struct sc_cgroup_mount *mount = &view->mounts[view->n_mounts++];
    *mount = (struct sc_cgroup_mount){.version = SC_CGROUP_V1, .controllers = controllers};
    snprintf(mount->point, sizeof mount->point, "%s/%s", base, name);
    snprintf(mount->root, sizeof mount->root, "/");
    for (int i = 0; i < SC_CTL_COUNT; i++)
        if (controllers & 1u << i)
            snprintf(view->own_v1[i], sizeof view->own_v1[i], "%s", own);
}

static struct sc_cgroup_view hybrid_view(void)
{
    struct sc_cgroup_view view = v2_view("/");
    put_group("v2", "hugetlb\n", "", "1\n");
    put("memory/mine/tasks", "");
    put("cpu,cpuacct/tasks", "");
    put("pids/tasks", "");
    add_v1(&view, "memory", 1u << SC_CTL_MEMORY, "/mine");
    add_v1(&view, "cpu,cpuacct", 1u << SC_CTL_CPU | 1u << SC_CTL_CPUACCT, "/");
    add_v1(&view, "pids", 1u << SC_CTL_PIDS, "/gone");
    return view;
}

static void test_hybrid(void **state)
{
    (void)state;
    struct sc_host host = {0};
    struct sc_host_options options = {0};
    struct sc_cgroup_view view = hybrid_view();
    assert_int_equal(sc_cgroup_choose(&host, &view, &options, NULL), 0);
    assert_int_equal(host.cgroup_layout, SC_LAYOUT_HYBRID);
    expect_dir(&host, SC_CTL_MEMORY, SC_CGROUP_V1, "memory/mine");
    expect_dir(&host, SC_CTL_CPU, SC_CGROUP_V1, "cpu,cpuacct");
    expect_dir(&host, SC_CTL_CPUACCT, SC_CGROUP_V1, "cpu,cpuacct");
    assert_int_equal(host.controllers[SC_CTL_PIDS].version, SC_CGROUP_NONE);
    assert_non_null(strstr(host.controllers[SC_CTL_PIDS].why, "/gone"));
    assert_non_null(strstr(host.controllers[SC_CTL_IO].why, "no controllers"));
}

static void test_named_v1(void **state)
{
    (void)state;
    struct sc_host host = {0};
    struct sc_host_options options = {.cgroup_parent = "/snapcell/deep"};
    struct sc_cgroup_view view = hybrid_view();
    put("cpuset/cpuset.cpus", "0-1\n");
    put("cpuset/cpuset.mems", "0\n");
    put("cpuset/snapcell/cpuset.cpus", "0-1\n");
    put("cpuset/snapcell/cpuset.mems", "0\n");
    put("cpuset/snapcell/deep/cpuset.cpus", "\n");
    put("cpuset/snapcell/deep/cpuset.mems", "");
    add_v1(&view, "cpuset", 1u << SC_CTL_CPUSET, "/");
    assert_int_equal(sc_cgroup_choose(&host, &view, &options, NULL), 0);
    expect_dir(&host, SC_CTL_MEMORY, SC_CGROUP_V1, "memory/snapcell/deep");
    expect_dir(&host, SC_CTL_PIDS, SC_CGROUP_V1, "pids/snapcell/deep");
    expect_dir(&host, SC_CTL_CPUSET, SC_CGROUP_V1, "cpuset/snapcell/deep");
    expect_file("cpuset/snapcell/deep/cpuset.mems", "0\n");
    /* Again, with everything there. */
    assert_int_equal(sc_cgroup_choose(&host, &view, &options, NULL), 0);
    expect_dir(&host, SC_CTL_MEMORY, SC_CGROUP_V1, "memory/snapcell/deep");
}

static void test_named_v2(void **state)
{
    (void)state;
    struct sc_host host = {0};
    struct sc_host_options options = {.cgroup_parent = "/ours"};
    put_group("v2", ALL, ALL, "1\n");
    put_group("v2/ours", "memory pids\n", "pids memory\n", "");
    struct sc_cgroup_view view = v2_view("/");
    assert_int_equal(sc_cgroup_choose(&host, &view, &options, NULL), 0);
    expect_dir(&host, SC_CTL_MEMORY, SC_CGROUP_V2, "v2/ours");
    expect_dir(&host, SC_CTL_CPUACCT, SC_CGROUP_V2, "v2/ours");
    assert_int_equal(host.controllers[SC_CTL_IO].version, SC_CGROUP_NONE);
    /* Nothing is passed on, and asking changes nothing: refused, and the parent named. */
    put_group("v2/ours", "memory\n", "", "");
    struct sc_err err = {0};
    assert_int_equal(sc_cgroup_choose(&host, &view, &options, &err), -EACCES);
    assert_non_null(strstr(err.message, "/ours"));
}

static void test_named_wrongly(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",        "/",   "snapcell", "/a/", "/a//b",
                                        "/a/../b", "/..", "/./a",     "/a/."};
    struct sc_host host = {0};
    struct sc_cgroup_view view = v2_view("/");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct sc_err err = {0};
        struct sc_host_options options = {.cgroup_parent = wrong[i]};
        assert_int_equal(sc_cgroup_choose(&host, &view, &options, &err), -EINVAL);
        assert_int_equal(err.kind, SC_ERR_USAGE);
        assert_string_equal(err.field, "cgroup-parent");
    }
}

static void test_named_in_vain(void **state)
{
    (void)state;
    struct sc_host host = {0};
    struct sc_err err = {0};
    struct sc_host_options options = {.cgroup_parent = "/x/..y"};
    put_group("v2", "hugetlb\n", "", "1\n");
    struct sc_cgroup_view view = v2_view("/");
    assert_true(sc_cgroup_choose(&host, &view, &options, &err) < 0);
    assert_int_equal(err.kind, SC_ERR_HOST);
    assert_string_equal(err.field, "cgroup-parent");
    assert_non_null(strstr(err.message, "no controllers"));
}

static void test_memory_limit(void **state)
{
    (void)state;
    struct sc_cgroup_view view = v2_view("/a/b");
    put("v2/a/b/memory.max", "max\n");
    put("v2/a/memory.max", "1000000\n");
    assert_int_equal(sc_cgroup_memory_limit(&view), 1000000);
    put("v2/a/b/memory.max", "5000\n");
    assert_int_equal(sc_cgroup_memory_limit(&view), 5000);
    put("memory/x/memory.limit_in_bytes", "400\n");
    add_v1(&view, "memory", 1u << SC_CTL_MEMORY, "/x");
    assert_int_equal(sc_cgroup_memory_limit(&view), 400);
    view.n_mounts = 0;
    assert_true(sc_cgroup_memory_limit(&view) == UINT64_MAX);
}

static int make_base(void **state)
{
    (void)state;
    snprintf(base, sizeof base, "/tmp/snapcell-test-XXXXXX");
    return mkdtemp(base) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static int remove_base(void **state)
{
    (void)state;
    return nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_base, remove_base)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_delegated),     TEST(test_in_leaf),        TEST(test_not_alone),
        TEST(test_not_seen),      TEST(test_no_controllers), TEST(test_root_of_hierarchy),
        TEST(test_not_marked),    TEST(test_leaf_is_ours),   TEST(test_hybrid),
        TEST(test_named_v1),      TEST(test_named_v2),       TEST(test_named_wrongly),
        TEST(test_named_in_vain), TEST(test_memory_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
