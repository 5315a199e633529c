/* What is planned on hosts of every kind, and what is refused there. */
#include "fixture.h"

#include <errno.h>
#include <sys/resource.h>

static const char NO_GROUP[] = "the group of this process is not delegated";

static void free_all(struct sc_plan *plan, struct sc_spec *spec)
{
    sc_plan_free(plan);
    sc_spec_fini(spec);
}

static void server_v2(void **state)
{
    (void)state;
    struct sc_host host = made_up_server();
    struct sc_spec spec;
    fill_spec(&spec, "print(1)", "cpus", "1.5", "tasks", "40", NULL);
    struct sc_plan *plan = plan_of(&spec, &host);
    assert_false(plan->rootless);
    assert_false(plan->agent_shares_uid);
    assert_int_equal(plan->degraded, 0);
    assert_ptr_equal(plan->host, &host);
    assert_ptr_equal(plan->spec, &spec);
    assert_string_equal(group_value(plan, "memory.max"), "536870912");
    assert_string_equal(group_value(plan, "memory.swap.max"), "0");
    assert_string_equal(group_value(plan, "memory.oom.group"), "1");
    assert_string_equal(group_value(plan, "pids.max"), "41"); /* the agent is one */
    assert_string_equal(group_value(plan, "cpu.max"), "150000 100000");
    assert_null(group_value(plan, "io.max"));
    assert_null(group_value(plan, "cpuset.cpus"));
    assert_string_equal(plan->filter->name, "default");
    assert_string_equal(plan->hostname, "cell");
    assert_int_equal(rlimit_of(plan, RLIMIT_NPROC), 56); /* behind the group, which counts what it refuses */
    assert_int_equal(rlimit_of(plan, RLIMIT_CORE), 0);
    assert_int_equal(rlimit_of(plan, RLIMIT_NOFILE), 1024);
    assert_int_equal(rlimit_of(plan, RLIMIT_FSIZE), 128 * SC_MIB);
    assert_int_equal(rlimit_of(plan, RLIMIT_CPU),
                     9); /* 7.5 s over all processes, so no one ends by it first */
    assert_int_equal(rlimit_of(plan, RLIMIT_DATA), UINT64_MAX); /* the group counts memory */
    assert_int_equal(rlimit_of(plan, RLIMIT_AS), UINT64_MAX);
    free_all(plan, &spec);
}

static void server_v1(void **state)
{
    (void)state;
    struct sc_host host = made_up_v1_server();
    struct sc_spec spec;
    fill_spec(&spec, "print(1)", "memory", "256M", "io-read", "1M", NULL);
    struct sc_plan *plan = plan_of(&spec, &host);
    assert_string_equal(group_value(plan, "memory.limit_in_bytes"), "268435456");
    assert_string_equal(group_value(plan, "memory.memsw.limit_in_bytes"), "268435456");
    assert_string_equal(group_value(plan, "cpu.cfs_quota_us"), "100000");
    assert_string_equal(group_value(plan, "pids.max"), "129");
    assert_string_equal(group_value(plan, "blkio.throttle.read_bps_device"), "8:0 1048576");
    assert_null(group_value(plan, "blkio.throttle.write_bps_device"));
    assert_null(group_value(plan, "memory.max"));
    free_all(plan, &spec);
}

static void laptop_with_subordinate_ids(void **state)
{
    (void)state;
    struct sc_host host = made_up_laptop();
    struct sc_spec spec;
    fill_spec(&spec, "print(1)", NULL);
    struct sc_plan *plan = plan_of(&spec, &host);
    assert_true(plan->rootless);
    assert_false(plan->agent_shares_uid);
    assert_int_equal(plan->degraded, 0);
    assert_int_equal(rlimit_of(plan, RLIMIT_NPROC), 144);
    free_all(plan, &spec);
}

