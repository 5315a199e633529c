/* The template: the host's /usr, somebody's --root, environments, mounted folders, and what covers /proc. */
#include "fixture.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static struct sc_host host;

static int before(void **state)
{
    (void)state;
    host = made_up_server();
    return 0;
}

static bool shows(const struct sc_plan *plan, const char *path)
{
    return mount_at(plan, path) != NULL;
}

static void host_root(void **state)
{
    (void)state;
    struct sc_spec spec;
    fill_spec(&spec, "print(1)", NULL);
    struct sc_plan *plan = plan_of(&spec, &host);
    const struct sc_plan_mount *usr = mount_at(plan, "/usr");
    assert_int_equal(usr->kind, SC_MOUNT_BIND);
    assert_string_equal(usr->source, "/usr");
    static const char *const absent[] = {"/root",       "/home/root", "/opt",       "/mnt",     "/boot",
                                         "/etc/shadow", "/etc/ssh",   "/etc/fstab", "/var/lib", "/srv"};
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
        assert_false(shows(plan, absent[i]));
    assert_string_equal(mount_at(plan, "/var/tmp")->source, "../tmp");
    /* Made up, whatever the host has. */
    assert_non_null(
        strstr(mount_at(plan, "/etc/passwd")->content, "user:x:1000:1000:Cell user:/home/user:/bin/bash\n"));
    assert_string_equal(mount_at(plan, "/etc/hostname")->content, "cell\n");
    assert_non_null(strstr(mount_at(plan, "/etc/hosts")->content, "::1 localhost"));
    /* Links of a merged /usr stay links. */
    struct stat st;
    if (lstat("/bin", &st) == 0 && S_ISLNK(st.st_mode))
        assert_int_equal(mount_at(plan, "/bin")->kind, SC_MOUNT_SYMLINK);
    static const char *const devices[] = {"null", "zero", "full", "random", "urandom", "tty"};
    size_t n_devices = 0;
    for (size_t i = 0; i < plan->n_mounts; i++)
        n_devices += plan->mounts[i].kind == SC_MOUNT_DEVICE;
    assert_int_equal(n_devices, sizeof devices / sizeof devices[0]);
    sc_plan_free(plan);
    sc_spec_fini(&spec);
}

/* Every bind and copy names something that is there now, and no path comes twice. */
static void steps_can_be_taken(void **state)
{
    (void)state;
    struct sc_spec spec;
    fill_spec(&spec, "print(1)", NULL);
    struct sc_plan *plan = plan_of(&spec, &host);
    for (size_t i = 0; i < plan->n_mounts; i++) {
        const struct sc_plan_mount *mount = &plan->mounts[i];
        assert_int_equal(mount->path[0], '/');
        if (mount->kind == SC_MOUNT_BIND || mount->kind == SC_MOUNT_COPY || mount->kind == SC_MOUNT_DEVICE)
            assert_int_equal(access(mount->source, F_OK), 0);
        for (size_t j = 0; j < i; j++)
            if (!strcmp(plan->mounts[j].path, mount->path))
                fail_msg("%s comes twice", mount->path);
    }
    sc_plan_free(plan);
    sc_spec_fini(&spec);
}

static char *small_root(void)
{
    char *root = make_tree();
    put_folder(root, "usr");
    put_folder(root, "etc");
    put_folder(root, "opt");
    put_folder(root, "home");
    put_folder(root, "proc");
    put_folder(root, "dev");
    put_link(root, "bin", "usr/bin");
    put_file(root, "etc/motd", "hello\n", 0644);
    put_file(root, "etc/passwd", "evil:x:0:0::/:/bin/sh\n", 0644);
    put_link(root, "etc/mtab", "/proc/self/mounts");
    return root;
}

static void own_root(void **state)
{
    (void)state;
    struct sc_spec spec;
    char *root = small_root(), usr[PATH_MAX];
    fill_spec(&spec, "print(1)", "root", root, NULL);
    struct sc_plan *plan = plan_of(&spec, &host);
    snprintf(usr, sizeof usr, "%s/usr", root);
    assert_string_equal(mount_at(plan, "/usr")->source, usr);
    assert_string_equal(mount_at(plan, "/bin")->source, "usr/bin");
    assert_true(shows(plan, "/opt"));
    assert_true(shows(plan, "/etc/motd"));
    assert_int_equal(mount_at(plan, "/etc/mtab")->kind, SC_MOUNT_SYMLINK);
    /* Ours are ours: no home, devices or users of the root's. */
    assert_int_equal(mount_at(plan, "/home")->kind, SC_MOUNT_DIR);
    assert_int_equal(mount_at(plan, "/dev")->kind, SC_MOUNT_DIR);
    assert_int_equal(mount_at(plan, "/etc/passwd")->kind, SC_MOUNT_FILE);
    assert_null(strstr(mount_at(plan, "/etc/passwd")->content, "evil"));
    for (size_t i = 0; i < plan->n_mounts; i++) {
        const struct sc_plan_mount *mount = &plan->mounts[i];
        if (mount->kind == SC_MOUNT_BIND || mount->kind == SC_MOUNT_COPY)
            assert_int_equal(strncmp(mount->source, root, strlen(root)), 0); /* nothing of the host's */
    }
    sc_plan_free(plan);
    sc_spec_fini(&spec);
    remove_tree(root);
}

/* A root that a stranger made: its links are the cell's to follow, never ours. */
static void hostile_root(void **state)
{
    (void)state;
    struct sc_spec spec;
    char *secret = make_tree(), *root = make_tree();
    put_file(secret, "key", "secret\n", 0644);
    put_folder(root, "usr");
    put_link(root, "etc", secret);
    put_link(root, "opt", secret);
    put_link(root, "sub", "../../../../etc");
    put_file(root, "odd\nname", "", 0644);
    assert_int_equal(mkfifo("/dev/null/x", 0600), -1);
    fill_spec(&spec, "print(1)", "root", root, NULL);
    struct sc_plan *plan = plan_of(&spec, &host);
    assert_false(shows(plan, "/etc/key"));
    for (size_t i = 0; i < plan->n_mounts; i++) {
        const struct sc_plan_mount *mount = &plan->mounts[i];
        if (mount->kind == SC_MOUNT_BIND || mount->kind == SC_MOUNT_COPY)
            if (strncmp(mount->source, root, strlen(root)) || strstr(mount->source, ".."))
                fail_msg("%s comes from %s", mount->path, mount->source);
    }
    assert_int_equal(mount_at(plan, "/opt")->kind, SC_MOUNT_SYMLINK);
    sc_plan_free(plan);
    sc_spec_fini(&spec);
    remove_tree(root);
    remove_tree(secret);
}