static void laptop_without_subordinate_ids(void **state)
{
    (void)state;
    struct sc_host host = made_up_laptop();
    struct sc_spec spec;
    host.sub_uid = host.sub_gid = (uid_t)-1;
    fill_spec(&spec, "print(1)", NULL);
    struct sc_plan *plan = plan_of(&spec, &host);
    assert_true(plan->rootless);
    assert_true(plan->agent_shares_uid);
    assert_int_equal(rlimit_of(plan, RLIMIT_NPROC), 145); /* the agent counts, too */
    free_all(plan, &spec);
}

/* Each thing that can be missing: refused with the words that help, accepted with its option. */
static void refusals(void **state)
{
    (void)state;
    static const struct {
        enum sc_controller controller;
        const char *sentence, *word;
        uint32_t bit;
    } cases[] = {
        {SC_CTL_MEMORY, "a memory limit over the whole cell", "memory", SC_DEGRADE_MEMORY},
        {SC_CTL_CPUACCT, "a processor time limit over the whole cell", "cpu", SC_DEGRADE_CPU},
        {SC_CTL_CPU, "a processor rate", "cpus", SC_DEGRADE_CPUS},
        {SC_CTL_IO, "an io bandwidth limit", "io", SC_DEGRADE_IO},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sc_host host = made_up_laptop();
        struct sc_spec spec;
        struct sc_err err;
        char expected[400];
        host.disks[0] = (struct sc_host_disk){8, 0};
        host.n_disks = 1;
        without(&host, cases[i].controller, NO_GROUP);
        fill_spec(&spec, "print(1)", "io-write", "1M", NULL);
        refused(&spec, &host, &err);
        snprintf(expected, sizeof expected, "%s cannot be had here: %s; --allow-degraded %s accepts that",
                 cases[i].sentence, NO_GROUP, cases[i].word);
        assert_string_equal(err.message, expected);
        assert_int_equal(err.kind, SC_ERR_HOST);
        assert_int_equal(sc_spec_add(&spec, "allow-degraded", cases[i].word, NULL), 0);
        struct sc_plan *plan = plan_of(&spec, &host);
        assert_int_equal(plan->degraded, cases[i].bit);
        free_all(plan, &spec);
    }
}

static void accepting_one_is_not_accepting_another(void **state)
{
    (void)state;
    struct sc_host host = made_up_bare_laptop(NO_GROUP);
    struct sc_spec spec;
    struct sc_err err;
    fill_spec(&spec, "print(1)", "allow-degraded", "memory,cpus", NULL);
    refused(&spec, &host, &err);
    assert_non_null(strstr(err.message, "--allow-degraded cpu accepts"));
    sc_spec_fini(&spec);
}

/* Without groups: only what is really weaker is called so, and per-process limits stand in. */
/* A plan of a zygote's, as the keeper makes it. */
static uint64_t tasks_of_zygote(const struct sc_host *host, bool is_zygote)
{
    struct sc_spec spec;
    fill_spec(&spec, "print(1)", "tasks", "40", "allow-degraded",
              "memory,cpu,cpus,io,disk,landlock,open_files,apparmor", NULL);
    spec.mode = SC_MODE_RICH;
    assert_int_equal(sc_spec_check(&spec, host->memory_bytes, NULL), 0);
    spec.forkable = true;
    spec.zygote = is_zygote;
    struct sc_plan *plan = NULL;
    assert_int_equal(sc_plan_make(&spec, host, &plan, NULL), 0);
    uint64_t tasks = plan->zygote_tasks;
    free_all(plan, &spec);
    return tasks;
}

/* Not where their own limit is all that counts what their prelude starts, nor for anybody's code. */
static void zygotes_have_room_for_the_cells_below_them(void **state)
{
    (void)state;
    struct sc_host server = made_up_v1_server(), laptop = made_up_bare_laptop(NO_GROUP);
    assert_int_equal(tasks_of_zygote(&server, true), 56 * 256);
    assert_int_equal(tasks_of_zygote(&server, false), 0);
    assert_int_equal(tasks_of_zygote(&laptop, true), 0);
}