/* A folder of the host at the same path; what the root shows already is not mounted twice. */
static void environments(void **state)
{
    (void)state;
    struct sc_spec spec;
    char *tree = make_tree(), link[256], prefix[64], venv[64];
    put_folder(tree, "python");
    put_folder(tree, "python/bin");
    put_file(tree, "python/bin/python3.99", "", 0755);
    put_folder(tree, "venv");
    put_folder(tree, "venv/bin");
    snprintf(prefix, sizeof prefix, "%s/python", tree);
    snprintf(link, sizeof link, "%s/bin/python3.99", prefix);
    snprintf(venv, sizeof venv, "%s/venv", tree);
    put_link(tree, "venv/bin/python", link);
    struct sc_err err = {0};
    fill_spec(&spec, "print(1)", "venv", venv, NULL);
    /* The tree lies in /tmp, which every cell has of its own: the check refuses it there. So plan it
     * unchecked. */
    assert_int_equal(sc_spec_check(&spec, 0, NULL), -EINVAL);
    struct sc_plan *plan = NULL;
    assert_int_equal(sc_limits_derive(&spec.limits, &spec.disk_backing, NULL), 0);
    if (sc_plan_make(&spec, &host, &plan, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(mount_at(plan, venv)->source, venv);
    assert_string_equal(mount_at(plan, prefix)->source, prefix); /* where the library of its interpreter is */
    snprintf(link, sizeof link, "%s/bin/python", venv);
    assert_string_equal(plan->argv.v[0], link);
    snprintf(link, sizeof link, "%s/bin:/usr/local/bin:/usr/bin:/bin", venv);
    assert_string_equal(env_of(plan, "PATH"), link);
    sc_plan_free(plan);
    sc_spec_fini(&spec);
    remove_tree(tree);
}

static void interpreter(void **state)
{
    (void)state;
    struct sc_spec spec;
    fill_spec(&spec, "print(1)", "interpreter", "/usr/bin/env", NULL);
    struct sc_plan *plan = plan_of(&spec, &host);
    assert_string_equal(plan->argv.v[0], "/usr/bin/env");
    size_t n = 0;
    for (size_t i = 0; i < plan->n_mounts; i++)
        n += !strcmp(plan->mounts[i].path, "/usr");
    assert_int_equal(n, 1);
    sc_plan_free(plan);
    sc_spec_fini(&spec);
}

static void interpreter_without_a_prefix(void **state)
{
    (void)state;
    struct sc_spec spec;
    struct sc_err err = {0};
    struct sc_plan *plan = NULL;
    char *tree = make_tree(), path[PATH_MAX];
    put_file(tree, "python", "", 0755);
    snprintf(path, sizeof path, "%s/python", tree);
    fill_spec(&spec, "print(1)", NULL);
    assert_int_equal(sc_limits_derive(&spec.limits, &spec.disk_backing, NULL), 0);
    /* Two folders up is where the home lies: nobody means to show that. */
    assert_int_equal(setenv("HOME", tree, 1), 0);
    assert_int_equal(sc_spec_set(&spec, "interpreter", path, NULL), 0);
    assert_int_equal(sc_plan_make(&spec, &host, &plan, &err), -EINVAL);
    assert_non_null(strstr(err.message, "its prefix /tmp holds your home folder"));
    assert_int_equal(setenv("HOME", "/nonexistent", 1), 0);
    if (sc_plan_make(&spec, &host, &plan, &err) < 0)
        fail_msg("%s", err.message);
    sc_plan_free(plan);
    plan = NULL;
    assert_int_equal(sc_spec_set(&spec, "interpreter", "/nonexistent", NULL), 0);
    assert_int_equal(sc_plan_make(&spec, &host, &plan, &err), -EINVAL);
    assert_int_equal(err.kind, SC_ERR_USAGE);
    assert_string_equal(err.field, "interpreter");
    assert_null(plan);
    sc_spec_fini(&spec);
    remove_tree(tree);
}

static void mounted_folders(void **state)
{
    (void)state;
    struct sc_spec spec;
    char *tree = make_tree(), option[PATH_MAX * 2];
    snprintf(option, sizeof option, "%s:/data/set:ro", tree);
    fill_spec(&spec, "print(1)", "dir", option, NULL);
    snprintf(option, sizeof option, "%s:copied", tree);
    assert_int_equal(sc_spec_add(&spec, "dir", option, NULL), 0);
    struct sc_plan *plan = plan_of(&spec, &host);
    assert_int_equal(mount_at(plan, "/data/set")->kind, SC_MOUNT_BIND);
    assert_string_equal(mount_at(plan, "/data/set")->source, tree);
    size_t n = 0;
    for (size_t i = 0; i < plan->n_mounts; i++)
        n += plan->mounts[i].source && !strcmp(plan->mounts[i].source, tree);
    assert_int_equal(n, 1); /* the copied one is no mount */
    sc_plan_free(plan);
    sc_spec_fini(&spec);
    remove_tree(tree);
}

/* A cover over what is not there would make every cell fail; what tells of the host and is there must have
 * one. */
static void covers(void **state)
{
    (void)state;
    static const char *const telling[] = {"/proc/cmdline",    "/proc/modules",   "/proc/keys",
                                          "/proc/interrupts", "/proc/diskstats", "/proc/vmstat",
                                          "/proc/zoneinfo",   "/proc/swaps",     "/proc/locks",
                                          "/proc/bus",        "/proc/pressure",  "/proc/partitions"};
    struct sc_spec spec;
    fill_spec(&spec, "print(1)", "memory", "256M", "cpus", "2", NULL);
    struct sc_plan *plan = plan_of(&spec, &host);
    for (size_t i = 0; i < plan->n_masks; i++) {
        struct stat st, with;
        const struct sc_plan_mount *cover = mount_at(plan, plan->masks[i].with);
        assert_int_equal(stat(plan->masks[i].path, &st), 0);
        assert_non_null(cover);
        with.st_mode = cover->kind == SC_MOUNT_DIR ? S_IFDIR : S_IFREG;
        assert_int_equal(st.st_mode & S_IFMT, with.st_mode); /* a file cannot be laid over a folder */
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(plan->masks[j].path, plan->masks[i].path);
    }
    for (size_t i = 0; i < sizeof telling / sizeof telling[0]; i++) {
        struct stat st;
        if (stat(telling[i], &st) == 0 && (st.st_mode & 0004) && !cover_of(plan, telling[i]))
            fail_msg("%s is not covered", telling[i]);
    }
    assert_non_null(
        strstr(mount_at(plan, cover_of(plan, "/proc/meminfo"))->content, "MemTotal:         262144 kB\n"));
    const char *stat_text = mount_at(plan, cover_of(plan, "/proc/stat"))->content;
    assert_non_null(strstr(stat_text, "\ncpu1 "));
    assert_null(strstr(stat_text, "\ncpu2 "));
    const char *cpuinfo = mount_at(plan, cover_of(plan, "/proc/cpuinfo"))->content;
    assert_non_null(strstr(cpuinfo, "processor\t: 1\n"));
    assert_null(strstr(cpuinfo, "processor\t: 2\n"));
    assert_non_null(cover_of(plan, "/proc/sys/kernel/random/boot_id"));
    assert_string_equal(mount_at(plan, "/sys/devices/system/cpu/online")->content, "0-1\n");
    assert_string_equal(mount_at(plan, "/sys/fs/cgroup/memory.max")->content, "268435456\n");
    assert_string_equal(mount_at(plan, "/sys/fs/cgroup/cpu.max")->content, "200000 100000\n");
    assert_string_equal(mount_at(plan, "/sys/fs/cgroup/pids.max")->content, "128\n");
    sc_plan_free(plan);
    sc_spec_fini(&spec);
}

/* Never more processors than the host has, never none. */
static void processors(void **state)
{
    (void)state;
    static const struct {
        const char *cpus;
        unsigned of_host;
        const char *count, *online;
    } cases[] = {{"0.01", 8, "1", "0\n"},
                 {"1", 8, "1", "0\n"},
                 {"1.001", 8, "2", "0-1\n"},
                 {"64", 4, "4", "0-3\n"},
                 {"4", 1, "1", "0\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sc_spec spec;
        host.cpus = cases[i].of_host;
        fill_spec(&spec, "print(1)", "cpus", cases[i].cpus, NULL);
        struct sc_plan *plan = plan_of(&spec, &host);
        assert_string_equal(env_of(plan, "OMP_NUM_THREADS"), cases[i].count);
        assert_string_equal(env_of(plan, "GOMAXPROCS"), cases[i].count);
        assert_string_equal(mount_at(plan, "/sys/devices/system/cpu/online")->content, cases[i].online);
        sc_plan_free(plan);
        sc_spec_fini(&spec);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(host_root, before),
        cmocka_unit_test_setup(steps_can_be_taken, before),
        cmocka_unit_test_setup(own_root, before),
        cmocka_unit_test_setup(hostile_root, before),
        cmocka_unit_test_setup(environments, before),
        cmocka_unit_test_setup(interpreter, before),
        cmocka_unit_test_setup(interpreter_without_a_prefix, before),
        cmocka_unit_test_setup(mounted_folders, before),
        cmocka_unit_test_setup(covers, before),
        cmocka_unit_test_setup(processors, before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