static void bare_laptop(void **state)
{
    (void)state;
    struct sc_host host = made_up_bare_laptop(NO_GROUP);
    struct sc_spec spec;
    fill_spec(&spec, "print(1)", "allow-degraded", "memory,cpu,cpus,io,disk,landlock,open_files,apparmor",
              NULL);
    struct sc_plan *plan = plan_of(&spec, &host);
    assert_int_equal(plan->degraded, SC_DEGRADE_MEMORY | SC_DEGRADE_CPU | SC_DEGRADE_CPUS);
    assert_int_equal(plan->n_cgroup, 0);
    assert_int_equal(rlimit_of(plan, RLIMIT_DATA), 512 * SC_MIB);
    assert_int_equal(rlimit_of(plan, RLIMIT_CPU), 5);
    assert_int_equal(rlimit_of(plan, RLIMIT_NPROC), 128);
    free_all(plan, &spec);
}

/* It was started for the run, which the limit is about. */
static void an_interpreter_has_used_some_before(void **state)
{
    (void)state;
    struct sc_host host = made_up_bare_laptop(NO_GROUP);
    struct sc_spec spec;
    fill_spec(&spec, "print(1)", "allow-degraded", "memory,cpu,cpus,io,disk,landlock,open_files,apparmor",
              "mode", "rich", NULL);
    struct sc_plan *plan = plan_of(&spec, &host);
    assert_int_equal(rlimit_of(plan, RLIMIT_CPU), 6);
    free_all(plan, &spec);
}

/* The processor limit of a session is of each run: its interpreters live through many. */
static void sessions_outlive_a_run(void **state)
{
    (void)state;
    struct sc_host host = made_up_server();
    struct sc_spec spec;
    fill_spec(&spec, "print(1)", NULL);
    sc_spec_clear_program(&spec);
    spec.session = true;
    struct sc_plan *plan = plan_of(&spec, &host);
    assert_int_equal(rlimit_of(plan, RLIMIT_CPU), UINT64_MAX);
    assert_int_equal(rlimit_of(plan, RLIMIT_CORE), 0);
    free_all(plan, &spec);
}

/* Without a reason of the probe's there is still a whole sentence. */
static void no_reason_given(void **state)
{
    (void)state;
    struct sc_host host = made_up_bare_laptop("");
    struct sc_spec spec;
    struct sc_err err;
    fill_spec(&spec, "print(1)", NULL);
    refused(&spec, &host, &err);
    assert_string_equal(err.message,
                        "a memory limit over the whole cell cannot be had here: no control group; "
                        "--allow-degraded memory accepts that");
    sc_spec_fini(&spec);
}

static void io_needs_every_disk(void **state)
{
    (void)state;
    struct sc_host host = made_up_server();
    struct sc_spec spec;
    struct sc_err err;
    host.disks_left_out = true;
    fill_spec(&spec, "print(1)", "io-read", "1M", NULL);
    refused(&spec, &host, &err);
    assert_string_equal(err.message,
                        "an io bandwidth limit cannot be had here: this host has more disks than can be "
                        "limited; --allow-degraded io accepts that");
    host.disks_left_out = false;
    host.n_disks = 0;
    refused(&spec, &host, &err);
    assert_non_null(strstr(err.message, "no disk was found"));
    assert_int_equal(sc_spec_add(&spec, "allow-degraded", "io", NULL), 0);
    struct sc_plan *plan = plan_of(&spec, &host);
    assert_int_equal(plan->degraded, SC_DEGRADE_IO);
    assert_null(group_value(plan, "io.max"));
    free_all(plan, &spec);
}

static void landlock(void **state)
{
    (void)state;
    struct sc_host host = made_up_server();
    struct sc_spec spec;
    struct sc_err err;
    fill_spec(&spec, "print(1)", NULL);
    host.landlock_abi = 0;
    refused(&spec, &host, &err);
    assert_string_equal(err.message,
                        "Landlock cannot be had here: the kernel does not offer it; --allow-degraded "
                        "landlock accepts that");
    assert_int_equal(sc_spec_add(&spec, "allow-degraded", "landlock", NULL), 0);
    struct sc_plan *plan = plan_of(&spec, &host);
    assert_int_equal(plan->degraded, SC_DEGRADE_LANDLOCK);
    assert_int_equal(plan->landlock_handled_fs, 0);
    assert_int_equal(plan->n_locks, 0);
    sc_plan_free(plan);

    /* A kernel refuses a ruleset with bits that it does not know. */
    static const uint64_t handled[] = {0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff, 0xffff, 0xffff};
    for (int abi = 1; abi <= 7; abi++) {
        host.landlock_abi = abi;
        plan = plan_of(&spec, &host);
        assert_int_equal(plan->landlock_handled_fs, handled[abi]);
        assert_int_equal(plan->landlock_scoped, abi >= 6 ? 3 : 0);
        assert_int_equal(plan->degraded, 0);
        for (size_t i = 0; i < plan->n_locks; i++)
            assert_int_equal(plan->locks[i].access & ~plan->landlock_handled_fs, 0);
        sc_plan_free(plan);
    }
    sc_spec_fini(&spec);
}

static void apparmor(void **state)
{
    (void)state;
    struct sc_host host = made_up_server();
    struct sc_spec spec;
    struct sc_err err;
    host.apparmor_enabled = true;
    fill_spec(&spec, "print(1)", NULL);
    refused(&spec, &host, &err);
    assert_string_equal(
        err.message,
        "the AppArmor layer cannot be had here: AppArmor is on but the profile snapcell-cell is not "
        "loaded; --allow-degraded apparmor accepts that");
    host.apparmor_profile_loaded = true;
    struct sc_plan *plan = plan_of(&spec, &host);
    assert_true(plan->apparmor);
    assert_int_equal(plan->degraded, 0);
    sc_plan_free(plan);
    host.apparmor_profile_loaded = false;
    assert_int_equal(sc_spec_add(&spec, "allow-degraded", "apparmor", NULL), 0);
    plan = plan_of(&spec, &host);
    assert_false(plan->apparmor);
    assert_int_equal(plan->degraded, SC_DEGRADE_APPARMOR);
    free_all(plan, &spec);
}

static void open_files(void **state)
{
    (void)state;
    struct sc_host host = made_up_server();
    struct sc_spec spec;
    struct sc_err err;
    host.open_files_hard = 4096;
    fill_spec(&spec, "print(1)", "open-files", "4097", NULL);
    refused(&spec, &host, &err);
    assert_string_equal(err.message,
                        "that many open files cannot be had here: the hard limit of this process is 4096; "
                        "--allow-degraded open_files accepts that");
    assert_int_equal(sc_spec_add(&spec, "allow-degraded", "open_files", NULL), 0);
    struct sc_plan *plan = plan_of(&spec, &host);
    assert_int_equal(plan->degraded, SC_DEGRADE_OPEN_FILES);
    assert_int_equal(plan->limits.open_files, 4096);
    assert_int_equal(rlimit_of(plan, RLIMIT_NOFILE), 4096);
    free_all(plan, &spec);
    fill_spec(&spec, "print(1)", "open-files", "4096", NULL);
    plan = plan_of(&spec, &host);
    assert_int_equal(plan->degraded, 0);
    free_all(plan, &spec);
}

static void disk_image(void **state)
{
    (void)state;
    struct sc_host host = made_up_server();
    struct sc_spec spec;
    struct sc_err err;
    fill_spec(&spec, "print(1)", "disk", "4G", NULL);
    struct sc_plan *plan = plan_of(&spec, &host);
    assert_true(plan->disk_image);
    assert_int_equal(fresh_at(plan, SC_CELL_HOME)->kind, SC_FRESH_IMAGE);
    assert_int_equal(fresh_at(plan, SC_CELL_HOME)->bytes, 4ull << 30);
    sc_plan_free(plan);

    host.loop_devices = false;
    refused(&spec, &host, &err);
    assert_string_equal(err.message,
                        "a disk-backed work folder cannot be had here: no loop devices or no mkfs.ext4; "
                        "--allow-degraded disk accepts that");
    struct sc_host laptop = made_up_laptop();
    refused(&spec, &laptop, &err);
    assert_string_equal(err.message,
                        "a disk-backed work folder cannot be had here: it takes root; --allow-degraded disk "
                        "accepts that");
    assert_int_equal(sc_spec_add(&spec, "allow-degraded", "disk", NULL), 0);
    plan = plan_of(&spec, &laptop);
    assert_false(plan->disk_image);
    assert_int_equal(plan->degraded, SC_DEGRADE_DISK);
    assert_int_equal(fresh_at(plan, SC_CELL_HOME)->kind, SC_FRESH_TMPFS);
    /* Not the 4 GiB: what lies in memory must fit there. */
    assert_int_equal(fresh_at(plan, SC_CELL_HOME)->bytes, 128 * SC_MIB);
    free_all(plan, &spec);
}

static void sizes_shrink_with_memory(void **state)
{
    (void)state;
    struct sc_host host = made_up_server();
    static const char *const memory[] = {"16M", "20M", "64M", "100M", "511M", "512M", "4G"};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++) {
        struct sc_spec spec;
        fill_spec(&spec, "print(1)", "memory", memory[i], NULL);
        struct sc_plan *plan = plan_of(&spec, &host);
        uint64_t home = fresh_at(plan, SC_CELL_HOME)->bytes, tmp = fresh_at(plan, "/tmp")->bytes,
                 shm = fresh_at(plan, "/dev/shm")->bytes;
        assert_true(home + tmp + shm <= plan->limits.memory / 4 * 3);
        assert_true(home >= 64 * 1024 && tmp >= 64 * 1024 && shm >= 64 * 1024);
        assert_true(home <= 128 * SC_MIB && tmp <= 64 * SC_MIB && shm <= 64 * SC_MIB);
        free_all(plan, &spec);
    }
}

static void fresh_places(void **state)
{
    (void)state;
    struct sc_host host = made_up_server();
    struct sc_spec spec;
    fill_spec(&spec, "print(1)", "disk-inodes", "100", "tmp-inodes", "200", NULL);
    struct sc_plan *plan = plan_of(&spec, &host);
    assert_int_equal(plan->n_fresh, 5);
    assert_int_equal(plan->fresh[0].kind, SC_FRESH_PROC); /* first: see plan_limits.c */
    assert_int_equal(fresh_at(plan, SC_CELL_HOME)->inodes, 100);
    assert_int_equal(fresh_at(plan, "/tmp")->inodes, 200);
    assert_int_equal(fresh_at(plan, "/tmp")->mode, 01777);
    assert_true(fresh_at(plan, "/tmp")->owned);
    assert_int_equal(fresh_at(plan, "/dev/pts")->kind, SC_FRESH_DEVPTS);
    for (size_t i = 0; i < plan->n_fresh; i++) /* each has a place to stand on in the template */
        assert_non_null(mount_at(plan, plan->fresh[i].path));
    free_all(plan, &spec);
}

static void pin_pty_compute(void **state)
{
    (void)state;
    struct sc_host host = made_up_server();
    struct sc_spec spec;
    fill_spec(&spec, "print(1)", "pin", "0,2-3", "profile", "compute", NULL);
    struct sc_plan *plan = plan_of(&spec, &host);
    assert_string_equal(plan->pin, "0,2-3");
    assert_string_equal(group_value(plan, "cpuset.cpus"), "0,2-3");
    assert_string_equal(plan->filter->name, "compute");
    assert_false(plan->pty);
    assert_null(env_of(plan, "TERM"));
    free_all(plan, &spec);

    fill_spec(&spec, "print(1)", NULL);
    spec.pty = true;
    plan = plan_of(&spec, &host);
    assert_true(plan->pty);
    assert_string_equal(env_of(plan, "TERM"), "xterm-256color");
    free_all(plan, &spec);
}

static void hosts_that_cannot(void **state)
{
    (void)state;
    struct sc_spec spec;
    struct sc_err err;
    fill_spec(&spec, "print(1)", "allow-degraded", "memory,cpu,cpus,io,disk,landlock,open_files,apparmor",
              NULL);
    struct sc_host old = made_up_server(), no_pidfd = old, no_notice = old, no_userns = old, no_time = old,
                   no_cgroup_ns = old, no_call = old, bare = made_up_laptop(), zero = old;
    old.kernel_major = 5;
    old.kernel_minor = 11;
    no_pidfd.pidfd = false;
    no_notice.seccomp_user_notif = false;
    no_userns.userns_errno = -EPERM;
    snprintf(no_userns.userns_step, sizeof no_userns.userns_step, "unshare");
    no_time.time_namespace = false;
    no_cgroup_ns.cgroup_namespace = false;
    snprintf(no_call.missing_call, sizeof no_call.missing_call, "openat2");
    bare.bare_uid0 = true;
    bare.uid = 0;
    zero.cell_uid_base = 0;
    const struct {
        const struct sc_host *host;
        const char *says;
    } cases[] = {
        {&old, "kernel 5.11 is too old"},
        {&no_pidfd, "lacks clone3 with pidfds"},
        {&no_notice, "lacks seccomp user notification"},
        {&no_userns, "user namespaces cannot be used here (unshare: Operation not permitted)"},
        {&no_time, "lacks time namespaces"},
        {&no_cgroup_ns, "lacks cgroup namespaces"},
        {&no_call, "lacks the system call openat2"},
        {&bare, "uid 0 of the host"},
        {&zero, "uid 0 of the host"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        refused(&spec, cases[i].host, &err);
        assert_int_equal(err.kind, SC_ERR_HOST);
        if (!strstr(err.message, cases[i].says))
            fail_msg("'%s' does not say '%s'", err.message, cases[i].says);
    }
    sc_spec_fini(&spec);
}

static void a_failed_plan_needs_no_error_object(void **state)
{
    (void)state;
    struct sc_host host = made_up_bare_laptop(NO_GROUP);
    struct sc_spec spec;
    struct sc_plan *plan = NULL;
    fill_spec(&spec, "print(1)", NULL);
    assert_int_equal(sc_spec_check(&spec, 0, NULL), 0);
    assert_int_equal(sc_plan_make(&spec, &host, &plan, NULL), -ENOTSUP);
    assert_null(plan);
    sc_plan_free(NULL);
    sc_spec_fini(&spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_v2),
        cmocka_unit_test(server_v1),
        cmocka_unit_test(laptop_with_subordinate_ids),
        cmocka_unit_test(laptop_without_subordinate_ids),
        cmocka_unit_test(refusals),
        cmocka_unit_test(accepting_one_is_not_accepting_another),
        cmocka_unit_test(zygotes_have_room_for_the_cells_below_them),
        cmocka_unit_test(bare_laptop),
        cmocka_unit_test(an_interpreter_has_used_some_before),
        cmocka_unit_test(sessions_outlive_a_run),
        cmocka_unit_test(no_reason_given),
        cmocka_unit_test(io_needs_every_disk),
        cmocka_unit_test(landlock),
        cmocka_unit_test(apparmor),
        cmocka_unit_test(open_files),
        cmocka_unit_test(disk_image),
        cmocka_unit_test(sizes_shrink_with_memory),
        cmocka_unit_test(fresh_places),
        cmocka_unit_test(pin_pty_compute),
        cmocka_unit_test(hosts_that_cannot),
        cmocka_unit_test(a_failed_plan_needs_no_error_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
